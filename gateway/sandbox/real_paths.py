"""Names reached through real folders only, so that a link that a call has put on the way leads nowhere."""

from __future__ import annotations

import os
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_O_PATH = getattr(os, "O_PATH", os.O_RDONLY)


@contextmanager
def at(path: str) -> Iterator[tuple[int, str]]:
    """The folder of a path as a descriptor, and the last name. Raises OSError when a link has come to be on the way."""
    parent, _, name = path.rpartition("/")
    descriptor = os.open(parent or "/", _O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if where_is(descriptor, parent or "/") != (parent or "/"):
            raise OSError(40, "a link has come to be on the way")
        yield descriptor, name
    finally:
        os.close(descriptor)


class LastFolder:
    """The same for one name after another: the folder of the last one stays open, for most of them lie in one."""

    def __init__(self) -> None:
        self._path = ""
        self._descriptor = -1

    def at(self, path: str) -> tuple[int, str]:
        """The folder of a path as a descriptor, which is this object's, and the last name. Raises OSError as `at`."""
        parent, _, name = path.rpartition("/")
        parent = parent or "/"
        if parent != self._path or where_is(self._descriptor, parent) != parent:
            self.close()
            self._descriptor = os.open(parent, _O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            if where_is(self._descriptor, parent) != parent:
                raise OSError(40, "a link has come to be on the way")
            self._path = parent
        return self._descriptor, name

    def close(self) -> None:
        """Leaves the folder."""
        self._path = ""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def where_is(descriptor: int, path: str) -> str:
    """The true path of a folder that was opened by `path`."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return os.path.realpath(path)  # no /proc here
