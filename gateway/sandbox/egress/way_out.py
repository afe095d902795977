"""The connection to a host that carries requests of one client, kept for the next one to the same place."""

from __future__ import annotations

import asyncio

from gateway.sandbox.egress import forward
from gateway.sandbox.egress.loop import in_thread
from gateway.sandbox.egress.streams import Plain, Stream, Tls, is_readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.http import Request
    from gateway.sandbox.egress.outside import Outside

HANDSHAKE_SECONDS = 30.0


class WayOut:
    """Of one client; one request at a time. The caller closes it."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._kept: tuple[tuple[Host, int, bool], Stream, socket.socket] | None = None

    async def carry(
        self, client: Stream, request: Request, head: bytes, body: bytes | None, to: tuple[Host, int, bool]
    ) -> bool:
        """Sends a request to a host and a port, with TLS or without, and carries the answer back: whether the client's
        connection goes on. Raises what `Dialler.dial` and `forward.exchange` raise."""
        server = self._still_open(to)
        if server is not None:
            try:
                return await self._exchanged(client, server, request, head, body, to[0], used=True)
            except forward.Unanswered:
                pass  # it had ended: once more, on a new one
        return await self._exchanged(client, await self._opened(to), request, head, body, to[0], used=False)

    def close(self) -> None:
        """Ends the connection. Does nothing the second time."""
        if self._kept is not None:
            self._kept[2].close()
            self._kept = None

    def _still_open(self, to: tuple[Host, int, bool]) -> Stream | None:
        """The connection that carried the last request, where it leads to the same place and nothing has come on it
        since: neither its end, nor an answer to nothing."""
        if self._kept is None or self._kept[0] != to:
            return None
        _to, server, found = self._kept
        return None if server.seen() or is_readable(found) else server

    async def _opened(self, to: tuple[Host, int, bool]) -> Stream:
        self.close()
        host, port, secure = to
        found = await self._outside.dialler.dial(self._outside.rules, host, port)
        server = Stream(Plain(found))
        self._kept = to, server, found
        if secure:
            inner = Tls(server.pipe, await in_thread(self._outside.trust), host.text)
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await inner.handshake()
            server = Stream(inner)
            self._kept = to, server, found
        return server

    async def _exchanged(
        self,
        client: Stream,
        server: Stream,
        request: Request,
        head: bytes,
        body: bytes | None,
        host: Host,
        *,
        used: bool,
    ) -> bool:
        goes = forward.Goes(client=False, server=False)
        try:
            client.answered = False
            goes = await forward.exchange(
                client, server, request, head, used=used, body=body,
                told=lambda status, fields: self._outside.said.answered(host, status, fields),
            )  # fmt: skip
        finally:
            if not goes.server:
                self.close()
        return goes.client
