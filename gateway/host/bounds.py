"""How much of a machine one call may have looked at."""

from __future__ import annotations

MAX_GLOB_ENTRIES = 5_000
MAX_GLOB_MATCHES = 256
MAX_TREE_ENTRIES = 5_000
MAX_ENTRIES = 100_000


class OutOfEntries(Exception):
    """A bound of the look was hit."""


class Entries:
    """Counts the entries of folders that are looked at: so many for one question, and so many for all of a call, as one
    line may hold thousands of questions."""

    def __init__(self, each: int, most: int) -> None:
        self._each = each
        self._most = most
        self._left = 0

    def begin(self) -> None:
        """Another question."""
        self._left = self._each

    def spend(self) -> None:
        """One entry. Raises OutOfEntries."""
        self._left -= 1
        self._most -= 1
        if self._left < 0 or self._most < 0:
            raise OutOfEntries
