"""What git would find when it starts in a folder. It looks at the host through the methods of `observe.Host` alone."""

from __future__ import annotations

from gateway.model.facts import TEMPORARY, GitFact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from gateway.host.base import Host
    from gateway.model.context import Context

    Settings = tuple[tuple[tuple[str, str], ...], str, tuple[str, str]]


# How `policies/builtin.yaml` names what git obeys inside a work tree.
WRITTEN = "//obeyed-by-git"


# By any of these in the environment that calls begin with git takes another repository, or other settings.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG")


def of_person(home: str, host: Host) -> tuple[str, ...]:
    """Those that hold for a person, and for everybody on the machine, wherever variables put them."""
    base = host.variable("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    own = [f"{home}/.gitconfig"] if home else []
    if base.startswith("/"):
        own.append(f"{base}/git/config")
    if said := host.variable("GIT_CONFIG_GLOBAL"):
        own = [said]
    return (*own, host.variable("GIT_CONFIG_SYSTEM") or "/etc/gitconfig")


def of_project(root: str, home: str, host: Host) -> tuple[str, ...]:
    """Those that hold in a project: its repository's own, and the person's."""
    return (*((f"{root}/.git/config",) if root else ()), *of_person(home, host))


# Keys whose values name hosts and branches, and no files.
_NAMES_NO_FILE = frozenset(("url", "pushurl", "fetch", "push", "merge", "remote", "insteadof", "pushinsteadof", "name"))


def may_name_files(settings: str) -> bool:
    """Whether some line may name a file of a work tree: told without reading the text as git does."""
    for line in settings.lower().split("\n"):
        key, equals, value = line.partition("=")
        may = "/" in value or "path" in key or "\\" in line or ("." in value and " " in value.strip())  # `sh a.sh`
        if equals and may and key.strip() not in _NAMES_NO_FILE:
            return True
    return False


def git_fact(folder: str, host: Host, context: Context) -> GitFact:
    """What git would find when it starts in a folder: the nearest `.git` upward, its branch and remotes.

    `own` is False where a repository other than the project's would be used, or where the folder itself looks
    like a bare repository, because git runs what such a repository's configuration says. So it is where the project's
    own repository takes its configuration from a folder of the project, keeps another one that has settings, or has
    settings itself by which git may start or obey what a call could have put there: `why` then says which.
    """
    top = work_tree(folder, host)
    if not top:
        return GitFact("", False, "")
    dot_git = f"{top}/.git"
    fact = host.path(dot_git)
    git_folder = fact.real if fact is not None and fact.kind == "dir" else linked_folder(dot_git, host)
    head = host.read(f"{git_folder}/HEAD").strip() if git_folder else ""
    prefix = "ref: refs/heads/"
    common = common_folder(git_folder, host)
    branch = head[len(prefix) :] if head.startswith(prefix) else ""
    own = _is_own(top, context) or _is_worktree(top, git_folder, common, host, context)
    own = own and _is_guarded(git_folder, common, context) and _keeps_quiet(top, git_folder, host)
    import gateway.host.git_settings as git_settings  # lazy: few calls are git's

    why = ""
    if own:
        set_before = next((name for name in _ELSEWHERE if host.variable(name)), "")
        theirs = of_person(context.home, host)
        why = f"{set_before} is set" if set_before else ""
        why = why or git_settings.objection(top, git_folder, common, theirs, host, context)
    settings = _settings(host.read(f"{common}/config") if common else "", branch)
    return GitFact(top, own and not why, branch, *settings, why)


def obeyed(root: str, home: str, host: Host) -> tuple[tuple[str, str], ...]:
    """Files and folders of a project, outside of any `.git`, from which git takes settings, hooks or programs there: as
    `Places.moved` tells of folders, how rules write them, and where they lie."""
    if not root or not any(may_name_files(host.read(file)) for file in of_project(root, home, host)):
        return ()
    from gateway.host.git_settings import obeyed_in  # lazy: few settings name files
    from gateway.model.context import Context

    top = work_tree(root, host)
    fact = host.path(f"{top}/.git") if top else None
    if fact is None:
        return ()
    git_folder = fact.real if fact.kind == "dir" else linked_folder(f"{top}/.git", host)
    common = common_folder(git_folder, host)
    found = obeyed_in(top, common, of_person(home, host), host, Context(root, root, home, (root,)))
    return tuple([(WRITTEN, each) for each in found])


def _read(config: str, branch: str) -> Settings:
    """Remotes, what a push sends, and the remotes that are meant where none is named. Nobody knows where the
    configuration cannot be read."""
    from gateway.commands.steering.git_config import BadConfig, default_remotes, entries, pushes, remotes

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


_DEEP = 200  # characters


def work_tree(folder: str, host: Host) -> str:
    """The folder of the work tree that a folder lies in, "" if none; a folder that looks like a bare repository ends
    the search, as it does for git."""
    path = folder
    while True:
        if len(path) > _DEEP and host.is_missing(path):  # a look below it would go all the way down again
            path = path[: path.rfind("/")]
            continue
        fact = host.path(f"{path}/.git")
        if fact is not None and fact.kind != "missing":
            return path or "/"
        if _looks_bare(path, host):
            return ""
        if path in ("", "/"):
            return ""
        path = path[: path.rfind("/")]


def _looks_bare(path: str, host: Host) -> bool:
    """As `is_like_bare` of what lies in a folder."""
    if host.is_missing(f"{path}/HEAD"):
        return False
    return is_like_bare({"HEAD", *[name for name in _OF_BARE if not host.is_missing(f"{path}/{name}")]})


_OF_BARE = ("commondir", "objects", "refs")


def is_like_bare(names: Container[str]) -> bool:
    """Whether git may take a folder with these names for a repository: a HEAD, and objects and refs, there or where
    `commondir` says."""
    return "HEAD" in names and ("commondir" in names or ("objects" in names and "refs" in names))


def linked_folder(dot_git: str, host: Host) -> str:
    """The folder that a `.git` file points to (worktrees and submodules), "" where it is no such file."""
    text = host.read(dot_git).strip()
    if not text.startswith("gitdir: "):
        return ""
    target = text[len("gitdir: ") :]
    return _reached(target if target.startswith("/") else f"{dot_git[: -len('/.git')]}/{target}", host)


def common_folder(git_folder: str, host: Host) -> str:
    """The folder from which git takes settings and hooks for one of its folders: `commondir` names another."""
    shared = host.read(f"{git_folder}/commondir").strip() if git_folder else ""
    return _reached(shared if shared.startswith("/") else f"{git_folder}/{shared}", host) if shared else git_folder


def _reached(path: str, host: Host) -> str:
    """Where a path leads as the kernel goes it: behind a link, `..` is not the folder that the link lies in. "" where
    that cannot be told."""
    fact = host.path(path)
    return fact.real if fact is not None else ""


def _is_own(top: str, context: Context) -> bool:
    """The project's own repository: its work tree holds the project root, or is one of the workspace's folders."""
    return bool(context.root) and ((context.root + "/").startswith(top + "/") or top in context.workspace)


def _is_worktree(top: str, git_folder: str, common: str, host: Host, context: Context) -> bool:
    """Whether a work tree is another one of the project's own repository, as both say of each other."""
    if not common or common == git_folder or not context.root:
        return False
    first = work_tree(context.root, host)
    fact = host.path(f"{first}/.git") if first else None
    if fact is None or host.read(f"{git_folder}/gitdir").strip() != f"{top}/.git":
        return False
    folder = fact.real if fact.kind == "dir" else linked_folder(f"{first}/.git", host)
    return common == common_folder(folder, host)


def _is_guarded(git_folder: str, common: str, context: Context) -> bool:
    """Whether policy speaks of the files in which git finds its settings, by their names."""
    if not common or (common != git_folder and not git_folder.startswith(f"{common}/worktrees/")):
        return False
    temporary = (*context.temp, *TEMPORARY)
    if _lies_in(common, (context.root, *context.workspace)) or _lies_in(context.root, temporary):
        return "/.git/" in f"{common}/"
    return not _lies_in(common, temporary)  # what lies there counts as written by calls, whatever it is called


def _lies_in(path: str, places: tuple[str, ...]) -> bool:
    return any(place and f"{path}/".startswith(f"{place}/") for place in places)


LINK = b"\0\0\xe0\0"
"""The mode of what an index keeps of another repository."""
_HASHES = (20, 32)
_MOST_LINKS = 256
_DEEPEST = 4


def _keeps_quiet(top: str, git_folder: str, host: Host, depth: int = 0) -> bool:
    """Whether none of the repositories that this one keeps inside has settings by which git may run something: git
    looks for changes in them too."""
    file = f"{git_folder}/index"
    index = host.data(file)
    if not index:
        fact = host.path(file)
        return fact is not None and (fact.kind == "missing" or host.is_empty(file))
    if _is_shared(index, git_folder, host):
        return False
    if LINK not in index:
        return True
    paths = _links(index)
    if paths is None or depth > _DEEPEST:
        return False
    for path in paths:
        below = f"{top.rstrip('/')}/{path}"
        fact = host.path(f"{below}/.git")
        if fact is None:
            return False
        if fact.kind == "missing":
            continue
        folder = fact.real if fact.kind == "dir" else linked_folder(fact.real, host)
        if not folder or not _is_quiet(folder, below, host):
            return False
        if not _keeps_quiet(below, folder, host, depth + 1):
            return False
    return True


MAX_NESTS = 20_000


def nests(folder: str, host: Host) -> bool | None:
    """Whether some repository inside the work tree, known to the index or not, has settings by which git may run
    something. None where there is too much to look at, or a folder that cannot be looked into."""
    top = work_tree(folder, host)
    if not top:
        return True
    fact = host.path(f"{top}/.git")
    own = fact.real if fact is not None and fact.kind == "dir" else linked_folder(f"{top}/.git", host)
    own = common_folder(own, host)
    if not own:
        return True
    seen = 0
    pending = [top.rstrip("/")]
    try:
        while pending:
            here = pending.pop()
            for name, kind in host.entries(here or "/"):
                seen += 1
                if seen > MAX_NESTS:
                    return None
                path = f"{here}/{name}"
                if name.lower() != ".git":
                    if kind == "dir":
                        pending.append(path)
                elif path != f"{top.rstrip('/')}/.git" and not _is_tame(path, own, host):
                    return True
    except OSError:
        return None
    return False


def _is_tame(dot_git: str, own: str, host: Host) -> bool:
    """Whether what lies under the name `.git` is a part of a repository, or has no settings that matter."""
    fact = host.path(dot_git)
    if fact is None:
        return False
    folder = fact.real if fact.kind == "dir" else linked_folder(fact.real, host)
    return not folder or folder.startswith(f"{own}/worktrees/") or _is_quiet(folder, fact.real.rpartition("/")[0], host)


def _is_shared(index: bytes, git_folder: str, host: Host) -> bool:
    """Whether a part of the index may lie in another file."""
    at = index.find(b"link")
    while at >= 0:
        # An extension says how long it is; of a file's name what comes next is nearly always too much, or nothing.
        size = int.from_bytes(index[at + 4 : at + 8], "big")
        if not _HASHES[0] <= size <= len(index) - at:
            at = index.find(b"link", at + 1)
            continue
        fact = host.path(f"{git_folder}/sharedindex.{index[at + 8 : at + 28].hex()}")
        if fact is None or fact.kind != "missing":
            return True
        at = index.find(b"link", at + 1)
    return False


def _links(index: bytes) -> list[str] | None:
    """The paths at which an index may keep other repositories: all of them, perhaps more. None where that cannot be
    told."""
    if index[:4] != b"DIRC" or index[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return None
    found: list[str] = []
    at = index.find(LINK)
    while at >= 0:
        for size in _HASHES:
            flags = at + 16 + size
            start = flags + (4 if index[flags : flags + 1] >= b"@" and index[flags] & 0x40 else 2)
            length = int.from_bytes(index[flags : flags + 2], "big") & 0xFFF
            name = index[start : index.find(b"\0", start)]
            if name and (len(name) == length or length == 0xFFF):
                found.append(name.decode("utf-8", "surrogateescape"))
        at = index.find(LINK, at + 1)
    return found if len(found) <= _MOST_LINKS else None


def _is_quiet(folder: str, work_tree: str, host: Host) -> bool:
    """Whether a repository inside another one says nothing by which git may run something when it looks for changes."""
    from gateway.commands.steering.git_config import BadConfig, entries
    from gateway.commands.steering.git_keys import is_usual_inside

    if not host.is_missing(f"{folder}/commondir"):
        return False
    for name in ("config", "config.worktree"):
        try:
            found = entries(host.read(f"{folder}/{name}"))
        except BadConfig:
            return False
        if not all(is_usual_inside(each, folder, work_tree) for each in found):
            return False
    return True
