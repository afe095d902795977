"""Which of many mutants are tried: always the same for the same seed, whatever else is edited."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mutants.changes import Mutant


def ordered(found: Iterable[Mutant], seed: int) -> list[Mutant]:
    """In an order that looks random: each mutant's place among others depends on the seed and its name alone, so that
    an edit of the sources draws none of the rest anew."""
    numbered = sorted(_numbered(found), key=lambda each: _digest(seed, *each[0].name, each[1]))
    return [mutant for mutant, _ in numbered]


def _numbered(found: Iterable[Mutant]) -> Iterator[tuple[Mutant, int]]:
    """Each with how many of its name stand before it in the file."""
    before: Counter[tuple[str, str, str, str]] = Counter()
    for mutant in found:
        yield mutant, before[mutant.name]
        before[mutant.name] += 1


def _digest(*parts: str | int) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()
