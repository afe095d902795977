"""Files that undo has recreated, each with the deleted file that it replaces."""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.core.plainjson import decoder, encoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.changes.state import Inode

_NAME = "again"  # in the folder of a project's changes
_encode = encoder(between=",", after_key=":")
_decode = decoder()


def made_again(changes: str, of: str = "") -> dict[Inode, Inode]:
    """What each stands for. `of`: only of what undoing the set of that id made."""
    found: dict[Inode, Inode] = {}
    with suppress(FileNotFoundError), open(os.path.join(changes, _NAME), encoding="utf-8") as file:
        for line in file:
            with suppress(ValueError, TypeError):  # a line that was cut off was not yet relied on
                dev, ino, was_dev, was_ino, made = _decode(line)
                if of in ("", made):
                    found[(dev, ino)] = (was_dev, was_ino)
    return found


def note_again(changes: str, now: Inode, was: Inode, of: str) -> None:
    """One more, made by undoing the set of that id. Raises OSError."""
    place = os.path.join(changes, _NAME)
    descriptor = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, f"\n{_encode([*now, *was, of])}\n".encode())
    finally:
        os.close(descriptor)
