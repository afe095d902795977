"""Small files that are this user's alone: who answers from elsewhere, and what notices are signed with."""

from __future__ import annotations

import errno
import os


def read_private(path: str, most: int) -> bytes:
    """The content, one byte more than `most` of what is longer. Raises OSError, for a link, for what is no regular
    file, and for what others own, read or write, too."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid() or found.st_mode & 0o170077 != 0o100000:
            raise PermissionError(errno.EPERM, "it is not yours alone", path)
        return file.read(most + 1)
