"""Which folders have changed since the last look, as the kernel reports it, without asking each of them.

Held by a session: its first look at a tree pays for the watches, those after it only for what has changed. Where the
kernel has no more watches, or the file system does not tell everything, the folder is asked for its stamp as before.
"""

from __future__ import annotations

import os
from threading import RLock
from weakref import WeakSet, finalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from gateway.sandbox import inotify

    class Follower(Protocol):
        """Who is told."""

        def concerns(self, folder: str, name: str) -> bool:
            """Whether a name in a folder that came or went may matter."""

        def changed(self, folder: str) -> None:
            """A folder must be looked at again."""

        def lost(self) -> None:
            """Nobody knows what has changed: everything must be looked at again."""


MOST = 60_000  # folders: the same user's editors want some, too


class ChangedFolders:
    """Watches over folders, for any number of followers. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._owner = os.getpid()
        self._source: inotify.Inotify | None = None
        self._refused = False
        self._folders: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._below: dict[str, set[str]] = {}
        self._telling: dict[int, bool] = {}
        self._followers: WeakSet[Follower] = WeakSet()
        self._listeners: list[Callable[[str, str, bool], None]] = []
        self.unwatched = False  # whether the kernel had no watch left for some folder

    @property
    def descriptor(self) -> int:
        """Readable when something has happened; -1 where nothing is watched."""
        with self._lock:
            return self._source.descriptor if self._source is not None and self._is_ours() else -1

    def follow(self, follower: Follower) -> None:
        """Tells somebody of changes in every folder that is watched."""
        with self._lock:
            self._followers.add(follower)

    def listen(self, listener: Callable[[str, str, bool], None]) -> None:
        """Has every name that comes, goes or is replaced told, with its folder, while it is read; whether that concerns
        some follower comes last."""
        with self._lock:
            self._listeners.append(listener)

    def ignore(self, listener: Callable[[str, str, bool], None]) -> None:
        """Ends `listen`."""
        with self._lock:
            self._listeners.remove(listener)

    def watch(self, folder: str, *, contents: bool = False) -> bool:
        """Whether a change in a folder will be told from now on. `contents`: also of files in it."""
        with self._lock:
            source = self._opened()
            if source is None:
                return False
            try:
                if not self._tells(source, folder):
                    return False
                if len(self._folders) >= MOST and folder not in self._numbers:
                    self.unwatched = True
                    return False
                number = source.add(folder, contents=contents)
            except OSError as error:
                self.unwatched |= error.errno == 28  # no watch is left
                return False
            self._forget(self._folders.get(number, ""))
            self._forget(folder)
            self._folders[number], self._numbers[folder] = folder, number
            self._below.setdefault(folder.rpartition("/")[0], set()).add(folder)
            return True

    def read(self) -> None:
        """Takes in what has happened, and tells it."""
        with self._lock:
            if self._source is None or not self._is_ours():
                return
            for event in self._source.read():
                self._take(event)

    def close(self) -> None:
        """Ends all watches."""
        with self._lock:
            if self._source is not None:
                self._source.close()
            self._source = None
            self._folders, self._numbers, self._below = {}, {}, {}

    def _is_ours(self) -> bool:
        return self._owner == os.getpid()

    def _opened(self) -> inotify.Inotify | None:
        if not self._is_ours():  # after a fork: what the other process takes in is not told here
            return None
        if self._source is None and not self._refused:
            from gateway.sandbox import inotify  # a call that changes nothing needs none

            try:
                self._source = inotify.Inotify()
                finalize(self, _end, self._source, self._owner)
            except OSError:
                self._refused = True
        return self._source

    def _tells(self, source: inotify.Inotify, folder: str) -> bool:
        device = os.lstat(folder).st_dev
        if device not in self._telling:
            self._telling[device] = source.tells(folder)
        return self._telling[device]

    def _take(self, event: inotify.Event) -> None:
        from gateway.sandbox import inotify

        what = event.what
        if what & inotify.OVERFLOW:
            for follower in self._followers:
                follower.lost()
            for listener in list(self._listeners):
                listener("", "", True)
            return
        folder = self._folders.get(event.number, "")
        if not folder:
            return
        if what & inotify.IGNORED:
            self._forget(folder)
        if not event.name:
            for follower in self._followers:
                follower.changed(folder)
            for listener in list(self._listeners):
                listener(folder, "", True)
            return
        if what & inotify.IS_FOLDER and what & inotify.MOVED_FROM:
            self._unwatch(f"{folder.rstrip('/')}/{event.name}")
        concerned = False
        for follower in self._followers:
            if what & inotify.IS_FOLDER or follower.concerns(folder, event.name):
                follower.changed(folder)
                concerned = True
        for listener in list(self._listeners):
            listener(folder, event.name, concerned)

    def _unwatch(self, folder: str) -> None:
        """A folder lies elsewhere by now, with all that is in it."""
        pending = [folder]
        while pending:
            each = pending.pop()
            pending += self._below.get(each, ())
            number = self._numbers.get(each)
            if number is not None:
                self._forget(each)
                if self._source is not None:
                    self._source.remove(number)
            for follower in self._followers:
                follower.changed(each)

    def _forget(self, folder: str) -> None:
        number = self._numbers.pop(folder, None)
        if number is None:
            return
        self._folders.pop(number, None)
        above = folder.rpartition("/")[0]
        beside = self._below.get(above)
        if beside is not None:
            beside.discard(folder)
            if not beside:
                del self._below[above]


def _end(source: inotify.Inotify, owner: int) -> None:
    if owner == os.getpid():
        source.close()
