"""How clients reach an endpoint: the pipes of this process, or HTTP on this machine."""

from __future__ import annotations

import asyncio
import hmac
import os
import signal
import socket
import stat
import threading
from contextlib import suppress

from gateway.core.errors import ConfigError, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.mcp.endpoint import Endpoint
    from gateway.mcp.unauthenticated import Strangers

PATH = "/mcp"
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_CHUNK = 1 << 16
# How long, and how much, is read of a request that was refused.
_LAST_SECONDS, _MOST_LEFT = 2.0, 1 << 20


def serve_pipes(endpoint: Callable[[], Endpoint]) -> int:
    """Serves the one client on standard input and output until it closes them, or a signal ends this process. What is
    printed meanwhile goes to standard error."""
    into, out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return asyncio.run(_pipes(endpoint, _pollable(into, reads=True), _pollable(out, reads=False)))


async def _pipes(make: Callable[[], Endpoint], into: int, out: int) -> int:
    from gateway.mcp.pipes import Piped

    endpoint = make()
    stop = asyncio.Event()
    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await Piped(endpoint).serve(into, out, stop)
    finally:
        await endpoint.close()
    return 0


def _pollable(descriptor: int, *, reads: bool) -> int:
    """The descriptor, or for a file or a device a pipe that stands for it."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return descriptor
    read, write = os.pipe()
    source, target, ours = (descriptor, write, read) if reads else (read, descriptor, write)

    def carry() -> None:
        try:
            while data := os.read(source, _CHUNK):
                view = memoryview(data)
                while view:
                    view = view[os.write(target, view) :]
        except OSError:
            return  # the other side has gone
        finally:
            os.close(source)
            os.close(target)

    threading.Thread(target=carry, name="gateway-mcp-pipe", daemon=True).start()
    return ours


# ---------------------------------------------------------------------------------------------------------------- HTTP


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches such an address."""
    return host in ("127.0.0.1", "::1", "localhost")


def serve_http(
    endpoint: Callable[[], Endpoint],
    host: str,
    port: int,
    tokens: Mapping[str, str],
    *,
    names: tuple[str, ...] = (),
    ready: Callable[[str], None],
) -> int:
    """Serves clients that show one of the tokens. `tokens`: by whose they are. `names`: hosts that clients may call
    this one, besides its own. `ready`: is told the address. Raises ConfigError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise ConfigError(Problem(f"--http cannot be used: {error.strerror}", remedy="choose another port")) from error
    with listening:
        return asyncio.run(_http(endpoint, host, listening, tokens, names, ready))


async def _http(
    make: Callable[[], Endpoint],
    host: str,
    listening: socket.socket,
    tokens: Mapping[str, str],
    names: tuple[str, ...],
    ready: Callable[[str], None],
) -> int:
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    from gateway.mcp.http_clients import server_for
    from gateway.mcp.unauthenticated import Strangers, protocol_for

    endpoint = make()
    shown = f"[{host}]" if ":" in host else host
    port = listening.getsockname()[1]
    own = ["127.0.0.1:*", "localhost:*", "[::1]:*"] if is_loopback(host) else [f"{shown}:*"]
    allowed = [*own, *(form for name in names for form in (name, f"{name}:*"))]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=allowed,
        allowed_origins=[f"{scheme}://{each}" for each in allowed for scheme in ("http", "https")],
    )
    served = server_for(endpoint)
    app = served.streamable_http_app(streamable_http_path=PATH, transport_security=security, host=host)
    strangers = Strangers()
    config = uvicorn.Config(
        Door(app, tokens, endpoint, strangers), http=protocol_for(strangers), ws="none", log_level="critical",
        lifespan="on", timeout_graceful_shutdown=5,
    )  # fmt: skip
    server = uvicorn.Server(config)
    ready(f"http://{shown}:{port}{PATH}")
    try:
        await server.serve(sockets=[listening])
    finally:
        await endpoint.close()
    return 0


class Door:
    """Lets in who shows a token, and ends what was kept for a session that its client ends."""

    def __init__(
        self, app: Any, tokens: Mapping[str, str], endpoint: Endpoint, strangers: Strangers | None = None
    ) -> None:
        """`strangers`: is told on which connections somebody has shown one."""
        self._app = app
        self._strangers = strangers
        self._tokens = {name: token.encode() for name, token in tokens.items()}
        self._endpoint = endpoint

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": f"{scope['type']}.close"})
            return
        headers = scope["headers"]
        who = self._who([value for name, value in headers if name.lower() == b"authorization"])
        if who is None:
            await _unauthorized(receive, send)
            return
        if self._strangers is not None:
            self._strangers.known(scope["client"])
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=who, scopes=[]))
        statuses: list[int] = []

        async def told(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        await self._app(scope, receive, told)
        if scope["method"] == "DELETE" and statuses and statuses[0] < 300:  # it was that client's to end
            for name, value in headers:
                if name.lower() == b"mcp-session-id":
                    await self._endpoint.forget(f"session {value.decode('latin-1')}")

    def _who(self, given: list[bytes]) -> str | None:
        if len(given) != 1 or given[0][:7].lower() != b"bearer ":
            return None
        token, found = given[0][7:].strip(), None
        for name, known in self._tokens.items():  # all of them, so that time tells nothing
            if hmac.compare_digest(known, token):
                found = name
        return found


async def _unauthorized(receive: Any, send: Any) -> None:
    """Says so and ends the connection, once what is on its way has come: a connection that ends with something unread
    takes the answer along."""
    said = b"a token is needed\n"
    headers = [(b"www-authenticate", b'Bearer realm="gateway"'), (b"content-type", b"text/plain")]
    headers += [(b"content-length", b"%d" % len(said)), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": said, "more_body": True})
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_SECONDS):
            left, more = _MOST_LEFT, True
            while more and left > 0:
                message = await receive()
                left, more = left - len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.body"})
