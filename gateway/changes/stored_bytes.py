"""Bytes that are kept of changes: how many, and how they go."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def size_of(folder: str) -> int:
    """Bytes that are kept only here: a second name of a file that has another costs none."""
    total = 0
    for place, _folders, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found = os.lstat(os.path.join(place, name))
                if found.st_nlink == 1:
                    total += found.st_blocks * 512
    return total


def remove_all(path: str) -> None:
    """All of a folder, also where modes forbid it."""

    def opened(function: Any, failed: str, _error: object) -> None:
        with suppress(OSError):
            os.chmod(os.path.dirname(failed), 0o700)
            if os.path.isdir(failed) and not os.path.islink(failed):
                os.chmod(failed, 0o700)
            function(failed)

    shutil.rmtree(path, onerror=opened)
