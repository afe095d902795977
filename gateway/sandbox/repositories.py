"""The parts of git repositories that lie outside of their work trees: linked worktrees and submodules.

There `.git` is a file that names a folder, and whoever can write the work tree can write that file. So the folder
counts only if it names the work tree back, from a place that only git itself put there.
"""

from __future__ import annotations

from posixpath import basename, dirname, normpath

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.host.base import Host


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
    text = host.read(link).strip()
    if not text.startswith("gitdir: "):
        return None
    own = _folder(normpath(_joined(top, text[len("gitdir: ") :])), host)
    if not own:
        return None
    shared = host.read(f"{own}/commondir").strip()
    if shared:  # a linked worktree
        common = _folder(normpath(_joined(own, shared)), host)
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
