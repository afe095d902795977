"""Protected names as they are on the disk, and those among them that only git knows by what lies around them."""

from __future__ import annotations

from posixpath import basename, dirname, join, normpath

from gateway.core.value import Value
from gateway.host.repository import is_like_bare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gateway.host.base import Host
    from gateway.model.command import Part
    from gateway.policy.confine import Reach

# What git runs or obeys in the folder of a repository; in those called `.git` policy speaks of them by name.
_OBEYED = ("config", "config.worktree", "hooks", "commondir")
# A file that is compared when the call has ended, since programs may remove it together with its folder.
COMPARED = "compared"
# A folder so deep that what lies in it has no name.
DEEP = "deep"
# Stands for a rule: programs of environments change by calls that install, and by no others.
PROGRAMS = "programs-of-environments"
# Stands for a rule: what git is to do next in a rebase that stopped changes by a rebase, and by no other call.
STOPPED = "rebase-that-stopped"
# Subcommands of packagers that change these programs.
INSTALLS = frozenset(
    ("install", "i", "ci", "add", "sync", "update", "upgrade", "up", "remove", "rm", "uninstall", "un", "rebuild",
     "link", "dedupe", "prune", "develop", "require")
)  # fmt: skip
# What Python loads by its name each time it starts, be it a file, a package or a library.
_LOADED = ("sitecustomize", "usercustomize")
_COMPILED = "__pycache__"
_OF_ENVIRONMENTS = frozenset((".bin", "autoload.php", "bin", "pyvenv.cfg"))
_RUNNERS = frozenset((".tox", ".nox"))


class Mark(Value):
    """A name on the disk that rules speak of; `hidden`, `fixed` and `kept` as in `gateway.policy.path_protection`.
    `kind`: dir, file, link, other, compared or deep. A folder that could not be looked into is hidden, by no rule."""

    path: str
    kind: str
    hidden: str = ""
    fixed: str = ""
    kept: str = ""
    closed: bool = False


def program_marks(folder: str, kinds: Mapping[str, str], host: Host) -> Iterator[Mark]:
    """The programs of an environment in a folder, which the person runs by their names: those of a virtual environment
    of Python, whatever it is called, what it loads each time it starts (with the modules that lines of `*.pth` name,
    and what is compiled of all that), and those that packages of node and PHP bring.
    Programs that run what a project says in environments of their own (tox, nox) go on making these."""
    names: list[str] = []
    name = basename(folder)
    if name == "node_modules":
        names = [".bin"] if "/node_modules/" not in folder else []
    elif name == "vendor" and "autoload.php" in kinds:
        names = ["bin"]
    elif "pyvenv.cfg" in kinds and not _is_of_runner(folder):
        names = ["bin", "pyvenv.cfg"]
    elif name == "site-packages" and _is_of_environment(folder, host):
        loaded = _loaded_in(folder, kinds, host)
        names = [each for each in kinds if each.endswith(".pth") or each.partition(".")[0] in loaded]
        names += [_COMPILED] if kinds.get(_COMPILED) == "link" else []  # to what nobody looks into
    elif is_compiled(f"{folder}/") and _is_of_environment(dirname(folder), host):
        try:
            loaded = _loaded_in(dirname(folder), [each for each, _kind in host.entries(dirname(folder))], host)
        except OSError:  # it has gone
            return
        names = [each for each in kinds if each.partition(".")[0] in loaded]
    for each in names:
        if kinds.get(each) in ("dir", "file") or name in ("site-packages", _COMPILED):
            yield Mark(f"{folder}/{each}", kinds[each], hidden="", fixed=PROGRAMS, kept=PROGRAMS)


def may_matter_to_programs(folder: str, name: str) -> bool:
    """Whether a name that comes or goes may be one of `program_marks`, or make others such."""
    return name in _OF_ENVIRONMENTS or folder.endswith("/site-packages") or is_compiled(f"{folder}/")


def is_compiled(path: str) -> bool:
    """Whether a path lies where Python keeps what it has compiled of the modules of `site-packages`: what is not there
    is compiled anew."""
    return dirname(path).endswith(f"/site-packages/{_COMPILED}")


def _loaded_in(folder: str, names: Iterable[str], host: Host) -> set[str]:
    """The modules in a `site-packages` that Python loads each time it starts, by their names: those that lines of
    `*.pth` name, since it runs each that begins with `import`."""
    found = {*_LOADED}
    for name in names:
        if name.endswith(".pth"):
            for line in host.read(f"{folder}/{name}").splitlines():
                if line.startswith(("import ", "import\t")):
                    found.update("".join([sign if f"_{sign}".isidentifier() else " " for sign in line]).split())
    return found


def _is_of_environment(folder: str, host: Host) -> bool:
    """Whether it is the `site-packages` of one whose programs are held."""
    return not _is_of_runner(folder) and not host.is_missing(f"{dirname(dirname(dirname(folder)))}/pyvenv.cfg")


def _is_of_runner(folder: str) -> bool:
    return not _RUNNERS.isdisjoint(folder.split("/"))


def may_matter_to_git(folder: str, name: str) -> bool:
    """Whether a name that comes or goes may make a folder a repository, or have git run or obey something else."""
    return name in _OF_GIT or folder.endswith("/hooks")


_REBASE = "rebase-merge"
_OF_GIT = frozenset((".git", "HEAD", "objects", "refs", _REBASE, *_OBEYED))


def git_marks(folder: str, kinds: Mapping[str, str], rule: Callable[[str], str], host: Host) -> Iterator[Mark]:
    """The names in a folder by which git finds or obeys a repository, whatever that is called: a `.git` that is a file
    or a link, and in any folder that git would take for a repository what it obeys there. `kinds`: of all that lies in
    the folder; `rule`: the rule that keeps a path from being changed."""
    if kinds.get(".git", "dir") != "dir":
        protects = rule(f"{folder}/.git/config")
        if protects:
            yield Mark(f"{folder}/.git", kinds[".git"], hidden="", fixed=protects, kept=protects)
    if "HEAD" in kinds and is_like_bare(kinds) and (protects := rule(f"{folder}/.git/config")):
        for name in _OBEYED:
            if name in kinds:
                path = f"{folder}/{name}"
                sound = name == "commondir" and is_of_work_tree(folder, host)
                yield Mark(path, COMPARED if sound else kinds[name], hidden="", fixed=protects, kept=protects)
        # Its list of what to do has commands, too, which run when the person lets it go on.
        if kinds.get(_REBASE) == "dir":
            yield Mark(f"{folder}/{_REBASE}", "dir", hidden="", fixed=STOPPED, kept=STOPPED)


def is_of_rebase(path: str) -> bool:
    """Whether a path is, or lies in, what git keeps of a rebase that goes on. What was there before a call is held; git
    makes it anew, and takes it away, wherever a call rebases."""
    return f"/{_REBASE}/" in f"{path}/" and "/.git/" in path


def is_work_of(parts: Iterable[Part], writes: Iterable[Reach], mark: Mark) -> bool:
    """Whether a name is what a call is there to change. `parts`: its commands; `writes`: what it is to write.
    A rebase goes on by what says so. The programs of an environment change where a tree that they lie in was predicted
    to be written, or by a packager's own command to install."""
    if mark.fixed == STOPPED or is_of_rebase(mark.path):
        return any(part.argv[:1] and "rebase" in part.subcommands for part in parts)
    if mark.fixed != PROGRAMS:
        return False
    if any(each.tree and f"{mark.path}/".startswith(f"{each.path}/") for each in writes):
        return True
    return any("package" in part.classes and not INSTALLS.isdisjoint(part.subcommands) for part in parts)


def is_of_work_tree(folder: str, host: Host) -> bool:
    """Whether a folder is what a repository keeps of a linked work tree: `REPOSITORY/worktrees/NAME`, whose `commondir`
    says just that."""
    above = dirname(folder)
    if basename(above) != "worktrees":
        return False
    return _exactly(folder, _said(f"{folder}/commondir", host), host) == dirname(above)


def led_to(dot_git: str, host: Host) -> str:
    """The folder that a `.git` file sends git to, "" where that is not plainly said, or where a link is on the way."""
    said = _said(dot_git, host)
    return _exactly(dirname(dot_git), said[len("gitdir: ") :], host) if said.startswith("gitdir: ") else ""


def _said(file: str, host: Host) -> str:
    """The one line of a small file, as git takes it; "" where it says more, or something odd."""
    fact = host.path(file)
    if fact is None or fact.kind != "file" or fact.real != file:
        return ""
    line = host.read(file).removesuffix("\n")
    return line if line.isprintable() and line == line.strip() else ""


def _exactly(base: str, path: str, host: Host) -> str:
    """The folder at a path, "" where none is, or where a link leads there."""
    written = join(base, path) if path else ""
    fact = host.path(written) if path else None
    return fact.real if fact is not None and fact.kind == "dir" and fact.real == normpath(written) else ""
