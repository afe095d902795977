"""What the tests of egress share: a real sandbox with a network namespace, and servers outside it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from networks import egress_of
from patience import patience

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Sequence
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path

    from gateway.model.plan import Network
    from gateway.model.result import Violation
    from gateway.sandbox.egress.service import Egress
    from gateway.sandbox.egress.session import Session

BWRAP = shutil.which("bwrap")
PUBLIC = "93.184.216.34"  # stands for any public address; nothing here ever leaves this machine


class Outside:
    """Names and addresses as the tests want them: `names` to addresses, `places` from address and port to a server."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {}
        self.places: dict[tuple[str, int], tuple[str, int]] = {}
        self.asked: list[str] = []
        self.dialled: list[tuple[str, int]] = []

    def serve(self, name: str, port: int, place: tuple[str, int], address: str = PUBLIC) -> None:
        self.names.setdefault(name, [])
        if address not in self.names[name]:
            self.names[name].append(address)
        self.places[address, port] = place

    def resolve(self, name: str) -> Sequence[str]:
        import socket

        self.asked.append(name)
        if name not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self.names[name]

    def route(self, address: str, port: int) -> tuple[str, int]:
        self.dialled.append((address, port))
        return self.places.get((address, port), ("127.0.0.1", 1))  # where nobody listens


@pytest.fixture
def outside() -> Outside:
    return Outside()


@pytest.fixture
def egress(outside: Outside) -> Iterator[Egress]:
    with egress_of(outside.resolve, outside.route) as made:
        yield made


class Sandbox:
    """A command in a network namespace of its own, with the session that serves it."""

    def __init__(self, egress: Egress, network: Network, folder: Path) -> None:
        self.egress, self.network, self.folder = egress, network, folder
        self.told: list[Violation] = []
        self.session: Session | None = None
        self.violations: tuple[Violation, ...] = ()

    def run(
        self, *argv: str, seconds: float = 30, before: Sequence[str] = (), **environment: str
    ) -> subprocess.CompletedProcess[str]:
        assert BWRAP is not None
        binds = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"]
        binds += ["--ro-bind", sys.prefix, sys.prefix]
        for number, (path, content) in enumerate(self.egress.files(self.network)):
            mine = self.folder / str(number)
            mine.unlink(missing_ok=True)  # of an earlier run, which only root may write again
            mine.write_bytes(content)
            mine.chmod(0o555 if content.startswith(b"#!") else 0o444)
            binds += ["--ro-bind", str(mine), path]
        told, tell = os.pipe()
        wait, release = os.pipe()
        process = subprocess.Popen(
            [
                *before, BWRAP, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
                "--disable-userns", "--cap-drop", "ALL", "--die-with-parent", "--new-session", *binds,
                "--chdir", "/tmp",
                "--info-fd", str(tell), "--block-fd", str(wait), "--", *argv,
            ],
            pass_fds=(tell, wait),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={"PATH": os.environ["PATH"], "HOME": "/tmp"}
            | dict(self.egress.environment(self.network))
            | environment,
        )  # fmt: skip
        try:
            os.close(tell)
            os.close(wait)
            said = b""
            while b"}" not in said:
                said += os.read(told, 4096) or pytest.fail(f"no sandbox: {process.communicate()[1]}")
            self.session = self.egress.attach(json.loads(said)["child-pid"], self.network, self.told.append)
            os.write(release, b"x")
            out, err = process.communicate(timeout=patience(seconds))
            return subprocess.CompletedProcess(argv, process.returncode, out, err)
        finally:
            process.kill()
            process.wait()
            for each in (told, release):
                os.close(each)
            if self.session is not None:
                self.session.close()
                self.violations = self.session.violations()


@pytest.fixture(scope="session")
def can_confine() -> None:
    if not sys.platform.startswith("linux") or BWRAP is None:
        pytest.skip("bubblewrap is not installed")
    tried = subprocess.run(
        [BWRAP, "--unshare-user", "--unshare-net", "--ro-bind", "/", "/", "true"], capture_output=True
    )
    if tried.returncode:
        pytest.skip(f"bubblewrap does not run here: {tried.stderr.decode(errors='replace').strip()}")


@pytest.fixture
def sandbox(egress: Egress, tmp_path: Path, can_confine: None) -> Callable[[Network], Sandbox]:  # noqa: ARG001
    return lambda network: Sandbox(egress, network, tmp_path)


@pytest.fixture
def serving() -> Iterator[Callable[..., tuple[str, int]]]:
    """Starts servers that answer by a handler, over TLS where there is a context for it."""
    from http.server import ThreadingHTTPServer

    started: list[ThreadingHTTPServer] = []

    def start(handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext | None) -> tuple[str, int]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        started.append(server)
        return server.server_address[0], server.server_address[1]  # type: ignore[return-value]

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture
def web(serving: Callable[..., tuple[str, int]]) -> Callable[..., tuple[str, int]]:
    """Starts HTTP servers that answer with a text and the headers they got."""
    from http.server import BaseHTTPRequestHandler

    def start(
        text: str = "hello", context: ssl.SSLContext | None = None, seen: list[dict[str, str]] | None = None
    ) -> tuple[str, int]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                if seen is not None:
                    seen.append({"line": self.requestline, "body": body.decode(), **self.headers})
                answer = text.encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_PUT = do_GET  # noqa: N815

            def log_message(self, *_arguments: object) -> None:
                pass

        return serving(Handler, context)

    return start


@pytest.fixture
def files_of(serving: Callable[..., tuple[str, int]]) -> Callable[..., tuple[str, int]]:
    """Starts servers over TLS that have these contents at these paths, whatever is asked of them there and how."""
    from http.server import BaseHTTPRequestHandler

    def start(contents: dict[str, bytes], context: ssl.SSLContext) -> tuple[str, int]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = self.path.partition("?")[0]
                answer = contents.get(path)
                self.send_response(404 if answer is None else 200)
                kind = "text/html" if path.startswith("/simple/") else "application/json"
                if "/manifests/" in path:
                    kind = "application/vnd.docker.distribution.manifest.v2+json"
                self.send_header("Content-Type", kind if (answer or b"")[:1] in b"{<" else "application/octet-stream")
                self.send_header("Content-Length", str(len(answer or b"")))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer or b"")

            do_POST = do_HEAD = do_GET  # noqa: N815

            def log_message(self, *_arguments: object) -> None:
                pass

        return serving(Handler, context)

    return start


def descriptors() -> set[str]:
    """What this process has open."""
    found = set()
    for each in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{each} {os.readlink(f'/proc/self/fd/{each}')}")
        except OSError:
            continue  # the one that reads the folder
    return found


def eventually(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Waits for something that another thread does."""
    until = time.monotonic() + patience(seconds)
    while not true():
        if time.monotonic() > until:
            return False
        threading.Event().wait(0.01)
    return True
