"""What a command prints while it runs: the whole in a file, within a bound, and its latest part in memory.

Anybody may look at it at any time, each from where he last stopped.
"""

from __future__ import annotations

import os
import select
import threading
from time import monotonic

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.core.cancel import Cancel

KEPT = 1 << 20
MOST_ON_DISK = 256 << 20
SPILL = 30_000


class Since(Value):
    """What was printed since a look. `position`: of the next look; `missed`: bytes that came between and are only in
    the file by now; `ended`: nothing more will come."""

    data: bytes
    position: int
    missed: int
    ended: bool


class Transcript:
    """Both streams of one command, in the order in which they came. Safe to use from several threads."""

    def __init__(self, path: str, *, at_once: bool, kept: int = KEPT, on_disk: int = MOST_ON_DISK) -> None:
        """`path`: of the file, which must not be there. `at_once`: it is written from the first byte; else only when
        there is more than is quickly shown."""
        self.path = path
        self.total = 0
        self.problem = ""  # why the file does not hold the whole
        self.ended = False
        self.on_disk = False
        self._kept = kept
        self._left = on_disk
        self._spill = 0 if at_once else SPILL
        self._latest = bytearray()
        self._file = -1
        self._lock = threading.Lock()
        self._bells: set[int] = set()
        if at_once:
            with self._lock:
                self._open()

    def add(self, data: bytes) -> None:
        """What the command has just printed. Never raises: a full disk does not stop the command."""
        with self._lock:
            if self.ended:
                return
            self.total += len(data)
            self._latest += data
            if self._file < 0 and not self.problem and self.total > self._spill:
                self._open()
                self._write(bytes(self._latest))
            elif self._file >= 0:
                self._write(data)
            if len(self._latest) > 2 * self._kept:
                del self._latest[: -self._kept]
            self._ring()

    def end(self) -> None:
        """Nothing more will come."""
        with self._lock:
            self.ended = True
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
            self._ring()

    def whole(self) -> bytes:
        """All that is kept in the file, when nothing more will come. Raises OSError."""
        with os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            return file.read()

    def since(self, position: int) -> Since:
        """What came after a position; 0 is the beginning."""
        with self._lock:
            first = self.total - len(self._latest)
            start = max(position, first)
            return Since(bytes(self._latest[start - first :]), self.total, start - position, self.ended)

    def wait(self, position: int, deadline: float, cancel: Cancel | None = None) -> bool:
        """Until there is something after a position, or nothing more will come, or the time of the monotonic clock has
        come, or it is cancelled: whether there is anything new."""
        hears, bell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK) if hasattr(os, "pipe2") else os.pipe()
        try:
            with self._lock:
                if self.total > position or self.ended:
                    return True
                self._bells.add(bell)
            poll = select.poll()
            poll.register(hears, select.POLLIN)
            if cancel is not None and cancel.fileno() >= 0:
                poll.register(cancel.fileno(), select.POLLIN)
            poll.poll(max(0.0, deadline - monotonic()) * 1000)
            with self._lock:
                return self.total > position or self.ended
        finally:
            with self._lock:
                self._bells.discard(bell)
            os.close(hears)
            os.close(bell)

    def _ring(self) -> None:
        while self._bells:
            os.write(self._bells.pop(), b"x")

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._file = os.open(self.path, flags, 0o600)
            self.on_disk = True
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror}"

    def _write(self, data: bytes) -> None:
        if self.problem or self._file < 0:
            return
        view = memoryview(data)[: self._left]
        if len(view) < len(data):
            self.problem = "there is more than a file may hold"
        self._left -= len(view)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror}"
