"""Servers on the loopback that stand for the web: by name, at public addresses, with and without encryption."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from gateway.sandbox.egress import authority
from gateway.tools.urls import parse
from gateway.web.fetch import Fetched, Limits, fetch
from gateway.web.reach import Hosts, Reach, Refusals

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

PUBLIC = "93.184.216.34"  # stands for any public address; nothing here ever leaves this machine
OTHER = "93.184.216.35"
QUICK = Limits(seconds=20.0, pause=10.0, most=200_000, most_unpacked=400_000)

needs_openssl = pytest.mark.skipif(not authority.available(), reason="the openssl program is not installed")


class Site:
    """One server. `pages`: by path a status, headers and a body, or what talks to the connection itself."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.pages: dict[str, Any] = {}
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections = 0
        self.done = threading.Event()
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def paths(self) -> list[str]:
        return [path for _method, path, _headers, _body in self.asked]

    def says(self, path: str, body: bytes | str, kind: str = "text/plain", status: int = 200, **headers: str) -> None:
        data = body if isinstance(body, bytes) else body.encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = (status, ({"Content-Type": kind} if kind else {}) | named, data)

    def redirects(self, path: str, target: str, status: int = 302) -> None:
        self.pages[path] = (status, {"Location": target}, b"")

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError):
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            more = connection.recv(65536)
            if not more:
                return
            received += more
        head, _, body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _version = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(body) < int(headers.get("content-length", "0")):
            body += connection.recv(65536)
        self.asked.append((method, path, headers, body))
        page = self.pages.get(path.partition("?")[0], (404, {"Content-Type": "text/plain"}, b"nothing here"))
        if callable(page):
            page(connection)
            return
        status, given, data = page
        wanted = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        if not any(name.lower() in ("content-length", "transfer-encoding") for name in given):
            wanted += f"Content-Length: {len(data)}\r\n"
        connection.sendall(f"HTTP/1.1 {status} Said\r\n{wanted}Connection: close\r\n\r\n".encode() + data)

    def close(self) -> None:
        self.done.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes who waits for a connection
        self._socket.close()
        self._accepting.join(10)
        for thread in self._threads:
            thread.join(10)


class World:
    """Names, the addresses they lead to, and the servers at those addresses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
        self.names: dict[str, Any] = {}
        self.places: dict[tuple[str, int], int] = {}
        self.resolved: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self.told: list[str] = []
        self._sites: list[Site] = []
        self._monkeypatch, self._tmp = monkeypatch, tmp_path
        self._authority: authority.Authority | None = None
        monkeypatch.setattr("gateway.web.reach.resolve_with_system", self.resolve)
        monkeypatch.setattr("gateway.web.reach.straight", self.route)

    def resolve(self, name: str) -> list[str]:
        self.resolved.append(name)
        if name[:1].isdigit() or ":" in name:
            return [name]
        found = self.names.get(name)
        if found is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return list(found.pop(0)) if found and isinstance(found[0], list) else list(found)

    def route(self, address: str, port: int) -> tuple[str, int]:
        self.dialled.append((address, port))
        return "127.0.0.1", self.places.get((address, port), 1)  # where nobody listens

    def serve(self, name: str, port: int = 80, address: str = PUBLIC, *, tls: bool = False, cert: str = "") -> Site:
        context = self.authority.context(cert or name) if tls else None
        site = Site(context)
        self._sites.append(site)
        self.names.setdefault(name, [address])
        self.places[address, port] = site.port
        return site

    @property
    def authority(self) -> authority.Authority:
        if self._authority is None:
            self._authority = authority.Authority()
            path = self._tmp / "authority.pem"
            path.write_bytes(self._authority.certificate())
            self._monkeypatch.setenv("SSL_CERT_FILE", str(path))
        return self._authority

    def reach(
        self,
        *,
        judge: Callable[[Any], str] = lambda _url: "",
        private: tuple[str, ...] = (),
        plain: tuple[str, ...] = ("*",),
        refusals: tuple[tuple[str, int, str], ...] = (),
    ) -> Reach:
        return Reach(judge, Refusals(refusals), Hosts(private), Hosts(plain))

    def get(self, url: str, *, limits: Limits = QUICK, cancelled: Any = lambda: False, **reach: Any) -> Fetched:
        return fetch(
            parse(url, upgrade=True), self.reach(**reach), limits=limits, cancelled=cancelled, told=self.told.append
        )

    def close(self) -> None:
        for site in self._sites:
            site.close()
        if self._authority is not None:
            self._authority.close()
