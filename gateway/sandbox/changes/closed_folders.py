"""Folders that are closed to the user who owns them, and what lies in them.

Who owns a folder can take themselves the right to it, and give it back: a call closes one and goes on in it by what it
has open, or a file that it writes has another name in one that the person has closed. For root nothing is closed. So
that others see the same, such a folder is opened for the moment in which somebody looks, and has its mode again then;
whoever asks for modes meanwhile is told the true one. What belongs to somebody else stays closed.

Who is killed in that moment leaves the folder open to its owner, and to nobody else.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock

from gateway.sandbox.real_paths import where_is

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = 0o500
_Inode = tuple[int, int]


class _Open:
    """A folder that is open for a moment."""

    def __init__(self, descriptor: int, mode: int) -> None:
        self.descriptor = descriptor
        self.mode = mode
        self.lookers = 1


_open: dict[_Inode, _Open] = {}  # of this process, as modes are everybody's
_lock = Lock()


def looked(path: str, folder: int | None = None) -> tuple[os.stat_result, int]:
    """What stands under a name, no link followed, and its true mode. Raises OSError."""
    with _lock:
        found = os.stat(path, dir_fd=folder, follow_symlinks=False)
        mode = stat.S_IMODE(found.st_mode)
        held = _open.get((found.st_dev, found.st_ino)) if _open else None
        return found, held.mode if held is not None and mode == held.mode | _LOOK else mode


def is_closed(path: str) -> bool:
    """Whether nobody can tell what stands under a name, as a folder on the way is closed to this user."""
    try:
        os.lstat(path)
    except PermissionError:
        return True
    except OSError:
        pass
    return False


@contextmanager
def reached(path: str) -> Iterator[None]:
    """Folders on the way to a name are open meanwhile, where this user has closed them."""
    way = []
    while (above := path.rpartition("/")[0]) and (_open or is_closed(path)):
        way.append(above)
        path = above
    with ExitStack() as stack:
        for each in reversed(way):
            stack.enter_context(opened(each))
        yield


@contextmanager
def opened(folder: str) -> Iterator[None]:
    """What lies in a folder can be seen meanwhile, where this user has closed it."""
    inode = _hold(folder) if _open or not _is_open(folder) else None
    try:
        yield
    finally:
        if inode is not None:
            _give_back(inode)


def _is_open(folder: str) -> bool:
    return os.access(folder, os.R_OK | os.X_OK)


def _hold(folder: str) -> _Inode | None:
    """Opens it, where it has to be and can be."""
    with _lock, suppress(OSError):
        descriptor = os.open(folder, _FOLDER)
        found = os.fstat(descriptor)
        inode = found.st_dev, found.st_ino
        held = _open.get(inode)
        if held is not None:
            held.lookers += 1
        elif not _is_open(folder) and where_is(descriptor, folder) == folder:  # no link is on the way
            mode = stat.S_IMODE(found.st_mode)
            try:
                os.chmod(f"/proc/self/fd/{descriptor}", mode | _LOOK)
            except OSError:  # it is somebody else's, or on a disk that is read only
                os.close(descriptor)
                return None
            _open[inode] = _Open(descriptor, mode)
            return inode
        os.close(descriptor)
        return inode if held is not None else None
    return None


def _give_back(inode: _Inode) -> None:
    with _lock:
        held = _open[inode]
        held.lookers -= 1
        if not held.lookers:
            del _open[inode]
            with suppress(OSError):
                if stat.S_IMODE(os.fstat(held.descriptor).st_mode) == held.mode | _LOOK:  # else somebody has set it
                    os.chmod(f"/proc/self/fd/{held.descriptor}", held.mode)
            os.close(held.descriptor)
