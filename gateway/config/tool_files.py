"""Tools that layers bring: a file `tools.yaml` beside the policy of a layer, in the format of the shipped one.

The enterprise and the user layer may declare every kind of tool. A project may declare `command:` tools only, and they
are there once a person has trusted exactly this content. No layer declares a name again that is declared above it.
"""

from __future__ import annotations

import os

from gateway.config.layers import LayerFolder, PolicyFile, file_of, layer_folders
from gateway.core.errors import ConfigError, Problem
from gateway.core.ownership import check_file, check_folder
from gateway.tools.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.core.places import Places

FILE = "tools.yaml"
OWN_FUNCTIONS = "handlers"  # beside it, the files of functions that it names
WITH_TOOLS = ("enterprise", "user", "project")


def find_tools(places: Places, root: str, *, policies: str = "", binding: bool = False) -> list[PolicyFile]:
    """The layers' files of tools, upper layers first. `policies`: a folder whose `tools.yaml` is the user layer's.

    Raises ConfigError for a file that cannot be read, and for one of the enterprise layer that others than root can
    write."""
    folders = [each for each in layer_folders(places, root) if each.layer in WITH_TOOLS]
    if policies:
        folders = [*(folders[:1] if binding else ()), LayerFolder("user", policies, root, root)]
    found = []
    for each in folders:
        path = os.path.join(each.path, FILE)
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ConfigError(Problem(f"cannot be looked at: {error.strerror}", file=path)) from error
        if each.layer == "enterprise":
            check_folder(each.path)
            check_file(path)
        found.append(file_of(each, path))
    return found


def with_tools(shipped: Registry, compiled: Iterable[tuple[str, dict[str, Any]]]) -> Registry:
    """The shipped tools and those of the layers. Raises ConfigError for a name that is declared twice."""
    tools = {name: shipped[name].entry for name in shipped}
    aliases = {name: shipped.canonical_name(name) for name in shipped.names() if name not in tools}
    problems = []
    for layer, found in compiled:
        for name in (*found["tools"], *found["aliases"]):
            if name in tools or name in aliases:
                line = found["tools"][found["aliases"].get(name, name)]["line"]
                message = f"tool `{name}` must be declared once: a layer above has it, or its alias"
                problems.append(Problem(message, file=found["file"], line=line, remedy="give it another name"))
        folder = os.path.join(os.path.dirname(found["file"]), OWN_FUNCTIONS)
        tools |= {name: _placed({**entry, "layer": layer}, folder) for name, entry in found["tools"].items()}
        aliases |= found["aliases"]
    if problems:
        raise ConfigError(problems)
    return Registry({"tools": tools, "aliases": aliases})


def _placed(entry: dict[str, Any], folder: str) -> dict[str, Any]:
    """The tool, with the file that its own function stands in."""
    handler = entry["handler"]
    if handler.get("kind") != "own":
        return entry
    module = handler["name"].partition(":")[0]
    return {**entry, "handler": {**handler, "file": os.path.join(folder, f"{module}.py")}}


def without_project(registry: Registry) -> Registry:
    """The same tools, where nobody has trusted the project: its own are known, and switched off."""
    tools = {name: registry.entry(name) for name in registry}
    waiting = {name: {**entry, "enabled": False} for name, entry in tools.items() if entry.get("layer") == "project"}
    if not waiting:
        return registry
    aliases = {name: registry.canonical_name(name) for name in registry.names() if name not in tools}
    return Registry({"tools": tools | waiting, "aliases": aliases})
