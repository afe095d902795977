"""What a session has read: which version of which file, and which parts of it.

A version is known by its stamp (inode, size and times) and, where it was computed, by the digest of its content. A
stamp alone counts only if the file had been at rest for a while when it was read: a change within one step of the
file system's clock would leave no trace in the times.
"""

from __future__ import annotations

import threading
from _blake2 import blake2b
from array import array
from time import time_ns

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable

REST_NS = 2_000_000_000
MOST_MARKED = 64
MOST_PARTS = 256


class Stamp(Value):
    """What changes when anything is done to a file. It is the same for whoever looks through layers that do not change
    it, which have a device of their own: no other file has its inode together with its times."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class Seen(Value):
    """One version of a file. `digest`: "" where the stamp tells enough. `parts`: which parts of this version were
    shown. `when_ns`: when it was read. `changed_ns`: the time of its last change."""

    stamp: Stamp
    digest: str
    when_ns: int
    parts: frozenset[tuple[object, ...]] = frozenset()

    @property
    def is_at_rest(self) -> bool:
        """Whether the file had not changed for a while, so that its stamp alone tells this version."""
        return self.when_ns - max(self.stamp.mtime_ns, self.stamp.ctime_ns) > REST_NS


class Marks:
    """How many lines end before each step of a file, as far as it was looked at: `ends[i]` line ends stand in the first
    `i` steps. `total`: the number of lines once the end was seen, else -1."""

    __slots__ = ("ends", "lock", "total")

    def __init__(self) -> None:
        self.ends = array("Q", (0,))
        self.total = -1
        self.lock = threading.Lock()


def stamp_of(found: os.stat_result) -> Stamp:
    """The stamp of a file."""
    return Stamp(found.st_ino, size=found.st_size, mtime_ns=found.st_mtime_ns, ctime_ns=found.st_ctime_ns)


def digest_of(data: bytes) -> str:
    """The digest of a content."""
    return blake2b(data, digest_size=24).hexdigest()


class Reads:
    """A session's memory of its reads. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, Seen] = {}
        self._marks: dict[tuple[str, Stamp], Marks] = {}

    def seen(self, real: str) -> Seen | None:
        """The version that was last read or written, None if none was."""
        with self._lock:
            return self._seen.get(real)

    def note(self, real: str, stamp: Stamp, digest: str, part: tuple[object, ...] | None = None) -> None:
        """Remembers that this version was read, and that a part of it was shown; or that we wrote it."""
        with self._lock:
            before = self._seen.get(real)
            same = before is not None and (
                before.digest == digest if before.digest and digest else before.stamp == stamp and before.is_at_rest
            )
            parts = before.parts if before is not None and same and len(before.parts) < MOST_PARTS else frozenset()
            self._seen[real] = Seen(stamp, digest, time_ns(), parts if part is None else parts | {part})

    def forget(self, real: str) -> None:
        """As if it had never been read."""
        with self._lock:
            self._seen.pop(real, None)

    def forget_all(self) -> None:
        """As if nothing had ever been read: what was shown is there no more."""
        with self._lock:
            self._seen.clear()

    def is_present(self, real: str, stamp: Stamp, digest: Callable[[], str]) -> bool:
        """Whether the version with this stamp is the one that was last read. `digest` is asked only where the stamp
        does not tell."""
        seen = self.seen(real)
        if seen is None:
            return False
        if seen.stamp == stamp and seen.is_at_rest:
            return True
        return bool(seen.digest) and seen.stamp.size == stamp.size and seen.digest == digest()

    def marks(self, real: str, stamp: Stamp) -> Marks:
        """Where lines stand in this version of a file: kept for the most recent few."""
        with self._lock:
            found = self._marks.pop((real, stamp), None) or Marks()
            self._marks[real, stamp] = found
            while len(self._marks) > MOST_MARKED:
                del self._marks[next(iter(self._marks))]
            return found
