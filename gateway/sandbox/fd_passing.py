"""File descriptors sent over a Unix socket: the payload of `SCM_RIGHTS`."""

from __future__ import annotations

from sys import byteorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SIZE = 4  # of a C int, everywhere


def packed(descriptors: Iterable[int]) -> bytes:
    """What to send."""
    return b"".join([each.to_bytes(_SIZE, byteorder) for each in descriptors])


def unpacked(data: bytes) -> list[int]:
    """What was received; half a number at the end is left out."""
    return memoryview(data)[: len(data) - len(data) % _SIZE].cast("i").tolist()
