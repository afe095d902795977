"""How complaints about a call are worded: JSON paths, quoted values, suggestions. Used only when something is wrong."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_SHOWN = 60
_COMPARABLE = 80


def json_path(keys: Iterable[str | int]) -> str:
    """The JSON path of a place: `$.todos[0].status`, `$['-A']`."""
    path = "$"
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        elif key.isidentifier() and key.isascii():
            path += "." + key
        else:
            escaped = key.replace("\\", "\\\\").replace("'", "\\'")
            path += f"['{_printable(_clipped(escaped))}']"
    return path


def quoted(value: Any) -> str:
    """A value for an error text: on one line, printable, bounded. Containers are only named."""
    if isinstance(value, str):
        return f"`{_printable(_clipped(value))}`"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "an array"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a number of more than 40 digits"
    if isinstance(value, (int, float)):
        return f"`{value}`"
    return f"a `{type(value).__name__}`"


def suggestion(name: str, known: Iterable[str]) -> str:
    """`did you mean …?` for the known name nearest to `name`, or nothing."""
    if len(name) > _COMPARABLE:
        return ""
    from difflib import get_close_matches

    folded = {_folded(candidate): candidate for candidate in known}
    near = get_close_matches(_folded(name), folded, n=1, cutoff=0.7)
    return f"did you mean `{folded[near[0]]}`?" if near else ""


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join([c if c.isprintable() else ascii(c)[1:-1] for c in text])
