"""Descriptions in several files: `git.yaml`, and beside it `git.NAME.yaml` that say `of: git` and go on with it; and
several in one file, each behind a line `---`."""

from __future__ import annotations

import os
import re

from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NEXT = re.compile(rb"^---[ \t]*\r?$", re.MULTILINE)
_OF = re.compile(rb"^of:[ \t]*(\S+)[ \t]*(?:#.*)?\r?$", re.MULTILINE)


class Source(Value):
    """The text of a description, and the path and text of each file that goes on with it."""

    path: str
    content: bytes
    parts: tuple[tuple[str, bytes], ...] = ()


def documents(content: bytes) -> list[bytes]:
    """The descriptions of one file, each in the lines in which it stands there: in front are as many empty ones."""
    starts = [0, *(found.end() for found in _NEXT.finditer(content))]
    ends = [*(found.start() for found in _NEXT.finditer(content)), len(content)]
    found = [
        b"\n" * content.count(b"\n", 0, start) + content[start:end] for start, end in zip(starts, ends, strict=True)
    ]
    return [each for each in found if each.strip()] or [content]


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

    Raises ConfigError for a part without the description that it goes on with, and for one of a file of several.
    """
    wholes: dict[str, list[bytes]] = {}
    parts: dict[str, list[tuple[str, bytes]]] = {}
    for path, content in files:
        whole = part_of(path, content)
        if whole:
            parts.setdefault(whole, []).append((path, content))
        else:
            wholes[path] = documents(content)
    alone = [(whole, path) for whole, found in parts.items() if whole not in wholes for path, _ in found]
    if alone:
        raise ConfigError([Problem(f"part must stand beside {os.path.basename(of)}", file=path) for of, path in alone])
    for path, found in parts.items():
        if len(wholes[path]) > 1:
            message = f"part must go on with a file of one description ({os.path.basename(path)} has several)"
            raise ConfigError([Problem(message, file=part) for part, _ in found])
    return [Source(path, one, tuple(parts.get(path, ()))) for path, found in wholes.items() for one in found]
