"""Who is answered at all: this user's own programs on this machine, by the exact address, from our own page.

Stands before everything else. Another user is refused even with a token, where the system tells whose a connection is;
a page of another origin and a name that was made to lead here (DNS rebinding) before a token is looked at.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import Any

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LOOPBACK = "127.0.0.1"
MOST_BODY = 256 << 10
MOST_HEAD = 16 << 10
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types "
)
HEADERS = (
    (b"content-security-policy", POLICY + b"'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), clipboard-read=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"cache-control", b"no-store"),
)
# The page for people elsewhere may start the one script that says that something waits.
AFAR_HEADERS = ((b"content-security-policy", POLICY + b"gateway-worker"), *HEADERS[1:])
_NAMES = frozenset(name for name, _ in HEADERS)


class Guard:
    """Answers only what may be answered, and puts the same headers on every answer."""

    def __init__(
        self, app: App, port: int, *, is_ours: Callable[[str, int, int], bool] | None = None, origin: str = ""
    ) -> None:
        """`port`: the one that is listened on. `is_ours`: whether the program that connects from an address and port to
        `port` runs as this user; by default as the system says. `origin`: where a tunnel or proxy lets people reach
        this, whoever runs it, instead of this machine's own address."""
        self._app = app
        self._origin = (origin or f"http://{LOOPBACK}:{port}").encode()
        self._host = self._origin.partition(b"//")[2]
        self._port = port
        self._is_ours = is_ours or (_is_anybody if origin else is_own_program)
        self._headers = AFAR_HEADERS if origin else HEADERS

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refused = self._refusal(scope)
        if refused is not None:
            await _say(send, *refused, self._headers)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [each for each in message.get("headers", ()) if each[0].lower() not in _NAMES]
                message = {**message, "headers": [*kept, *self._headers]}
            await send(message)

        await self._app(scope, receive, with_headers)

    def _refusal(self, scope: MutableMapping[str, Any]) -> tuple[int, str] | None:
        """Why a request is not answered, None for one that is."""
        given: list[tuple[bytes, bytes]] = scope["headers"]
        client = scope.get("client")
        if client is None or not self._is_ours(client[0], client[1], self._port):
            return 403, "this console is another user's"
        if [value for name, value in given if name == b"host"] != [self._host]:
            return 421, "this console answers by its own address only"
        origins = [value for name, value in given if name == b"origin"]
        sites = [value for name, value in given if name == b"sec-fetch-site"]
        if any(each != self._origin for each in origins) or len(origins) > 1:
            return 403, "another page asked for this"
        if any(each not in (b"same-origin", b"none") for each in sites) and not _is_navigation(scope, given):
            return 403, "another page asked for this"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "only GET and POST are answered"
        if scope["method"] == "POST":
            return self._refusal_of_post(given, origins)
        return None

    def _refusal_of_post(self, given: list[tuple[bytes, bytes]], origins: list[bytes]) -> tuple[int, str] | None:
        if origins != [self._origin]:
            return 403, "only a page of this console asks for this"
        kinds = [value.partition(b";")[0].strip() for name, value in given if name == b"content-type"]
        if kinds != [b"application/json"]:
            return 415, "only JSON is understood"
        sizes = [value for name, value in given if name == b"content-length"]
        if len(sizes) != 1 or not sizes[0].isdigit():
            return 411, "it must be said how long this is"
        return (413, "this is too long") if len(sizes[0]) > 9 or int(sizes[0]) > MOST_BODY else None


def _is_navigation(scope: MutableMapping[str, Any], given: list[tuple[bytes, bytes]]) -> bool:
    """Whether somebody follows a link to the empty page, which holds nothing: as from the file that opens it."""
    told = dict(given)
    return (
        scope["method"] == "GET"
        and told.get(b"sec-fetch-mode") == b"navigate"
        and told.get(b"sec-fetch-dest") == b"document"
        and b"authorization" not in told
    )


def _is_anybody(_address: str, _port: int, _to: int) -> bool:
    return True


async def _say(send: Send, status: int, text: str, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    body = f"{text}\n".encode()
    head = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def is_own_program(address: str, port: int, to: int) -> bool:
    """Whether the other end of a connection over loopback is a socket of this user, as the kernel lists them. Where no
    such list is (macOS), the token alone decides."""
    if sys.platform != "linux":
        return True
    if address != LOOPBACK:
        return False
    ends = f"{_spelled(port)} {_spelled(to)}"
    try:
        with open("/proc/self/net/tcp", encoding="ascii") as table:
            for line in table:
                fields = line.split()
                if f"{fields[1]} {fields[2]}" == ends:
                    return fields[7] == str(os.geteuid())
    except (OSError, IndexError):
        return False
    return False


def _spelled(port: int) -> str:
    """A port of the loopback address as that list has it: the address as a number of this machine."""
    number = int.from_bytes(bytes((127, 0, 0, 1)), sys.byteorder)
    return f"{number:08X}:{port:04X}"
