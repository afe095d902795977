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


def where_is(descriptor: int, path: str) -> str:
    """The true path of a folder that was opened by `path`."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return os.path.realpath(path)  # no /proc here
