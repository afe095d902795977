"""Which names that are on the disk now a policy hides or protects, without walking whole trees for each call.

A tree is walked once. After that each of its folders is only asked for its stamp, and listed again when that has
changed, or when the last change was too recent to be told from one that came right after it. Links are not followed:
what they lead to is reachable only where it has a mount of its own.
"""

from __future__ import annotations

from time import time_ns

from gateway.core.value import Value
from gateway.policy.path_protection import FREE, Standing
from gateway.policy.trie import choose
from gateway.sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gateway.host.base import Host
    from gateway.policy.path_protection import Protection

MAX_FOLDERS = 100_000
MAX_NAMES = 2_000_000
MAX_MARKS = 1_000
MAX_PROBED = 5_000
# File systems tell times of change in steps of up to two seconds: a change within one step leaves no trace.
RACY_NS = 2_000_000_000
_TRIES = 4


class Mark(Value):
    """A name on the disk that rules speak of; `hidden`, `fixed` and `kept` as in `gateway.policy.path_protection`.
    `kind`: dir, file, link or other. A folder that could not be looked into is hidden, by no rule."""

    path: str
    kind: str
    hidden: str = ""
    fixed: str = ""
    kept: str = ""
    closed: bool = False


class _Folder(Value):
    """What one listing found. `settled`: a later change is sure to show in the stamp; `below`: the folders in it, each
    with whether it lies in a fixed one, where only what is hidden is told."""

    stamp: tuple[int, int, int, int]
    settled: bool
    below: tuple[tuple[str, bool], ...]
    marks: tuple[Mark, ...]
    size: int


class _Moved(Exception):
    """A folder went away while the tree was looked at."""


class Tree:
    """The marks below one folder, for one set of rules. Not for use by several threads at once."""

    def __init__(self, root: str, host: Host, protection: Protection) -> None:
        self.root = root
        self._host = host
        self.protection = protection
        self._folders: dict[str, _Folder] = {}
        self._marks: tuple[Mark, ...] = ()

    def marks(self) -> tuple[Mark, ...]:
        """What there is now, in order of the walk. Raises SandboxError when a bound is hit: then nobody knows."""
        for _ in range(_TRIES):
            try:
                stale = self._stale()
                if stale or not self._folders:
                    self._walk(stale)
                return self._marks
            except _Moved:
                self._folders = {}
        remedy = "wait until what changes it has finished"
        raise SandboxError(f"`{self.root}` changes faster than it can be looked at", remedy)

    def _stale(self) -> set[str]:
        """The folders that must be listed again."""
        stamp = self._host.stamp
        stale = set()
        for path, folder in self._folders.items():
            try:
                if not folder.settled or stamp(path) != folder.stamp:
                    stale.add(path)
            except OSError:
                stale.add(path)
        return stale

    def _walk(self, stale: set[str]) -> None:
        """The whole tree, of which only stale folders and new ones are listed."""
        known = self._folders
        fresh: dict[str, _Folder] = {}
        marks: list[Mark] = []
        pending = [(self.root, False)]
        names = 0
        while pending:
            path, fixed = pending.pop()
            folder = None if path in stale else known.get(path)
            if folder is None:
                folder = self._list(path, fixed)
            fresh[path] = folder
            pending += folder.below
            marks += folder.marks
            names += folder.size
            if len(fresh) > MAX_FOLDERS or names > MAX_NAMES or len(marks) > MAX_MARKS:
                self._check(len(fresh), names, len(marks))
        self._folders, self._marks = fresh, tuple(marks)

    def _check(self, folders: int, names: int, marks: int) -> None:
        for count, most, what in (
            (folders, MAX_FOLDERS, "folders"),
            (names, MAX_NAMES, "names"),
            (marks, MAX_MARKS, "names that policy protects"),
        ):
            if count > most:
                self._folders = {}
                raise SandboxError(
                    f"`{self.root}` holds more than {most:,} {what}, so nobody can tell what policy hides there",
                    "work in a smaller folder",
                )

    def _list(self, path: str, fixed: bool) -> _Folder:
        now = time_ns()
        try:
            before = self._host.stamp(path)
            entries = self._host.entries(path)
        except PermissionError:
            # Names in it may be reachable for who knows them.
            return _Folder((0, 0, 0, 0), False, (), (Mark(path, "dir", closed=True),), 0)
        except OSError as error:
            raise _Moved from error
        settled = now - max(before[0], before[1]) > RACY_NS
        prefix = path.rstrip("/") + "/"
        protection = self.protection
        marks: list[Mark] = []
        hidden: set[str] = set()
        held: set[str] = set()
        kinds = dict(entries)
        for name in protection.names(path, kinds):
            kind = kinds[name]
            found = protection.of_entry(prefix + name, folder=kind == "dir")
            if found.hidden or (not fixed and (found.fixed or found.kept)):
                marks.append(Mark(prefix + name, kind, found.hidden, found.fixed, found.kept))
            if found.hidden:
                hidden.add(name)
            elif found.fixed:
                held.add(name)
        below = tuple(
            [(prefix + name, fixed or name in held) for name, kind in entries if kind == "dir" and name not in hidden]
        )
        return _Folder(before, settled, below, tuple(marks), len(entries))


class Listings:
    """Names in single folders, listed again when their stamp says so. Not for use by several threads at once."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._known: dict[str, tuple[tuple[int, int, int, int], list[tuple[str, str]]]] = {}
        self._chosen: dict[tuple[str, int], tuple[object, list[tuple[str, str]], list[tuple[str, Any]]]] = {}

    def entries(self, folder: str) -> list[tuple[str, str]]:
        """The names in a folder with their kinds; () where it cannot be listed, by us as by the call."""
        now = time_ns()
        try:
            stamp = self.host.stamp(folder)
            known = self._known.get(folder)
            if known is not None and known[0] == stamp:
                return known[1]
            found = self.host.entries(folder)
        except OSError:
            return []
        if now - max(stamp[0], stamp[1]) > RACY_NS:
            self._known[folder] = stamp, found
        return found

    def chosen(self, folder: str, one: Any) -> list[tuple[str, Any]]:
        """Of the names in a folder those that patterns speak of, each with where its pattern goes on."""
        entries = self.entries(folder)
        known = self._chosen.get((folder, id(one)))
        if known is not None and known[0] is one and known[1] is entries:
            return known[2]
        found = [(name, child) for name, _ in entries for child in choose(one, name)]
        if len(self._chosen) >= MAX_PROBED:
            self._chosen.clear()
        self._chosen[folder, id(one)] = one, entries, found
        return found


def anchored(root: str, listings: Listings, protection: Protection, *, hiding: bool) -> Iterator[Mark]:
    """The names below a folder that is not walked, as far as rules name them from the top of the file system: what
    rules say at any depth is not looked for there. `hiding`: only what is hidden. Raises SandboxError when a bound is
    hit."""
    budget = MAX_PROBED
    host = listings.host
    for start, order in protection.anchored(root):
        pending = [(start, root)]
        while pending:
            node, path = pending.pop()
            rest = node[1]
            one, deep = (None, None) if rest is None else (rest[2], rest[3])
            if deep is not None and protection.matters(node, order, hiding=hiding):
                yield from Tree(path, host, protection).marks()
                continue
            steps = [
                (name, child) for name, child in node[0].items() if protection.matters(child, order, hiding=hiding)
            ]
            if one is not None:
                steps += listings.chosen(path, one)
            for name, child in steps:
                budget -= 1
                if budget < 0:
                    raise SandboxError(f"rules name more than {MAX_PROBED:,} files below `{root}`", "name their folder")
                below = path.rstrip("/") + "/" + name
                kind = _kind(below, host)
                if not kind:
                    continue
                found = protection.of_entry(below, folder=kind == "dir")
                if kind == "dir" and not found.hidden:
                    inside = protection.below(below)
                    if inside != FREE:
                        found = Standing(inside.hidden, found.fixed or inside.fixed or inside.kept, found.kept)
                if found.hidden or (not hiding and (found.fixed or found.kept)):
                    yield Mark(below, kind, found.hidden, found.fixed, found.kept)
                if kind == "dir" and not found.hidden:
                    pending.append((child, below))


def _kind(path: str, host: Host) -> str:
    """Dir, file, link or other; "" where nothing is."""
    try:
        host.stamp(path)
    except PermissionError:
        return "other"
    except OSError:
        return ""
    fact = host.path(path)
    if fact is None:
        return "other"
    return fact.kind if fact.real == path else "link"
