"""Compiled forms as one piece of bytes: an index, then a JSON text for every part that is looked up by itself.

Whoever judges one call reads and unpacks what that call needs. All of it together would cost more than the decision.
Descriptions of programs have a text for every program and subcommand, policies and tools one for every row.
"""

from __future__ import annotations

import os
from _blake2 import blake2b
from _thread import allocate_lock

from gateway.core.errors import ConfigError, Problem
from gateway.core.plainjson import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

# What only the tests of a description look at.
_LEFT_OUT = ("examples", "lines", "place")
_PIECE = 1 << 12  # holds the places of all parts of the index
_PARTS = 256  # of the index: whoever looks one name up reads one of them


def pack(descriptions: Iterable[Mapping[str, Any]]) -> bytes:
    """The first line holds where the parts of the index lie in what follows it, the last of which ends with the last; a
    part holds the places of its names' texts, and a text those of its subcommands."""
    parts: list[dict[str, list[int]]] = [{} for _ in range(_PARTS)]
    texts: list[bytes] = []
    size = 0

    def add(value: Mapping[str, Any], parent: Mapping[str, Any] | None = None) -> list[int]:
        nonlocal size
        kept = {key: each for key, each in value.items() if key not in _LEFT_OUT}
        if parent is not None:
            _share(kept, parent)
        if "nested" in kept:
            kept["nested"] = [add(each, value) for each in kept["nested"]]
        text = _dump(kept)
        texts.append(text)
        size += len(text)
        return [size - len(text), size]

    for description in descriptions:
        place = add(description)
        for name in description["names"]:
            parts[_part_of(name)][name] = place
    places = [size]
    for part in parts:
        texts.append(_dump(part))
        places.append(places[-1] + len(texts[-1]))
    return b"\n".join((_dump(places), b"".join(texts)))


def _part_of(name: str) -> int:
    """The part of the index that has a name, if any has."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0]


def _share(kept: dict[str, Any], parent: Mapping[str, Any]) -> None:
    """Leaves out the options that a subcommand has from what it belongs to, which may be most of it."""
    taken = parent.get("table")
    if taken and kept.get("table", ())[: len(taken)] == taken:
        known = parent["options"]
        kept["table"] = kept["table"][len(taken) :]
        kept["options"] = {name: at for name, at in kept["options"].items() if known.get(name) != at}
        kept["shared"] = True


def _open(text: bytes, texts: Whole | OnDisk, parent: Mapping[str, Any] | None = None) -> Any:
    """What `pack` made a text of."""
    found = loads(text)
    if found.pop("shared", False) and parent is not None:
        found["table"] = parent["table"] + found["table"]
        found["options"] = {**parent["options"], **found["options"]}
    if "nested" in found:
        found["nested"] = _Subcommands(texts, found["nested"], found)
    return found


def _dump(value: Any) -> bytes:
    return dumps(value).encode("ascii")


class Whole:
    """What `pack` made, in memory."""

    def __init__(self, data: bytes) -> None:
        self.head, _, self._texts = data.partition(b"\n")

    def text(self, start: int, end: int) -> bytes:
        """A text by its place."""
        return self._texts[start:end]


class OnDisk:
    """What `pack` made, in a file of which no more is read than is asked for."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        """`read`: the bytes between two places, fewer at the end. Raises what that raises, and ValueError for a file
        that is not whole."""
        self._read = read
        data = b""
        while b"\n" not in data:
            piece = read(len(data), len(data) + _PIECE)
            if not piece:
                raise ValueError("the packed descriptions are not whole")
            data += piece
        self.head, _, _ = data.partition(b"\n")

    def text(self, start: int, end: int) -> bytes:
        """A text by its place. Raises ConfigError where the file is not the one any more whose index was read."""
        before = len(self.head) + 1
        try:
            return self._read(before + start, before + end)
        except ValueError as error:
            problem = Problem("must stay the same while this process runs", remedy="start it again")
            raise ConfigError(problem) from error


class Installed:
    """A file of the installation, which stays open: where it is replaced meanwhile, this process goes on with the one
    that belongs to its code."""

    def __init__(self, path: str) -> None:
        """Raises OSError."""
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._known = _same(os.fstat(self._descriptor))

    def __del__(self) -> None:
        descriptor = getattr(self, "_descriptor", None)
        if descriptor is not None:
            os.close(descriptor)

    def read(self, start: int, end: int) -> bytes:
        """The bytes between two places, fewer at the end. Raises ValueError once the file was written to."""
        if _same(os.fstat(self._descriptor)) != self._known:
            raise ValueError("it was written to")
        return os.pread(self._descriptor, end - start, start)


def _same(found: os.stat_result) -> tuple[int, ...]:
    return found.st_size, found.st_mtime_ns


class Descriptions:
    """What known programs do. Nothing is read before a command names a program, and then no more than it needs."""

    def __init__(self, read: Callable[[], bytes | OnDisk]) -> None:
        """`read` gives what `pack` made, or where it lies; whatever it raises comes out of the first look-up."""
        self._read = read
        self._places: list[int] = []
        self._parts: dict[int, dict[str, list[int]]] = {}
        self._reading = allocate_lock()
        self._texts: Whole | OnDisk | None = None
        self._unpacked: dict[str, Any] = {}

    def __call__(self, name: str) -> Any | None:
        """The compiled description of a program, None if nobody described it."""
        found = self._unpacked.get(name)
        if found is None:
            place = self._place(name)
            if place is None:
                return None
            texts = self._opened()
            found = self._unpacked[name] = _open(texts.text(place[0], place[1]), texts)
        return found

    def names(self) -> tuple[str, ...]:
        """Every name that is described."""
        found = [each for number in range(_PARTS) for each in self._part(number).items()]
        return tuple([name for name, _place in sorted(found, key=lambda each: (each[1], each[0]))])

    def _place(self, name: str) -> list[int] | None:
        """Where a name's text lies, None for one that nobody described."""
        return self._part(_part_of(name)).get(name)

    def _part(self, number: int) -> dict[str, list[int]]:
        found = self._parts.get(number)
        if found is None:
            texts = self._opened()
            if not self._places:
                self._places = loads(texts.head)
            found = self._parts[number] = loads(texts.text(self._places[number], self._places[number + 1]))
        return found

    def _opened(self) -> Whole | OnDisk:
        if self._texts is None:
            with self._reading:  # to compile all of it takes a while, so threads wait for the one that does
                if self._texts is None:
                    found = self._read()
                    self._texts = Whole(found) if isinstance(found, bytes) else found
        return self._texts


class _Subcommands:
    """Looks like the list of a description's subcommands; each is unpacked when it is first asked for."""

    __slots__ = ("_parent", "_places", "_texts", "_unpacked")

    def __init__(self, texts: Whole | OnDisk, places: list[list[int]], parent: Mapping[str, Any]) -> None:
        self._texts = texts
        self._places = places
        self._parent = parent
        self._unpacked: list[Any] = [None] * len(places)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Any:
        found = self._unpacked[index]
        if found is None:
            start, end = self._places[index]
            found = self._unpacked[index] = _open(self._texts.text(start, end), self._texts, self._parent)
        return found


# ------------------------------------------------------------------------------------------------------------- rows


class Lines:
    """Rows as lines. Those that were asked for last time are known: tables that a process packs one after another share
    most of their rows, and nobody changes one."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes]] = {}

    def of(self, rows: Iterable[Any]) -> list[bytes]:
        """A line for each."""
        before, known, found = self._known, {}, []
        for row in rows:
            each = before.get(id(row))  # which nothing else can have, as the row is kept
            if each is None:
                each = row, _dump(row)
            known[id(row)] = each
            found.append(each[1])
        self._known = known
        return found


def pack_rows(head: Mapping[str, Any], *tables: Sequence[Any], lines: Lines | None = None) -> bytes:
    """A value that is read at once, then the rows of tables, each a line of its own. `lines`: who knows some."""
    counts = [len(table) for table in tables]
    lines = lines or Lines()
    return b"\n".join([_dump([head, counts]), *lines.of(row for table in tables for row in table)])


def unpack_rows(data: bytes) -> tuple[dict[str, Any], list[list[bytes]]]:
    """The value, and the lines of each table. Raises ValueError for what `pack_rows` did not make."""
    first, *lines = data.split(b"\n")
    head, counts = loads(first)
    if sum(counts) != len(lines):
        raise ValueError("there are not as many rows as there should be")
    tables = []
    for count in counts:
        tables.append(lines[:count])
        del lines[:count]
    return head, tables


class Rows(dict):  # type: ignore[type-arg]
    """Looks like the list of a table's rows; each is unpacked when it is first asked for. One that was is found as
    fast as in a list: nothing but a missing one gets here."""

    __slots__ = ("_lines",)

    def __init__(self, lines: Sequence[bytes]) -> None:
        super().__init__()
        self._lines = lines

    def __missing__(self, number: int) -> Any:
        return self.setdefault(number, loads(self._lines[number]))  # of two threads one's row stays for both

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self._lines)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Rows, list)) and list(self) == list(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None


class Named:
    """Looks like the dictionary of rows that have names; each is unpacked when it is first asked for."""

    __slots__ = ("_rows",)

    def __init__(self, names: Sequence[str], lines: Sequence[bytes]) -> None:
        """`lines`: of the rows, in the order of their names."""
        self._rows: dict[str, Any] = dict(zip(names, lines, strict=True))

    def __getitem__(self, name: str) -> Any:
        found = self._rows[name]
        if found.__class__ is bytes:
            found = self._rows[name] = loads(found)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def keys(self) -> Iterable[str]:
        """The names, in their order."""
        return self._rows.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        """Every row with its name."""
        return ((name, self[name]) for name in self._rows)
