"""Whether files are still the ones that were read, found out without reading them again.

A stamp is what the system says of every file and folder that something was made from. Two equal stamps mean equal files
unless one was changed so soon after it was read that the clock of the file system did not move in between: what is as
young as that is never taken for unchanged.
"""

from __future__ import annotations

import os
from stat import S_ISLNK
from time import monotonic

from gateway.config.layers import layer_folders
from gateway.core.installation import RECEIPTS
from gateway.core.places import PACKAGE, packaged
from gateway.host.repository import of_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.judge.judge import Judge

    Stamp = tuple[tuple[str, tuple[int, ...]], ...]

# Coarser than the clock of any file system that policies lie on.
SETTLED_NS = 2_000_000_000
_MOST = 2_000
_DEPTH = 4
_LOOK_SECONDS = 1.0


class Unbounded(Exception):
    """More than is looked at each time."""


def policy_stamp(gateway: Judge) -> Stamp | None:
    """Of all that a gateway's policy, descriptions, tools and trust were read from, missing ones included; None for
    more than that can be looked at for each call."""
    places, options = gateway.places, gateway.options
    tops = [each.path for each in layer_folders(places, options.root)]
    if options.policies:
        tops = [tops[0], options.policies]
    found: dict[str, tuple[int, ...]] = {}
    tops.append(os.path.join(places.state, RECEIPTS))
    try:
        for top in tops:
            found[top] = _of(top)
            _below(top, found, 0)
        settings = of_project(options.root, places.home, gateway.host)
        included = [path for path, _known in gateway.loaded.included]
        for path in (os.path.join(places.state, "trust.json"), *settings, *included):
            found[path] = _of(path)
    except (OSError, Unbounded):
        return None
    return tuple(found.items())


class Code:
    """The code that runs, with the data that comes with it, as it was when this was made."""

    def __init__(self) -> None:
        self._folders = [packaged("policies")]
        self._files = [packaged("tools.yaml")]
        for where, folders, names in os.walk(PACKAGE):
            folders[:] = [name for name in folders if name != "__pycache__"]
            self._folders.append(where)
            self._files += [os.path.join(where, name) for name in names]
        self._files += [entry.path for entry in os.scandir(packaged("policies"))]
        self._stamp = self._now()
        self._quick = self._now_quick()
        self._looked = monotonic()

    def is_loaded(self) -> bool:
        """Once everything was imported, which may have made folders for what Python compiles: whether that was from
        the code that this was made of."""
        self._quick = self._now_quick()
        return self._now() == self._stamp

    def is_same(self) -> bool:
        """Whether it is still that. An installation puts new files in the place of old ones, which the folders tell; a
        file that is changed in its place, as in a checkout, is told within a second."""
        if self._now_quick() != self._quick:
            return False
        if monotonic() - self._looked < _LOOK_SECONDS:
            return True
        self._looked = monotonic()
        return self._now() == self._stamp

    def _now_quick(self) -> list[tuple[int, ...]]:
        return [_of_folder(folder) for folder in self._folders]

    def _now(self) -> list[tuple[int, ...]]:
        return [_of(path) for path in self._files]


def is_settled(stamp: Stamp, at_ns: int) -> bool:
    """Whether nothing in a stamp is so young, at the time when the reading began, that a change since then could
    leave no trace."""
    return all(max(told[-2:], default=0) < at_ns - SETTLED_NS for _path, told in stamp)


def _of(path: str) -> tuple[int, ...]:
    """What the system says of a name and of what it leads to; () for nothing there."""
    try:
        named = found = os.lstat(path)
        if S_ISLNK(named.st_mode) and os.path.exists(path):
            found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return (
        named.st_ino, found.st_dev, found.st_ino, found.st_mode, found.st_uid, found.st_gid, found.st_size,
        found.st_mtime_ns, max(found.st_ctime_ns, named.st_ctime_ns),
    )  # fmt: skip


def _of_folder(path: str) -> tuple[int, ...]:
    """What changes with the names in a folder; () for nothing there."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _below(folder: str, found: dict[str, tuple[int, ...]], depth: int) -> None:
    try:
        with os.scandir(folder) as entries:
            names: Iterable[str] = [entry.path for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return
    for path in names:
        found[path] = _of(path)
        if len(found) > _MOST or depth >= _DEPTH:
            raise Unbounded
        if os.path.isdir(path):
            _below(path, found, depth + 1)
