"""Which functions of a file a change touches: such a change needs no new process. Sources in, code objects out."""

from __future__ import annotations

import inspect
from collections import Counter
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# A function's name, with what it stands in, and its first line.
Place = tuple[str, int]
_RUN_WHERE_THEY_STAND = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class Changed(NamedTuple):
    """`codes`: the new code of each function that is another one now, or that holds one; `places`: where the change
    itself is."""

    codes: dict[Place, CodeType]
    places: set[Place]


def changed(before: bytes, after: bytes, file: str) -> Changed | None:
    """What differs; None if it is not in the bodies of functions alone, but in what runs when the file is imported."""
    found = Changed({}, set())
    old, new = (compile(source, file, "exec", dont_inherit=True) for source in (before, after))
    if not _pair(old, new, found, at_import=True):
        return None
    known = Counter(place(each) for each in _within(old))
    return None if any(known[each] > 1 for each in found.codes) else found  # two of one line are told apart by nothing


def place(code: CodeType) -> Place:
    return code.co_qualname, code.co_firstlineno


def _pair(old: CodeType, new: CodeType, found: Changed, *, at_import: bool) -> bool:
    is_same = _alone(old) == _alone(new)
    inner = [[each for each in code.co_consts if isinstance(each, CodeType)] for code in (old, new)]
    if (at_import and not is_same) or len(inner[0]) != len(inner[1]):
        return False
    if not is_same:
        found.places.add(place(old))
    for one, other in zip(*inner, strict=True):
        runs_now = one.co_name in _RUN_WHERE_THEY_STAND or not one.co_flags & inspect.CO_OPTIMIZED  # a class
        if not _pair(one, other, found, at_import=at_import and runs_now):
            return False
    if not at_import and (not is_same or any(place(each) in found.codes for each in inner[0])):
        found.codes[place(old)] = new
    return True


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _within(each)


def _alone(code: CodeType) -> CodeType:
    """A function without those in it, and without its lines, which a change above it moves."""
    consts = tuple(None if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_consts=consts, co_firstlineno=1, co_linetable=b"")
