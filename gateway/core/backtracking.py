"""How much work a regular expression may be: what bounds the text that it is tried on.

The matcher goes back for every repetition whose end is open. One whose end is certain, because what follows cannot
be a part of it (`\\s+-rf`), adds nothing; every other one multiplies the work by the length of the text.
"""

from __future__ import annotations

from re import _parser as sre  # type: ignore[attr-defined]  # the only way to look inside an expression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WORK = 10**8
MOST = 4
_FEW = 8
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


def longest_text(expression: str) -> int:
    """How long a text may be for a search to stay within bounds. Raises ValueError for an expression that would be
    too slow on any."""
    most = max(1, _open_ends(sre.parse(expression)))
    if most > MOST:
        raise ValueError(f"a regular expression must have at most {MOST} repetitions in a row whose end is open")
    return int(WORK ** (1 / (most + 1)))


def _open_ends(parsed: Any) -> int:
    """The repetitions that multiply the work, on the way through an expression that has the most of them."""
    found = 0
    elements = [*parsed]
    for (operation, argument), following in zip(elements, [*elements[1:], None], strict=True):
        name = str(operation)
        if name in _REPEATS:
            least, most, inner = argument
            inside = _open_ends(inner)
            if most == sre.MAXREPEAT or most - least > _FEW:
                inside += 1 if found or not _ends_before(inner, following) else 0
            found += inside
        elif name == "BRANCH":
            found += max(map(_open_ends, argument[1]))
        elif name == "SUBPATTERN":
            found += _open_ends(argument[3])
        elif name == "ATOMIC_GROUP":
            found += _open_ends(argument)
    return found


def _ends_before(inner: Any, following: Any) -> bool:
    """Whether a repetition of single characters must end at what follows it."""
    if following is None or str(following[0]) != "LITERAL" or len(inner) != 1:
        return False
    character = chr(following[1])
    return not any(_may_be(inner[0], each) for each in (character, character.lower(), character.upper()))


def _may_be(element: Any, character: str) -> bool:
    name, argument = str(element[0]), element[1]
    if name == "LITERAL":
        return chr(argument) in (character, character.swapcase())
    if name == "NOT_LITERAL":
        return chr(argument) != character
    if name == "RANGE":
        return bool(argument[0] <= ord(character) <= argument[1])
    if name == "CATEGORY":
        kind = str(argument).removeprefix("CATEGORY_")
        held = {
            "SPACE": character.isspace(),
            "DIGIT": character.isdigit(),
            "WORD": character.isalnum() or character == "_",
        }.get(kind.removeprefix("NOT_"), True)
        return held is not kind.startswith("NOT_")
    if name == "IN":
        negated = bool(argument) and str(argument[0][0]) == "NEGATE"
        inside = any(_may_be(each, character) for each in argument[negated:])
        return inside is not negated
    return True
