"""Paths as bash expands a pattern, looked up on the host within bounds."""

from __future__ import annotations

import os
import re
from fnmatch import translate

from gateway.host.bounds import OutOfEntries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.host.bounds import Entries


def expand(pattern: str, entries: Entries, most: int) -> tuple[str, ...] | None:
    """Paths that an absolute pattern matches, sorted; None where that takes a look at more entries of folders than are
    granted, where there are more than `most`, and where it cannot be told."""
    found: list[str] = []
    entries.begin()
    try:
        for path in _matches(pattern, entries):
            found.append(path)
            if len(found) > most:
                return None
    except (OSError, ValueError, RecursionError, OutOfEntries):
        return None
    return tuple(sorted(found))


def _matches(pattern: str, granted: Entries) -> Iterator[str]:
    """Matches of an absolute pattern as bash finds them: segment by segment, dot files only when asked for."""
    special = min([at for at in map(pattern.find, "*?[") if at >= 0], default=len(pattern))
    folder, _, rest = pattern[:special].rpartition("/")
    return _below(folder, (rest + pattern[special:]).split("/"), granted)


def _below(folder: str, segments: list[str], granted: Entries) -> Iterator[str]:
    head, rest = segments[0], segments[1:]
    if not any(special in head for special in "*?["):
        path = f"{folder}/{head}"
        if rest:
            yield from _below(path, rest, granted)
        elif os.path.lexists(path):
            yield path
        return
    matches = re.compile(translate(head)).match
    try:
        with os.scandir(folder or "/") as entries:
            for entry in entries:
                granted.spend()
                name = entry.name
                if (name[0] == "." and head[0] != ".") or not matches(name):
                    continue
                if not rest:
                    yield f"{folder}/{name}"
                elif _is_folder(entry):
                    yield from _below(f"{folder}/{name}", rest, granted)
    except (FileNotFoundError, NotADirectoryError):
        return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Links count as what they lead to; one that leads in a circle leads nowhere, for bash too."""
    try:
        return entry.is_dir()
    except OSError:
        return False
