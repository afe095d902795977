"""Simple regular expressions as the texts that they stand for. Pure.

`^git (status|diff)\\b` stands for `git status` and `git diff`, each with whatever words behind it.
"""

from __future__ import annotations

import re
import warnings
from re import _parser as sre  # type: ignore[attr-defined]  # the only way to look inside an expression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Text = tuple[tuple[str, ...], bool]

_STAR = "*"
_MOST = 64


class _NotSimpleError(Exception):
    """An expression that more is to than a list of texts."""


def texts_of(source: str) -> tuple[Text, ...]:
    """The texts of which an expression, matched from the start of a text, holds for all: pieces and stars, each with
    whether further words may stand behind. () where the expression is not of that simple kind."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = list(sre.parse(source))
        found = _walk(tree, [((), "open")])
    except (re.error, _NotSimpleError, RecursionError, OverflowError):
        return ()
    made = [_text(pieces, state) for pieces, state in found]
    return tuple(dict.fromkeys(made)) if all(pieces for pieces, _more in made) else ()


def _text(pieces: tuple[str, ...], state: str) -> Text:
    """What an expression that ends so stands for, or a part of it: a word that it leaves open counts as whole."""
    if state == "closed" or not pieces:
        return pieces, False
    if pieces[-1] == _STAR:
        return pieces, False
    if pieces[-1].endswith(" "):
        return (*pieces, _STAR), False
    return pieces, True


def _walk(tree: list[Any], before: list[tuple[tuple[str, ...], str]]) -> list[tuple[tuple[str, ...], str]]:
    """`before`: the texts so far, each open, closed (`$` was seen) or whole (a word's end was)."""
    for op, value in tree:
        name = str(op)
        if name == "SUBPATTERN":
            before = _walk(list(value[-1]), before)
        elif name == "BRANCH":
            before = [each for branch in value[1] for each in _walk(list(branch), before)]
        elif name == "AT" and str(value) in ("AT_END", "AT_END_STRING"):
            before = [(pieces, "closed") for pieces, _state in before]
        elif name == "AT" and str(value) == "AT_BOUNDARY":
            before = [(pieces, "whole" if state == "open" else state) for pieces, state in before]
        elif name == "LITERAL":
            before = _added(before, chr(value))
        elif name == "IN" and _is_blank(value):
            before = _added(before, " ")
        elif name == "IN" and all(str(each[0]) == "LITERAL" for each in value):
            before = [made for each in value for made in _added(before, chr(each[1]))]
        elif name == "MAX_REPEAT" and value[:2] == (0, 1):
            before = before + _walk(list(value[2]), before)
        elif name == "MAX_REPEAT" and _is_blank_repeat(value):
            before = _added(before, " ")
        elif name == "MAX_REPEAT" and value[0] == 0 and str(value[1]) == "MAXREPEAT" and str(value[2][0][0]) == "ANY":
            before = _added(before, _STAR)
        else:
            raise _NotSimpleError
        if len(before) > _MOST:
            raise _NotSimpleError
    return before


def _added(before: list[tuple[tuple[str, ...], str]], piece: str) -> list[tuple[tuple[str, ...], str]]:
    made = []
    for pieces, state in before:
        if state == "closed" or (state == "whole" and piece not in (" ", _STAR)):
            raise _NotSimpleError
        if piece == _STAR or not pieces or pieces[-1] == _STAR:
            made.append(((*pieces, piece), "open"))
        else:
            made.append(((*pieces[:-1], pieces[-1] + piece), "open"))
    return made


def _is_blank(value: Any) -> bool:
    names = {str(each[1]) if str(each[0]) == "CATEGORY" else chr(each[1]) for each in value if each[1] is not None}
    return "CATEGORY_SPACE" in names and len(names) == 1


def _is_blank_repeat(value: Any) -> bool:
    least, _most, inner = value
    inner = list(inner)
    return (
        least == 1
        and len(inner) == 1
        and (
            (str(inner[0][0]) == "IN" and _is_blank(inner[0][1]))
            or (str(inner[0][0]) == "LITERAL" and inner[0][1] == 32)
        )
    )
