"""From policy files on disk to one compiled policy.

Reads the files of every layer, follows what they extend, leaves out what a layer may not say, and compiles the
rest. A broken file is an error that names the file, line and column; it never silently drops another one, and
nothing is decided while it lasts.
"""

from __future__ import annotations

import os

from gateway.config.near_misses import DROP_INS, POLICY, beside, meant, misnamed
from gateway.core.cache import digest
from gateway.core.errors import ConfigError, Problem
from gateway.core.ownership import check_folder
from gateway.core.places import packaged
from gateway.core.plain_files import NotPlainError, open_plain
from gateway.core.value import Value
from gateway.model.decision import LAYERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from gateway.core.places import Places

    Parse = Callable[[bytes, str], dict[str, Any]]

PRESETS = ("builtin", "guard", "shows", "daily", "ci", "enterprise", "python", "node", "systems", "remote-reading")
MAX_BYTES = 8_000_000

TESTS_ENDING = ".tests.yaml"
# Beside a layer's policy, the tools that it brings (`gateway.config.tool_files`).
TOOLS_FILE = "/tools.yaml"


SESSION = LAYERS[-1]
PROJECT = "project"

# Which modes refuse or ask wherever the other one does, ceilings included: what a project may change a mode to.
STRICTER = {
    "bypass": ("accept_edits", "auto", "default", "dont_ask", "plan", "read_only"),
    "accept_edits": ("default", "dont_ask", "plan", "read_only"),
    "auto": ("default", "dont_ask", "plan", "read_only"),
    "default": ("dont_ask", "plan", "read_only"),
    "dont_ask": (),
    "plan": ("read_only",),
    "read_only": ("plan",),
}


def strict_as_both(one: str, other: str) -> str:
    """The laxest mode known to be as strict as either of two, "" if there is none."""
    as_strict = [mode for mode in (other, *STRICTER.get(other, ())) if mode == one or mode in STRICTER.get(one, ())]
    return one if one in as_strict else (as_strict or [""])[0]


class PolicyFile(Value):
    """One file of a layer as read. `base`: what relative patterns start from; `root`: what `/x` starts from."""

    layer: str
    path: str
    content: bytes
    base: str
    root: str


class Setting(Value):
    """A value, and the file and layer that set it last. A section (`sandbox`, `limits`, `levels`, `audit`) is set key
    by key: `origins` says which file and layer set each key that stands in it."""

    value: Any
    file: str
    layer: str
    origins: Mapping[str, Sequence[str]] = {}

    def layers(self) -> tuple[str, ...]:
        """Every layer that set something of it."""
        return tuple({self.layer, *(layer for _file, layer in self.origins.values())})


def find_files(
    places: Places, root: str, *, policies: str = "", others: Iterable[str] = (), binding: bool = False
) -> list[PolicyFile]:
    """The policy files that apply, layer by layer, `builtin` first.

    `policies`: a folder whose `enterprise.yaml`, `user.yaml`, `project.yaml` and `local.yaml` stand for the layers;
    `binding`: the machine's own enterprise layer holds beside them. `others`: further project roots whose deny and ask
    rules apply. With no user file at all, the preset `daily`
    is the user layer. Raises ConfigError for every file that cannot be read and for an enterprise folder that
    others than root can write.
    """
    builtin = packaged("policies/builtin.yaml")
    found = [_read("builtin", builtin, root, "/")]
    folders = layer_folders(places, root, others)
    if policies:
        return [*found, *(read_layer(folders[0]) if binding else ()), *_from_folder(policies, root)]
    for folder in folders:
        files = read_layer(folder)
        if folder.layer == "user" and not files:
            files = [_read("user", packaged("policies/daily.yaml"), root, places.config)]
        found += files
    return found


class LayerFolder(Value):
    """Where a layer's `policy.yaml` and `policy.d` lie; `base` and `root` as in `PolicyFile`. `instead`: a folder that
    people take for it, "" for none."""

    layer: str
    path: str
    base: str
    root: str
    instead: str = ""


def layer_folders(places: Places, root: str, others: Iterable[str] = ()) -> list[LayerFolder]:
    """The folders of the layers between `builtin` and the session, upper ones first."""
    projects = tuple(dict.fromkeys((root, *others)))
    at_home = "" if places.home in projects else os.path.join(places.home, ".gateway")
    return [
        LayerFolder("enterprise", places.enterprise, root, places.enterprise),
        LayerFolder("user", places.config, root, places.config, instead=at_home),
        *(LayerFolder("project", os.path.join(project, ".gateway"), project, project) for project in projects),
        LayerFolder("local", local_folder(places, root), root, root),
    ]


def read_layer(folder: LayerFolder) -> list[PolicyFile]:
    """The files of one layer. Raises ConfigError for one that cannot be read, or that the wrong people can write, and
    except in a project for what looks like policy under a name that is not read."""
    if folder.layer == "enterprise" and _is_there(folder.path):
        check_folder(folder.path)
    if folder.layer != PROJECT:
        problems = misnamed(folder.path)
        if problems:
            raise ConfigError(problems)
    return _layer(folder)


def passed_over(folders: Iterable[LayerFolder]) -> list[Problem]:
    """What lies in projects or beside a layer's folder, and looks like policy under a name that is not read: nobody but
    who wrote it is hurt by that, so it is told, and no error that every call would end at. Raises ConfigError."""
    return [
        problem
        for folder in folders
        for problem in (
            *(misnamed(folder.path) if folder.layer == PROJECT else ()),
            *(beside(folder.path, folder.instead) if folder.layer != "local" else ()),
        )
    ]


def session_files(rules: Iterable[str], root: str) -> list[PolicyFile]:
    """A session's rules as files of its layer, the lowest."""
    return [
        PolicyFile(SESSION, f"session rule {n}", content=text.encode(), base=root, root=root)
        for n, text in enumerate(rules, 1)
    ]


def local_folder(places: Places, root: str) -> str:
    """Where a user's own rules for one project lie: outside of the repository, keyed by the real path."""
    return os.path.join(places.state, "projects", digest([os.path.realpath(root)])[:24])


def _from_folder(folder: str, root: str) -> list[PolicyFile]:
    if not os.path.isdir(folder):
        remedy = "give a folder with enterprise.yaml, user.yaml, project.yaml or local.yaml"
        raise ConfigError(Problem(f"--policies must be a folder (got `{folder}`)", remedy=remedy))
    found = []
    read = [f"{layer}.yaml" for layer in LAYERS[1:5]]
    for name in sorted(set(_names_in(folder)) - set(read)):
        if meant(name, read):
            message = f"is not read: its name must be `{meant(name, read)}`"
            raise ConfigError(Problem(message, file=os.path.join(folder, name)))
    for layer in LAYERS[1:5]:
        path = os.path.join(folder, f"{layer}.yaml")
        if os.path.lexists(path):
            found.append(_read(layer, path, root, root))
    if not found:
        remedy = "name a file enterprise.yaml, user.yaml, project.yaml or local.yaml"
        raise ConfigError(Problem("no policy file in the folder", file=folder, remedy=remedy))
    return found


def _layer(folder: LayerFolder) -> list[PolicyFile]:
    paths = [os.path.join(folder.path, POLICY)]
    drop_ins = os.path.join(folder.path, DROP_INS)
    names = [name for name in _names_in(drop_ins) if name.endswith(".yaml") and not name.endswith(TESTS_ENDING)]
    paths += [os.path.join(drop_ins, name) for name in names]
    return [file_of(folder, path) for path in paths if _is_there(path)]


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ConfigError(Problem(f"cannot be listed: {error.strerror}", file=folder)) from error


def file_of(folder: LayerFolder, path: str) -> PolicyFile:
    """A file of a layer. One of a project must really lie there. Raises ConfigError."""
    within = (folder.base,) if folder.layer == PROJECT else ()
    return PolicyFile(folder.layer, path, content=read_file(path, within), base=folder.base, root=folder.root)


def _is_there(path: str) -> bool:
    """Whether something has this name. Raises ConfigError where nobody can tell: it may be a policy."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        remedy = "make the folder readable: while it is not, every call is refused"
        raise ConfigError(Problem(f"cannot be looked at: {error.strerror}", file=path, remedy=remedy)) from error
    return True


def _read(layer: str, path: str, base: str, root: str) -> PolicyFile:
    return PolicyFile(layer, path, content=read_file(path), base=base, root=root)


def read_file(path: str, within: tuple[str, ...] = (), *, what: str = "a policy file", most: int = MAX_BYTES) -> bytes:
    """A policy file's bytes. Raises ConfigError when it cannot be read; never waits on a FIFO or device. `within`: the
    folders in one of which it must lie, wherever links lead; one that does not is not opened. `what`: what it is to be,
    of at most `most` bytes."""
    try:
        real = os.path.realpath(path) if within else ""
        if within and not _lies_in(real, within):
            raise ConfigError(Problem("must lie in the project, and not be a link out of it", file=path))
        with open_plain(path) as file:
            if within and not os.path.samestat(os.fstat(file.fileno()), os.lstat(real)):
                raise ConfigError(Problem("must not be replaced while it is read", file=path))
            content = file.read(most + 1)
            if len(content) > most:
                raise ConfigError(Problem(f"{what} must have at most {most:,} bytes", file=path, remedy="split it"))
            return content
    except NotPlainError as error:
        remedy = "put a plain file in its place, or take it away"
        raise ConfigError(Problem(f"{what} must be a regular file", file=path, remedy=remedy)) from error
    except OSError as error:
        remedy = "make it readable, or remove it: while it cannot be read, every call is refused"
        if isinstance(error, FileNotFoundError) and not os.path.islink(path):
            name = os.path.basename(path)
            ships = f": what ships of that name is meant by `preset: {name}`" if name in PRESETS else ""
            remedy = f"name a file that is there{ships}"
        raise ConfigError(Problem(f"cannot be read: {error.strerror}", file=path, remedy=remedy)) from error


def _lies_in(real: str, folders: tuple[str, ...]) -> bool:
    return any(real.startswith(os.path.realpath(each).rstrip("/") + "/") for each in folders)


def texts(files: Iterable[PolicyFile]) -> Iterable[bytes | str]:
    """What makes files another policy once it changes."""
    for file in files:
        yield f"{file.layer}\0{file.path}\0{file.base}"
        yield file.content


def revision_of(
    files: Iterable[PolicyFile],
    included: Iterable[Sequence[str]],
    moved: tuple[tuple[str, str], ...],
    trusted: bool,
    described: Iterable[PolicyFile],
    brought: Iterable[PolicyFile],
) -> str:
    """The digest of everything that a policy was read from. `included`: path and digest of what files extend."""
    extended = [list(each) for each in included]
    return digest([*texts(files), repr((extended, moved)), repr(trusted), *texts(described), *texts(brought)])
