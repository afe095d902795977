"""Looks at whole trees: what is protected below one, and whether all names in it are plain words."""

from __future__ import annotations

import os

from gateway.host.bounds import OutOfEntries
from gateway.host.repository import work_tree
from gateway.model.effect import BROUGHT, COPIED
from gateway.model.facts import TreeFact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.host.base import Host
    from gateway.host.bounds import Entries

MAX_TREE_FINDINGS = 8


def look_below(tree: str, skips: str, host: Host, hidden: Callable[[str], bool], entries: Entries) -> TreeFact:
    """Protected paths below a tree, as far as a bounded look goes, without what the program leaves out."""
    if skips in ("rest", BROUGHT):
        return TreeFact((), skips == "rest")
    if skips.startswith(COPIED):
        return _copied(tree, skips.split("\0")[1:], host, hidden, entries)
    found: list[str] = []
    entries.begin()
    pending = [tree]
    behind: set[str] = set()
    try:
        while pending:
            for path in host.below(pending.pop(), hidden=skips != "hidden"):
                entries.spend()
                if hidden(path) and not (skips == "untracked" and _is_untracked(path, host)) and _is_named(path, skips):
                    found.append(path)
                elif skips not in _FOLLOWS_NO_LINK and host.is_link(path):
                    fact = host.path(path)
                    if fact is not None and hidden(fact.real) and _is_named(path, skips):
                        found.append(path)
                    elif fact is not None and fact.kind == "dir" and _is_elsewhere(fact.real, (tree, *behind)):
                        behind.add(fact.real)
                        pending.append(fact.real)
                if len(found) >= MAX_TREE_FINDINGS:
                    return TreeFact(tuple(found), False)
    except (OSError, OutOfEntries):
        return TreeFact(tuple(found), False)
    return TreeFact(tuple(found), True)


def _copied(tree: str, sources: list[str], host: Host, hidden: Callable[[str], bool], entries: Entries) -> TreeFact:
    """Protected paths that copying these folders or files makes below a tree: in it, or in a folder of their name."""
    found: list[str] = []
    entries.begin()
    try:
        for source in sources:
            fact = host.path(source)
            if fact is None or fact.kind == "missing":
                return TreeFact(tuple(found), False)
            name = source[source.rfind("/") :]
            names = ["", *(path[len(fact.real) :] for path in host.below(fact.real))] if fact.kind == "dir" else [""]
            for each in names:
                entries.spend()
                found += [path for path in (tree + each, tree + name + each) if path != tree and hidden(path)]
                if len(found) >= MAX_TREE_FINDINGS:
                    return TreeFact(tuple(found), False)
    except (OSError, OutOfEntries):
        return TreeFact(tuple(found), False)
    return TreeFact(tuple(found), True)


def _is_elsewhere(folder: str, seen: tuple[str, ...]) -> bool:
    """Whether a folder lies below none of those that are looked at anyway, nor in the view of the system."""
    return not any((folder + "/").startswith(each.rstrip("/") + "/") for each in (*seen, *_PLAIN_FOLDERS))


# What leaves these out does not follow links either; of any other program nobody knows.
_FOLLOWS_NO_LINK = ("untracked", "hidden")
# Nothing in them is protected at a depth that a look could reach.
_PLAIN_FOLDERS = ("/usr", "/opt", "/lib", "/bin")


def _is_named(path: str, skips: str) -> bool:
    """Whether a tree's reader looks at files of this name, in whichever case; at all, unless it says which."""
    what, *names = skips.split("\0")
    if what != "only":
        return True
    from fnmatch import fnmatchcase

    name = path[path.rfind("/") + 1 :].lower()
    return any(fnmatchcase(name, each.lower()) for each in names)


_DIVIDING = frozenset(" \t\n'\"\\*?[")


def are_plain(tree: str, host: Host, entries: Entries) -> bool:
    """Whether every name below a folder stays one word when it is read as one again, and no link leads out of it; False
    where a bound was hit."""
    entries.begin()
    base = host.path(tree)
    try:
        for path in host.below(tree):
            entries.spend()
            if not _DIVIDING.isdisjoint(path[len(tree) :]):
                return False
            fact = host.path(path)
            if base is None or fact is None or not fact.real.startswith(base.real.rstrip("/") + "/"):
                return False
    except (OSError, OutOfEntries):
        return False
    return True


def _is_untracked(path: str, host: Host) -> bool:
    """Whether git certainly does not keep a file: its name stands nowhere in the index of the repository. An index
    that cannot be read, or that shortens names (version 4), leaves it open."""
    top = work_tree(path[: path.rfind("/")], host)
    index = host.data(f"{top}/.git/index") if top else b""
    if index[:4] != b"DIRC" or index[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return False
    return os.fsencode(path[len(top) + 1 :]) + b"\0" not in index  # every name ends so
