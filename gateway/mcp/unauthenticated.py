"""Limits on HTTP connections that have not shown a token yet: how many at a time, and for how long."""

from __future__ import annotations

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_STRANGERS = 64
# How long one may take to send the first whole request.
REQUEST_SECONDS = 10.0


class Strangers:
    """Lives on one event loop. Of more than may be there at a time the one that came first goes, so that those who take
    their time keep nobody out."""

    def __init__(self, most: int = MOST_STRANGERS, seconds: float = REQUEST_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        # By the address that they come from, in the order in which they came.
        self._there: dict[Any, tuple[asyncio.Transport, asyncio.TimerHandle]] = {}

    def __len__(self) -> int:
        return len(self._there)

    def came(self, address: Any, transport: asyncio.Transport) -> None:
        """A connection was opened."""
        while len(self._there) >= self._most:
            self._end(next(iter(self._there)))
        timer = asyncio.get_running_loop().call_later(self._seconds, self._end, address)
        self._there[address] = transport, timer

    def known(self, address: Any) -> None:
        """A request with a token has come over it."""
        found = self._there.pop(address, None)
        if found is not None:
            found[1].cancel()

    def gone(self, address: Any, transport: asyncio.Transport | None) -> None:
        """It was closed."""
        found = self._there.get(address)
        if found is not None and found[0] is transport:
            self.known(address)

    def _end(self, address: Any) -> None:
        found = self._there.pop(address, None)
        if found is not None:
            found[1].cancel()
            found[0].abort()


def protocol_for(strangers: Strangers) -> type[asyncio.Protocol]:
    """What uvicorn speaks on a connection, with whoever comes and goes told."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Watched(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            strangers.came(self.client, transport)

        def connection_lost(self, exc: Exception | None) -> None:
            strangers.gone(self.client, self.transport)
            super().connection_lost(exc)

    return Watched
