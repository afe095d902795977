"""The only look at the host before a decision: bounded answers to what the analysis wants to know.

Nothing here decides. What could not be found out is missing from the facts, and the stages that follow treat a
missing fact as unknown. What was resolved is checked again at use, because the world may change in between.
"""

from __future__ import annotations

import os
from posixpath import normpath

from gateway.core.value import Value
from gateway.host.project_files import SHIMS, chosen_by_place, texts_above, with_installed
from gateway.host.repository import git_fact, nests
from gateway.model.effect import HOLE
from gateway.model.facts import NO_FACTS, TEMPORARY, Facts, PathFact, Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.host.base import Host
    from gateway.model.context import Context

MAX_PATH = 4096
_MOST_KEPT = 256

_MANY = 16
_NONE: frozenset[str] = frozenset()
# Where a path leads that nobody can follow: anywhere.
_UNTOLD = PathFact(HOLE, "unknown")


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
    if nothing and not (wanted.settings or wanted.activates or wanted.clients):
        return NO_FACTS
    if len(wanted.paths) < _MANY:
        paths = {path: _look_at(path, host) for path in wanted.paths}
    else:
        paths = _look_at_many(wanted.paths, host)
    globs = {}
    if wanted.globs:
        import gateway.host.bounds as bounds  # lazy: few calls have globs

        entries = bounds.Entries(bounds.MAX_GLOB_ENTRIES, bounds.MAX_ENTRIES)
        for pattern in wanted.globs:
            matches = globs[pattern] = host.glob(pattern, entries)
            for path in matches or ():
                paths[path] = _look_at(path, host)
    searched = _searched(search_path, context)
    programs, untrusted, chosen = _programs(wanted.programs, host, context, searched)
    git = {folder: git_fact(folder, host, context) for folder in wanted.git} if wanted.git else {}
    if wanted.hooks:
        from gateway.host.git_hooks import is_quiet  # lazy: few calls run what has hooks

        for folder, links in wanted.hooks:
            if (fact := git.get(folder)) is not None and fact.own:
                git[folder] = fact.replace(quiet=is_quiet(fact.top, links, host, context))
    trees = {}
    if wanted.trees and hidden is not None:
        from gateway.host.bounds import MAX_ENTRIES, MAX_TREE_ENTRIES, Entries  # lazy: few calls are on trees
        from gateway.host.trees import look_below

        entries = Entries(MAX_TREE_ENTRIES, MAX_ENTRIES)
        trees = {tree: look_below(*tree, host, hidden, entries) for tree in wanted.trees}
    names = {}
    if wanted.names and not context.confined:
        from gateway.host.bounds import MAX_ENTRIES, MAX_TREE_ENTRIES, Entries
        from gateway.host.trees import are_plain

        entries = Entries(MAX_TREE_ENTRIES, MAX_ENTRIES)
        names = {folder: are_plain(folder, host, entries) for folder in wanted.names}
    settings = {
        each: with_installed(texts_above(*each, host, context), each[1], host, context, searched.path)
        for each in wanted.settings
    }
    activates = {path: _sets(path, host) for path in wanted.activates} if wanted.activates else {}
    nested = {folder: nests(folder, host) for folder in wanted.nests} if wanted.nests else {}
    clients = {}
    if wanted.clients:
        from gateway.host.clients import client_fact  # lazy: few calls start such a program

        clients = {name: client_fact(name, host, context) for name in wanted.clients}
    return Facts.make((
        paths, globs, programs, git, trees, untrusted, names, settings, nested, chosen,
        searched.written if wanted.programs else (), searched.wanders, activates, clients,
    ))  # fmt: skip


def _sets(path: str, host: Host) -> tuple[str, ...]:
    from gateway.commands.activation import sets  # lazy: few calls source the script of an environment

    return sets(host.read(path))


class _Searched(Value):
    """A search path as seen from where a call begins, with every entry absolute. `wanders`: some were not. `writable`:
    the folders, each with a slash, in which a program may be anything by the time it runs; `suspect`: a program is
    searched for in one of them; `written`: those of the path; `stand_ins`: those that hold version managers' shims."""

    path: str
    wanders: bool
    writable: tuple[str, ...]
    suspect: bool
    written: tuple[str, ...]
    stand_ins: str


_known: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], _Searched] = {}


def _searched(search_path: str, context: Context) -> _Searched:
    """Kept: the same few session after session."""
    key = (search_path, context.cwd, context.workspace, context.temp)
    found = _known.get(key)
    if found is None:
        if len(_known) >= _MOST_KEPT:
            _known.clear()
        found = _known[key] = _seen_from(*key)
    return found


def _seen_from(search_path: str, cwd: str, workspace: tuple[str, ...], temp: tuple[str, ...]) -> _Searched:
    # Where this process stands says nothing of where a call begins.
    folders = search_path.split(":")
    wanders = not all(folder[:1] == "/" for folder in folders)
    if wanders:
        folders = [normpath(os.path.join(cwd or "/", folder)) for folder in folders]
    writable = tuple([f"{folder}/" for folder in (*workspace, *temp, *TEMPORARY)])
    written = tuple([folder for folder in folders if f"{folder}/".startswith(writable)])
    stand_ins = ":".join(dict.fromkeys(folder for folder in folders if (folder + "/").endswith(SHIMS)))
    return _Searched(":".join(folders), wanders, writable, suspect=bool(written), written=written, stand_ins=stand_ins)


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
    names: tuple[str, ...], host: Host, context: Context, searched: _Searched
) -> tuple[dict[str, str], frozenset[str], frozenset[str]]:
    """What the search path gives for names, which of these the agent could have put there, and which are shims.

    A bare name is only looked up where a folder of the search path can be written by the agent, or starts what the
    project's files choose: nothing else about it matters. For a program given by path it is told whether the search
    path gives that very file.
    """
    programs: dict[str, str] = {}
    untrusted = []
    chosen = []
    for name in names:
        base = name[name.rfind("/") + 1 :]
        if (
            base is name
            and not searched.suspect
            and not (searched.stand_ins and host.program(base, searched.stand_ins))
        ):
            continue
        found = host.program(base, searched.path)
        programs[base] = name if base is not name and found and _is_same(found, name, host) else found
        fact = host.path(found) if found else None
        standing = any(folder in found for folder in SHIMS)
        if standing:
            chosen.append(base)
        if found and (
            fact is None
            or not found.startswith("/")
            or found.startswith(searched.writable)
            or fact.real.startswith(searched.writable)
            or (standing and chosen_by_place(host, context))
        ):
            untrusted.append(base)
    return programs, frozenset(untrusted) if untrusted else _NONE, frozenset(chosen) if chosen else _NONE


def _is_same(one: str, other: str, host: Host) -> bool:
    here, there = host.path(one), host.path(other)
    return here is not None and there is not None and here.real == there.real and here.kind == "file"
