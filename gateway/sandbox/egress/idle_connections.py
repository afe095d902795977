"""Connections to hosts that no client of a call uses now."""

from __future__ import annotations

import time
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from gateway.commands.steering.cluster_logins import Access
    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.streams import Stream

    To = tuple[Host, int, bool, Access | None]  # host, port, whether TLS, and who has logged in on it
    Open = tuple[To, Stream, socket.socket]

SPARE_SECONDS = 10.0
MOST_SPARE = 8


class Spare:
    """Connections of one call that carry no request now. A client that connects anew has the call pay for one handshake
    more, its own, and not for two. Each was whole when it was put here: its last answer had been read to the end."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._idle: deque[tuple[float, Open]] = deque()
        self._closed = False

    def put(self, found: Open) -> None:
        """Keeps one, in the place of the oldest where there are many."""
        if self._closed:
            found[2].close()
            return
        self._idle.append((self._now(), found))
        while len(self._idle) > MOST_SPARE or self._idle[0][0] < self._now() - SPARE_SECONDS:
            self._idle.popleft()[1][2].close()

    def take(self, to: To) -> Open | None:
        """One that leads to a place, the one used last."""
        for each in reversed(self._idle):
            if each[1][0] == to and each[0] >= self._now() - SPARE_SECONDS:
                self._idle.remove(each)
                return each[1]
        return None

    def close(self) -> None:
        """Ends all, and whatever is put here from now on."""
        self._closed = True
        while self._idle:
            self._idle.pop()[1][2].close()
