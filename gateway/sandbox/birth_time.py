"""The creation time of a file, which nobody can set: from `statx` on Linux, from `stat` on macOS."""

from __future__ import annotations

import os
import sys
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BTIME = 0x800
_NOFOLLOW = 0x100
_AT_FDCWD = -100
_MASK_AT, _SECONDS_AT, _NANOSECONDS_AT = 0, 80, 88


@cache
def _statx() -> Any:
    import ctypes

    try:
        return ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return None


def born_ns(path: str, folder: int = _AT_FDCWD) -> int:
    """Nanoseconds since the epoch, 0 where the system or the file system cannot tell. `folder`: a descriptor that a
    relative path counts from."""
    if sys.platform == "darwin":
        at = None if folder == _AT_FDCWD else folder
        return int(os.stat(path, dir_fd=at, follow_symlinks=False).st_birthtime * 1e9)
    import ctypes

    statx = _statx()
    if statx is None:
        return 0
    found = ctypes.create_string_buffer(256)
    if statx(folder, ctypes.c_char_p(os.fsencode(path)), _NOFOLLOW, _BTIME, found) != 0:
        return 0
    if not int.from_bytes(found.raw[_MASK_AT:4], sys.byteorder) & _BTIME:
        return 0
    seconds = int.from_bytes(found.raw[_SECONDS_AT : _SECONDS_AT + 8], sys.byteorder, signed=True)
    return seconds * 1_000_000_000 + int.from_bytes(found.raw[_NANOSECONDS_AT : _NANOSECONDS_AT + 4], sys.byteorder)
