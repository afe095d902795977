"""The only look at the host before a decision: bounded answers to what the analysis wants to know.

Nothing here decides. What could not be found out is missing from the facts, and the stages that follow treat a
missing fact as unknown. What was resolved is checked again at use, because the world may change in between.
"""

from __future__ import annotations

import os
import stat
from posixpath import normpath

from gateway.host.project_files import STAND_INS, chosen_by_place, texts_above, with_installed
from gateway.host.repository import git_fact, nests, work_tree
from gateway.model.effect import HOLE
from gateway.model.facts import NO_FACTS, Facts, PathFact, TreeFact, Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.model.context import Context

MAX_GLOB_ENTRIES = 5_000
MAX_GLOB_MATCHES = 256
MAX_TREE_ENTRIES = 5_000
MAX_TREE_FINDINGS = 8
MAX_ENTRIES = 100_000
MAX_GIT_FILE = 1_000_000
MAX_KEPT_TEXTS = 256
MAX_PATH = 4096
MAX_INDEX_FILE = 50_000_000

_MANY = 16
_NONE: frozenset[str] = frozenset()
_O_PATH = getattr(os, "O_PATH", 0)
# Where a path leads that nobody can follow: anywhere.
_UNTOLD = PathFact(HOLE, "unknown")


class OutOfEntries(Exception):
    """A bound of the look was hit."""


class Entries:
    """Counts the entries of folders that are looked at: so many for one question, and so many for all of a call, as one
    line may hold thousands of questions."""

    def __init__(self, each: int, most: int) -> None:
        self._each = each
        self._most = most
        self._left = 0

    def begin(self) -> None:
        """Another question."""
        self._left = self._each

    def spend(self) -> None:
        """One entry. Raises OutOfEntries."""
        self._left -= 1
        self._most -= 1
        if self._left < 0 or self._most < 0:
            raise OutOfEntries


class Host:
    """The machine as it is. Tests hand `observe` a frozen one with the same methods.

    Small files that are asked for again and again (git's) are kept for as long as their stamp stays the same.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[int, ...], str]] = {}

    def path(self, path: str) -> PathFact | None:
        """Where a path leads; None if that cannot be told (no permission, a loop of links, not a path)."""
        try:
            if _O_PATH:
                return _resolve_by_descriptor(path)
            return _resolve_by_name(path)
        except (OSError, ValueError):
            return None

    def glob(self, pattern: str, entries: Entries | None = None) -> tuple[str, ...] | None:
        """Paths that an absolute pattern matches, sorted; None when a bound was hit. `entries`: what is left for it."""
        from gateway.host.glob_expansion import expand  # few calls have globs

        return expand(pattern, entries or Entries(MAX_GLOB_ENTRIES, MAX_ENTRIES), MAX_GLOB_MATCHES)

    def program(self, name: str, path: str) -> str:
        """The file that a search path gives for a name, "" if none."""
        for folder in path.split(":"):
            candidate = f"{folder or '.'}/{name}"
            if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
                return candidate
        return ""

    def read(self, path: str) -> str:
        """A small configuration file's text, "" if it cannot be read or is too large."""
        try:
            found = os.stat(path)
            stamp = (found.st_ctime_ns, found.st_mtime_ns, found.st_ino, found.st_size)
            known = self._kept.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_GIT_FILE:
                return ""
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read(MAX_GIT_FILE)
        except (OSError, ValueError):
            return ""
        if len(self._kept) >= MAX_KEPT_TEXTS:
            self._kept.clear()
        self._kept[path] = (stamp, text)
        return text

    def data(self, path: str) -> bytes:
        """A file's bytes, empty if it cannot be read or is too large."""
        try:
            with open(path, "rb") as file:
                found = file.read(MAX_INDEX_FILE + 1)
        except (OSError, ValueError):
            return b""
        return found if len(found) <= MAX_INDEX_FILE else b""

    def is_empty(self, path: str) -> bool:
        """Whether there is a file that holds nothing."""
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return False
        return stat.S_ISREG(found.st_mode) and found.st_size == 0

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder, links followed."""
        return os.path.isdir(path)

    def is_missing(self, path: str) -> bool:
        """Whether nothing stands under a name, not even a link: told faster than where it would lead."""
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError):
            pass
        return False

    def is_link(self, path: str) -> bool:
        """Whether a name is a link, wherever it leads."""
        return os.path.islink(path)

    def stamp(self, path: str) -> tuple[int, int, int, int]:
        """What changes whenever something is added to a folder, taken from it or renamed in it; the times come first,
        in nanoseconds. Links are not followed. Raises OSError where nothing is."""
        found = os.lstat(path)
        return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev

    def entries(self, folder: str) -> list[tuple[str, str]]:
        """The names in a folder, each with its kind: dir, file, link or other. Raises OSError where it cannot look."""
        with os.scandir(folder) as found:
            return [
                (
                    each.name,
                    "dir"
                    if each.is_dir(follow_symlinks=False)
                    else "link"
                    if each.is_symlink()
                    else "file"
                    if each.is_file(follow_symlinks=False)
                    else "other",
                )
                for each in found
            ]

    def below(self, tree: str, *, hidden: bool = True) -> Iterator[str]:
        """Every path below a folder, without following links; raises OSError where it cannot look. `hidden`: with
        names that start with a dot, and what lies below them."""
        pending = [tree]
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if not hidden and entry.name.startswith("."):
                        continue
                    yield entry.path
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)


def observe(
    wanted: Wanted,
    host: Host,
    context: Context,
    *,
    search_path: str = "",
    hidden: Callable[[str], bool] | None = None,
) -> Facts:
    """The facts for one call. `hidden` says whether deny or ask rules protect a path below a wanted tree.

    Never raises for what the host holds. Work is bounded: entries for each glob and tree, one stat a path.
    """
    nothing = not (wanted.paths or wanted.globs or wanted.programs or wanted.git or wanted.trees or wanted.names)
    if nothing and not wanted.settings:
        return NO_FACTS
    if len(wanted.paths) < _MANY:
        paths = {path: _look_at(path, host) for path in wanted.paths}
    else:
        paths = _look_at_many(wanted.paths, host)
    globs = {}
    if wanted.globs:
        entries = Entries(MAX_GLOB_ENTRIES, MAX_ENTRIES)
        for pattern in wanted.globs:
            matches = globs[pattern] = host.glob(pattern, entries)
            for path in matches or ():
                paths[path] = _look_at(path, host)
    programs, untrusted, chosen = _programs(wanted.programs, host, context, search_path)
    git = {folder: git_fact(folder, host, context) for folder in wanted.git} if wanted.git else {}
    trees = {}
    if wanted.trees and hidden is not None:
        entries = Entries(MAX_TREE_ENTRIES, MAX_ENTRIES)
        trees = {tree: _look_below(*tree, host, hidden, entries) for tree in wanted.trees}
    plain = wanted.names and not context.confined
    names = {}
    if plain:
        entries = Entries(MAX_TREE_ENTRIES, MAX_ENTRIES)
        names = {folder: _are_plain(folder, host, entries) for folder in wanted.names}
    settings = {
        each: with_installed(texts_above(*each, host, context), each[1], host, context, search_path)
        for each in wanted.settings
    }
    searched = _written_folders(search_path, context) if wanted.programs else ()
    nested = {folder: nests(folder, host) for folder in wanted.nests} if wanted.nests else {}
    return Facts.make((paths, globs, programs, git, trees, untrusted, names, settings, nested, chosen, searched))


def _look_at(path: str, host: Host) -> PathFact:
    """Where a path leads. One that no call to the system takes is not even tried: its links are anybody's guess."""
    fact = host.path(path) if len(path) <= MAX_PATH else None
    return _UNTOLD if fact is None else fact


def _look_at_many(paths: tuple[str, ...], host: Host) -> dict[str, PathFact]:
    """The same for many. Each look at what is not there goes through all folders on the way, so that thousands of deep
    paths would take seconds: below a folder that is known to be missing nothing is looked at, as nothing is there."""
    missing: dict[str, str] = {}  # where their paths lead
    found = {}
    for path in paths:
        fact = _below_missing(path, missing)
        if fact is None:
            fact = _look_at(path, host)
            folder = path[: path.rfind("/")] if fact.kind == "missing" else ""
            if folder and (above := host.path(folder)) is not None and above.kind == "missing":
                missing[folder] = above.real
        if fact.kind == "missing":
            missing[path] = fact.real
        found[path] = fact
    return found


def _below_missing(path: str, missing: dict[str, str]) -> PathFact | None:
    """What is below a missing folder: nothing, by that name. None below no such folder, and where the name itself needs
    a look."""
    if len(path) > MAX_PATH or normpath(path) != path:
        return None
    at = path.rfind("/")
    while at > 0:
        real = missing.get(path[:at])
        if real is not None:
            return PathFact(real + path[at:], "missing")
        at = path.rfind("/", 0, at)
    return None


def _programs(
    names: tuple[str, ...], host: Host, context: Context, search_path: str
) -> tuple[dict[str, str], frozenset[str], frozenset[str]]:
    """What the search path gives for names, which of these the agent could have put there, and which are stand-ins.

    A bare name is only looked up where a folder of the search path can be written by the agent, or starts what the
    project's files choose: nothing else about it matters. For a program given by path it is told whether the search
    path gives that very file.
    """
    writable, suspect, stand_ins = _suspect(search_path, (*context.workspace, *context.temp))
    programs: dict[str, str] = {}
    untrusted = []
    chosen = []
    for name in names:
        base = name[name.rfind("/") + 1 :]
        if base is name and not suspect and not (stand_ins and host.program(base, stand_ins)):
            continue
        found = host.program(base, search_path)
        programs[base] = name if base is not name and found and _is_same(found, name, host) else found
        fact = host.path(found) if found else None
        standing = any(folder in found for folder in STAND_INS)
        if standing:
            chosen.append(base)
        if found and (
            fact is None
            or not found.startswith("/")
            or found.startswith(writable)
            or fact.real.startswith(writable)
            or (standing and chosen_by_place(host, context))
        ):
            untrusted.append(base)
    return programs, frozenset(untrusted) if untrusted else _NONE, frozenset(chosen) if chosen else _NONE


def _written_folders(search_path: str, context: Context) -> tuple[str, ...]:
    """The folders of the search path in which the agent can put programs; relative ones as seen from where it is."""
    writable, suspect, _ = _suspect(search_path, (*context.workspace, *context.temp))
    if not suspect:
        return ()
    folders = [os.path.normpath(os.path.join(context.cwd or "/", folder or ".")) for folder in search_path.split(":")]
    return tuple([folder for folder in folders if f"{folder}/".startswith(writable)])


def _is_same(one: str, other: str, host: Host) -> bool:
    here, there = host.path(one), host.path(other)
    return here is not None and there is not None and here.real == there.real and here.kind == "file"


def _resolve_by_descriptor(path: str) -> PathFact:
    """Linux: the kernel resolves the links; the descriptor neither opens a device nor waits for a FIFO."""
    try:
        descriptor = os.open(path, _O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return _resolve_by_name(path)
    try:
        return PathFact(os.readlink(f"/proc/self/fd/{descriptor}"), _kind(os.fstat(descriptor).st_mode))
    finally:
        os.close(descriptor)


def _resolve_by_name(path: str) -> PathFact:
    """Anywhere, and for paths that do not exist yet: as far as they exist, links included."""
    real = os.path.realpath(path)
    try:
        return PathFact(real, _kind(os.stat(real).st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return PathFact(real, "missing")


def _kind(mode: int) -> str:
    return "file" if stat.S_ISREG(mode) else "dir" if stat.S_ISDIR(mode) else "other"


def _suspect(search_path: str, own: tuple[str, ...]) -> tuple[tuple[str, ...], bool, str]:
    """The folders, each with a slash, in which a program may be anything by the time it runs; whether a program is
    searched for in one of them; and those of the search path that hold version managers' stand-ins. Kept: the same few
    session after session."""
    found = _SUSPECTED.get((search_path, own))
    if found is None:
        writable = tuple([f"{folder}/" for folder in (*own, "/tmp", "/var/tmp")])
        folders = search_path.split(":")
        suspect = any((folder + "/").startswith(writable) or folder[:1] != "/" for folder in folders)
        stand_ins = ":".join(dict.fromkeys(folder for folder in folders if (folder + "/").endswith(STAND_INS)))
        if len(_SUSPECTED) >= MAX_KEPT_TEXTS:
            _SUSPECTED.clear()
        found = _SUSPECTED[search_path, own] = (writable, suspect, stand_ins)
    return found


_SUSPECTED: dict[tuple[str, tuple[str, ...]], tuple[tuple[str, ...], bool, str]] = {}


def _look_below(tree: str, skips: str, host: Host, hidden: Callable[[str], bool], entries: Entries) -> TreeFact:
    """Protected paths below a tree, as far as a bounded look goes, without what the program leaves out."""
    if skips == "rest":
        return TreeFact((), True)
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


def _are_plain(tree: str, host: Host, entries: Entries) -> bool:
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
