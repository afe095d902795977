"""Takes files out of a layer: made readable, without the overlay's attributes and set-id bits, copied, dropped."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager, suppress

from gateway.core.plain_files import open_plain
from gateway.sandbox.changes.layer import opened_up
from gateway.sandbox.changes.stored_bytes import remove_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

SET_ID = 0o6000
_MADE = "user.overlay."
_CAPABILITY = "security.capability"


def folders_above(place: str, top: str) -> list[str]:
    """The folders of a layer that something lies in, the outermost first."""
    parts = place[len(top) + 1 :].split("/")
    return ["/".join([top, *parts[:end]]) for end in range(1, len(parts))]


def forget(place: str) -> None:
    """Takes away what has been copied from the layer."""
    if stat.S_ISDIR(os.lstat(place).st_mode):
        remove_all(place)
    else:
        os.unlink(place)


def clean(place: str) -> None:
    """Takes away what no content brings along: set-id bits, capabilities, and the layer's own marks."""
    _clean(place, os.lstat(place))


def _clean(place: str, looked: os.stat_result) -> None:
    if stat.S_ISLNK(looked.st_mode):
        return
    folder = stat.S_ISDIR(looked.st_mode)
    mode = stat.S_IMODE(looked.st_mode)
    if mode & SET_ID:
        os.chmod(place, mode & ~SET_ID)
    with suppress(OSError):
        for name in os.listxattr(place, follow_symlinks=False):
            if name.startswith(_MADE) or name == _CAPABILITY:
                os.removexattr(place, name, follow_symlinks=False)
    if not folder:
        return
    with opened_up(place):
        with os.scandir(place) as entries:
            below = [entry.path for entry in entries]
        for each in below:
            found = os.lstat(each)
            if stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode) or stat.S_ISSOCK(found.st_mode):
                os.unlink(each)
            else:
                _clean(each, found)


@contextmanager
def _readable(place: str, mode: int) -> Iterator[BinaryIO]:
    """A file of the layer, be it closed to its owner."""
    closed = bool(os.geteuid()) and not mode & 0o400
    if closed:
        os.chmod(place, mode | 0o400)
    try:
        with open_plain(place) as file:
            yield file
    finally:
        if closed:
            os.chmod(place, mode)


def copy_to(place: str, folder: int, name: str, known: dict[tuple[int, int], tuple[int, str]]) -> None:
    """The same on another file system. `known`: files that have come there already, by what they are copies of."""
    looked = os.lstat(place)
    mode = stat.S_IMODE(looked.st_mode)
    if stat.S_ISLNK(looked.st_mode):
        os.symlink(os.readlink(place), name, dir_fd=folder)
    elif stat.S_ISFIFO(looked.st_mode):
        os.mkfifo(name, mode, dir_fd=folder)
    elif stat.S_ISDIR(looked.st_mode):
        os.mkdir(name, 0o700, dir_fd=folder)
        inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            with opened_up(place):
                for each in os.listdir(place):
                    copy_to(f"{place}/{each}", inside, each, known)
            os.fchmod(inside, mode)
        finally:
            os.close(inside)
    else:
        with _readable(place, mode) as source:
            to = os.open(
                name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
            )
            with open(to, "wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
                file.flush()
                os.fchmod(to, mode)
                os.utime(to, ns=(looked.st_mtime_ns, looked.st_mtime_ns))
                os.fsync(to)
