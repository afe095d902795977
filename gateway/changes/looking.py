"""What stands under a name, and all below a folder."""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.changes.state import FOLDER, LINK, Stamp, stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def look(path: str) -> Stamp | None:
    """What stands under a name, None for nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    stamp = stamp_of(found)
    if stamp.kind == LINK:
        with suppress(OSError):
            return stamp_of(found, os.readlink(path))
    return stamp


def below(top: str) -> Iterator[tuple[str, Stamp]]:
    """All that lies in a folder, each folder before what lies in it."""
    pending = [top]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                paths = [entry.path for entry in entries]
        except OSError:
            continue
        for path in paths:
            stamp = look(path)
            if stamp is not None:
                yield path, stamp
                if stamp.kind == FOLDER:
                    pending.append(path)
