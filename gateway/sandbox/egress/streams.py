"""Byte streams over sockets: reads with bounds, halves that close by themselves, and TLS on top."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable
    from typing import Protocol
else:
    Protocol = object

CHUNK = 65536


class StreamError(Exception):
    """The other side ended, or sent more than it may, in the middle of something."""


class Pipe(Protocol):
    """What carries bytes: a socket, or TLS over one."""

    async def receive(self) -> bytes:
        """Some bytes, at most `CHUNK`, once there are any; empty at the end. Raises OSError."""

    async def send(self, data: bytes) -> None:
        """All of these bytes, once the other side takes them. Raises OSError."""

    async def finish(self) -> None:
        """No more is sent."""


class Plain:
    """A connected socket that does not block."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self.socket = connected

    async def receive(self) -> bytes:
        """As every pipe."""
        return await asyncio.get_running_loop().sock_recv(self.socket, CHUNK)

    async def send(self, data: bytes) -> None:
        """As every pipe."""
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def finish(self) -> None:
        """No more is sent; the other half stays open."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def abort(self) -> None:
        """Has the other side see a reset rather than an orderly end."""
        with contextlib.suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Tls:
    """TLS over another pipe, as client or server."""

    def __init__(self, inner: Pipe, context: ssl.SSLContext, server_name: str | None, early: bytes = b"") -> None:
        import ssl

        self._inner = inner
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._in.write(early)
        server = server_name is None
        self._object = context.wrap_bio(self._in, self._out, server_side=server, server_hostname=server_name)
        self._sending = asyncio.Lock()
        self._want_read = ssl.SSLWantReadError
        self._eof = (ssl.SSLEOFError, ssl.SSLZeroReturnError)

    async def handshake(self) -> None:
        """Raises ssl.SSLError."""
        while True:
            try:
                self._object.do_handshake()
            except self._want_read:
                await self._flush()
                if not await self._feed():
                    raise StreamError("the connection ended during the TLS handshake") from None
            except BaseException:
                with contextlib.suppress(OSError):
                    await self._flush()  # the alert that says why
                raise
            else:
                with contextlib.suppress(OSError):  # the other side has all it wanted, and may have gone
                    await self._flush()
                return

    async def receive(self) -> bytes:
        """As every pipe."""
        while True:
            try:
                return self._object.read(CHUNK)
            except self._want_read:
                await self._flush()
                if not await self._feed():
                    return b""
            except self._eof:
                return b""

    async def send(self, data: bytes) -> None:
        """As every pipe."""
        self._object.write(data)
        await self._flush()

    async def finish(self) -> None:
        """Says to the other side that no more is sent."""
        import ssl

        with contextlib.suppress(ssl.SSLError, OSError):
            self._object.unwrap()
        with contextlib.suppress(OSError):
            await self._flush()
        await self._inner.finish()

    async def _feed(self) -> bool:
        data = await self._inner.receive()
        if data:
            self._in.write(data)
        else:
            self._in.write_eof()
        return bool(data)

    async def _flush(self) -> None:
        async with self._sending:
            data = self._out.read()
            if data:
                await self._inner.send(data)


class Stream:
    """A pipe with what was read too far."""

    def __init__(self, pipe: Pipe, early: bytes = b"") -> None:
        self.pipe = pipe
        self._buffer = bytearray(early)
        self.answered = False  # whether anything was sent

    async def fill(self) -> bool:
        """Waits for more; False at the end."""
        data = await self.pipe.receive()
        self._buffer += data
        return bool(data)

    async def first(self) -> int:
        """The first byte, which stays; -1 at the end."""
        while not self._buffer:
            if not await self.fill():
                return -1
        return self._buffer[0]

    async def exactly(self, size: int) -> bytes:
        """So many bytes. Raises StreamError where the other side ends before."""
        while len(self._buffer) < size:
            if not await self.fill():
                raise StreamError("the connection ended too early")
        return self._take(size)

    async def until(self, mark: bytes, most: int) -> bytes:
        """Everything up to and with a mark. Raises StreamError when there is none within `most` bytes."""
        start = 0
        while True:
            at = self._buffer.find(mark, start)
            if at >= 0 and at + len(mark) <= most:
                return self._take(at + len(mark))
            if len(self._buffer) >= most:
                raise StreamError(f"there were more than {most} bytes where fewer were due")
            start = max(0, len(self._buffer) - len(mark) + 1)
            if not await self.fill():
                raise StreamError("the connection ended too early")

    async def some(self, most: int = CHUNK) -> bytes:
        """What there is, at least one byte; empty at the end."""
        if not self._buffer and not await self.fill():
            return b""
        return self._take(min(most, len(self._buffer)))

    def rest(self) -> bytes:
        """What was read too far, taken."""
        return self._take(len(self._buffer))

    def rest_of(self, size: int) -> bytes:
        """What was read too far, taken, but no more than so many bytes."""
        return self._take(min(size, len(self._buffer)))

    def seen(self) -> bytes:
        """What was read and not yet taken."""
        return bytes(self._buffer)

    async def send(self, data: bytes) -> None:
        """All of these bytes: from now on this side has answered."""
        self.answered = True
        await self.pipe.send(data)

    async def drain(self, most: int) -> None:
        """Reads what is still coming, so that closing does not reset the connection under an answer."""
        while most > 0 and (data := await self.some()):
            most -= len(data)

    def _take(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


def is_readable(connected: socket.socket) -> bool:
    """Whether something, or the end, has come that nobody has read."""
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return bool(poll.poll(0))


async def relay(left: Stream, right: Stream, check: Callable[[], Awaitable[None]] | None = None) -> None:
    """Carries bytes both ways until both have ended, or either breaks. One half may end long before the other.
    `check` is awaited before the first byte goes from left to right, while the other way is open already."""
    ways = [asyncio.ensure_future(_carry(left, right, check)), asyncio.ensure_future(_carry(right, left))]
    try:
        await asyncio.gather(*ways)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _carry(source: Stream, target: Stream, check: Callable[[], Awaitable[None]] | None = None) -> None:
    if check is not None:
        await check()
    while data := await source.some():
        await target.send(data)
    await target.pipe.finish()
