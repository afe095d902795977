"""Folders that the calls of one command come back to, by the texts that name them: where each was found to lie, and in
it the names of which nothing is left to save, so that a call on one of them goes on at once.

What is known here ends when something is told of that makes a name or a way mean something else.
"""

from __future__ import annotations

import os
from stat import S_ISLNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.changes.saver import Saver

MOST_PLACES = 20_000
_NO_NAMES = (b"", b".", b"..")


class _Place:
    """A folder. `real`: where it lies."""

    def __init__(self, real: str) -> None:
        self.real = real
        self.settled: set[bytes] = set()


class Places:
    """Of one call. A text names a place and a name in it; `base` is the folder that it begins at, "" for the first of
    all."""

    def __init__(self, saver: Saver) -> None:
        self._saver = saver
        self._by_text: dict[tuple[str, bytes], _Place] = {}
        self._by_path: dict[str, _Place] = {}
        self._has_links = False  # on some way that is known

    def real(self, base: str, text: bytes) -> str:
        """Where the folder of a name lies, "" where nobody has looked."""
        place = self._by_text.get((base, text.rpartition(b"/")[0]))
        return place.real if place is not None else ""

    def found(self, base: str, text: bytes, above: str, real: str) -> None:
        """The folder of a name lies there; `above`: as it was named."""
        folder, _slash, name = text.rpartition(b"/")
        if name in _NO_NAMES:  # it is not that text which says where
            return
        if len(self._by_text) >= MOST_PLACES:
            self.clear()
        self._has_links |= above != real
        self._by_text[base, folder] = self._by_path.setdefault(real, _Place(real))

    def clear(self) -> None:
        """A way may lead elsewhere from now on."""
        self._by_text.clear()
        self._by_path.clear()
        self._has_links = False

    def settle(self, path: str) -> None:
        """What stands under a name, which is no link, may be written without being saved again, until another file
        comes to it."""
        above, _slash, name = path.rpartition("/")
        place = self._by_path.get(above)
        if place is not None:
            place.settled.add(os.fsencode(name))

    def unsettle(self, *paths: str) -> None:
        """Another file may come to these names."""
        for path in paths:
            above, _slash, name = path.rpartition("/")
            place = self._by_path.get(above)
            if place is not None:
                place.settled.discard(os.fsencode(name))

    def is_written(self, base: str, text: bytes, *, exact: bool) -> bool:
        """Whether opening a name to write needs nothing to be saved. `exact`: no link is followed."""
        above, _slash, name = text.rpartition(b"/")
        place = self._by_text.get((base, above))
        if place is None or name in _NO_NAMES:
            return False
        settled = name in place.settled
        if not settled and not self._saver.has_only_new(place.real):
            return False
        if exact and not settled:
            return True
        try:
            found = os.lstat(f"{place.real}/{os.fsdecode(name)}")
        except FileNotFoundError:
            return True
        except OSError:
            return False
        # Nobody tells of what others put under a name meanwhile.
        return not S_ISLNK(found.st_mode) and not (settled and self._saver.is_to_be_saved((found.st_dev, found.st_ino)))

    def is_new(self, base: str, text: bytes) -> bool:
        """Whether a name may come or go with nothing written down: it lies among what came with the call, and is on no
        way that is known."""
        above, _slash, name = text.rpartition(b"/")
        place = self._by_text.get((base, above))
        return (
            place is not None and not self._has_links and name not in _NO_NAMES and self._saver.has_only_new(place.real)
        )
