"""Files that have names elsewhere, too: package managers link them from a cache into a project instead of copying them.

A call that wrote one in place would change it for everybody who has such a name, in caches and in other projects. So it
is given a file of its own first, under the same name and with the same content. The other stays what it is, and comes
back under the name when the call is undone.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from gateway.sandbox.changes.closed_folders import reached
from gateway.sandbox.changes.looking import below, look
from gateway.sandbox.changes.state import FILE, stamp_of
from gateway.sandbox.real_paths import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.sandbox.changes.area import Area
    from gateway.sandbox.changes.state import Inode, Stamp

MOST_LOOKED_AT = 300_000  # names; beyond, every file of several is taken for one that has some elsewhere
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OWN = ".gateway-own-"


class Shared:
    """Of one call. `kept`: how many names the store itself has for a file; `fill`: copies from one descriptor to
    another."""

    def __init__(self, area: Area, kept: Callable[[Inode], int], fill: Callable[[int, int], None]) -> None:
        self._area = area
        self._kept = kept
        self._fill = fill
        self._names: dict[Inode, int] | None = None
        self.spares: set[str] = set()  # names that were only there for a moment

    def forget(self) -> None:
        """A name of such a file is about to come or go."""
        self._names = None

    def is_elsewhere(self, path: str, found: Stamp) -> bool:
        """Whether a file has names that the call cannot change. Where nobody can tell it has."""
        if found.kind != FILE or found.links < 2:
            return False
        if self._names is None:
            self._names = self._look()
        inside = self._names.get(found.inode, 0) + self._kept(found.inode)
        if inside < found.links:
            return True
        try:
            now = look(path)
            return now is None or now.links != found.links  # somebody is linking
        except OSError:
            return True

    def _look(self) -> dict[Inode, int]:
        names: dict[Inode, int] = {}
        looked = 0
        for root in self._area.roots:
            if self._area.root(f"{root}/x") != root:
                continue  # it lies in another one
            for path, stamp in below(root):
                looked += 1
                if looked > MOST_LOOKED_AT:
                    return {}
                if stamp.kind == FILE and stamp.links > 1 and self._area.root(path) == root:
                    names[stamp.inode] = names.get(stamp.inode, 0) + 1
        return names

    def part(self, path: str, found: Stamp, most: int) -> int:
        """Gives a name a file of its own; the bytes that were copied. Raises OSError."""
        with reached(path), at(path) as (folder, name):
            source = os.open(name, _READ, dir_fd=folder)
            try:
                there = stamp_of(os.fstat(source))
                if there.inode != found.inode:
                    raise OSError(errno.ESTALE, "it was replaced meanwhile")
                if there.size > most:
                    raise OSError(errno.EFBIG, f"it is too large to be copied ({there.size >> 20} MiB)")
                spare = f"{_OWN}{os.urandom(6).hex()}"
                self.spares.add(f"{path.rpartition('/')[0]}/{spare}")
                self._replace(source, there, folder, name, spare)
            finally:
                os.close(source)
        return there.size

    def _replace(self, source: int, there: Stamp, folder: int, name: str, spare: str) -> None:
        owner = os.fstat(source)
        to = os.open(spare, _NEW, 0o600, dir_fd=folder)
        try:
            try:
                self._fill(source, to)
                with suppress(OSError):
                    os.fchown(to, owner.st_uid, owner.st_gid)
                os.fchmod(to, there.mode & 0o1777)
                os.utime(to, ns=(owner.st_atime_ns, there.mtime_ns))
            finally:
                os.close(to)
            os.rename(spare, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(spare, dir_fd=folder)
            raise


__all__ = ["MOST_LOOKED_AT", "Shared"]
