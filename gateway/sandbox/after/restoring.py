"""Tells what was there before a call from what the call has made, and restores it from what is taken away.

A call may give an old folder a protected name, or put one into something new of such a name. What it made goes; what
was there before stays, under a name that no program obeys where its own is not to be had. Which is which is told by
when a file came to be, which nobody can set; where the file system does not tell, everything counts as old.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from gateway.sandbox.birth_time import born_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_O_PATH = getattr(os, "O_PATH", os.O_RDONLY)


def is_old(folder: int, name: str, since: int) -> bool:
    """Whether a name in a folder means something that was there before `since`, in nanoseconds since the epoch."""
    return born_ns(name, folder) < since


def give_back(folder: int, name: str, since: int, give: Callable[[int, str], None]) -> None:
    """Walks what is new under a name, however deep, by descriptors, and hands each outermost thing in it that is older
    than `since` to `give`, as the folder that it lies in and its name there. `give` moves it elsewhere. Folders that
    are closed are opened. Raises OSError, and then something old may still be in it."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return
    here = _opened(folder, name)
    try:
        # Of each folder on the way what it is, so that the way back leads there, and the names that are left in it.
        way = [(_identity(here), os.listdir(here))]
        while True:
            pending = way[-1][1]
            if not pending:
                way.pop()
                if not way:
                    return
                here = _replaced(here, os.open("..", _FOLDER, dir_fd=here))
                if _identity(here) != way[-1][0]:
                    raise OSError(116, "it was moved meanwhile")
                continue
            each = pending.pop()
            try:
                if is_old(here, each, since):
                    give(here, each)
                elif stat.S_ISDIR(os.stat(each, dir_fd=here, follow_symlinks=False).st_mode):
                    here = _replaced(here, _opened(here, each))
                    way.append((_identity(here), os.listdir(here)))
            except FileNotFoundError:
                continue
    finally:
        os.close(here)


def _opened(folder: int, name: str) -> int:
    """A folder to be listed and emptied; one of ours that is closed is opened first. Raises OSError."""
    with suppress(OSError):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode) and found.st_mode & 0o700 != 0o700:
            handle = os.open(name, _O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.chmod(f"/proc/self/fd/{handle}", stat.S_IMODE(found.st_mode) | 0o700)
            finally:
                os.close(handle)
    return os.open(name, _FOLDER, dir_fd=folder)


def _replaced(descriptor: int, other: int) -> int:
    os.close(descriptor)
    return other


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino
