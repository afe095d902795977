"""Servers elsewhere: requests over HTTP, only to where policy let them go, bounded, and with no header but our own.

The host is resolved for each connection, every address is looked at, and exactly that one is connected to. No proxy and
no password file of the environment is used, and nothing that a client sent to us is handed on.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager

from gateway.calls.outgoing import CONNECT_SECONDS, RequestError, addresses, filled
from gateway.core.errors import GatewayError
from gateway.tools.paths import UnclearError
from gateway.tools.urls import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from typing import Any

    from gateway.tools.urls import Url

    Part = Mapping[str, str]

MOST_ANSWER = 16 << 20


def header_values(
    headers: Mapping[str, Sequence[Part]], environment: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The headers that a server is sent, and the secrets in them. Raises RequestError where a variable is not set."""
    found: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    for name, parts in headers.items():
        try:
            found[name], more = filled(parts, environment)
        except RequestError as error:
            raise RequestError(f"the header `{name}` cannot be sent: {error}") from error
        secrets += more
    return found, secrets


@asynccontextmanager
async def over_http(
    url: str, headers: Mapping[str, str], seconds: float, failed: list[str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Streams of messages to a server at an address that a person named, so that it may be a private one. `failed`
    holds why it could not be reached, while that is so."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    try:
        where = parse(url)
    except UnclearError as error:
        raise GatewayError(f"the address {error.must}") from error
    # An answer may take as long as the call: only a connection that says nothing for that long is given up.
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=seconds)
    client = httpx2.AsyncClient(
        transport=_transport(where, failed),
        headers=dict(headers),
        timeout=timeout,
        trust_env=False,
        follow_redirects=False,
    )
    async with client, streamable_http_client(url, http_client=client, max_sse_event_size=MOST_ANSWER) as streams:
        yield streams


def _transport(where: Url, failed: list[str]) -> Any:
    import asyncio
    import ssl

    import httpx2

    secure = where.text.startswith("https:")
    inner = httpx2.AsyncHTTPTransport(verify=ssl.create_default_context() if secure else False, trust_env=False)
    shown = f"[{where.host}]" if ":" in where.host else where.host
    authority = shown if where.port == (443 if secure else 80) else f"{shown}:{where.port}"
    scheme = "https" if secure else "http"

    class Bounded(httpx2.AsyncByteStream):
        """An answer of which no more is read than it may have. A stream of events has its own bound, for each."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MOST_ANSWER
            async for chunk in self._stream:
                left -= len(chunk)
                if left < 0:
                    raise httpx2.ReadError(f"it sent an answer of more than {MOST_ANSWER >> 20} MB")
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    class Transport(httpx2.AsyncBaseTransport):
        """Connects to the one host that was judged, by its addresses."""

        async def handle_async_request(self, request: Any) -> Any:
            there = request.url
            if (there.scheme, there.host, there.port or (443 if secure else 80)) != (scheme, where.host, where.port):
                raise httpx2.UnsupportedProtocol("the server led elsewhere, which is not followed")
            try:
                found = await asyncio.get_running_loop().run_in_executor(None, addresses, where, True)
            except RequestError as error:
                failed[:] = [str(error)]
                raise httpx2.ConnectError(str(error)) from error
            headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _OURS]
            headers += [(b"Host", authority.encode()), (b"Accept-Encoding", b"identity")]
            extensions = {**request.extensions, "sni_hostname": where.host}
            problem: Exception = httpx2.ConnectError(f"{authority} has no address")
            for address in found:
                made = httpx2.Request(
                    request.method, there.copy_with(host=address), headers=headers, stream=request.stream,
                    extensions=extensions,
                )  # fmt: skip
                try:
                    response = await inner.handle_async_request(made)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    problem = error
                    continue
                failed.clear()
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind != "text/event-stream":
                    response.stream = Bounded(response.stream)
                return response
            failed[:] = [f"{authority} cannot be reached ({_why(problem)})"]
            raise problem

        async def aclose(self) -> None:
            await inner.aclose()

    return Transport()


def _why(error: BaseException) -> str:
    """What the system says of a connection that could not be made, however deep it lies."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno and cause.errno > 0:
            return os.strerror(cause.errno)
        cause = cause.__cause__ or cause.__context__
    return str(error) or f"it did not answer within {CONNECT_SECONDS:g} seconds"


_OURS = (b"host", b"accept-encoding", b"cookie")
