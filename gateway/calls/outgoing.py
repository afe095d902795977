"""Requests that the gateway itself makes, for `http:` tools and hooks: bounded, and only to where they were judged.

The host is resolved once, each address is looked at, and exactly those are connected to: a name that leads to a private
address is refused, and so is a redirect to another host. No proxy and no password file of the environment is used.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from time import monotonic

from gateway.core.errors import GatewayError
from gateway.core.value import Value
from gateway.sandbox.egress.addresses import PUBLIC, HostError, address_of, kind_of
from gateway.tools.paths import UnclearError
from gateway.tools.urls import Url, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    Found = TypeVar("Found")
    Part = Mapping[str, str]

MOST_BYTES = 8 << 20
MOST_HEADERS = 64 << 10
REDIRECTS = 5
CONNECT_SECONDS = 10.0
_FOLLOWED = (301, 302, 303, 307, 308)
_LOOK_EVERY = 0.05
# How long a request that was given up may take to notice; one that still looks for its host is left to itself.
_END_SECONDS = 2.0
_UTF_8 = "utf-8"
# Encodings that an answer may say it has. Python knows more: some are no encodings of text, or take for ever.
CHARSETS = frozenset(
    f"""
    utf-8 utf8 us-ascii ascii latin-1 latin1 utf-16 utf-16le utf-16be gb2312 gbk gb18030 big5 big5-hkscs
    shift-jis sjis cp932 euc-jp iso-2022-jp euc-kr cp949 koi8-r koi8-u cp437 cp850 cp866 macintosh
    {" ".join(f"iso-8859-{part} iso8859-{part}" for part in range(1, 17) if part != 12)}
    {" ".join(f"windows-{page} cp{page}" for page in range(1250, 1259))}
    """.split()
)


class Reply(Value):
    """What came back. `cut`: there was more than was read. `elsewhere`: where it redirects to and was not followed."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False
    elsewhere: str = ""

    @property
    def text(self) -> str:
        """The body as text, in the encoding that it says it has, if that is a usual one."""
        said = self.headers.get("content-type", "").lower().partition("charset=")[2]
        name = said.split(";")[0].strip(" \"'").replace("_", "-")
        return self.body.decode(name if name in CHARSETS else _UTF_8, "replace")


class RequestError(GatewayError):
    """The request was not made, or nothing usable came back."""


def filled(parts: Sequence[Part], environment: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """A header's value, and the secrets in it. Raises RequestError where a variable is not set."""
    text, secrets = "", []
    for part in parts:
        if "env" not in part:
            text += part["text"]
            continue
        value = environment.get(part["env"], "")
        if not value:
            raise RequestError(f"the variable {part['env']} is not set")
        text += value
        secrets.append(value)
    if not text.isascii() or not text.isprintable() or text != text.strip():
        raise RequestError("a header's value must be one line of printable ASCII, without blanks at its ends")
    return text, tuple(secrets)


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    seconds: float = 30.0,
    most: int = MOST_BYTES,
    named: bool = False,
    cancelled: Callable[[], bool] = lambda: False,
) -> Reply:
    """Makes one request. `named`: a person wrote the host down, so it may be a private one. Redirects to the same host
    are followed. `seconds`: for all of it; `cancelled`: asked again and again, ends it at any time. Raises
    RequestError."""
    where = _parsed(url)
    watched = Watched(monotonic() + seconds)
    return watched.run(
        lambda: _follow(method, where, dict(headers or {}), body, most, named, watched), where.host, cancelled
    )


class Watched:
    """One request, or several in turn, on a thread of its own: it may be given up at any time, whatever it waits for.
    `end`: when it is, as `monotonic` counts."""

    def __init__(self, end: float) -> None:
        self.end = end
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._is_given_up = False
        self._done = threading.Event()
        self._problem: BaseException | None = None

    def run(self, does: Callable[[], Found], host: str, cancelled: Callable[[], bool]) -> Found:
        """What it gives. Raises RequestError when it is cancelled or out of time."""

        found: list[Found] = []

        def work() -> None:
            try:
                found.append(does())
            except BaseException as error:  # handed on to whoever waits
                self._problem = error
            finally:
                self._done.set()

        threading.Thread(target=work, name="gateway-request", daemon=True).start()
        why = ""
        try:
            while not why and not self._done.wait(min(_LOOK_EVERY, max(0.0, self.end - monotonic()))):
                if cancelled():
                    why = "it was cancelled"
                elif monotonic() >= self.end:
                    why = f"{host} did not answer in time"
        finally:
            self._give_up()
        if why:
            raise RequestError(why)
        if self._problem is not None:
            raise self._problem
        return found[0]

    def check(self) -> None:
        """Raises RequestError once it was given up: nothing more may be sent."""
        if self._is_given_up:
            raise RequestError("it was given up")

    def connected(self, event: str, info: Mapping[str, Any]) -> None:
        """Told of each step of the connection by what makes it. A second descriptor ends it even while it is wrapped
        in TLS."""
        if event != "connection.connect_tcp.complete":
            return
        stream = info["return_value"]
        with self._lock:
            if self._is_given_up:
                stream.close()
                raise RequestError("it was given up")
            if self._connection is not None:
                self._connection.close()
            self._connection = stream.get_extra_info("socket").dup()

    def _give_up(self) -> None:
        with self._lock:
            self._is_given_up = True
            connection, self._connection = self._connection, None
        if connection is None:
            return
        if not self._done.is_set():
            with suppress(OSError):  # it has ended by itself
                connection.shutdown(socket.SHUT_RDWR)
            self._done.wait(_END_SECONDS)
        connection.close()


def _follow(
    method: str,
    where: Url,
    headers: dict[str, str],
    body: bytes | None,
    most: int,
    named: bool,
    watched: Watched,
) -> Reply:
    for _ in range(REDIRECTS + 1):
        at = [(address, where.port) for address in addresses(where, named)]
        reply = once(method, where, headers, body, at=at, watched=watched, take=lambda answer: _read(answer, most))
        target = reply.headers.get("location", "")
        if reply.status not in _FOLLOWED or not target:
            return reply
        there = _parsed(_joined(where.text, target))
        if (there.host, there.port) != (where.host, where.port) or there.text[:6] != where.text[:6]:
            return reply.replace(elsewhere=there.text)
        where = there
        if reply.status in (301, 302, 303) and method != "HEAD":
            method, body = "GET", None
    raise RequestError(f"it redirects more than {REDIRECTS} times")


def _parsed(url: str) -> Url:
    try:
        return parse(url)
    except UnclearError as error:
        raise RequestError(f"the address {error.must}") from error


def _joined(base: str, target: str) -> str:
    from urllib.parse import urljoin

    try:
        return urljoin(base, target)
    except ValueError as error:
        raise RequestError("it redirects to what is no address") from error


def once(
    method: str,
    where: Url,
    headers: Mapping[str, str],
    body: bytes | None,
    *,
    at: Sequence[tuple[str, int]],
    watched: Watched,
    take: Callable[[Any], Found],
    pause: float | None = None,
    encodings: str = "identity",
) -> Found:
    """One request without redirects, to the first of these addresses and ports that can be connected to, whatever the
    name leads to by now. `take`: reads the answer of httpx2, whose body is not read yet; its headers are within their
    bound. `pause`: how long nothing may come; `encodings`: what the server may pack the body with. Raises
    RequestError."""
    import ssl

    import httpx2

    is_secure = where.text.startswith("https:")
    shown = f"[{where.host}]" if ":" in where.host else where.host
    authority = shown if where.port == (443 if is_secure else 80) else f"{shown}:{where.port}"
    problem = ""
    for address, port in at:
        host = f"[{address}]" if ":" in address else address
        there = httpx2.URL(where.text).copy_with(host=host.strip("[]"), port=port)
        watched.check()
        left = max(0.001, watched.end - monotonic())
        slowest = left if pause is None else min(left, pause)
        timeout = httpx2.Timeout(slowest, connect=min(left, CONNECT_SECONDS))
        verify: Any = ssl.create_default_context() if is_secure else False
        try:
            with httpx2.Client(verify=verify, trust_env=False, timeout=timeout, follow_redirects=False) as client:
                made = client.build_request(
                    method, there, headers={**headers, "Host": authority, "Accept-Encoding": encodings},
                    content=body, extensions={"sni_hostname": where.host, "trace": watched.connected},
                )  # fmt: skip
                answer = client.send(made, stream=True)
                try:
                    if sum(len(name) + len(value) + 4 for name, value in answer.headers.raw) > MOST_HEADERS:
                        raise RequestError("its headers are longer than may be read")
                    return take(answer)
                finally:
                    answer.close()
        except httpx2.ConnectError as error:
            problem = str(error)
        except httpx2.TimeoutException as error:
            raise RequestError(f"{authority} did not answer in time") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise RequestError(f"{authority} cannot be asked: {error}") from error
    raise RequestError(f"{authority} cannot be reached: {problem or 'it has no address'}")


def _read(response: Any, most: int) -> Reply:
    found = bytearray()
    cut = False
    for chunk in response.iter_raw():
        found += chunk
        if len(found) > most:
            del found[most:]
            cut = True
            break
    given = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, given, bytes(found), cut)


def addresses(where: Url, named: bool) -> list[str]:
    """Where the host leads. Raises RequestError where any of it is not public and nobody named the host."""
    try:
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RequestError(f"{where.host} cannot be found: {error.strerror or error}") from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    for address in addresses:
        try:
            kind = kind_of(address_of(address))
        except HostError as error:
            raise RequestError(f"{where.host} leads to an address that is none: {error}") from error
        if kind != PUBLIC and not named:
            raise RequestError(f"{where.host} leads to {address}, which is no public address ({kind})")
    return addresses
