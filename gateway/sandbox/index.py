"""Which names that are on the disk now a policy hides or protects, without walking whole trees for each call.

A tree is walked once. After that a folder is listed again when the kernel tells that it has changed. Where it does not
tell, the folder is asked for its stamp, and listed again when that has changed, or when the last change was too recent
to be told from one that came right after it. Links are not followed: what they lead to is reachable only where it has
a mount of its own.
"""

from __future__ import annotations

import os
from time import time_ns

from gateway.core.value import Value
from gateway.policy.path_protection import FREE, Standing
from gateway.policy.trie import choose
from gateway.sandbox.base import SandboxError, TooMuch
from gateway.sandbox.marks import DEEP, Mark, git_marks, may_matter_to_git, may_matter_to_programs, program_marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gateway.host.base import Host
    from gateway.policy.path_protection import Protection
    from gateway.sandbox.changed_folders import ChangedFolders

MAX_FOLDERS = 100_000
MAX_NAMES = 2_000_000
MAX_MARKS = 1_000
MAX_PROBED = 5_000
MAX_PATH = 3_600  # of a folder, in bytes: with a name more, and with what the kernel adds, it is still a path
# File systems tell times of change in steps of up to two seconds: a change within one step leaves no trace.
RACY_NS = 2_000_000_000
_TRIES = 4


class _Folder(Value):
    """What one listing found. `settled`: a later change is sure to be told, or to show in the stamp; `told`: by the
    kernel; `fixed`: it lies in a fixed folder, where only what is hidden is told; `below`: the folders in it, each with
    the same."""

    stamp: tuple[int, int, int, int]
    settled: bool
    told: bool
    fixed: bool
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
        self._marked: dict[str, tuple[Mark, ...]] = {}
        self._asked: set[str] = set()  # folders to ask for their stamps, since nobody tells of them
        self._changes: ChangedFolders | None = None
        self._dirty: set[str] = set()
        self._lost = False
        self._names = 0

    def follow(self, changes: ChangedFolders) -> None:
        """From now on the kernel is asked to tell which folders change, where it can. What was listed before is asked
        for its stamp once more, now that whatever changes is told."""
        if self._changes is changes:
            return
        self._changes = changes
        changes.follow(self)
        for path, folder in self._folders.items():
            by_content = _holds_settings(path)
            told = changes.watch(path, contents=by_content)
            self._folders[path] = folder.replace(told=told)
            self._asked.add(path)
            if by_content:
                self._dirty.add(path)  # of which no stamp tells

    def concerns(self, folder: str, name: str) -> bool:
        """Whether a name that came or went may be spoken of by rules."""
        if may_matter_to_git(folder, name) or may_matter_to_programs(folder, name):
            return True
        return bool(self.protection.names(folder, (name,)))

    def changed(self, folder: str) -> None:
        """It must be listed again."""
        self._dirty.add(folder)  # perhaps of another tree, or one that is being listed

    def lost(self) -> None:
        """Nobody knows what has changed."""
        self._lost = True

    def marks(self, *, bounded: bool = True) -> tuple[Mark, ...]:
        """What there is now, by path. `bounded`: raises SandboxError when there is more than can be held: then nobody
        knows. Else whatever there is is told, and what vanishes meanwhile is left out."""
        for attempt in range(_TRIES):
            try:
                self._refresh(strict=bounded or attempt + 1 < _TRIES, bounded=bounded)
            except _Moved:
                continue
            if bounded:
                self._check()
            return tuple([mark for path in sorted(self._marked) for mark in self._marked[path]])
        remedy = "wait until what changes it has finished"
        raise SandboxError(f"`{self.root}` changes faster than it can be looked at", remedy)

    def _forget(self) -> None:
        self._folders, self._marked, self._asked, self._dirty, self._names = {}, {}, set(), set(), 0

    def _refresh(self, *, strict: bool, bounded: bool) -> None:
        """Lists what is stale, and what is new. Raises _Moved when something was gone before it could be listed, and
        then its folder is looked at again by the next look; not `strict`: it is left out."""
        try:
            moved = False
            for path in self._stale() if self._folders else ():
                known = self._folders.get(path)
                if known is not None:  # else it was in one that has gone
                    moved |= not self._walk([(path, known.fixed)], bounded=bounded)
            if not self._folders:
                moved |= not self._walk([(self.root, False)], bounded=bounded)
        except BaseException:
            self._forget()
            raise
        if moved and strict:
            raise _Moved

    def _walk(self, pending: list[tuple[str, bool]], *, bounded: bool) -> bool:
        """Lists folders, and all below them that are new; whether each was still there."""
        whole = True
        while pending:
            path, fixed = pending.pop()
            try:
                found = self._list(path, fixed)
            except _Moved:
                self._drop(path)
                self._dirty.add(path.rpartition("/")[0])
                whole = False
                continue
            known = self._folders.get(path)
            for below, _fixed in set(known.below).difference(found.below) if known is not None else ():
                self._drop(below)
            self._keep(path, found)
            pending += [each for each in found.below if each[0] not in self._folders]
            if bounded and (len(self._folders) > MAX_FOLDERS or self._names > MAX_NAMES):
                self._check()
        return whole

    def _stale(self) -> list[str]:
        """The folders that must be listed again, outer ones first."""
        if self._changes is not None:
            self._changes.read()
        dirty, self._dirty = self._dirty, set()
        asked = self._folders if self._lost else self._asked
        self._lost = False
        stamp = self._host.stamp
        for path in asked:
            folder = self._folders[path]
            try:
                if not folder.settled or stamp(path) != folder.stamp:
                    dirty.add(path)
            except OSError:
                dirty.add(path)
        self._asked = {path for path in self._asked if not self._folders[path].told}
        return sorted([path for path in dirty if path in self._folders])

    def _keep(self, path: str, folder: _Folder) -> None:
        known = self._folders.get(path)
        self._names += folder.size - (known.size if known is not None else 0)
        self._folders[path] = folder
        if folder.marks:
            self._marked[path] = folder.marks
        else:
            self._marked.pop(path, None)
        if folder.told:
            self._asked.discard(path)
        else:
            self._asked.add(path)

    def _drop(self, path: str) -> None:
        pending = [path]
        while pending:
            each = pending.pop()
            known = self._folders.pop(each, None)
            if known is not None:
                self._names -= known.size
                self._marked.pop(each, None)
                self._asked.discard(each)
                self._dirty.discard(each)
                pending += [below for below, _fixed in known.below]

    def _check(self) -> None:
        marks = sum(map(len, self._marked.values()))
        for count, most, what in (
            (len(self._folders), MAX_FOLDERS, "folders"),
            (self._names, MAX_NAMES, "names"),
            (marks, MAX_MARKS, "names that policy protects"),
        ):
            if count > most:
                self._forget()
                raise TooMuch(
                    f"`{self.root}` holds more than {most:,} {what}, so nobody can tell what policy hides there",
                    "work in a smaller folder",
                )
        deep = next((mark.path for found in self._marked.values() for mark in found if mark.kind == DEEP), "")
        if deep:
            raise TooMuch(f"`{deep}` lies too deep to be looked into", "move it, or work in another folder")

    def _list(self, path: str, fixed: bool) -> _Folder:
        if len(os.fsencode(path)) > MAX_PATH:
            return _Folder((0, 0, 0, 0), False, told=False, fixed=fixed, below=(), marks=(Mark(path, DEEP),), size=0)
        now = time_ns()
        told = self._changes is not None and self._changes.watch(path, contents=_holds_settings(path))
        try:
            before = self._host.stamp(path)
            entries = self._host.entries(path)
        except PermissionError:
            # Names in it may be reachable for who knows them.
            return _Folder(
                (0, 0, 0, 0), False, told=False, fixed=fixed, below=(), marks=(Mark(path, "dir", closed=True),), size=0
            )
        except OSError as error:
            raise _Moved from error
        settled = told or now - max(before[0], before[1]) > RACY_NS
        prefix = path.rstrip("/") + "/"
        protection = self.protection
        marks: list[Mark] = []
        hidden: set[str] = set()
        held: set[str] = set()
        kinds = dict(entries)
        for name in protection.names(path, kinds):
            kind = kinds[name]
            of = protection.of_link(prefix + name) if kind == "link" else None
            found = of or protection.of_entry(prefix + name, folder=kind == "dir")
            if found.hidden or (not fixed and (found.fixed or found.kept)):
                marks.append(Mark(prefix + name, kind, hidden=found.hidden, fixed=found.fixed, kept=found.kept))
            if found.hidden:
                hidden.add(name)
            elif found.fixed:
                held.add(name)
        if not fixed:
            named = {mark.path for mark in marks if mark.fixed or mark.hidden}
            for mark in git_marks(path, kinds, self._fixes, self._host):
                if mark.path not in named:
                    marks = [each for each in marks if each.path != mark.path]
                    marks.append(mark)
            marks += [mark for mark in program_marks(path, kinds, self._host) if mark.path not in named]
        below = tuple(
            [(prefix + name, fixed or name in held) for name, kind in entries if kind == "dir" and name not in hidden]
        )
        return _Folder(before, settled, told=told, fixed=fixed, below=below, marks=tuple(marks), size=len(entries))

    def _fixes(self, path: str) -> str:
        return self.protection.of(path).fixed


def _holds_settings(folder: str) -> bool:
    """Whether the content of files in a folder of this name may be git's, too."""
    return folder.endswith(("/.git", "/hooks", ".git"))


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
                    yield Mark(below, kind, hidden=found.hidden, fixed=found.fixed, kept=found.kept)
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
