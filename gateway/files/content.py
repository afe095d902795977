"""The bytes of an open file, within bounds."""

from __future__ import annotations

import os

from gateway.calls.output import Failure
from gateway.core.quantities import size_said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.files.opening import Place

MOST_DIGESTED = 256 << 20  # bytes of a file whose versions are told apart by content


def content_of(descriptor: int, found: os.stat_result, place: Place, most: int) -> bytes:
    """All bytes of an open file. Raises Failure if there are more than `most`."""
    data = b"" if found.st_size > most else bytes_at(descriptor, 0, min(found.st_size or most, most) + 1)
    if found.st_size > most or len(data) > most:
        size = max(found.st_size, len(data))
        raise Failure(f"{place.shown} is too large for this ({size_said(size)}; at most {size_said(most)}).")
    return data


def bytes_at(descriptor: int, at: int, size: int) -> bytes:
    """Bytes of an open file: as many as asked for, fewer only at its end."""
    parts = []
    while size > 0:
        try:
            part = os.pread(descriptor, min(size, 1 << 22), at)
        except BlockingIOError:  # a file of the system that would have us wait for news
            break
        if not part:
            break
        parts.append(part)
        size -= len(part)
        at += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
