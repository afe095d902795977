"""Single steps of mounting, by handles on what is mounted and on where."""

from __future__ import annotations

import ctypes
import errno
import os

from gateway.sandbox.launched.kernel import MOUNT_SETATTR, MOVE_MOUNT, OPEN_TREE, OPENAT2, call, checked, libc, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EMPTY_PATH, WHOLE_TREE = 0x1000, 0x8000
FROM_AND_TO_OPENED = 0x4 | 0x40
NO_NAME = ctypes.c_char_p(b"")
_CLONE = 1 | os.O_CLOEXEC
# Below the folder that is given, no link followed, not even the kernel's own.
_ANY = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_CLOEXEC, 0, 2 | 4 | 8)
_FOLDER = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_CLOEXEC | os.O_DIRECTORY, 0, 2 | 4 | 8)
_LINK = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW, 0, 2 | 4 | 8)
_OPENAT2, _SIZE_OF_HOW = ctypes.c_long(OPENAT2), ctypes.c_size_t(24)


def copied(source: int, path: bytes, attributes: int) -> int:
    """A mount of what was opened, with everything mounted in it, that is nowhere yet. Closes what was opened."""
    flags = EMPTY_PATH | WHOLE_TREE | _CLONE
    tree = call(f"a mount of {shown(path)}", OPEN_TREE, ctypes.c_int(source), NO_NAME, ctypes.c_uint(flags))
    os.close(source)
    set_attributes(tree, path, attributes, EMPTY_PATH | WHOLE_TREE)
    return tree


def set_attributes(mounted: int, path: bytes, attributes: int, flags: int, propagation: int = 0) -> None:
    """Gives attributes to a mount, with WHOLE_TREE to those in it too. Raises Refused, as all of these do."""
    asked = (ctypes.c_uint64 * 4)(attributes, 0, propagation, 0)
    call(
        f"attributes of {shown(path)}", MOUNT_SETATTR,
        ctypes.c_int(mounted), NO_NAME, ctypes.c_uint(flags), asked, ctypes.c_size_t(32),
    )  # fmt: skip


def mount(source: bytes, target: bytes, kind: bytes, flags: int, options: bytes) -> None:
    """Mounts a file system, or, where no kind is said, changes what is mounted."""
    result = libc.mount(source or None, target, kind or None, ctypes.c_ulong(flags), options or None)
    checked(f"mounting {shown(kind)}" if kind else "mounts of its own", result)


def opened(path: bytes) -> int:
    """A handle on what is at a path, be it a link. Raises OSError."""
    return os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)


def below(top: int, path: bytes, *, folder: bool = False) -> int:
    """A handle on exactly this path below a folder, a negative error number where there is none. `folder`: only if it
    is one. A path that leads up again is none."""
    return _exactly(top, path, _FOLDER if folder else _ANY)


def link_below(top: int, path: bytes) -> int:
    """The same, and where a link is there, on that link."""
    return _exactly(top, path, _LINK)


def _exactly(top: int, path: bytes, how: Any) -> int:
    if b".." in path.split(b"/"):
        return -errno.EXDEV
    found: int = libc.syscall(_OPENAT2, ctypes.c_int(top), path.lstrip(b"/") or b".", how, _SIZE_OF_HOW)
    return found if found >= 0 else -ctypes.get_errno()


def pin(opened: int) -> None:
    """Mounts what was opened over itself, if the kernel has that: some take no mount on a link."""
    flags = ctypes.c_uint(EMPTY_PATH | _CLONE)
    tree: int = libc.syscall(ctypes.c_long(OPEN_TREE), ctypes.c_int(opened), NO_NAME, flags)
    if tree >= 0:
        how = ctypes.c_uint(FROM_AND_TO_OPENED)
        libc.syscall(ctypes.c_long(MOVE_MOUNT), ctypes.c_int(tree), NO_NAME, ctypes.c_int(opened), NO_NAME, how)
        os.close(tree)
