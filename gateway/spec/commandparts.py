"""Descriptions in several files: `git.yaml`, and beside it `git.NAME.yaml` that say `of: git` and go on with it."""

from __future__ import annotations

import os
import re

from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_OF = re.compile(rb"^of:[ \t]*(\S+)[ \t]*(?:#.*)?\r?$", re.MULTILINE)


class Source(Value):
    """The text of a description, and the path and text of each file that goes on with it."""

    path: str
    content: bytes
    parts: tuple[tuple[str, bytes], ...] = ()


def part_of(path: str, content: bytes) -> str:
    """The path of the description that a file goes on with, "" if it is one itself.

    Raises ConfigError for a part whose name is not made of the other's.
    """
    match = _OF.search(content)
    if match is None:
        return ""
    folder, name = os.path.split(path)
    whole = match[1].decode("utf-8", "replace").strip("\"'")
    if not name.startswith(f"{whole}."):
        line = content.count(b"\n", 0, match.start()) + 1
        remedy = f"name it {whole}.NAME.yaml" if whole.isprintable() else ""
        message = "part must have a name that begins with what it is `of`"
        raise ConfigError(Problem(message, file=path, line=line, column=1, remedy=remedy))
    return os.path.join(folder, f"{whole}.yaml")


def sources(files: Iterable[tuple[str, bytes]]) -> list[Source]:
    """Files by path and content as the descriptions that they make up, in the same order.

    Raises ConfigError for a part without the description that it goes on with.
    """
    wholes: dict[str, bytes] = {}
    parts: dict[str, list[tuple[str, bytes]]] = {}
    for path, content in files:
        whole = part_of(path, content)
        if whole:
            parts.setdefault(whole, []).append((path, content))
        else:
            wholes[path] = content
    alone = [(whole, path) for whole, found in parts.items() if whole not in wholes for path, _ in found]
    if alone:
        raise ConfigError([Problem(f"part must stand beside {os.path.basename(of)}", file=path) for of, path in alone])
    return [Source(path, content, tuple(parts.get(path, ()))) for path, content in wholes.items()]
