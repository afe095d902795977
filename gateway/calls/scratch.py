"""Folders of sessions for what is too long to show: one's own, locked as long as their owner lives, swept after that.

A folder is locked before it has the name by which others look for it. So whoever can lock one knows that the process
it belonged to is gone, and may remove it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading

from gateway.calls.output import Failure
from gateway.core import temporary
from gateway.core.temporary import DIGITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "gateway-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_lock = threading.Lock()
_swept: set[str] = set()


def reserved(outside: Iterable[str]) -> str:
    """A path that nobody can foresee, for a folder to be made when it is needed."""
    return temporary.reserved(PREFIX, outside)


class Scratch:
    """A folder that nobody else can look into. It goes with `remove`; if its process is killed, with the next sweep."""

    def __init__(self, path: str) -> None:
        """Makes it, and removes the folders of processes of this user that are gone. Raises Failure."""
        self.path = path
        self._owner = os.getpid()
        self._held = -1
        above, name = os.path.split(path)
        sweep(above)
        new = os.path.join(above, f".{name}")
        try:
            os.mkdir(new, 0o700)
            try:
                self._held = os.open(new, _FOLDER)
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.rename(new, path)
            except OSError:
                os.rmdir(new)
                raise
        except OSError as error:
            raise Failure(f"No folder for outputs can be made in {above}: {error.strerror}.") from error

    def remove(self) -> None:
        """Removes it with all that is in it. A fork of the process that made it leaves it alone."""
        if self._held < 0 or os.getpid() != self._owner:
            return
        _remove(self.path)
        os.close(self._held)
        self._held = -1


def sweep(place: str) -> None:
    """Removes the folders in `place` that belonged to processes of this user that are gone: once in a process."""
    with _lock:
        if place in _swept:
            return
        _swept.add(place)
    try:
        names = os.listdir(place)
    except OSError:  # it can be used without being listed
        return
    for name in names:
        if name.startswith(PREFIX) and len(name) == len(PREFIX) + DIGITS:
            _sweep_one(os.path.join(place, name))


def _sweep_one(path: str) -> None:
    try:
        held = os.open(path, _FOLDER)
    except OSError:  # it is somebody else's, no folder, or gone
        return
    try:
        found = os.fstat(held)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != 0o700:
            return
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
    except OSError:  # its owner lives
        return
    finally:
        os.close(held)


def _remove(path: str) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)
