"""One HTTP request from a client to the host that was dialled, and its answer back.

Connections are kept where both sides would: each request on them is judged by itself.
"""

from __future__ import annotations

import asyncio
import contextlib

from gateway.core.value import Value
from gateway.sandbox.egress import http
from gateway.sandbox.egress.streams import StreamError, relay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.sandbox.egress.http import Request
    from gateway.sandbox.egress.streams import Stream

    Shown = Callable[[bytes], None]
    Made = Callable[[bytes], bytes]
    Told = Callable[[int, tuple[tuple[bytes, bytes], ...]], Shown | None]

HEAD_SECONDS = 30.0
IDLE_SECONDS = 60.0
DRAIN_SECONDS = 2.0
MAX_DRAINED = 1 << 20
MAX_LINE = 512
MAX_TRAILERS = 16384
MAX_MADE = 4 << 20


async def read_request(client: Stream) -> Request:
    """Raises http.HttpError, StreamError, TimeoutError."""
    async with asyncio.timeout(HEAD_SECONDS):
        return http.request_of(await client.until(b"\r\n\r\n", http.MAX_HEAD))


async def read_body(client: Stream, length: int, most: int) -> bytes:
    """The whole body of a request, of some bytes or in chunks (-1). Raises http.HttpError where it is longer than
    `most`, and StreamError, TimeoutError."""
    if length > most:
        raise http.HttpError(f"the body has more than {most:,} bytes")
    async with asyncio.timeout(HEAD_SECONDS):
        if length >= 0:
            return await client.exactly(length)
        found = bytearray()
        while size := http.chunk_size(await client.until(b"\n", MAX_LINE)):
            if len(found) + size > most:
                raise http.HttpError(f"the body has more than {most:,} bytes")
            found += await client.exactly(size)
            if await client.exactly(2) != b"\r\n":
                raise http.HttpError("a chunk is longer than it says")
        if await client.until(b"\n", MAX_LINE) != b"\r\n":
            raise http.HttpError("a body that is read has no trailers")
        return bytes(found)


async def refuse(client: Stream, status: int, phrase: str, body: str) -> None:
    """Answers for itself, in words, and says no more."""
    text = body.encode("ascii", "replace") + b"\n"
    phrase = "".join(each for each in phrase if " " <= each < "\x7f")[:200]
    with contextlib.suppress(OSError, TimeoutError):
        await client.send(
            f"HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(text)}\r\nConnection: close\r\nX-Gateway: refused\r\n\r\n".encode("ascii")
            + text
        )
        await client.pipe.finish()
        async with asyncio.timeout(DRAIN_SECONDS):
            await client.drain(MAX_DRAINED)


class Goes(Value):
    """Which connections may carry another request: the client's, and the server's."""

    client: bool
    server: bool


class Unanswered(Exception):
    """A connection that was kept had ended before the server said anything: the request may be sent once more."""


def keeps(request: Request) -> bool:
    """Whether the client goes on with its connection after the answer."""
    return request.version == b"HTTP/1.1" and not request.upgrade and b"close" not in _named(request.fields)


def repeats(request: Request) -> bool:
    """Whether a request can be sent a second time: it has no body, and changes nothing."""
    return request.method in (b"GET", b"HEAD", b"OPTIONS") and not request.length and not request.upgrade


def _named(fields: tuple[tuple[bytes, bytes], ...]) -> set[bytes]:
    """What a message says of its connection, in lower case."""
    return {each.strip().lower() for name, value in fields if name == b"connection" for each in value.split(b",")}


def request_head(request: Request, host: bytes, added: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """The head that the server gets: in origin form, for this connection only, with headers that were added outside
    instead of those the command wrote under the same names."""
    # Servers that turn headers into variables read `_` and `-` alike.
    replaced = {name.lower().replace(b"_", b"-") for name, _value in added}
    lines = [request.method + b" " + request.path + b" " + request.version, b"Host: " + host]
    named = _named(request.fields)
    for name, value in request.fields:
        if name in http.HOP or name == b"host" or name.replace(b"_", b"-") in replaced:
            continue
        if name in named and name not in (b"content-length", b"transfer-encoding"):
            continue
        lines.append(name + b": " + value)
    lines += [name + b": " + value for name, value in added]
    if request.upgrade:
        lines += [b"Connection: Upgrade", b"Upgrade: websocket"]
    elif not keeps(request):
        lines.append(b"Connection: close")
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def exchange(
    client: Stream,
    server: Stream,
    request: Request,
    head: bytes,
    *,
    used: bool = False,
    body: bytes | None = None,
    told: Told = lambda _status, _fields: None,
    made: Made | None = None,
) -> Goes:
    """Sends the request, its body included, and carries the answer back: which connections go on. `used`: the server's
    has carried one before; `body`: what is sent as the body, where it was read already; `told` gets the status and the
    fields of the answer, and says who is shown its body meanwhile; `made`: what the client gets of it. Raises
    http.HttpError or StreamError when either side breaks the protocol; then the connection must be cut; and Unanswered.
    """
    try:
        await server.send(head)
    except OSError as error:
        if used and repeats(request):
            raise Unanswered from error
        raise
    if not (request.length or body):
        return await _answer(client, server, request, None, told, made, used=used)  # nothing to carry both ways at once
    if request.expects and body is None:
        await client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    upload = asyncio.ensure_future(_upload(client, server, request, body))
    answer = asyncio.ensure_future(_answer(client, server, request, upload, told, made, used=used))
    try:
        await asyncio.wait((upload, answer), return_when=asyncio.FIRST_COMPLETED)
        if upload.done() and isinstance(upload.exception(), (http.HttpError, StreamError)):
            upload.result()  # what the client sent is broken: nobody may take it for a whole request
        # A server may answer, and close, before it has read everything.
        return await answer
    finally:
        for task in (upload, answer):
            task.cancel()
        await asyncio.gather(upload, answer, return_exceptions=True)


async def _upload(client: Stream, server: Stream, request: Request, body: bytes | None) -> bool:
    """Whether all of the body was read and sent."""
    try:
        if body is None:
            await copy_body(client, server, request.length)
        else:
            await server.send(body)
    except OSError:
        return False
    return True


def _is_whole(upload: asyncio.Future[bool] | None) -> bool:
    """Whether all of a request's body was sent; None: it has none."""
    if upload is None:
        return True
    return upload.done() and not upload.cancelled() and upload.exception() is None and upload.result()


async def _answer(
    client: Stream,
    server: Stream,
    request: Request,
    upload: asyncio.Future[bool] | None,
    told: Told,
    made: Made | None,
    *,
    used: bool,
) -> Goes:
    while True:
        try:
            text = await server.until(b"\r\n\r\n", http.MAX_HEAD)
        except (StreamError, OSError) as error:
            if used and repeats(request) and not server.seen():
                raise Unanswered from error
            if isinstance(error, OSError):
                raise
            raise http.HttpError("the server ended without an answer") from None
        status, head = http.response_of(text)
        if status == 101 and request.upgrade:
            await client.send(_response_head(head, b"Upgrade"))
            await relay(client, server)
            return Goes(client=False, server=False)
        if status == 101:
            raise http.HttpError("the server changes to another protocol without being asked")
        length = http.response_length(request.method, status, head)
        if status >= 200:
            break
        await client.send(_response_head(head, b""))
    shown = told(status, head.fields)
    # An answer that comes before all of the request was read may be the last that the server says.
    kept = keeps(request) and length is not None and _is_whole(upload)
    server_keeps = kept and head.start[0] == b"HTTP/1.1" and b"close" not in _named(head.fields)
    if made is not None and status == 200:
        await _send_made(client, head, await _whole(server, length), made)
        return Goes(client=False, server=server_keeps)
    # What has come of the body already goes with the head, in one piece.
    come = server.rest_of(length) if length is not None and length > 0 else b""
    await client.send(_response_head(head, b"" if kept else b"close") + come)
    if come:
        assert length is not None
        length -= len(come)
        if shown is not None:
            shown(come)
    await copy_body(server, client, length, shown)
    if not kept:
        await client.pipe.finish()
    return Goes(kept, server_keeps)


async def _whole(server: Stream, length: int | None) -> bytes:
    """The body of an answer that is read here. Raises http.HttpError and StreamError."""
    if length is not None:
        return await read_body(server, length, MAX_MADE)
    found = bytearray()
    while data := await server.some():
        found += data
        if len(found) > MAX_MADE:
            raise http.HttpError(f"the body has more than {MAX_MADE:,} bytes")
    return bytes(found)


async def _send_made(client: Stream, head: http.Head, body: bytes, made: Made) -> None:
    """The answer with what is made of its body, and the end. Raises http.HttpError."""
    try:
        body = made(body)
    except ValueError as error:
        raise http.HttpError(f"the answer is not read: {error}") from None
    dropped = (b"content-length", b"transfer-encoding", b"content-encoding", b"etag")
    fields = tuple(each for each in head.fields if each[0] not in dropped)
    fields += ((b"content-length", b"%d" % len(body)),)
    await client.send(_response_head(head.replace(fields=fields), b"close") + body)
    await client.pipe.finish()


def _response_head(head: http.Head, connection: bytes) -> bytes:
    version, status, phrase = head.start
    lines = [version + b" " + status + b" " + phrase]
    dropped = (b"connection", b"keep-alive", b"proxy-connection")
    lines += [name + b": " + value for name, value in head.fields if name not in dropped]
    if connection:
        lines.append(b"Connection: " + connection)
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def copy_body(source: Stream, target: Stream, length: int | None, shown: Shown | None = None) -> None:
    """A body of some bytes, in chunks (-1), or up to the end of the connection (None); `shown` gets what it holds.
    Raises http.HttpError and StreamError when it is not whole."""
    if length is None:
        while data := await source.some():
            if shown is not None:
                shown(data)
            await target.send(data)
        return
    if length >= 0:
        await _copy(source, target, length, shown)
        return
    while size := http.chunk_size(await source.until(b"\n", MAX_LINE)):
        await target.send(f"{size:x}\r\n".encode("ascii"))
        await _copy(source, target, size, shown)
        if await source.exactly(2) != b"\r\n":
            raise http.HttpError("a chunk is longer than it says")
        await target.send(b"\r\n")
    most = MAX_TRAILERS
    while (line := await source.until(b"\n", most)) != b"\r\n":  # trailers are dropped
        most -= len(line)
        if not line.endswith(b"\r\n") or most <= 0:
            raise http.HttpError("the trailers are broken")
    await target.send(b"0\r\n\r\n")


async def _copy(source: Stream, target: Stream, length: int, shown: Shown | None) -> None:
    while length:
        data = await source.some(min(length, 65536))
        if not data:
            raise StreamError("the connection ended within a body")
        length -= len(data)
        if shown is not None:
            shown(data)
        await target.send(data)
