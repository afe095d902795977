"""What git would find when it starts in a folder. It looks at the host through the methods of `observe.Host` alone."""

from __future__ import annotations

from posixpath import normpath

from gateway.model.facts import GitFact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.context import Context
    from gateway.observe import Host

    Settings = tuple[tuple[tuple[str, str], ...], str, tuple[str, str]]


def git_fact(folder: str, host: Host, context: Context) -> GitFact:
    """What git would find when it starts in a folder: the nearest `.git` upward, its branch and remotes.

    `own` is False where a repository other than the project's would be used, or where the folder itself looks
    like a bare repository, because git runs what such a repository's configuration says.
    """
    top = work_tree(folder, host)
    if not top:
        return GitFact("", False, "")
    dot_git = f"{top}/.git"
    fact = host.path(dot_git)
    git_folder = fact.real if fact is not None and fact.kind == "dir" else _linked_folder(dot_git, host)
    head = host.read(f"{git_folder}/HEAD").strip() if git_folder else ""
    prefix = "ref: refs/heads/"
    common = _common_folder(git_folder, host)
    branch = head[len(prefix) :] if head.startswith(prefix) else ""
    return GitFact(
        top, _is_own(top, context), branch, *_settings(host.read(f"{common}/config") if common else "", branch)
    )


def _read(config: str, branch: str) -> Settings:
    """Remotes, what a push sends, and the remotes that are meant where none is named. Nobody knows where the
    configuration cannot be read."""
    from gateway.gitconfig import BadConfig, default_remotes, entries, pushes, remotes

    try:
        found = entries(config)
    except BadConfig:
        return (), "settings", ("", "")
    return remotes(found), pushes(found), default_remotes(found, branch)


_MOST_READ = 64
_known: dict[tuple[str, str], Settings] = {}


def _settings(config: str, branch: str) -> Settings:
    """As `_read`, remembered: calls follow each other in the same repositories."""
    found = _known.get((config, branch))
    if found is None:
        if len(_known) >= _MOST_READ:
            _known.clear()
        found = _known[config, branch] = _read(config, branch)
    return found


def work_tree(folder: str, host: Host) -> str:
    """The folder of the work tree that a folder lies in, "" if none; a folder that looks like a bare repository ends
    the search, as it does for git."""
    path = folder
    while True:
        fact = host.path(f"{path}/.git")
        if fact is not None and fact.kind != "missing":
            return path or "/"
        if _looks_bare(path, host):
            return ""
        if path in ("", "/"):
            return ""
        path = path[: path.rfind("/")]


def _looks_bare(path: str, host: Host) -> bool:
    head = host.path(f"{path}/HEAD")
    return (
        head is not None
        and head.kind != "missing"
        and all(
            (fact := host.path(f"{path}/{name}")) is not None and fact.kind == "dir" for name in ("objects", "refs")
        )
    )


def _linked_folder(dot_git: str, host: Host) -> str:
    """The folder that a `.git` file points to (worktrees and submodules)."""
    text = host.read(dot_git).strip()
    if not text.startswith("gitdir: "):
        return ""
    target = text[len("gitdir: ") :]
    return normpath(target if target.startswith("/") else f"{dot_git[: -len('/.git')]}/{target}")


def _common_folder(git_folder: str, host: Host) -> str:
    shared = host.read(f"{git_folder}/commondir").strip() if git_folder else ""
    return normpath(shared if shared.startswith("/") else f"{git_folder}/{shared}") if shared else git_folder


def _is_own(top: str, context: Context) -> bool:
    """The project's own repository: its work tree holds the project root, or is one of the workspace's folders."""
    return bool(context.root) and ((context.root + "/").startswith(top + "/") or top in context.workspace)
