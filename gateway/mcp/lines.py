"""Newline-delimited JSON messages over pipes: complete ones only, bounded in length, garbage between them reported."""

from __future__ import annotations

import asyncio
import json
import os

from gateway.core.plainjson import decoder, finite, no_constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_LINE = 16 << 20
# Lines that are no message, in a row, after which nobody listens any more.
MOST_GARBAGE = 1_000
# Of lists and objects within each other. A server that sends more is listened to no longer: none of those who wait
# would ever get an answer that can be read.
MOST_LEVELS = 256
_TOO_DEEP = f"it sent a message of more than {MOST_LEVELS} levels"


class Lines(asyncio.Protocol):
    """Cuts what comes into lines and hands on those that hold JSON."""

    def __init__(
        self,
        take: Callable[[Any], None],
        ended: Callable[[str], None],
        *,
        garbage: Callable[[bytes], None] | None = None,
        ends_when_deep: bool = False,
    ) -> None:
        """`take`: gets each message; `ended`: is told why nothing more comes, once; `garbage`: gets what is none;
        `ends_when_deep`: what nests too deeply ends it all, since somebody waits for what stands there."""
        self._take = take
        self._ended = ended
        self._garbage = garbage
        self._ends_when_deep = ends_when_deep
        self._begun = bytearray()  # a line that has not ended
        self._bad = 0
        self._transport: asyncio.BaseTransport | None = None
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        first, *others = data.split(b"\n")
        self._begun += first
        if len(self._begun) > MOST_LINE:
            self._over(f"it sent a line of more than {MOST_LINE >> 20} MB")
            return
        if not others:
            return
        whole = [bytes(self._begun), *others[:-1]]
        self._begun = bytearray(others[-1])
        for line in whole:
            if self._is_over:
                return
            self._line(line)

    def _line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            found = _decoded(line)
        except (ValueError, RecursionError) as error:
            if self._ends_when_deep and isinstance(error, RecursionError):
                self._over(_TOO_DEEP)
                return
            self._bad += 1
            if self._garbage is not None:
                self._garbage(line)
            if self._bad >= MOST_GARBAGE:
                self._over(f"it sent {MOST_GARBAGE:,} lines that are no messages")
            return
        self._bad = 0
        self._take(found)

    def _over(self, why: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._begun = bytearray()
            if self._transport is not None:
                self._transport.close()
            self._ended(why)

    def connection_lost(self, _error: Exception | None) -> None:
        self._over("it has closed its output")


def _decoded(line: bytes) -> Any:
    """Raises ValueError, and RecursionError for what nests too deeply."""
    found = _decode(line.decode(json.detect_encoding(line), "surrogatepass"))
    if line.count(b"[") + line.count(b"{") > MOST_LEVELS and is_deeper(found, MOST_LEVELS):
        raise RecursionError
    return found


def is_deeper(data: Any, levels: int) -> bool:
    """Whether lists and objects stand within each other more often than this."""
    level = [data]
    for _ in range(levels + 1):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += each.values()
            elif isinstance(each, list):
                below += each
        if not below:
            return False
        level = below
    return any(isinstance(each, (dict, list)) for each in level)


class Writer:
    """Writes messages to a pipe, each as one line; waits while the other side does not read."""

    def __init__(self, transport: asyncio.WriteTransport, flow: Flow) -> None:
        self._transport = transport
        self._flow = flow

    async def write(self, message: Any) -> None:
        """Raises ConnectionError where nobody reads any more."""
        if self._transport.is_closing():
            raise ConnectionResetError
        self._transport.write(encoded(message))
        await self._flow.drained()

    def close(self) -> None:
        """What waits to be written still is."""
        self._transport.close()


class Flow(asyncio.Protocol):
    """Whether the pipe takes more."""

    def __init__(self) -> None:
        self._free = asyncio.Event()
        self._free.set()
        self._lost = False

    def pause_writing(self) -> None:
        self._free.clear()

    def resume_writing(self) -> None:
        self._free.set()

    def connection_lost(self, _error: Exception | None) -> None:
        self._lost = True
        self._free.set()

    async def drained(self) -> None:
        """Returns when it does. Raises ConnectionError where nobody reads any more."""
        if not self._free.is_set():
            await self._free.wait()
        if self._lost:
            raise ConnectionResetError


def encoded(message: Any) -> bytes:
    """A message as one line. Halves of characters, which no UTF-8 has, stand there as escapes; what is no number of
    JSON as null."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except ValueError:
        return json.dumps(_without_infinity(message), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _without_infinity(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _without_infinity(each) for name, each in data.items()}
    if isinstance(data, (list, tuple)):
        return [_without_infinity(each) for each in data]
    return None if isinstance(data, float) and data - data != 0.0 else data


# A key that is given twice is taken: what is handed on is made of what was read.
_decode = decoder(parse_constant=no_constant, parse_float=finite)


async def reading(descriptor: int, protocol: asyncio.Protocol) -> asyncio.BaseTransport:
    """Has the protocol hear what comes from a pipe, which it owns from now on."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb", 0))
    return transport


async def writing(descriptor: int) -> Writer:
    """What writes to a pipe, which it owns from now on."""
    loop = asyncio.get_running_loop()
    transport, flow = await loop.connect_write_pipe(Flow, os.fdopen(descriptor, "wb", 0))
    return Writer(transport, flow)
