"""Names below a folder that is held open, resolved without links on the way and never outside of it."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from contextlib import suppress

from gateway.sandbox.changes.closed_folders import looked
from gateway.sandbox.changes.state import FOLDER, LINK, Stamp, stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

_OPENAT2 = 437
_NO_SYMLINKS, _BENEATH = 0x04, 0x08
_PATH = getattr(os, "O_PATH", os.O_RDONLY)
_FOLDER = _PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOREPLACE, _EXCHANGE = 1, 2
_MOST_OPEN = 64
_OPEN = 0o700
# What content that comes back must not bring along: rights that were given to the old file.
_CAPABILITY = "security.capability"


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class Beneath:
    """One folder. Raises OSError where it is not the one that was meant, by device and inode."""

    def __init__(self, root: str, expected: tuple[int, int] | None = None) -> None:
        self.root = root
        self.descriptor = os.open(root, _FOLDER)
        found = os.fstat(self.descriptor)
        self.device = found.st_dev
        self._open: dict[str, int] = {}
        self._libc = ctypes.CDLL(None, use_errno=True)
        if expected is not None and (found.st_dev, found.st_ino) != expected:
            os.close(self.descriptor)
            raise OSError(errno.ESTALE, "another folder is there by now", root)

    def look(self, path: str) -> Stamp | None:
        """What stands under a name, None for nothing, or where there is no way to it."""
        try:
            folder, name = self.at(path)
            found, mode = looked(name, folder)
            stamp = stamp_of(found, mode)
            return stamp_of(found, mode, os.readlink(name, dir_fd=folder)) if stamp.kind == LINK else stamp
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EXDEV):
                return None
            raise

    def at(self, path: str) -> tuple[int, str]:
        """The open folder of a name, and the name in it. Raises OSError."""
        above, _slash, name = path.rpartition("/")
        if not f"{above}/".startswith(f"{self.root}/") or name in ("", ".", ".."):
            raise OSError(errno.EXDEV, "it lies elsewhere", path)
        if above == self.root:
            return self.descriptor, name
        descriptor = self._open.get(above)
        if descriptor is None:
            if len(self._open) >= _MOST_OPEN:
                self.forget()
            descriptor = self._open[above] = self._reach(above[len(self.root) + 1 :])
        return descriptor, name

    def forget(self) -> None:
        """What lies where is found anew: folders have been moved."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open = {}

    def _reach(self, way: str) -> int:
        if sys.platform == "linux":
            how = _How(_FOLDER, 0, _BENEATH | _NO_SYMLINKS)
            found: int = self._libc.syscall(
                ctypes.c_long(_OPENAT2),
                ctypes.c_int(self.descriptor),
                ctypes.c_char_p(os.fsencode(way)),
                ctypes.byref(how),
                ctypes.c_size_t(ctypes.sizeof(how)),
            )
            if found >= 0:
                return found
            error = ctypes.get_errno()
            if error not in (errno.ENOSYS, errno.EPERM, errno.ENAMETOOLONG):
                raise OSError(error, os.strerror(error), way)
        descriptor = os.dup(self.descriptor)
        for part in way.split("/"):
            if part in ("", ".", ".."):
                os.close(descriptor)
                raise OSError(errno.EXDEV, "it lies elsewhere", way)
            try:
                below = os.open(part, _FOLDER, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = below
        return descriptor

    def rename(self, path: str, to: str, *, exchange: bool = False, replace: bool = True) -> None:
        """Renames within the folder. Without `replace` nothing may be there; `exchange` swaps both. Raises OSError."""
        (one, name), (other, new) = self.at(path), self.at(to)
        if replace and not exchange:
            os.rename(name, new, src_dir_fd=one, dst_dir_fd=other)
            return
        self.between(one, name, other, new, exchange=exchange)

    def between(self, one: int, name: str, other: int, new: str, *, exchange: bool) -> None:
        """Renames from one open folder to another, where nothing may be there; `exchange` swaps both. Raises
        OSError."""
        if self._libc.renameat2(
            ctypes.c_int(one),
            ctypes.c_char_p(os.fsencode(name)),
            ctypes.c_int(other),
            ctypes.c_char_p(os.fsencode(new)),
            ctypes.c_uint(_EXCHANGE if exchange else _NOREPLACE),
        ):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), name)

    def set_mode(self, path: str, mode: int) -> None:
        """The permissions of what stands there, which is no link. Raises OSError."""
        folder, name = self.at(path)
        descriptor = os.open(name, _PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                raise OSError(errno.ELOOP, "it is a link", path)
            if _PATH == os.O_RDONLY:
                os.fchmod(descriptor, mode)
            else:
                os.chmod(f"/proc/self/fd/{descriptor}", mode)
        finally:
            os.close(descriptor)

    def open_up(self, path: str) -> None:
        """Has a folder that is closed to its owner be open. What is not to be had is told by what fails next."""
        found = self.look(path)
        if found is not None and found.kind == FOLDER and found.mode & _OPEN != _OPEN:
            with suppress(OSError):
                self.set_mode(path, found.mode | _OPEN)

    def strip(self, path: str) -> None:
        """Takes rights from a file that come with no content: set-id bits and capabilities."""
        found = self.look(path)
        if found is not None and found.mode & 0o6000:
            self.set_mode(path, found.mode & 0o1777)
        if hasattr(os, "removexattr"):
            folder, name = self.at(path)
            descriptor = os.open(name, _PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                with suppress(OSError):
                    os.removexattr(f"/proc/self/fd/{descriptor}", _CAPABILITY)
            finally:
                os.close(descriptor)

    def close(self) -> None:
        """Gives the descriptors back."""
        self.forget()
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.close()
