"""What every grammar of settings comes down to: entries, each a path of keys and one value."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Entry = tuple[tuple[str, ...], object]

_DEEPEST = 64


class NotRead(Exception):
    """A text that its program's grammar does not take, or of which it cannot be told how the program takes it."""


def flat(tree: object) -> list[Entry]:
    """The entries of tables in tables. What stands in a list has the path of the list; what is empty says nothing.
    Raises NotRead for one that is too deep."""
    return list(_below((), tree, 0))


def _below(path: tuple[str, ...], value: object, depth: int) -> Iterator[Entry]:
    if depth > _DEEPEST:
        raise NotRead("settings that are too deep")
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _below((*path, str(key)), each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _below(path, each, depth + 1)
    else:
        yield path, value
