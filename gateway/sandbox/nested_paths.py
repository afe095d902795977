"""Which of some paths another one lies in. Pure."""

from __future__ import annotations

from gateway.policy.confine import folder_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of some folders, or lies in one."""
    return any((path + "/").startswith(folder + "/") for folder in folders)


def is_or_holds(path: str, folder: str) -> bool:
    """Whether a path is some folder, or one that it lies in."""
    return path == "/" or (folder + "/").startswith(path + "/")


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Whether a path lies in one of some folders, strictly."""
    return next(above_of(path, folders), None) is not None


def above_of(path: str, folders: Any, *, itself: bool = False) -> Iterator[str]:
    """Those of some folders that a path lies in, the nearest first; with `itself` the path, too, if it is one."""
    if itself and path in folders:
        yield path
    while path not in ("/", ""):
        path = folder_of(path)
        if path in folders:
            yield path
