"""Reads files that an agent may have made: a FIFO in their place would block whoever opens it for ever."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotPlainError(OSError):
    """What stands there is a folder, a FIFO, a socket or a device."""


def open_plain(path: str) -> BinaryIO:
    """A regular file, open for reading bytes; links are followed. Raises OSError, and NotPlainError for anything else,
    and never waits: what was opened is looked at, not what stood there a moment ago."""
    descriptor = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotPlainError(errno.EINVAL, "is no regular file", path)
    return os.fdopen(descriptor, "rb")
