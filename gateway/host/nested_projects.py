"""Which other projects a call reaches into: their deny and ask rules apply to it too.

A project is a folder with a policy folder of its own. Folders above the project root are looked at once, when the
session starts; those below it, and everywhere else, each time a call names one.
"""

from __future__ import annotations

from gateway.core.errors import CallError
from gateway.host.observe import MAX_PATH
from gateway.model.effect import HOLE, PATH_KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.host.base import Host
    from gateway.model.effect import Item

POLICY_FOLDER = ".gateway"
MAX_FOLDERS = 512
_NOTHING: frozenset[str] = frozenset()


class NestedProjects:
    """The projects around and inside of one project root."""

    def __init__(self, host: Host, root: str) -> None:
        self._host = host
        # The root and each folder above it, with the projects that it lies in.
        self._known: dict[str, frozenset[str]] = {}
        around: frozenset[str] = frozenset()
        for folder in reversed(_ancestors(root)):
            if folder != root and self._is_project(folder):
                around |= {folder}
            self._known[folder] = around
        # The root, where most calls stay, if it lies in no other project.
        self._plain = "" if around else root

    def reached(self, cwds: tuple[str, ...], items: tuple[Item, ...]) -> frozenset[str]:
        """The other projects that a working folder or a target lies in.

        Raises CallError when the call names so many folders that looking would have no bound.
        """
        seen: set[str] = set()
        found: set[str] = set()
        for cwd in cwds:
            if cwd != self._plain:
                self._look_up(cwd, seen, found)
        plain = self._plain
        for item in items:
            effect: Any = item.effect
            kind = effect.kind
            if kind in PATH_KINDS:
                path, real = effect.path, effect.real
                whole = effect.tree or kind == "list"
                folder = path if whole else path[: path.rfind("/")]
                if folder != plain and HOLE not in path:
                    self._look_up(folder, seen, found)
                if real and HOLE not in real:
                    self._look_up(real if whole else real[: real.rfind("/")], seen, found)
            elif kind == "credential" and effect.path and HOLE not in effect.path:
                self._look_up(effect.path[: effect.path.rfind("/")], seen, found)
        return frozenset(found) if found else _NOTHING

    def _look_up(self, folder: str, seen: set[str], found: set[str]) -> None:
        if len(folder) > MAX_PATH:  # what lies deeper has no name that anybody could look at, and is never allowed
            folder = folder[: folder.rfind("/", 0, MAX_PATH)]
        while folder and folder not in seen:
            around = self._known.get(folder)
            if around is not None:
                found |= around
                return
            seen.add(folder)
            if len(seen) > MAX_FOLDERS:
                raise CallError(f"a call must name files in at most {MAX_FOLDERS} folders (it names more)")
            if self._is_project(folder):
                found.add(folder)
            folder = folder[: folder.rfind("/")]

    def _is_project(self, folder: str) -> bool:
        return self._host.is_folder(f"{folder}/{POLICY_FOLDER}")


def _ancestors(folder: str) -> list[str]:
    """The folder and every one above it but `/`."""
    found = []
    while folder:
        found.append(folder)
        folder = folder[: folder.rfind("/")]
    return found
