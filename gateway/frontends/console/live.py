"""The record as it grows, for any number of pages: one look at the files for all of them, and no page can make anybody
wait. A page that does not keep up is told to look anew (`resync`)."""

from __future__ import annotations

import asyncio
import os

from gateway.audit import files
from gateway.audit.reading import Moment, added_since
from gateway.core.errors import AuditError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Event = tuple[str, Any]

PAUSE = 0.1  # between two looks, in seconds
MOST_QUEUED = 64  # events of a page that does not read
MOST_AT_ONCE = 50  # records in one event; of more only the number is told
RESYNC: Event = ("resync", None)


class Listener:
    """One page. `answers`: whether it may answer questions."""

    def __init__(self, *, answers: bool) -> None:
        self.answers = answers
        self._queue: asyncio.Queue[Event] = asyncio.Queue(MOST_QUEUED)

    def tell(self, event: Event) -> None:
        """Hands on an event; never waits."""
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            while not self._queue.empty():
                self._queue.get_nowait()
            self._queue.put_nowait(RESYNC)

    async def next(self, seconds: float) -> Event | None:
        """The next event; None where none came in that time."""
        try:
            return await asyncio.wait_for(self._queue.get(), seconds)
        except TimeoutError:
            return None


class Live:
    """What pages listen to."""

    def __init__(self, folder: str) -> None:
        """`folder`: that of the record."""
        self._folder = folder
        self._listeners: set[Listener] = set()
        self._at = (0, 0)
        self._stamp: tuple[int, int] = (0, 0)

    def add(self, listener: Listener) -> None:
        """A page that opened."""
        if not self._listeners:
            self._skip()
        self._listeners.add(listener)

    def remove(self, listener: Listener) -> None:
        """A page that closed."""
        self._listeners.discard(listener)

    def answering(self) -> int:
        """How many pages are open that may answer."""
        return sum(each.answers for each in self._listeners)

    def count(self) -> int:
        """How many pages listen."""
        return len(self._listeners)

    def tell(self, name: str, data: Any = None) -> None:
        """Tells every page of something."""
        for each in self._listeners:
            each.tell((name, data))

    async def watch(self) -> None:
        """Looks at the record until it is cancelled."""
        while True:
            await asyncio.sleep(PAUSE)
            if not self._listeners:
                continue
            stamp = _stamp(self._folder)
            if stamp == self._stamp:
                continue
            try:
                records, self._at = await asyncio.to_thread(added_since, self._folder, self._at)
            except (AuditError, OSError):
                continue  # it is looked at again; pages that open say what is wrong
            self._stamp = stamp
            if records:
                self.tell("records", {"missed": max(len(records) - MOST_AT_ONCE, 0), "of": records[-MOST_AT_ONCE:]})

    def _skip(self) -> None:
        """Goes on from the end of what is there: pages read that by themselves."""
        try:
            with Moment(self._folder) as moment:
                self._at = (moment.parts[-1].segment, moment.parts[-1].size) if moment.parts else (0, 0)
        except AuditError:
            self._at = (0, 0)
        self._stamp = self._at


def _stamp(folder: str) -> tuple[int, int]:
    """The last file of the record and its size: another one as soon as something was written."""
    try:
        number = max(files.segments(folder), default=0)
        return number, os.stat(os.path.join(folder, files.name_of(number))).st_size if number else 0
    except OSError:
        return 0, 0
