"""What has to be in a folder for something to be mounted there, made in one that calls may write while it is made: no
link is followed, and what else is there gives way."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_INSIDE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened(folder: str) -> Iterator[int]:
    """A descriptor of a folder that is no link. Raises OSError."""
    descriptor = os.open(folder, _INSIDE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def make(top: int, path: str, is_folder: bool, place: str) -> None:
    """Has something of this kind be at a path below a folder. `place`: where what gives way is put."""
    here = os.dup(top)
    names = path.split("/")
    try:
        for number, name in enumerate(names):
            last = number + 1 == len(names)
            if last and not is_folder:
                _file(here, name, place)
                return
            _folder(here, name, place)
            inner = os.open(name, _INSIDE, dir_fd=here)
            os.close(here)
            here = inner
    finally:
        os.close(here)


def _folder(here: int, name: str, place: str) -> None:
    found = kind_of(here, name)
    if found and not stat.S_ISDIR(found):
        _aside(here, name, place)
        found = 0
    if not found:
        os.mkdir(name, 0o755, dir_fd=here)


def _file(here: int, name: str, place: str) -> None:
    found = kind_of(here, name)
    if found and not stat.S_ISREG(found):
        _aside(here, name, place)
        found = 0
    if not found:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=here))


def link(top: int, path: str, target: str, place: str) -> None:
    """Has a link be there, likewise."""
    folder, _slash, name = path.rpartition("/")
    if folder:
        make(top, folder, True, place)
    with opened_below(top, folder) as here:
        found = kind_of(here, name)
        if found:
            if stat.S_ISLNK(found) and os.readlink(name, dir_fd=here) == target:
                return
            _aside(here, name, place)
        os.symlink(target, name, dir_fd=here)


@contextmanager
def opened_below(top: int, path: str) -> Iterator[int]:
    """The same of a folder below one that is opened, "" for that one."""
    here = os.dup(top)
    try:
        for name in path.split("/") if path else ():
            inner = os.open(name, _INSIDE, dir_fd=here)
            os.close(here)
            here = inner
        yield here
    finally:
        os.close(here)


def kind_of(here: int, name: str) -> int:
    """The mode of what stands under a name, 0 for nothing."""
    try:
        return os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def _aside(here: int, name: str, place: str) -> None:
    os.rename(name, f"{place}/aside-{os.urandom(6).hex()}", src_dir_fd=here)
