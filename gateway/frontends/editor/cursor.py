"""Where in a policy's text the cursor stands, also where the text is not finished."""

from __future__ import annotations

import re

from yaml.events import (
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gateway.core.value import Value
from gateway.spec.yamltext import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_MARK = "\ue000"  # of Unicode's private use: no text of a policy's words holds it
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_REST = re.compile(r"[A-Za-z0-9_-]*")


class Place(Value):
    """A place in a document. `path`: the keys that lead there, None for an entry of a list; of a key, those of its
    mapping. `is_key`: a key may stand there. `starts`: it would be its mapping's first one, so that a value may stand
    there just as well. `before`: what its text holds before the word, `word`: the word itself up to the cursor.
    `siblings`: keys before it in its mapping."""

    path: tuple[str | None, ...]
    is_key: bool
    starts: bool
    before: str
    word: str
    siblings: tuple[str, ...] = ()


def place_at(text: str, offset: int) -> Place | None:
    """The place before a character of the text; None within comments, within what stands in quotes, and behind what
    is no YAML. `offset`: in code points."""
    before = text[:offset]
    found = _WORD.search(before)
    word = found[0] if found else ""
    # With the colon it is a key wherever one may stand.
    return _place(events(f"{before[: len(before) - len(word)]}{_MARK}: "), word)


def word_at(text: str, offset: int) -> int:
    """Where the word ends in which a character stands, as an offset."""
    rest = _REST.match(text, offset)
    return rest.end() if rest else offset


def _place(found: Iterable[Any], word: str) -> Place | None:
    # Of each collection that is open: whether it is a mapping, the keys seen, the key whose value comes next.
    stack: list[tuple[bool, list[str], list[str]]] = []
    for event in found:
        kind = event.__class__
        if kind is ScalarEvent and event.value.endswith(_MARK):
            if event.style:
                return None
            return _here(stack, event.value[: -len(_MARK)], word)
        if kind is MappingEndEvent or kind is SequenceEndEvent:
            stack.pop()
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            stack.append((kind is MappingStartEvent, [], []))
            continue
        elif kind is not ScalarEvent:
            continue
        if stack and stack[-1][0]:
            _is_mapping, seen, waiting = stack[-1]
            if waiting:
                waiting.clear()
            else:
                value = getattr(event, "value", "")
                seen.append(value)
                waiting.append(value)
    return None


def _here(stack: list[tuple[bool, list[str], list[str]]], before: str, word: str) -> Place | None:
    if not stack:
        return None
    steps = [(waiting[0] if waiting else None) if is_mapping else None for is_mapping, _seen, waiting in stack]
    is_mapping, seen, waiting = stack[-1]
    is_key = is_mapping and not waiting
    if is_key:
        return Place(tuple(steps[:-1]), is_key=True, starts=not seen, before=before, word=word, siblings=tuple(seen))
    return Place(tuple(steps), is_key=False, starts=False, before=before, word=word)
