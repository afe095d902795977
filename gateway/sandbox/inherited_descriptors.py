"""File descriptors of the caller that a command inherits.

Whoever holds a descriptor of a file can open that file again by its place in /proc, for writing although it was given
to be read, or to read what it was given to add to. So a regular file is never handed over: its bytes go through a pipe.
What a command sets of a descriptor, above all that it does not block, holds for everybody who has it. So pipes and
devices are opened anew; sockets cannot be, and get their flags back.
"""

from __future__ import annotations

import fcntl
import os
import stat
from sys import byteorder

_KEPT = os.O_ACCMODE | os.O_APPEND


def is_regular(descriptor: int) -> bool:
    """Whether it is a regular file. Raises OSError when it is closed."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


class HandedOver:
    """Those that a command gets itself. `close` as soon as it has them, `restore` when it has ended."""

    def __init__(self) -> None:
        self._opened: list[int] = []
        self._flags: list[tuple[int, int]] = []

    def add(self, descriptor: int) -> int:
        """What to give instead of a descriptor that is no regular file: the same thing opened anew, where it lets
        itself be opened, else itself."""
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        try:
            # Whatever it is, opening it must not wait for somebody at the other end.
            fresh = os.open(f"/proc/self/fd/{descriptor}", flags & _KEPT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            self._flags.append((descriptor, flags))
            return descriptor
        self._opened.append(fresh)
        fcntl.fcntl(fresh, fcntl.F_SETFL, flags)
        return fresh

    def close(self) -> None:
        """The command has its own by now."""
        while self._opened:
            os.close(self._opened.pop())

    def restore(self) -> None:
        """What could only be shared is as it was."""
        while self._flags:
            descriptor, flags = self._flags.pop()
            if fcntl.fcntl(descriptor, fcntl.F_GETFL) != flags:
                fcntl.fcntl(descriptor, fcntl.F_SETFL, flags)


class FileRead:
    """A regular file that a command reads through a pipe. Where it stands for its other users is where the command came
    to: `pipe` is the command's end, which stays open until `close`."""

    def __init__(self, descriptor: int, pipe: int) -> None:
        self._descriptor = descriptor
        self._pipe = pipe
        self._start = self._at = os.lseek(descriptor, 0, os.SEEK_CUR)

    def more(self, most: int) -> bytes:
        """The next bytes, empty at its end."""
        found = os.pread(self._descriptor, most, self._at)
        self._at += len(found)
        return found

    def close(self, unwritten: int) -> None:
        """The command has ended. `unwritten`: bytes that never came to the pipe."""
        from termios import FIONREAD  # lazy: few commands read a file through a pipe

        unread = int.from_bytes(fcntl.ioctl(self._pipe, FIONREAD, bytes(4)), byteorder)
        os.lseek(self._descriptor, self._at - unwritten - unread, os.SEEK_SET)
        os.close(self._pipe)


class Copy:
    """Where captured output is handed on to as it comes. `most`: bytes that a regular file may get, 0 without bound.
    `problem`: why it takes no more, "" while it does; `stops`: which ends the command; `is_over`: it was too much.
    `is_gone`: whoever read it has gone."""

    def __init__(self, descriptor: int, most: int) -> None:
        self._descriptor = descriptor
        self._left = most if most and is_regular(descriptor) else -1
        self.problem = ""
        self.stops = self.is_over = self.is_gone = False

    def write(self, data: bytes) -> bool:
        """Hands it on. False when the command should not go on: what it writes can be kept no more. A reader that has
        gone is no reason for that."""
        if self.problem:
            return True  # it has been told
        if 0 <= self._left < len(data):
            self.problem, self.is_over, self.stops = "its output is larger than a file may be", True, True
        view = memoryview(data)[: self._left] if self.is_over else memoryview(data)
        self._left -= len(view) if self._left >= 0 else 0
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except BrokenPipeError:
            self.problem, self.is_gone = "nobody reads its output", True
        except OSError as error:
            self.problem, self.stops = f"its output cannot be written: {error.strerror}", True
        return not self.stops
