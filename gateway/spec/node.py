"""What YAML texts are read into: values that know their place, and the complaints about them."""

from __future__ import annotations

import re

from gateway.core.errors import ConfigError, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

MAX_PROBLEMS = 50

_TRAPS = (
    ("a boolean", re.compile(r"(?i:y|n|yes|no|on|off|true|false)")),
    ("nothing", re.compile(r"~|Null|NULL")),
    ("a date", re.compile(r"\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d.*)?")),
    (
        "a number",
        re.compile(
            r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|\d[\d_]*(?::[0-5]?\d)*(?:\.[\d_]*)?(?:[eE][-+]?\d+)?"
            r"|\.\d[\d_]*(?:[eE][-+]?\d+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)"
        ),
    ),
)


class Node:
    """A value of the document and where it stands.

    `value` is `dict[str, Node]` for a mapping (in order), `list[Node]` for a list, else `str`, `int`, `bool` or
    None. `bare` tells that a scalar was written without quotes. Lines and columns count from 1, columns in
    code points; `key_line` and `key_column` are those of the key a mapping's value stands under, the value's
    own otherwise.
    """

    __slots__ = ("_key_mark", "_mark", "bare", "value")

    def __init__(self, value: Any, mark: Any, key_mark: Any = None, bare: bool = False) -> None:
        self.value = value
        self._mark = mark
        self._key_mark = key_mark
        self.bare = bare

    def __repr__(self) -> str:
        return f"Node({self.plain()!r}, {self.line}:{self.column})"

    @property
    def line(self) -> int:
        """Where the value begins, from 1."""
        return self._mark.line + 1  # type: ignore[no-any-return]

    @property
    def column(self) -> int:
        """Where the value begins in its line, from 1, in code points."""
        return self._mark.column + 1  # type: ignore[no-any-return]

    @property
    def key_line(self) -> int:
        """The line of the key that it stands under, from 1; its own for a value without one."""
        return (self._key_mark or self._mark).line + 1  # type: ignore[no-any-return]

    @property
    def key_column(self) -> int:
        """The column of that key, from 1."""
        return (self._key_mark or self._mark).column + 1  # type: ignore[no-any-return]

    @property
    def kind(self) -> str:
        """`mapping`, `list`, `text`, `integer`, `boolean` or `nothing`."""
        return _KINDS[self.value.__class__]

    @property
    def trap(self) -> str:
        """What other readers of YAML make of this text: "a boolean", "a number", "a date", "nothing", else ""."""
        if not self.bare or self.value.__class__ is not str:
            return ""
        return next((what for what, pattern in _TRAPS if pattern.fullmatch(self.value)), "")

    @property
    def shown(self) -> str:
        """The value for an error text: short, on one line, in backticks where it stands in the file."""
        value = self.value
        if value is None:
            return "nothing"
        if value.__class__ is dict:
            return "a mapping" if value else "an empty mapping"
        if value.__class__ is list:
            return "a list" if value else "an empty list"
        text = value if value.__class__ is str else str(value).lower()
        return f"`{clip(text)}`"

    def get(self, key: str) -> Node | None:
        """The value under `key`; None if this is no mapping or has no such key."""
        return self.value.get(key) if self.value.__class__ is dict else None

    def __iter__(self) -> Iterator[Node]:
        """The items of a list; a scalar or a mapping counts as a list of one."""
        return iter(self.value if self.value.__class__ is list else (self,))

    def plain(self) -> Any:
        """The same data without positions, fit for JSON."""
        value = self.value
        if value.__class__ is dict:
            return {key: node.plain() for key, node in value.items()}
        if value.__class__ is list:
            return [node.plain() for node in value]
        return value


_KINDS = {dict: "mapping", list: "list", str: "text", int: "integer", bool: "boolean", type(None): "nothing"}


class Complaints:
    """What is wrong with one file, gathered while it is read; `raise_any` tells it all at once."""

    def __init__(self, file: str, problems: Iterable[Problem] = ()) -> None:
        self.file = file
        self.problems = list(problems)

    def __bool__(self) -> bool:
        return bool(self.problems)

    def at(self, node: Node, message: str, remedy: str = "", path: str = "") -> None:
        """Complains about a value."""
        self.place(node.line, node.column, message, remedy, path)

    def at_key(self, node: Node, message: str, remedy: str = "", path: str = "") -> None:
        """Complains about the key a value stands under."""
        self.place(node.key_line, node.key_column, message, remedy, path)

    def place(self, line: int, column: int, message: str, remedy: str = "", path: str = "") -> None:
        """Complains about a place."""
        self.problems.append(Problem(message, file=self.file, line=line, column=column, path=path, remedy=remedy))

    def raise_any(self) -> None:
        """Raises `ConfigError` with the problems in the order of their places, each once, if there are any."""
        if not self.problems:
            return
        found = sorted(dict.fromkeys(self.problems), key=lambda problem: (problem.line, problem.column))
        if len(found) > MAX_PROBLEMS:
            rest = len(found) - MAX_PROBLEMS
            found[MAX_PROBLEMS:] = [Problem(f"{rest} more problem{'s' * (rest > 1)} not shown", file=self.file)]
        raise ConfigError(found)


def clip(text: str, length: int = 60) -> str:
    """The text as it can stand in an error: on one line, printable, at most `length` code points."""
    shown = text if len(text) <= length else text[: length - 1] + "…"
    return shown if shown.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)
