"""Brace expansion: `{a,b}` and `{1..9}` make several words before anything else is expanded.

A word is a list of atoms here: a one-letter text is an unquoted letter, anything else (a quoted text, an expansion) is
carried along untouched.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MAX_WORDS = 256
MAX_MADE = 1_000_000  # a list that is longer asks
MAX_LETTERS = 2_000  # of a word with braces; pairing them takes quadratic time


class TooMany(Exception):
    """The expansion has more words than anybody wants to look at."""


def about(text: str) -> int:
    """About how many words the innermost braces of a text make, as a product: enough to tell a list from one that no
    memory holds."""
    total = 1
    for group in re.findall(r"\{([^{}]*)\}", text):
        bounds = group.split("..")
        if len(bounds) >= 2 and _integer(bounds[0]) and _integer(bounds[1]):
            step = abs(int(bounds[2])) if len(bounds) == 3 and _integer(bounds[2]) else 1
            total *= abs(int(bounds[1]) - int(bounds[0])) // (step or 1) + 1
        else:
            total *= group.count(",") + 1
    return total


def expand(atoms: Sequence[Any]) -> list[list[Any]]:
    """All words of one. Raises `TooMany`."""
    found = _first(atoms)
    if found is None:
        return [list(atoms)]
    start, end = found
    inside = atoms[start + 1 : end]
    if "," in inside:
        choices: list[list[Any]] = []
        for part in _parts(inside):
            choices += expand(part)
            _check(len(choices))
    else:
        choices = _sequence(inside) or [list(atoms[start : end + 1])]
    before = list(atoms[:start])
    after = expand(atoms[end + 1 :])
    _check(len(choices) * len(after))
    return [before + choice + rest for choice in choices for rest in after]


def _check(count: int) -> None:
    if count > MAX_WORDS:
        raise TooMany


def _first(atoms: Sequence[Any]) -> tuple[int, int] | None:
    """The first brace that opens an expansion, and the one that closes it. One that opens a word as `{}` opens none."""
    for start, atom in enumerate(atoms):
        if atom == "{" and not (start == 0 and atoms[1:2] == ["}"]):
            end = _close(atoms, start)
            if end:
                return start, end
    return None


def _close(atoms: Sequence[Any], start: int) -> int:
    """The brace that closes an expansion: the first of its level behind a comma or two dots; 0 if there is none."""
    level = 0
    separated = False
    for at in range(start + 1, len(atoms)):
        atom = atoms[at]
        if atom == "}" and not level and separated:
            return at
        if atom == "{":
            level += 1
        elif atom == "}":
            level -= level > 0
        elif not level and (atom == "," or (atom == "." and _dots(atoms, at))):
            separated = True
    return 0


def _dots(atoms: Sequence[Any], at: int) -> bool:
    return len(atoms) > at + 1 and atoms[at + 1] == "." and not (len(atoms) > at + 2 and atoms[at + 2] == "}")


def _parts(inside: Sequence[Any]) -> list[Sequence[Any]]:
    """The choices: what the commas of the outermost level separate."""
    parts: list[Sequence[Any]] = []
    level = begin = 0
    for at, atom in enumerate(inside):
        if atom == "{":
            level += 1
        elif atom == "}":
            level -= level > 0
        elif atom == "," and not level:
            parts.append(inside[begin:at])
            begin = at + 1
    return [*parts, inside[begin:]]


def _sequence(inside: Sequence[Any]) -> list[list[Any]] | None:
    if not all(isinstance(atom, str) for atom in inside):
        raise TooMany  # bash looks for a comma in quoted texts, too
    bounds = "".join(inside).split("..")
    if len(bounds) not in (2, 3):
        return None
    first, last = bounds[0], bounds[1]
    step = 1
    if len(bounds) == 3:
        if not _integer(bounds[2]):
            return None
        step = abs(int(bounds[2])) or 1
    if _integer(first) and _integer(last):
        low, high = int(first), int(last)
        if max(abs(low), abs(high), step) > 1 << 40:
            raise TooMany
        width = max(len(first), len(last)) if _padded(first) or _padded(last) else 0
        _check(abs(high - low) // step + 1)
        numbers = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
        return [list(_pad(number, width)) for number in numbers]
    if len(first) == len(last) == 1 and first.isascii() and last.isascii() and first.isalpha() and last.isalpha():
        if first.isupper() != last.isupper():
            raise TooMany  # the characters between the cases are quoting to bash
        low, high = ord(first), ord(last)
        letters = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
        return [[("q", chr(letter))] for letter in letters]
    return None


def _integer(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return digits.isascii() and digits.isdigit()


def _padded(text: str) -> bool:
    digits = text.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0"


def _pad(number: int, width: int) -> str:
    return f"{number:0{width}d}" if width else str(number)
