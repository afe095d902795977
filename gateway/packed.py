"""Compiled descriptions of programs as one piece of bytes: an index, then a JSON text for every program and subcommand.

Whoever judges one command unpacks what that command needs. All of it together would cost more than the decision.
"""

from __future__ import annotations

import json
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

# What only the tests of a description look at.
_LEFT_OUT = ("examples", "lines", "place")
_FEW = 32


def pack(descriptions: Iterable[dict[str, Any]]) -> bytes:
    """The first line holds the place of every name's text in what follows it; a text holds those of its subcommands."""
    names: dict[str, list[int]] = {}
    texts: list[bytes] = []
    size = 0

    def add(value: dict[str, Any]) -> list[int]:
        nonlocal size
        text = _dump(value)
        texts.append(text)
        size += len(text)
        return [size - len(text), size]

    for description in descriptions:
        kept = {key: value for key, value in description.items() if key not in _LEFT_OUT}
        if "nested" in kept:
            kept["nested"] = [add(each) for each in kept["nested"]]
        names |= dict.fromkeys(description["names"], add(kept))
    return b"\n".join((_dump(names), b"".join(texts)))


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


class Descriptions:
    """What known programs do. Nothing is read before a command names a program, and then no more than it needs."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        """`read` gives what `pack` made; whatever it raises comes out of the first look-up."""
        self._read = read
        self._names: dict[str, list[int]] | None = None
        self._asked = 0
        self._reading = allocate_lock()
        self._heading = b""
        self._texts = b""
        self._unpacked: dict[str, Any] = {}

    def __call__(self, name: str) -> Any | None:
        """The compiled description of a program, None if nobody described it."""
        found = self._unpacked.get(name)
        if found is None:
            place = self._place(name)
            if place is None:
                return None
            found = json.loads(self._texts[place[0] : place[1]])
            if "nested" in found:
                found["nested"] = _Subcommands(self._texts, found["nested"])
            self._unpacked[name] = found
        return found

    def names(self) -> tuple[str, ...]:
        """Every name that is described."""
        return tuple(self._index())

    def _place(self, name: str) -> list[int] | None:
        """Where a name's text lies. The index is searched, not parsed, while few names were asked for."""
        if self._names is not None or self._asked >= _FEW:
            return self._index().get(name)
        self._asked += 1
        key = _dump(name) + b":"
        at = self._head().find(key)
        if at < 0:
            return None
        start = at + len(key)
        place: list[int] = json.loads(self._heading[start : self._heading.index(b"]", start) + 1])
        return place

    def _head(self) -> bytes:
        if not self._heading:
            with self._reading:  # to compile all of it takes a while, so threads wait for the one that does
                if not self._heading:
                    heading, _, self._texts = self._read().partition(b"\n")
                    self._heading = heading
        return self._heading

    def _index(self) -> dict[str, list[int]]:
        if self._names is None:
            self._names = json.loads(self._head())
        return self._names


class _Subcommands:
    """Looks like the list of a description's subcommands; each is unpacked when it is first asked for."""

    __slots__ = ("_places", "_texts", "_unpacked")

    def __init__(self, texts: bytes, places: list[list[int]]) -> None:
        self._texts = texts
        self._places = places
        self._unpacked: list[Any] = [None] * len(places)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Any:
        found = self._unpacked[index]
        if found is None:
            start, end = self._places[index]
            found = self._unpacked[index] = json.loads(self._texts[start:end])
        return found
