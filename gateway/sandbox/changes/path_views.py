"""Where names lead as a call sees its files, which may not be what others see at the same place."""

from __future__ import annotations

import ctypes
import errno
import os
from stat import S_ISLNK
from weakref import finalize

_OPENAT2, _IN_ROOT, _TRIES = 437, 0x10, 1_000
_MOST_STEPS = 4_000
_OWN = ("/proc/self", "/proc/thread-self")


class Seen:
    """What the files of a call are to itself: links lead where they do inside, also those in folders that nobody else
    has. Its processes have one root."""

    def __init__(self, pid: int) -> None:
        self.reopened = ""  # the descriptor that the last way ended at
        self._root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        finalize(self, os.close, self._root)
        self._call = ctypes.CDLL(None, use_errno=True).syscall
        self._folder = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0, _IN_ROOT)
        self._name = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, 0, _IN_ROOT)

    def folder(self, path: str) -> str:
        """Where a folder really lies, "" for the first of all. Raises OSError where there is none."""
        descriptor = self._opened(path, self._folder)
        try:
            return os.readlink(f"/proc/self/fd/{descriptor}").rstrip("/")
        finally:
            os.close(descriptor)

    def way(self, pid: int, path: str) -> str:
        """A path with every link in it followed, also those that lead another way for each process: what a thread's
        own files, folder and root are. Slow; raises OSError where nobody can tell, and for a loop."""
        here = ""
        self.reopened = ""
        left = path.split("/")[::-1]
        for _ in range(_MOST_STEPS):
            if not left:
                return here
            name = left.pop()
            if name in ("", ".", ".."):
                here = here.rpartition("/")[0] if name == ".." else here
                continue
            self.reopened = ""
            if here.startswith("/proc/") and (name in ("cwd", "root", "exe") or here.endswith("/fd")):
                self.reopened = name if here.endswith("/fd") else ""
                here = _of(pid, here, name)
                continue
            here += f"/{name}"
            target = "" if here in _OWN else self.target(here)
            if target:
                here = "" if target.startswith("/") else here.rpartition("/")[0]
                left += target.split("/")[::-1]
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)

    def target(self, path: str) -> str:
        """What a link says where it leads, "" for what is no link."""
        try:
            descriptor = self._opened(path, self._name)
        except OSError:
            return ""
        try:
            return os.readlink("", dir_fd=descriptor) if S_ISLNK(os.fstat(descriptor).st_mode) else ""
        finally:
            os.close(descriptor)

    def _opened(self, path: str, how: ctypes.Array[ctypes.c_uint64]) -> int:
        name = ctypes.c_char_p(os.fsencode(path).lstrip(b"/") or b".")
        number = 0
        for _ in range(_TRIES):  # somebody may be renaming
            found: int = self._call(ctypes.c_long(_OPENAT2), ctypes.c_int(self._root), name, how, ctypes.c_size_t(24))
            if found >= 0:
                return found
            number = ctypes.get_errno()
            if number not in (errno.EAGAIN, errno.EINTR):
                break
        raise OSError(number, os.strerror(number), path)


def _of(pid: int, folder: str, name: str) -> str:
    """What a name in a folder of /proc stands for. Only a thread's own is known: those inside have other numbers."""
    process, _slash, rest = folder.removeprefix("/proc/").partition("/")
    if f"/proc/{process}" not in _OWN or rest not in ("", "fd"):
        raise OSError(errno.EXDEV, "it belongs to another process", f"{folder}/{name}")
    found = os.readlink(f"/proc/{pid}/{rest}/{name}" if rest else f"/proc/{pid}/{name}")
    return found.rstrip("/") if found.startswith("/") else f"/proc/{found}"
