"""Changes of names in folders, as Linux reports them by inotify: whoever makes them and through whatever mount."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

from gateway.core.value import Value

ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x4, 0x8, 0x40, 0x80, 0x100, 0x200
DELETE_SELF, MOVE_SELF, OVERFLOW, IGNORED, IS_FOLDER = 0x400, 0x800, 0x4000, 0x8000, 0x40000000
NAMES = ATTRIB | MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF
_ONLY_FOLDERS, _NO_LINKS, _EXCLUDE_UNLINKED = 0x01000000, 0x02000000, 0x04000000
_HOW = _ONLY_FOLDERS | _NO_LINKS | _EXCLUDE_UNLINKED
_HEAD = struct.Struct("iIII")
_SPACE = 1 << 18
# File systems on which every change by anybody is told: all changes go through this very kernel, and through inodes of
# the file system's own. ext, xfs, btrfs, memory, f2fs, zfs, bcachefs.
_TELLING = frozenset((0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010, 0x2FC12FC1, 0xCA451A4E))


class Event(Value):
    """`number`: of the folder that is watched; `name`: in it, "" for the folder itself."""

    number: int
    what: int
    name: str


class Inotify:
    """One instance. Raises OSError where the system has none, or has no more."""

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "this system does not tell of changes")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def add(self, folder: str, *, contents: bool = False) -> int:
        """Watches a folder from now on, with `contents` also what is written to files in it: its number, the same for
        the same folder under any name. Raises OSError."""
        what = NAMES | _HOW | (CLOSE_WRITE if contents else 0)
        number: int = self._libc.inotify_add_watch(
            self.descriptor, ctypes.c_char_p(os.fsencode(folder)), ctypes.c_uint32(what)
        )
        if number < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), folder)
        return number

    def remove(self, number: int) -> None:
        """Watches it no longer."""
        self._libc.inotify_rm_watch(self.descriptor, ctypes.c_int(number))

    def read(self) -> list[Event]:
        """What has happened since the last time, in order."""
        found: list[Event] = []
        while True:
            try:
                data = os.read(self.descriptor, _SPACE)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                number, what, _cookie, size = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                name = data[at : at + size].rstrip(b"\0")
                found.append(Event(number, what, os.fsdecode(name)))
                at += size

    def tells(self, folder: str) -> bool:
        """Whether the file system of a folder is one on which every change is told."""
        space = ctypes.create_string_buffer(256)
        if self._libc.statfs(ctypes.c_char_p(os.fsencode(folder)), space) != 0:
            return False
        return int.from_bytes(space.raw[: ctypes.sizeof(ctypes.c_long)], sys.byteorder) in _TELLING

    def close(self) -> None:
        """Watches nothing any more."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
