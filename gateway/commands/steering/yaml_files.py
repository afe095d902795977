"""Settings in YAML, as far as they are plain: one document, in which nothing refers to itself."""

from __future__ import annotations

from gateway.commands.steering.entries import NotRead, flat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gateway.commands.steering.entries import Entry

_LONGEST = 256_000
_LONGEST_SLOW = 32_000  # where the parser is not the one in C
_DEEPEST = 50
_MOST = 50_000  # values, what is referred to counted each time


def entries(text: str) -> list[Entry]:
    """Every value is its text. A table that is merged into another stands in it, under the key `<<` as well. Raises
    NotRead for what is not YAML, is longer or deeper than settings are, or has several documents."""
    found = flat(tree(text))
    return [(tuple([key for key in path if key != "<<"]), value) for path, value in found]


def tree(text: str) -> object:
    """The same as tables, lists and texts; one that is merged into another stands under the key `<<`. Raises
    NotRead."""
    import yaml  # lazy: few calls start a program that has such settings

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if len(text) > (_LONGEST if loader is not yaml.SafeLoader else _LONGEST_SLOW):
        raise NotRead("longer than settings are")
    try:
        return _Tree(yaml.parse(text, Loader=loader)).whole()
    except yaml.YAMLError:
        raise NotRead("no YAML") from None
    except RecursionError:
        raise NotRead("settings that are too deep") from None


class _Tree:
    """Tables and lists from the events of the parser: it goes no deeper than it should, whatever the text."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, object] = {}
        self._sizes: dict[int, int] = {}
        self._left = _MOST

    def whole(self) -> object:
        tree: object = {}
        documents = 0
        for event in self._events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise NotRead("several documents")
                tree = self._value(next(self._events), 0)[0]
        return tree

    def _value(self, event: Any, depth: int) -> tuple[object, int]:
        """A value and how many it holds."""
        kind = type(event).__name__
        if kind == "AliasEvent":
            if event.anchor not in self._anchors:
                raise NotRead("a name that stands for nothing yet")
            value = self._anchors[event.anchor]
            size = self._sizes.get(id(value), 1)
            self._spend(size)
            return value, size
        if depth > _DEEPEST:
            raise NotRead("settings that are too deep")
        self._spend(1)
        size = 1
        found: object
        if kind == "ScalarEvent":
            found = event.value
        elif kind == "SequenceStartEvent":
            items: list[object] = []
            while type(inner := next(self._events)).__name__ != "SequenceEndEvent":
                item, held = self._value(inner, depth + 1)
                items.append(item)
                size += held
            found = items
        else:
            table: dict[str, object] = {}
            while type(inner := next(self._events)).__name__ != "MappingEndEvent":
                key, _ = self._value(inner, depth + 1)
                value, held = self._value(next(self._events), depth + 1)
                if not isinstance(key, str) or (key in table and key != "<<"):
                    raise NotRead("a key that stands twice, or is no text")
                table[key] = [table[key], value] if key in table else value
                size += held
            found = table
        if event.anchor is not None:
            self._anchors[event.anchor] = found
            self._sizes[id(found)] = size
        return found, size

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise NotRead("more than settings hold")
