"""What stands under a name, and all below a folder: the same for every user who owns it, see `closed`."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from gateway.sandbox.changes.closed_folders import looked, opened, reached
from gateway.sandbox.changes.state import FOLDER, LINK, Stamp, stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NOTHING = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG))


def look(path: str) -> Stamp | None:
    """What stands under a name, None for nothing. Raises OSError where nobody can tell: where a folder on the way is
    closed that is somebody else's."""
    try:
        try:
            return _seen(path)
        except PermissionError:
            with reached(path):
                return _seen(path)
    except OSError as error:
        if error.errno not in NOTHING:
            raise
        return None


def _seen(path: str) -> Stamp:
    found, mode = looked(path)
    stamp = stamp_of(found, mode)
    if stamp.kind == LINK:
        with suppress(OSError):
            return stamp_of(found, mode, os.readlink(path))
    return stamp


def lying_in(folder: str) -> list[str]:
    """The paths of what lies in a folder. Raises OSError."""
    with reached(folder), opened(folder), os.scandir(folder) as entries:
        return [entry.path for entry in entries]


def below(top: str, unseen: list[str] | None = None) -> Iterator[tuple[str, Stamp]]:
    """All that lies in a folder, each folder before what lies in it. `unseen` is given the folders that cannot be
    looked into."""
    pending = [top]
    while pending:
        folder = pending.pop()
        found = []
        try:
            with reached(folder), opened(folder):
                for path in lying_in(folder):
                    stamp = look(path)
                    if stamp is not None:
                        found.append((path, stamp))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            if unseen is not None:
                unseen.append(folder)
        for path, stamp in found:
            yield path, stamp
            if stamp.kind == FOLDER:
                pending.append(path)
