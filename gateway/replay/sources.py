"""Policies to compare, as people name them: a folder, a file, a revision of git, or what holds now.

A folder that holds `.gateway`, and a revision, stand for the project's own layer: all other layers are as they are now.
A folder with `user.yaml`, `project.yaml` and the like stands for all layers. A file, or a folder with `policy.yaml`,
stands for one layer: the project's unless another one is named.
"""

from __future__ import annotations

import os
import subprocess

from gateway.config.descriptions import FOLDER as DESCRIPTIONS
from gateway.config.descriptions import WITH_DESCRIPTIONS, find_descriptions
from gateway.config.layers import (
    PROJECT,
    TESTS_ENDING,
    LayerFolder,
    PolicyFile,
    find_files,
    layer_folders,
    read_file,
)
from gateway.config.load import Options, moved_for, tool_files, tool_names
from gateway.config.near_misses import DROP_INS, POLICY
from gateway.config.shipped import load_tools
from gateway.config.snapshot import Snapshot
from gateway.config.tool_files import FILE as TOOLS
from gateway.config.tool_files import WITH_TOOLS
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import places
from gateway.core.programs import Untrusted, start
from gateway.model.decision import LAYERS
from gateway.replay.judging import PRESENT, Side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.core.places import Places

NOW = "present"
_OWN = ".gateway"
_SECONDS = 30
# git must not obey what the repository says of helpers: only objects are read.
_GIT = ("--no-replace-objects", "-c", "core.fsmonitor=", "-c", "protocol.allow=never")


class Tree:
    """A folder's files, wherever they are. `where`: as an error names it."""

    where = ""

    def names(self, folder: str) -> list[str]:
        """The files right in a folder below, sorted; none where it is not there."""
        raise NotImplementedError

    def read(self, path: str) -> bytes | None:
        """A file below, None where there is none. Raises ConfigError."""
        raise NotImplementedError


class OnDisk(Tree):
    """A folder on disk."""

    def __init__(self, folder: str) -> None:
        self.where = folder

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(os.path.join(self.where, folder)))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            problem = Problem(f"cannot be listed: {error.strerror}", file=os.path.join(self.where, folder))
            raise ConfigError(problem) from error

    def read(self, path: str) -> bytes | None:
        full = os.path.join(self.where, path)
        return read_file(full, (self.where,)) if os.path.lexists(full) else None


class Overlaid(OnDisk):
    """A folder on disk, some files of which say something else than they do."""

    def __init__(self, folder: str, changed: Mapping[str, bytes]) -> None:
        """`changed`: what files say, by their names below the folder."""
        super().__init__(folder)
        self._changed = changed

    def names(self, folder: str) -> list[str]:
        inside = {os.path.basename(each) for each in self._changed if os.path.dirname(each) == folder}
        return sorted(inside.union(super().names(folder)))

    def read(self, path: str) -> bytes | None:
        return self._changed[path] if path in self._changed else super().read(path)


class OneFile(Tree):
    """One file in the place of a layer's `policy.yaml`."""

    def __init__(self, path: str) -> None:
        self.where = path

    def names(self, _folder: str) -> list[str]:
        return []

    def read(self, path: str) -> bytes | None:
        return read_file(self.where) if os.path.basename(path) == POLICY else None


class OfRevision(Tree):
    """A folder as a revision of git has it."""

    def __init__(self, root: str, name: str) -> None:
        """Raises ConfigError where there is no such revision."""
        self.where = name
        self._root = root
        found = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if found is None:
            remedy = f"give a folder, a policy file, a revision of the repository in {root}, or `{NOW}`"
            raise ConfigError(Problem(f"there is no policy `{name}`", remedy=remedy))
        self._commit = found.decode("ascii", "replace").strip()
        prefix = self._run("rev-parse", "--show-prefix") or b""
        self._prefix = prefix.decode("utf-8", "surrogateescape").strip("\n")

    def names(self, folder: str) -> list[str]:
        place = f"{self._commit}:{self._prefix}{folder}".rstrip("/")
        found = self._run("ls-tree", "-z", "--name-only", place)
        return sorted(found.decode("utf-8", "surrogateescape").split("\0")[:-1]) if found else []

    def read(self, path: str) -> bytes | None:
        place = f"{self._commit}:{self._prefix}{path}"
        kind = self._run("cat-file", "-t", place)
        return self._run("cat-file", "blob", place) if kind and kind.strip() == b"blob" else None

    def _run(self, *words: str) -> bytes | None:
        """What git prints, None where it fails."""
        nothing = subprocess.DEVNULL
        try:
            with start(
                "git", [*_GIT, *words], folder=self._root, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing
            ) as process:
                try:
                    printed = process.communicate(timeout=_SECONDS)[0]
                finally:
                    process.kill()
        except (OSError, Untrusted, subprocess.TimeoutExpired) as error:
            raise ConfigError(Problem(f"git cannot be asked for `{self.where}`: {error}")) from error
        return printed if process.returncode == 0 else None


def side_of(name: str, root: str, layer: str = PROJECT) -> Side:
    """The policy that a person means. `root`: the project; `layer`: what a file or a folder with `policy.yaml` stands
    for. Raises ConfigError for what is none, and for what is wrong in any of its files."""
    if name == NOW:
        return PRESENT
    if layer not in LAYERS[1:5]:
        raise ConfigError(Problem(f"--layer must be one of {', '.join(LAYERS[1:5])} (got `{layer}`)"))
    if os.path.isdir(name):
        folder = os.path.realpath(name)
        inside = OnDisk(folder)
        if os.path.lexists(os.path.join(folder, _OWN)):
            return _of_project(name, root, inside)
        names = inside.names("")
        if POLICY in names or DROP_INS in names:
            return _of_layer(name, root, inside, layer)
        if any(f"{each}.yaml" in names for each in LAYERS[1:5]):
            return Side(name, policies=folder)
        remedy = f"it must hold {_OWN}, {POLICY}, or one of {', '.join(f'{each}.yaml' for each in LAYERS[1:5])}"
        raise ConfigError(Problem("no policy is in this folder", file=folder, remedy=remedy))
    if os.path.isfile(name):
        return _of_layer(name, root, OneFile(os.path.realpath(name)), layer)
    return _of_project(name, root, OfRevision(root, name))


def side_with(name: str, root: str, layer: str, changed: Mapping[str, bytes]) -> Side:
    """What holds now, with other texts in some files of one of a person's own layers. `changed`: the texts, by the
    files' names below the layer's folder. Raises ConfigError for what is wrong in any of its files."""
    folder = next(each for each in layer_folders(places(), root) if each.layer == layer and each.base == root)
    return _of_layer(name, root, Overlaid(folder.path, changed), layer)


def trusting(side: Side, root: str) -> Side:
    """What holds now, as if the project were trusted: so that it differs from another state of the project's policy by
    what the two say alone."""
    if side != PRESENT:
        return side
    return _of_project(NOW, root, OnDisk(root))


def _of_project(name: str, root: str, tree: Tree) -> Side:
    return _side(name, root, tree, PROJECT, _OWN + "/")


def _of_layer(name: str, root: str, tree: Tree, layer: str) -> Side:
    return _side(name, root, tree, layer, "")


def _side(name: str, root: str, tree: Tree, layer: str, inside: str) -> Side:
    here = places()
    folder = next(each for each in layer_folders(here, root) if each.layer == layer and each.base == root)
    own = [(path, data) for path in _policy_names(tree, inside) if (data := tree.read(path)) is not None]
    files = find_files(here, root)
    others = [each for each in files if not _is_of(each, folder)]
    if layer == "user" and not own:
        raise ConfigError(Problem(f"`{name}` holds no policy for the user layer"))
    mine = [_file(folder, path[len(inside) :], data) for path, data in own]
    order = LAYERS.index
    joined = sorted([*others, *mine], key=lambda each: (order(each.layer), each.base != root))
    described = _replaced(find_descriptions(here, root), tree, folder, inside, WITH_DESCRIPTIONS, DESCRIPTIONS)
    brought = _replaced(tool_files(here, Options(root, root=root)), tree, folder, inside, WITH_TOOLS, "")
    included = _included(tree, here, root, mine, brought) if layer == PROJECT else ()
    snapshot = Snapshot(
        files=tuple(joined), described=described, brought=brought, included=included, moved=moved_for(here, root),
        trusted=True, reads_disk=True,
    )  # fmt: skip
    return Side(name, ((root, snapshot),))


def _is_of(file: PolicyFile, folder: LayerFolder) -> bool:
    return file.layer == folder.layer and file.base == folder.base


def _policy_names(tree: Tree, inside: str) -> list[str]:
    drop_ins = [name for name in tree.names(inside + DROP_INS) if name.endswith(".yaml")]
    return [inside + POLICY, *(f"{inside}{DROP_INS}/{name}" for name in drop_ins if not name.endswith(TESTS_ENDING))]


def _file(folder: LayerFolder, name: str, content: bytes) -> PolicyFile:
    path = os.path.join(folder.path, name)
    return PolicyFile(folder.layer, path, content=content, base=folder.base, root=folder.root)


def _replaced(
    files: Sequence[PolicyFile], tree: Tree, folder: LayerFolder, inside: str, layers: Sequence[str], below: str
) -> tuple[PolicyFile, ...]:
    """Descriptions or tools of all layers, those of one layer from the tree."""
    others = [each for each in files if not _is_of(each, folder)]
    if folder.layer not in layers or isinstance(tree, OneFile):
        return tuple(files)
    names = [f"{below}/{name}" for name in tree.names(inside + below) if name.endswith(".yaml")] if below else [TOOLS]
    found = [_file(folder, name, data) for name in names if (data := tree.read(inside + name)) is not None]
    return tuple(sorted([*others, *found], key=lambda each: LAYERS.index(each.layer)))


def _included(
    tree: Tree, here: Places, root: str, files: Sequence[PolicyFile], brought: Sequence[PolicyFile]
) -> tuple[tuple[str, bytes], ...]:
    """What a project's files extend in the project, as the tree has it."""
    from gateway.spec.policy import parse_policy

    tools = tool_names(load_tools(here, brought))
    found: dict[str, bytes] = {}
    pending = [(each.path, each.content) for each in files]
    while pending:
        path, content = pending.pop()
        for each in parse_policy(content, path, tools)["extends"]:
            if "file" not in each:
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), os.path.expanduser(each["file"])))
            written = os.path.join(os.path.dirname(path), os.path.expanduser(each["file"]))
            if written in found or not target.startswith(root + "/"):
                continue
            data = tree.read(os.path.relpath(target, root))
            if data is None:
                raise ConfigError(Problem(f"extends `{each['file']}`, which `{tree.where}` has not", file=path))
            found[written] = data
            pending.append((written, data))
    return tuple(sorted(found.items()))
