"""Commands of a program put together by what they do, so that a description stays small: siblings that do alike are
one entry, with the options of all of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from describing.writing import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# Kinds of options: the keys of descriptions that list them, and those whose values are places.
READS, WRITES, READS_TREE, WRITES_TREE, READS_ADDRESS = "read", "write", "read tree", "write tree", "read address"
PLACES: dict[str, dict[str, Any]] = {
    READS: {"value": "path", "does": "read"},
    WRITES: {"value": "path", "does": "write"},
    READS_TREE: {"value": "path", "does": "read", "tree": True},
    WRITES_TREE: {"value": "path", "does": "write", "tree": True},
    READS_ADDRESS: {"value": "remote", "does": "read"},
}
NOTHING: Mapping[str, list[str]] = MappingProxyType({})
LISTS = ("flags", "optionals", "values", "at_paths", "file_urls")


@dataclass(frozen=True)
class Table:
    """What a person says of a program's commands and options; the program itself says which there are.

    `shape`: the group of the description that a command belongs to, "" for none: it is left out, and so asks. What
    stands behind a `:` keeps commands apart whose options of one name are two things.
    `option`: the kind of an option, given its command, its spellings and its form (`flags`, `optionals`, `values`); ""
    leaves it out, and so asks.
    """

    shape: Callable[[tuple[str, ...]], str]
    option: Callable[[tuple[str, ...], tuple[str, ...], str], str]


class Group:
    """The commands below one, by what they do, with their options."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = defaultdict(Group)
        self.names: dict[str, set[str]] = defaultdict(set)
        # By what commands do: each option with the kinds that commands have it in.
        self.options: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))

    def add(self, path: tuple[str, ...], names: Iterable[str], shape: str, options: Mapping[str, str]) -> None:
        """A command below `path` with all its names, what it does, and its options by kind."""
        group = self
        for name in path:
            group = group.groups[name]
        group.names[shape].update(names)
        for option, kind in options.items():
            group.options[shape][option].add(kind)

    def described(self, effects: Mapping[str, list[str]] = NOTHING) -> dict[str, Any]:
        """The keys of a description; `effects`: what commands do besides what their group says, by their shape."""
        found: dict[str, Any] = {}
        for shape, names in sorted(self.names.items()):
            clear = {option: kind for option, kinds in self.options[shape].items() if (kind := _common(kinds))}
            told: dict[str, Any] = {"use": shape.partition(":")[0]}
            for key in LISTS:
                if of_kind := {option for option, kind in clear.items() if kind == key}:
                    told[key] = words(of_kind)
            if places := sorted(option for option, kind in clear.items() if kind in PLACES):
                told["options"] = {option: PLACES[clear[option]] for option in places}
            if own := effects.get(shape):
                told["effects"] = own
            found[words(names)] = told
        for name, group in sorted(self.groups.items()):
            if inner := group.described(effects):
                taken = next((words for words in found if name in words.split()), "")
                if taken:
                    # It does something by itself, and has subcommands.
                    rest = [each for each in taken.split() if each != name]
                    told = found.pop(taken)
                    if rest:
                        found[words(rest)] = told
                    inner = {**told, **inner}
                found[name] = inner
        return {"subcommands": found} if found else {}


def _common(kinds: set[str]) -> str:
    """What an option is for commands that have it in these kinds: a value that one of them takes as a place is one for
    all; "" where it takes a value for one and none for another, or two kinds of places."""
    places = kinds.intersection(PLACES)
    if len(kinds) > 1 and (len(places) != 1 or kinds.intersection(("flags", "optionals"))):
        return ""
    return next(iter(places or kinds))
