"""Paths as bash expands a pattern, looked up on the host within bounds."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def expand(pattern: str, entries: int, most: int) -> tuple[str, ...] | None:
    """Paths that an absolute pattern matches, sorted; None where that would take a look at more than so many entries of
    folders, where there are more than `most`, and where it cannot be told."""
    found: list[str] = []
    try:
        for path in _matches(pattern, _Budget(entries)):
            found.append(path)
            if len(found) > most:
                return None
    except (OSError, ValueError, RecursionError, _OutOfBudget):
        return None
    return tuple(sorted(found))


class _OutOfBudget(Exception):
    """A bound of the look was hit."""


class _Budget:
    """Counts down the folder entries that one question may look at."""

    def __init__(self, entries: int) -> None:
        self.left = entries

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _OutOfBudget


def _matches(pattern: str, budget: _Budget) -> Iterator[str]:
    """Matches of an absolute pattern as bash finds them: segment by segment, dot files only when asked for."""
    special = min([at for at in map(pattern.find, "*?[") if at >= 0], default=len(pattern))
    folder, _, rest = pattern[:special].rpartition("/")
    return _below(folder, (rest + pattern[special:]).split("/"), budget)


def _below(folder: str, segments: list[str], budget: _Budget) -> Iterator[str]:
    head, rest = segments[0], segments[1:]
    if not any(special in head for special in "*?["):
        path = f"{folder}/{head}"
        if rest:
            yield from _below(path, rest, budget)
        elif os.path.lexists(path):
            yield path
        return
    try:
        with os.scandir(folder or "/") as entries:
            for entry in entries:
                budget.spend()
                name = entry.name
                if (name[0] == "." and head[0] != ".") or not fnmatchcase(name, head):
                    continue
                if not rest:
                    yield f"{folder}/{name}"
                elif _is_folder(entry):
                    yield from _below(f"{folder}/{name}", rest, budget)
    except (FileNotFoundError, NotADirectoryError):
        return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Links count as what they lead to; one that leads in a circle leads nowhere, for bash too."""
    try:
        return entry.is_dir()
    except OSError:
        return False
