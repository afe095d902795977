"""Where agents keep their rules, and where in such a file something stands."""

from __future__ import annotations

import json
import os

from gateway.core.value import Value
from gateway.install.base import MANAGED, PROJECT, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from gateway.install.base import Site
    from gateway.install.jsonc import JsonDocument


class Place(Value):
    """A file that may hold rules, or with `folder` one whose files with that ending do. `level`: whose it is: managed,
    user or project."""

    path: str
    level: str
    folder: str = ""

    def files(self) -> tuple[str, ...]:
        """The files that are there, in the order of their names."""
        if not self.folder:
            return (self.path,) if os.path.lexists(self.path) else ()
        try:
            names = sorted(os.listdir(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        return tuple(os.path.join(self.path, name) for name in names if name.endswith(self.folder))


def user_and_project(agent: ModuleType, site: Site) -> tuple[str, str]:
    """The folders of an agent's settings, the user's and the project's."""
    return agent.folder(site.replace(level=USER)), agent.folder(site.replace(level=PROJECT))


def managed(agent: ModuleType, site: Site) -> str:
    """The folder of an agent's settings that the machine's owner sets."""
    found: str = agent.folder(site.replace(level=MANAGED))
    return found


def json_line(_document: JsonDocument, text: str, value: object) -> int:
    """The line where a value, or a key, first stands in a text of JSON; 1 where it is spelled in another way."""
    at = text.find(json.dumps(value, ensure_ascii=False))
    return text.count("\n", 0, at) + 1 if at >= 0 else 1
