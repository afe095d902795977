"""Reopens folders that a call has closed to their owner, while what it left behind is examined.

Modes bind an ordinary user's gateway as they bind the call: a folder without them holds what no sweep would see. They
are given back afterwards, so that a call may close its own folders as it likes.
"""

from __future__ import annotations

import os
import stat

from gateway.sandbox.base import SandboxError
from gateway.sandbox.real_paths import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Self

MOST_FOLDERS = 100_000
LOOK = 0o500


class Reopened:
    """Opens folders while it is in use; leaving it gives back the modes of those that are still in their places. Only
    for use when whatever closed them has ended."""

    def __init__(self) -> None:
        self._modes: dict[str, tuple[int, int, int]] = {}

    def open(self, folder: str, above: str) -> None:
        """Makes it, all folders below it and those on the way from `above` such that their owner can look into them.
        Raises SandboxError where that is not to be had."""
        try:
            here = above
            self.give(here, LOOK)
            for name in folder[len(above) :].strip("/").split("/"):
                here = f"{here.rstrip('/')}/{name}" if name else here
                self.give(here, LOOK)
            pending = [folder]
            while pending:
                with os.scandir(pending.pop()) as entries:
                    below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
                for each in below:
                    self.give(each, LOOK)
                pending += below
                if len(self._modes) + len(pending) > MOST_FOLDERS:
                    raise SandboxError(f"more than {MOST_FOLDERS:,} folders lie in what was closed")
        except OSError as error:
            raise SandboxError(f"{folder} cannot be read: {error.strerror}", "look at it by hand") from error

    def give(self, folder: str, bits: int) -> None:
        """These bits for the owner of a folder, if that is this user. Raises OSError."""
        before = grant(folder, bits)
        if before is not None:
            self._modes.setdefault(folder, before)

    def leave_open(self, paths: Container[str]) -> None:
        """Of those opened so far these do not get their modes back: somebody else sees to them."""
        self._modes = {path: before for path, before in self._modes.items() if path not in paths}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for folder, (mode, device, inode) in reversed(self._modes.items()):
            try:
                with at(folder) as (parent, name):
                    found = os.stat(name or "/", dir_fd=parent, follow_symlinks=False)
                    if (found.st_dev, found.st_ino) == (device, inode):
                        _set_mode(parent, name, folder, mode)
            except OSError:
                continue  # it was taken away, and stays open for who looks at it


def grant(folder: str, bits: int) -> tuple[int, int, int] | None:
    """Gives the owner of a folder, if that is this user, these bits of its mode: its mode, device and number before
    that, None where nothing was missing or is to be had. Raises OSError."""
    with at(folder) as (parent, name):
        found = os.stat(name or "/", dir_fd=parent, follow_symlinks=False)
        mode = stat.S_IMODE(found.st_mode)
        if mode & bits == bits or found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode):
            return None
        _set_mode(parent, name, folder, mode | bits)
        return mode, found.st_dev, found.st_ino


def _set_mode(parent: int, name: str, path: str, mode: int) -> None:
    """The mode of a folder that nobody may be able to open. Raises OSError."""
    if not hasattr(os, "O_PATH"):
        os.chmod(path, mode, follow_symlinks=False)
        return
    descriptor = os.open(name or "/", os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{descriptor}", mode)
    finally:
        os.close(descriptor)
