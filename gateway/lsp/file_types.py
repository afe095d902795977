"""Which server a file is one for, by how its name ends. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def language_of(path: str, extensions: Mapping[str, str]) -> str:
    """What a file is in the protocol's words, "" where none of the endings fits: of several the longest decides."""
    found = _ending(path, extensions)
    return extensions[found] if found else ""


def server_for(path: str, servers: Mapping[str, Mapping[str, Any]]) -> str:
    """The server of a file by name, "" for none: the one that names the longest ending, of equals the first."""
    best, length = "", 0
    for name, each in servers.items():
        ending = _ending(path, each["extensions"])
        if len(ending) > length:
            best, length = name, len(ending)
    return best


def _ending(path: str, extensions: Mapping[str, str]) -> str:
    """The longest ending of a file's name among those given; one without a dot before it is a whole name."""
    name = path.rpartition("/")[2]
    found = [each for each in extensions if name == each or (each.startswith(".") and name.endswith(each))]
    return max(found, key=len, default="")
