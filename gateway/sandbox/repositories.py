"""The parts of git repositories that lie outside of their work trees: linked worktrees and submodules.

There `.git` is a file that names a folder, and whoever can write the work tree can write that file. So the folder
counts only if it names the work tree back, from a place that only git itself put there.
"""

from __future__ import annotations

from posixpath import basename, dirname, normpath

from gateway.core.value import Value
from gateway.host.git_settings import obeyed_in
from gateway.host.repository import common_folder, linked_folder, may_name_files, of_person
from gateway.sandbox.marks import Mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gateway.host.base import Host
    from gateway.model.context import Context


class Repository(Value):
    """A work tree whose repository lies elsewhere. `link`: its `.git` file; `folders`: its own folder and the one that
    it shares with other work trees, resolved."""

    link: str
    folders: tuple[str, ...]


def repository_of(top: str, host: Host) -> Repository | None:
    """The repository of a work tree whose `.git` is a file; None where it is not, or where nothing confirms it."""
    link = f"{top}/.git"
    fact = host.path(link)
    if fact is None or fact.kind != "file" or fact.real != link:
        return None
    own = _folder(linked_folder(link, host), host)
    if not own:
        return None
    common = _folder(common_folder(own, host), host)
    if common != own:  # a linked worktree
        named = host.read(f"{own}/gitdir").strip()
        confirmed = (
            bool(common)
            and dirname(own) == f"{common}/worktrees"
            and _leads_to(_joined(own, named), link, host)
            and _is_repository(common, host)
        )
        return Repository(link, (own, common)) if confirmed else None
    if "modules" in own.split("/") and _is_repository(own, host) and _work_tree_of(own, host) == top:
        return Repository(link, (own,))
    return None


def obeyed_marks(marks: Iterable[Mark], host: Host, context: Context) -> Iterator[Mark]:
    """What git takes settings, hooks or programs from in the work trees of the repositories that some names belong to,
    where calls may write: as their own settings and the person's say (`core.hooksPath`, `include.path`)."""
    theirs = of_person(context.home, host)
    named = any(may_name_files(host.read(file)) for file in theirs)
    for mark in tuple(marks):
        common, slash, name = mark.path.rpartition("/")
        if not slash or name != "config" or mark.hidden or not mark.fixed:
            continue
        if not named and not may_name_files(host.read(mark.path)):
            continue
        top = dirname(common) if common.endswith("/.git") else _work_tree_of(common, host) or common
        for path in obeyed_in(top, common, theirs, host, context):
            fact = host.path(path)
            if not host.is_missing(path):
                kind = "link" if host.is_link(path) else "other" if fact is None else fact.kind
                yield Mark(path, kind, hidden="", fixed=mark.fixed, kept=mark.fixed)


def _joined(folder: str, path: str) -> str:
    return path if path.startswith("/") else f"{folder}/{path}"


def _folder(path: str, host: Host) -> str:
    fact = host.path(path)
    return fact.real if fact is not None and fact.kind == "dir" else ""


def _leads_to(path: str, link: str, host: Host) -> bool:
    fact = host.path(normpath(path))
    return basename(path) == ".git" and fact is not None and fact.real == link


def _is_repository(folder: str, host: Host) -> bool:
    return bool(host.read(f"{folder}/HEAD")) and bool(_folder(f"{folder}/objects", host))


def _work_tree_of(folder: str, host: Host) -> str:
    """The work tree that a submodule's configuration names."""
    for line in host.read(f"{folder}/config").splitlines():
        name, mark, value = line.partition("=")
        if mark and name.strip().lower() == "worktree":
            return _folder(normpath(_joined(folder, value.strip().strip('"'))), host)
    return ""
