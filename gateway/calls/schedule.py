"""The calls of one turn: neighbours that may run together do, every other one runs alone and in its place.

A call starts as soon as it is added and the calls before it let it. What one of them does, and whether it fails, takes
nothing from the others; results come in the order of the calls, and changes to the session are made when all have
ended.
"""

from __future__ import annotations

import threading

from gateway.calls.output import Crowded
from gateway.core.errors import GatewayError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import ThreadPoolExecutor
    from typing import Self

    from gateway.calls.output import Done
    from gateway.model.call import RawCall


class _Entry:
    """One call of the turn. `safe`: whether it may run beside others, None as long as nobody has looked."""

    __slots__ = ("done", "error", "index", "raw", "safe")

    def __init__(self, index: int, raw: RawCall) -> None:
        self.index = index
        self.raw = raw
        self.safe: bool | None = None
        self.done: Done | None = None
        self.error: BaseException | None = None


class Turn:
    """Calls that belong together; one use, and from any thread.

    with gateway.turn() as turn:
        for block in blocks:      # as they come
            turn.add(block)
        for done in turn.results():
            ...
    """

    def __init__(
        self,
        life: Callable[[int, RawCall, bool], Done],
        is_safe: Callable[[RawCall], bool],
        width: int,
        settled: Callable[[Done], Done],
        ended: Callable[[int], None] | None = None,
    ) -> None:
        """`life` leads a call through, beside others or alone; `is_safe` says which it may be; `width`: how many at a
        time; `settled` makes a call's change to the session; `ended` is told, on any thread, which call has ended."""
        self._life = life
        self._is_safe = is_safe
        self._width = width
        self._settled = settled
        self._ended = ended
        self._entries: list[_Entry] = []
        self._next = 0
        self._running = 0
        self._alone = False
        self._put_back: list[_Entry] = []
        self._closed = False
        self._has_settled = False
        self._changed = threading.Condition()
        self._pool: ThreadPoolExecutor | None = None

    def add(self, raw: RawCall) -> int:
        """Takes a call, starts it if it may start, and gives its place in the turn."""
        with self._changed:
            if self._closed:
                raise GatewayError("the turn has ended: no call can be added")
            entry = _Entry(len(self._entries), raw)
            self._entries.append(entry)
            try:
                self._advance()
            except BaseException:  # an interrupt: nobody would wait for a call that was never taken
                if self._next <= entry.index:
                    self._entries.pop()
                raise
            return entry.index

    def results(self) -> Iterator[Done]:
        """What became of each call, in their order, each as soon as it and those before it have ended. No call can be
        added any more."""
        with self._changed:
            self._closed = True
        self._wait()
        self._settle()
        for entry in self._entries:
            if entry.error is not None:
                raise entry.error
            assert entry.done is not None
            yield entry.done

    def result(self, index: int) -> Done | None:
        """What became of the call in this place, None as long as it has not ended. Changes to the session are not made
        yet."""
        with self._changed:
            entry = self._entries[index] if index < len(self._entries) else None
        if entry is None:
            return None
        if entry.error is not None:
            raise entry.error
        return entry.done

    def _advance(self) -> None:
        """Starts whatever may start. Called with the lock held."""
        while self._put_back or self._next < len(self._entries):
            if self._alone or self._running >= self._width:
                return
            if self._put_back:
                if self._running:
                    return
                self._start(self._put_back.pop(0), beside=False)
                continue
            entry = self._entries[self._next]
            if entry.safe is None:
                entry.safe = self._may_be_beside(entry.raw)
            if not entry.safe and self._running:
                return
            self._next += 1
            self._start(entry, beside=entry.safe)

    def _may_be_beside(self, raw: RawCall) -> bool:
        try:
            return self._is_safe(raw)
        except Exception:
            return False  # a fault: alone it takes nothing from the others

    def _start(self, entry: _Entry, *, beside: bool) -> None:
        self._running += 1
        self._alone = not beside
        try:
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor

                self._pool = ThreadPoolExecutor(self._width, "gateway-turn")
            self._pool.submit(self._run, entry, beside)
        except Exception as error:  # no thread left
            entry.error = error
            self._left(entry)

    def _run(self, entry: _Entry, beside: bool) -> None:
        with self._changed:
            if entry.error is not None:
                return  # it was given up
        back = False
        try:
            entry.done = self._life(entry.index, entry.raw, beside)
        except Crowded:
            back = True
        except BaseException as error:
            entry.error = error
        with self._changed:
            if back:
                self._put_back.append(entry)
            try:
                self._left(None if back else entry)
            finally:
                self._advance()

    def _left(self, entry: _Entry | None) -> None:
        """A call runs no more; None for one that is to run again. Called with the lock held."""
        self._running -= 1
        self._alone = False
        self._changed.notify_all()
        if entry is not None and self._ended is not None:
            self._ended(entry.index)

    def _wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: all(each.done is not None or each.error for each in self._entries))

    def _settle(self) -> None:
        """Makes the changes to the session, in the order of the calls, once all have ended."""
        if self._has_settled:
            return
        self._has_settled = True
        for entry in self._entries:
            if entry.done is not None:
                entry.done = self._settled(entry.done)

    def __len__(self) -> int:
        return len(self._entries)

    def close(self) -> None:
        """Waits for every call and makes the changes to the session. No call can be added any more."""
        with self._changed:
            self._closed = True
        self._wait()
        self._settle()
        if self._pool is not None:
            self._pool.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
