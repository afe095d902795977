"""Which of a session's calls may run concurrently: read-only ones together, every other one alone, in the order in
which they came."""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """The calls of one session. Lives on one event loop."""

    def __init__(self) -> None:
        self._together = 0
        self._is_alone = False
        self._waiting: deque[tuple[bool, asyncio.Future[None]]] = deque()

    async def enter(self, alone: bool) -> None:
        """Returns when the call may run. Raises nothing but what cancels the task."""
        if not self._waiting and self._is_free(alone):
            self._take(alone)
            return
        mine = (alone, asyncio.get_running_loop().create_future())
        self._waiting.append(mine)
        try:
            await mine[1]
        except asyncio.CancelledError:
            if mine in self._waiting:
                self._waiting.remove(mine)
            elif mine[1].done() and not mine[1].cancelled():
                self.leave(alone)
            self._next()
            raise

    def leave(self, alone: bool) -> None:
        """The call has ended."""
        if alone:
            self._is_alone = False
        else:
            self._together -= 1
        self._next()

    def _is_free(self, alone: bool) -> bool:
        return not self._is_alone and (not alone or self._together == 0)

    def _take(self, alone: bool) -> None:
        if alone:
            self._is_alone = True
        else:
            self._together += 1

    def _next(self) -> None:
        while self._waiting and self._is_free(self._waiting[0][0]):
            alone, ready = self._waiting.popleft()
            if not ready.done():
                self._take(alone)
                ready.set_result(None)


class Turn:
    """The place of one call. It may be given up for a while and taken again."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._alone: bool | None = None
        self._has = False

    async def enter(self, alone: bool) -> None:
        """Returns when the call may run."""
        await self._turns.enter(alone)
        self._alone, self._has = alone, True

    def pause(self) -> None:
        """Others may run meanwhile."""
        if self._has and self._alone is not None:
            self._has = False
            self._turns.leave(self._alone)

    async def again(self) -> None:
        """Returns when the call may go on."""
        if not self._has and self._alone is not None:
            await self.enter(self._alone)

    def leave(self) -> None:
        """The call has ended."""
        self.pause()
