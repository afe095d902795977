"""JSON with comments, changed in place: whatever is not changed stays as it was written, to the byte.

A file is read into nodes that know their places in the text; a change is made in the text and the result is read anew.
"""

from __future__ import annotations

import json
import re

from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

MISSING = object()
_DEEPEST = 100
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_BLANKS = re.compile(r"[ \t\r\n]+")
_decode_text = json.JSONDecoder().raw_decode


class Node(Value):
    """A value where it stands. `members`: of an object, key by key; `items`: of an array. `comma`: where a comma stands
    behind it, -1 for none."""

    start: int
    end: int
    value: Any
    members: dict[str, Node] | None = None
    items: tuple[Node, ...] | None = None
    key_start: int = -1
    comma: int = -1


class JsonDocument:
    """One file. `text` is what it says now."""

    def __init__(self, text: str, file: str) -> None:
        """Raises ConfigError with the place where it is broken. A text of blanks counts as an empty object."""
        self.file = file
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        text = text.removeprefix("\ufeff")
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._text = text if text.strip() else "{}" + self._newline
        self._root = self._read()
        if self._root.members is None:
            raise self._broken(self._root.start, "settings must be an object", "put braces around them")

    @property
    def text(self) -> str:
        """The whole file as it is to be written."""
        return self._mark + self._text

    def get(self, path: tuple[str, ...]) -> Any:
        """The value at a path of keys, `MISSING` where there is none."""
        node = self._find(path)
        return MISSING if node is None else node.value

    def ensure(self, path: tuple[str, ...], empty: Any) -> list[tuple[str, ...]]:
        """Makes sure that there is a container at a path, `empty` standing for its kind; gives the paths of those that
        it made. Raises ConfigError where something else stands there."""
        made = []
        for depth in range(1, len(path) + 1):
            kind = empty if depth == len(path) else {}
            node = self._find(path[:depth])
            if node is None:
                self.set(path[: depth - 1], path[depth - 1], kind)
                made.append(path[:depth])
            elif node.value.__class__ is not kind.__class__:
                what = "a list" if kind == [] else "an object"
                raise self._broken(node.start, f"`{'.'.join(path[:depth])}` must be {what}", "repair it by hand")
        return made

    def set(self, path: tuple[str, ...], key: str, value: Any) -> None:
        """Gives a key of the object at a path a value, in its place if it is there, else behind all others."""
        holder = self._need(path)
        assert holder.members is not None
        old = holder.members.get(key)
        depth = len(path) + 1
        if old is not None:
            self._change(old.start, old.end, self._written(value, depth))
        else:
            shown = f"{json.dumps(key, ensure_ascii=False)}: {self._written(value, depth)}"
            self._insert(holder, list(holder.members.values()), [shown], depth)

    def extend(self, path: tuple[str, ...], values: Sequence[Any]) -> None:
        """Adds items to the end of the array at a path; at least one."""
        holder = self._need(path)
        assert holder.items is not None
        depth = len(path) + 1
        self._insert(holder, list(holder.items), [self._written(value, depth) for value in values], depth)

    def replace(self, path: tuple[str, ...], index: int, value: Any) -> None:
        """Puts another value in the place of an item."""
        holder = self._need(path)
        assert holder.items is not None
        self._change(holder.items[index].start, holder.items[index].end, self._written(value, len(path) + 1))

    def remove_key(self, path: tuple[str, ...], key: str) -> None:
        """Takes a key out of the object at a path."""
        holder = self._need(path)
        assert holder.members is not None
        places = list(holder.members.values())
        self._remove(holder, places, {places.index(holder.members[key])})

    def remove_items(self, path: tuple[str, ...], indexes: Collection[int]) -> None:
        """Takes items out of the array at a path."""
        holder = self._need(path)
        assert holder.items is not None
        self._remove(holder, list(holder.items), {*indexes})

    # ------------------------------------------------------------------------------------------------ changing the text

    def _insert(self, holder: Node, others: list[Node], shown: list[str], depth: int) -> None:
        closing = holder.end - 1
        end = closing
        while self._text[end - 1] in " \t\r\n":
            end -= 1
        if not others and end == holder.start + 1:
            between = "," + self._break(depth)
            self._change(end, closing, self._break(depth) + between.join(shown) + self._break(depth - 1))
            return
        on_one_line = "\n" not in self._text[holder.start : holder.end]
        margin = " " if on_one_line else self._newline + self._margin(others, depth)
        new = ",".join(margin + each for each in shown)
        between = self._text[others[-1].end : end] if others else self._text[holder.start + 1 : end]
        if others and others[-1].comma >= 0:
            new += ","
        elif others:
            between = "," + between
        self._change(others[-1].end if others else holder.start + 1, end, between + new)

    def _remove(self, holder: Node, places: list[Node], gone: Collection[int]) -> None:
        """Cuts places out of the text, each with the blanks before it and its comma; the last one that stays has a
        comma only where the last one had."""
        cuts = [self._cut(places[at]) for at in gone]
        left = [node for at, node in enumerate(places) if at not in gone]
        if left and left[-1] is not places[-1] and places[-1].comma < 0:
            cuts.append((left[-1].comma, left[-1].comma + 1))
        inside, at = "", holder.start + 1
        for start, end in sorted(cuts):
            inside += self._text[at:start]
            at = end
        inside += self._text[at : holder.end - 1]
        self._change(holder.start + 1, holder.end - 1, inside if left or inside.strip() else "")

    def _cut(self, node: Node) -> tuple[int, int]:
        start = node.key_start if node.key_start >= 0 else node.start
        while self._text[start - 1] in " \t\r\n":
            start -= 1
        return start, node.end if node.comma < 0 else node.comma + 1

    def _change(self, start: int, end: int, new: str) -> None:
        self._text = self._text[:start] + new + self._text[end:]
        self._root = self._read()

    def _written(self, value: Any, depth: int) -> str:
        lines = json.dumps(value, indent=self._unit(), ensure_ascii=False).split("\n")
        return (self._newline + self._unit() * depth).join(lines)

    def _break(self, depth: int) -> str:
        return self._newline + self._unit() * depth

    def _margin(self, others: list[Node], depth: int) -> str:
        """What stands before the last of the others on its line, if that is blank; else the usual margin."""
        if others:
            start = others[-1].key_start if others[-1].key_start >= 0 else others[-1].start
            line = self._text[self._text.rfind("\n", 0, start) + 1 : start]
            if not line.strip():
                return line
        return self._unit() * depth

    def _unit(self) -> str:
        """How this file indents: as its first member is."""
        for member in (self._root.members or {}).values():
            line = self._text[self._text.rfind("\n", 0, member.key_start) + 1 : member.key_start]
            if line and not line.strip():
                return line
        return "  "

    # ---------------------------------------------------------------------------------------------------------- reading

    def _find(self, path: tuple[str, ...]) -> Node | None:
        node: Node | None = self._root
        for key in path:
            node = node.members.get(key) if node is not None and node.members is not None else None
        return node

    def _need(self, path: tuple[str, ...]) -> Node:
        node = self._find(path)
        if node is None:
            raise KeyError(path)
        return node

    def _read(self) -> Node:
        root, at = self._value(self._blank(0), 0)
        at = self._blank(at)
        if at < len(self._text):
            raise self._broken(at, "nothing must follow the settings", "take out what stands behind them")
        return root

    def _value(self, at: int, depth: int) -> tuple[Node, int]:
        text = self._text
        if depth > _DEEPEST:
            raise self._broken(at, f"settings must not be nested deeper than {_DEEPEST} levels", "")
        first = text[at : at + 1]
        if first == "{":
            return self._object(at, depth)
        if first == "[":
            return self._array(at, depth)
        if first == '"':
            value, end = self._string(at)
            return Node(at, end, value), end
        for word, meant in _WORDS.items():
            if text.startswith(word, at) and not text[at + len(word) : at + len(word) + 1].isalnum():
                return Node(at, at + len(word), meant), at + len(word)
        number = _NUMBER.match(text, at)
        if number is None:
            raise self._broken(at, "a value must stand here", "repair it by hand")
        return Node(at, number.end(), json.loads(number[0])), number.end()

    def _object(self, start: int, depth: int) -> tuple[Node, int]:
        members: dict[str, Node] = {}
        at = self._blank(start + 1)
        while self._text[at : at + 1] != "}":
            key_start = at
            if self._text[at : at + 1] != '"':
                raise self._broken(at, "a key in quotes must stand here", "repair it by hand")
            key, at = self._string(at)
            at = self._blank(at)
            if self._text[at : at + 1] != ":":
                raise self._broken(at, "`:` must stand here", "repair it by hand")
            if key in members:
                raise self._broken(key_start, f"`{key}` must stand here once only", "take one of them out")
            node, at = self._value(self._blank(at + 1), depth + 1)
            at, comma = self._comma(at, "}")
            members[key] = node.replace(key_start=key_start, comma=comma)
        return Node(start, at + 1, {key: node.value for key, node in members.items()}, members), at + 1

    def _array(self, start: int, depth: int) -> tuple[Node, int]:
        items: list[Node] = []
        at = self._blank(start + 1)
        while self._text[at : at + 1] != "]":
            node, at = self._value(at, depth + 1)
            at, comma = self._comma(at, "]")
            items.append(node.replace(comma=comma))
        return Node(start, at + 1, value=[node.value for node in items], members=None, items=tuple(items)), at + 1

    def _comma(self, at: int, closing: str) -> tuple[int, int]:
        at = self._blank(at)
        if self._text[at : at + 1] == ",":
            return self._blank(at + 1), at
        if self._text[at : at + 1] != closing:
            raise self._broken(at, f"`,` or `{closing}` must stand here", "repair it by hand")
        return at, -1

    def _string(self, at: int) -> tuple[str, int]:
        try:
            value, end = _decode_text(self._text, at)
        except ValueError as error:
            raise self._broken(at, "a text in quotes must be whole", "repair it by hand") from error
        return str(value), end

    def _blank(self, at: int) -> int:
        """The next place that is neither blank nor comment."""
        text = self._text
        while at < len(text):
            blanks = _BLANKS.match(text, at)
            if blanks is not None:
                at = blanks.end()
            elif text.startswith("//", at):
                end = text.find("\n", at)
                at = len(text) if end < 0 else end
            elif text.startswith("/*", at):
                end = text.find("*/", at + 2)
                if end < 0:
                    raise self._broken(at, "a comment must end", "write `*/`")
                at = end + 2
            else:
                break
        return at

    def _broken(self, at: int, message: str, remedy: str) -> ConfigError:
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        return ConfigError(Problem(message, file=self.file, line=line, column=column, remedy=remedy))
