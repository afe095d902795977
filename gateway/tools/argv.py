"""`command:` handlers: a template of words filled with a call's fields."""

from __future__ import annotations

from gateway.core.errors import CallError, Problem
from gateway.tools.words import json_path, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")


def argv(template: list[list[dict[str, Any]]], fields: Mapping[str, Any]) -> list[str] | None:
    """The words that run; None if a field is missing that the template needs.

    A word is a list of parts, each `{"text": …}` or `{"field": …, "required": …}`. A word with an absent
    optional field is left out; a word that is one array field becomes as many words as it has items. Raises CallError
    for a value that is no word: an object, or an array anywhere else.
    """
    words = []
    for parts in template:
        if len(parts) == 1 and "field" in parts[0]:
            value = fields.get(parts[0]["field"])
            if isinstance(value, tuple):
                words += [_spelled(item, (parts[0]["field"], number)) for number, item in enumerate(value)]
                continue
        word = ""
        for part in parts:
            if "text" in part:
                word += part["text"]
                continue
            value = fields.get(part["field"])
            if value is None:
                if part["required"]:
                    return None
                break
            word += _spelled(value, (part["field"],))
        else:
            words.append(word)
    return words


def command_text(template: list[list[dict[str, Any]]], fields: Mapping[str, Any]) -> str | None:
    """The same words as a shell text that means exactly them, for the analysis and for people."""
    words = argv(template, fields)
    return None if words is None else " ".join([_shell_quoted(word) for word in words])


def _spelled(value: Any, place: tuple[str | int, ...]) -> str:
    """A text as it is, everything else that is a word as JSON spells it."""
    if value.__class__ is str:
        return str(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)) and value - value == 0:  # neither infinite nor "not a number"
        return str(value)
    raise CallError(
        Problem(f"must be a text, a number, true, false or null (got {quoted(value)})", path=json_path(place))
    )


def _shell_quoted(word: str) -> str:
    if word and _PLAIN.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
