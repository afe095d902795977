"""Descriptions of programs that layers bring, and how they join those that are shipped.

Each layer may hold a folder `commands` with one file per program. What such a file may say:

- The enterprise layer's description of a name stands in the place of the shipped one.
- A layer that is trusted describes the names that nothing above it describes.
- In every other case a description only adds: what it says of a command is joined to what is known already. So a lower
  layer never makes a call look more harmless than the layers above left it.

The user layer is trusted, a project is when a person accepted its content; `lock: [commands]` in a layer leaves those
below it nothing but adding.
"""

from __future__ import annotations

import os

from gateway.config.layers import LayerFolder, PolicyFile, file_of, layer_folders
from gateway.core.errors import ConfigError, Problem
from gateway.core.ownership import check_folder
from gateway.model.decision import LAYERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from gateway.commands.description import Description
    from gateway.core.packed import Descriptions
    from gateway.core.places import Places

    Lookup = Callable[[str], Description | None]
    # A layer's place among the layers, one of the words below, and what it describes.
    Entry = tuple[int, str, Description]

FOLDER = "commands"
WITH_DESCRIPTIONS = ("enterprise", "user", "project")
REPLACES, DESCRIBES, ADDS = "replaces", "describes", "adds"


def find_descriptions(places: Places, root: str, *, policies: str = "", binding: bool = False) -> list[PolicyFile]:
    """The files with which layers describe programs, upper layers first.

    `policies`: a folder whose `commands` are the user layer's, the only ones but, with `binding`, the machine's own
    enterprise layer's. Raises ConfigError for a file that cannot be read and for an enterprise folder that others than
    root can write.
    """
    folders = [each for each in layer_folders(places, root) if each.layer in WITH_DESCRIPTIONS]
    if policies:
        folders = [*(folders[:1] if binding else ()), LayerFolder("user", policies, root, root)]
    found = []
    for each in folders:
        folder = os.path.join(each.path, FOLDER)
        try:
            names = sorted(os.listdir(folder))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ConfigError(Problem(f"cannot be listed: {error.strerror}", file=folder)) from error
        if each.layer == "enterprise":
            check_folder(folder)
        paths = [os.path.join(folder, name) for name in names if name.endswith(".yaml")]
        found += [file_of(each, path) for path in paths]
    return found


def compile_files(files: Iterable[PolicyFile], shipped: Lookup) -> list[tuple[str, Description]]:
    """Each file's layer and compiled description; its examples were run.

    Raises ConfigError with the problems of all files.
    """
    from gateway.commands.examples import failing

    found: list[tuple[str, Description]] = []
    problems: list[Problem] = []
    known: dict[tuple[str, str], tuple[str, int]] = {}
    for file, parts in with_parts(files, problems):
        try:
            description, lookup = compile_one(file, shipped, parts)
        except ConfigError as error:
            problems += error.problems
            continue
        line, column = description["place"]
        for name in description["names"]:
            first = known.setdefault((file.layer, name), (file.path, line))
            if first != (file.path, line):
                message = f"`{name}` must be described once in the {file.layer} layer (got it again)"
                remedy = f"it stands in {first[0]} already"
                problems.append(Problem(message, file=file.path, line=line, column=column, remedy=remedy))
        remedy = "correct the example or the description"
        problems += [
            Problem(message, file=path, line=line, column=column, remedy=remedy)
            for path, line, column, message in failing(description, lookup)
        ]
        found.append((file.layer, description))
    if problems:
        raise ConfigError(problems)
    return found


def with_parts(
    files: Iterable[PolicyFile], problems: list[Problem]
) -> list[tuple[PolicyFile, tuple[tuple[str, bytes], ...]]]:
    """The descriptions, each as a file of its own with path and content of those that go on with it. What goes on with
    none is added to the problems."""
    known = {file.path: file for file in files}
    if not known:
        return []  # and no reader of YAML is loaded
    from gateway.spec.commandparts import sources

    try:
        found = sources((path, file.content) for path, file in known.items())
    except ConfigError as error:
        problems += error.problems
        return []
    return [(known[each.path].replace(content=each.content), each.parts) for each in found]


def compile_one(
    file: PolicyFile, shipped: Lookup, parts: Iterable[tuple[str, bytes]] = ()
) -> tuple[Description, Lookup]:
    """A file's compiled description, and what its examples go by: it alone for its names, and the shipped ones for all
    others. Raises ConfigError."""
    from gateway.spec.commands import compile_description

    description = compile_description(file.content, file.path, file.layer, parts)
    own = dict.fromkeys(description["names"], description)
    return description, lambda name: own.get(name) or shipped(name)


def entries(compiled: Iterable[tuple[str, Description]], *, trusted: bool, locked_by: str = "") -> list[Entry]:
    """What each layer's descriptions may do. `trusted`: whether the project is; `locked_by`: the upper layer that
    leaves those below it nothing but adding."""
    found = []
    for layer, description in compiled:
        rank = LAYERS.index(layer)
        if layer == "enterprise":
            may = REPLACES
        elif (layer == "project" and not trusted) or (locked_by and LAYERS.index(locked_by) < rank):
            may = ADDS
        else:
            may = DESCRIBES
        kept: Any = {key: value for key, value in description.items() if key not in _FOR_TESTS}
        found.append((rank, may, kept))
    return found


_FOR_TESTS = ("examples", "lines", "place")


class Layered:
    """What known programs do: the shipped descriptions with what layers say besides.

    Looked up like `Descriptions`. A description may hold `also`: those that only add to it. With `undescribed` it says
    nothing by itself, and what the program does stays unknown whatever is added.
    """

    def __init__(self, shipped: Descriptions, found: Sequence[Entry]) -> None:
        """`found`: the entries, upper layers first."""
        self._shipped = shipped
        self._own: dict[str, list[Entry]] = {}
        self._joined: dict[str, Description | None] = {}
        for entry in found:
            for name in entry[2]["names"]:
                self._own.setdefault(name, []).append(entry)

    def __call__(self, name: str) -> Description | None:
        """The compiled description of a program, None if nobody described it."""
        if name not in self._own:
            return self._shipped(name)
        if name not in self._joined:
            self._joined[name] = self._join(name)
        return self._joined[name]

    def names(self) -> tuple[str, ...]:
        """Every name that is described or added to."""
        return tuple(dict.fromkeys((*self._shipped.names(), *self._own)))

    def role(self, name: str, entry: Entry) -> str:
        """What an entry really does for one of its names."""
        rank, may, _description = entry
        return ADDS if may == DESCRIBES and self._is_described_above(name, rank) else may

    def _join(self, name: str) -> Description:
        base: Any = self._shipped(name)
        also = []
        for entry in self._own[name]:
            description = entry[2]
            role = self.role(name, entry)
            if role == ADDS:
                also.append(description)
            else:
                # What the shell has built in stays so, and is not looked for on PATH.
                base = {**description, "builtin": True} if base is not None and "builtin" in base else description
                if role == DESCRIBES and self._is_described_above(description["name"], entry[0]):
                    base = {**base, "several": True}  # it does not get the name of a program that another one has
        if base is None:
            base = {"name": name, "names": [name], "undescribed": True}
        if also:
            base = {**base, "also": also}
        joined: Description = base
        return joined

    def _is_described_above(self, name: str, rank: int) -> bool:
        """Whether anything above a layer describes a program, or one that only a file system that ignores case takes
        for it."""
        return any(
            self._shipped(each) is not None
            or any(
                above < rank and self.role(each, (above, may, found)) != ADDS
                for above, may, found in self._own.get(each, ())
            )
            for each in {name, name.lower()}
        )
