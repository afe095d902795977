"""What a reported system call is about to change: which name, and which kind of change.

A path lies in the memory of the process that calls, and is read there. Between that and the call another thread may
write another path, so nothing here decides what may happen: the sandbox does. What is missed so is found afterwards.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from gateway.sandbox.changes.closed_folders import is_closed, reached
from gateway.sandbox.changes.looking import look
from gateway.sandbox.changes.path_views import Seen
from gateway.sandbox.changes.places import Places
from gateway.sandbox.changes.state import FOLDER, LINK
from gateway.sandbox.syscalls import ABSENT, MACHINES, NUMBERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import EllipsisType

    from gateway.sandbox.changes.saver import Saver
    from gateway.sandbox.changes.state import Stamp

    _Found = Stamp | EllipsisType | None

_HERE = -100  # AT_FDCWD
_NO_FOLLOW, _EMPTY, _FOLLOW = 0x100, 0x1000, 0x400
_EXCHANGE = 2
_O_CREAT, _O_EXCL, _O_NOFOLLOW, _O_PATH, _O_TMPFILE = 0o100, 0o200, 0o400000, 0o10000000, 0o20000000
_AARCH64_NOFOLLOW = 0o100000
_EXCHANGE = 2
_LONGEST = 4096
# What stands in our way stands in the way of the call: it will fail.
_FAILS_TOO = frozenset(
    (
        errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES, errno.EFAULT, errno.ESRCH,
        errno.EBADF, errno.EINVAL,
    )
)  # fmt: skip
_OTHER = "it was open already, and its name stands for another file by now"
_UNIX = 1
_MOST_LINKS = 40
_OF_PROCESSES = ("/proc/", "/dev/")
_MEMORY = "/dev/shm/"
_GONE = " (deleted)"  # what the kernel puts behind the name of an open file that has another one by now, or none


class _Piece(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class Memory:
    """Reads what lies in the memory of other processes."""

    def __init__(self) -> None:
        self._read = ctypes.CDLL(None, use_errno=True).process_vm_readv
        self._read.restype = ctypes.c_ssize_t
        word = ctypes.c_ulong
        self._read.argtypes = (ctypes.c_int, ctypes.c_void_p, word, ctypes.c_void_p, word, word)
        self._space = bytearray(_LONGEST)
        self._ours = _Piece(ctypes.addressof(ctypes.c_char.from_buffer(self._space)), _LONGEST)
        self._theirs = _Piece(0, 0)
        self._places = ctypes.addressof(self._ours), ctypes.addressof(self._theirs)

    def read(self, pid: int, address: int, size: int) -> bytes:
        """Up to so many bytes, to the end of the page. Raises OSError where there are none."""
        self._theirs.base = address
        self._theirs.length = self._ours.length = min(size, _LONGEST - address % _LONGEST)
        got = self._read(pid, self._places[0], 1, self._places[1], 1, 0)
        if got <= 0:
            raise OSError(ctypes.get_errno(), "the memory of the process cannot be read")
        return bytes(self._space[:got])

    def text(self, pid: int, address: int) -> bytes:
        """Up to the first zero byte. Raises OSError."""
        found = b""
        while len(found) < _LONGEST:
            more = self.read(pid, address + len(found), 256 if not found else _LONGEST)
            end = more.find(b"\0")
            if end >= 0:
                return found + more[:end]
            found += more
        return found


class Calls:
    """Has a saver write down what calls are about to change."""

    def __init__(self, saver: Saver) -> None:
        self._saver = saver
        self._memory = Memory()
        self._places = Places(saver)
        self._seen: Seen | None = None
        self._pid = 0
        self._base = ""  # what the process has open that the path of this call begins at
        self._reopened = "", ""  # where the last way led that ended at a descriptor, and which that was
        column = MACHINES[os.uname().machine][1]
        if os.uname().machine == "aarch64":
            self._no_follow = _AARCH64_NOFOLLOW
        else:
            self._no_follow = _O_NOFOLLOW
        self._does: dict[int, Callable[[int, tuple[int, ...]], None]] = {
            NUMBERS[name][column]: does for name, does in self._named().items() if NUMBERS[name][column] != ABSENT
        }

    def about(self, number: int, pid: int, arguments: tuple[int, ...]) -> None:
        """One call of a thread, by its number. What cannot be found out is missed, with the reason."""
        does = self._does.get(number)
        if does is None:
            return
        self._base = ""
        try:
            try:
                does(pid, arguments)
            except PermissionError:
                if not self._is_inside_closed():
                    raise
                with reached(self._base):
                    if self._is_inside_closed():
                        self._saver.miss(self._base, "a folder on the way is closed, and is somebody else's")
                    else:
                        does(pid, arguments)
        except OSError as error:
            if error.errno not in _FAILS_TOO:
                self._saver.miss("", f"a system call was not understood ({error.strerror})")

    def _is_inside_closed(self) -> bool:
        """Whether the call is made from what a process has open, in a folder of the workspace that was closed since:
        it does not fail, though the way is closed to us."""
        return bool(self._base) and bool(self._saver.area.below(self._base)) and is_closed(self._base)

    def _named(self) -> dict[str, Callable[[int, tuple[int, ...]], None]]:
        return {
            "open": lambda pid, given: self._open(pid, _HERE, given[0], given[1]),
            "openat": lambda pid, given: self._open(pid, _number(given[0]), given[1], given[2]),
            "creat": lambda pid, given: self._open(pid, _HERE, given[0], _O_CREAT),
            "truncate": lambda pid, given: self._open(pid, _HERE, given[0], 0),
            "rename": lambda pid, given: self._rename(pid, (_HERE, given[0], _HERE, given[1])),
            "renameat": lambda pid, given: self._rename(pid, given),
            "renameat2": lambda pid, given: self._rename(pid, given, exchange=bool(given[4] & _EXCHANGE)),
            "unlink": lambda pid, given: self._name(pid, _HERE, given[0]),
            "unlinkat": lambda pid, given: self._name(pid, _number(given[0]), given[1]),
            "rmdir": lambda pid, given: self._name(pid, _HERE, given[0]),
            "mkdir": lambda pid, given: self._name(pid, _HERE, given[0]),
            "mkdirat": lambda pid, given: self._name(pid, _number(given[0]), given[1]),
            "mknod": lambda pid, given: self._name(pid, _HERE, given[0]),
            "mknodat": lambda pid, given: self._name(pid, _number(given[0]), given[1]),
            "symlink": lambda pid, given: self._new_link(pid, _HERE, given[1]),
            "symlinkat": lambda pid, given: self._new_link(pid, _number(given[1]), given[2]),
            "link": lambda pid, given: self._link(pid, (_HERE, given[0], _HERE, given[1], 0)),
            "linkat": lambda pid, given: self._link(pid, given),
            "chmod": lambda pid, given: self._mode(pid, _HERE, given[0], 0),
            "fchmodat": lambda pid, given: self._mode(pid, _number(given[0]), given[1], 0),
            "fchmodat2": lambda pid, given: self._mode(pid, _number(given[0]), given[1], given[3]),
            "fchmod": lambda pid, given: self._open_mode(pid, _number(given[0])),
            "bind": lambda pid, given: self._bind(pid, given[1], given[2]),
        }

    def _open(self, pid: int, folder: int, address: int, flags: int) -> None:
        if flags & _O_PATH or flags & _O_TMPFILE == _O_TMPFILE:
            return
        text = self._memory.text(pid, address)
        if text == b"/dev/null":
            return
        exact = bool(flags & self._no_follow or flags & (_O_CREAT | _O_EXCL) == _O_CREAT | _O_EXCL)
        base = self._begins(pid, folder, text)
        if self._places.is_written(base, text, exact=exact):
            return
        self._reopened = "", ""
        named = self._path(pid, base, text)
        if not named:
            return
        path, found = (named, ...) if exact else self._led(named, self._look(named))
        led, descriptor = self._reopened
        reopened = bool(path) and led == path
        if reopened and path.endswith(_GONE) and os.stat(f"/proc/{pid}/fd/{descriptor}").st_nlink:
            self._saver.forbid(path, _OTHER)
        elif self._saver.content(path, found, reopened=reopened) and path == named and not reopened:
            self._places.settle(path)

    def _way(self, path: str) -> str:
        """Where a path leads that goes through what is another one for each process. Raises OSError."""
        assert self._seen is not None
        found = self._seen.way(self._pid, path)
        if self._seen.reopened:
            self._reopened = found, self._seen.reopened
        self._base = found
        return found

    def _name(self, pid: int, folder: int, address: int) -> None:
        text = self._memory.text(pid, address)
        base = self._begins(pid, folder, text)
        if self._places.is_new(base, text):
            return
        path = self._path(pid, base, text)
        if path:
            found = self._look(path)
            if self._is_link(path, found):
                self._places.clear()
            self._saver.name(path, found)

    def _new_link(self, pid: int, folder: int, address: int) -> None:
        """What led through a folder of this name may lead elsewhere from now on."""
        self._name(pid, folder, address)
        self._places.clear()

    def _rename(self, pid: int, given: tuple[int, ...], *, exchange: bool = False) -> None:
        one = self._named_by(pid, _number(given[0]), given[1])
        other = self._named_by(pid, _number(given[2]), given[3])
        if not (one or other):
            return
        self._places.unsettle(one, other)
        seen = [self._look(path) if path else ... for path in (one, other)]
        for path, found in zip((one, other), seen, strict=True):
            if path and (self._is_folder(path, found) or self._is_link(path, found)):
                self._places.clear()
        self._saver.move(one, other, *seen)
        if exchange:
            self._saver.move(other, one, *reversed(seen))

    def _link(self, pid: int, given: tuple[int, ...]) -> None:
        """The old file is known by both names from now on."""
        if given[4] & _EMPTY:
            one = self._descriptor(pid, _number(given[0]))
        else:
            one = self._named_by(pid, _number(given[0]), given[1])
            one = self._led(one, self._look(one))[0] if one and given[4] & _FOLLOW else one
        if one:
            found = self._look(one)
            self._saver.link(one, found)
            if self._is_link(one, found):
                self._places.clear()
        self._places.unsettle(self._named_by(pid, _number(given[2]), given[3]))
        self._name(pid, _number(given[2]), given[3])

    def _mode(self, pid: int, folder: int, address: int, flags: int) -> None:
        text = self._memory.text(pid, address)
        if not text and flags & _EMPTY:
            self._open_mode(pid, folder)
            return
        path = self._path(pid, self._begins(pid, folder, text), text)
        if path:
            path, found = (path, ...) if flags & _NO_FOLLOW else self._led(path, self._look(path))
            self._saver.mode(path, found)

    def _open_mode(self, pid: int, number: int) -> None:
        path = self._descriptor(pid, number)
        if path.endswith(_GONE) and self._saver.area.root(path) and os.stat(f"/proc/{pid}/fd/{number}").st_nlink:
            self._saver.forbid(path, _OTHER)
        else:
            self._saver.mode(path, reopened=True)

    def _bind(self, pid: int, address: int, size: int) -> None:
        """A socket with a name makes one."""
        said = self._memory.read(pid, address, min(size, 110)) if size > 2 else b""
        if len(said) > 2 and struct.unpack_from("=H", said)[0] == _UNIX and said[2]:
            text = said[2:].split(b"\0")[0]
            path = self._path(pid, self._begins(pid, _HERE, text), text)
            if path:
                self._saver.name(path)

    # ------------------------------------------------------------------------------------------------ where it leads

    def _named_by(self, pid: int, folder: int, address: int) -> str:
        """`_path` of a text in the memory of a process."""
        text = self._memory.text(pid, address)
        return self._path(pid, self._begins(pid, folder, text), text)

    def _begins(self, pid: int, folder: int, text: bytes) -> str:
        """The folder that a text begins at, "" for the first of all. Raises OSError."""
        if text.startswith(b"/") or not text:
            return ""
        self._base = os.readlink(f"/proc/{pid}/cwd" if folder == _HERE else f"/proc/{pid}/fd/{folder}")
        return self._base

    def _path(self, pid: int, base: str, text: bytes) -> str:
        """The name itself, with no link on the way to it, "" for what is not saved. Raises OSError."""
        if not text:
            return ""
        if self._seen is None:
            self._seen = Seen(pid)
        self._pid = pid
        path = os.fsdecode(text)
        if base:
            path = f"{base.rstrip('/')}/{path}"
        if path.startswith(_OF_PROCESSES) and not path.startswith(_MEMORY):
            path = self._way(path)
            if path.startswith(_OF_PROCESSES) and not path.startswith(_MEMORY):
                return ""
            base, text = "", b""  # another one for each process
        path = path.rstrip("/")
        above, _slash, name = path.rpartition("/")
        if name in ("", ".", ".."):
            above, _slash, name = self._folder(path).rpartition("/")
            base, text = "", b""
        real = self._places.real(base, text)
        if not real:
            real = self._folder(above)
            if self._saver.area.below(above):  # elsewhere nobody tells when it comes to lead somewhere else
                self._places.found(base, text, above, real)
        path = f"{real}/{name}"
        area = self._saver.area
        return path if area.root(path) or area.is_lost(path) or self._is_link(path, ...) else ""

    def _folder(self, path: str) -> str:
        """Where a folder lies. Raises OSError where there is none."""
        assert self._seen is not None
        try:
            return self._seen.folder(path)
        except FileNotFoundError:  # or it is another one for each process
            found = self._way(path)
            return found if f"{found}/".startswith(_OF_PROCESSES) else self._seen.folder(found)

    def _look(self, path: str) -> _Found:
        """What stands under a name that is saved; `...` where the call may see something else there than we do."""
        return look(path) if self._saver.area.root(path) or self._seen is None else ...

    def _is_folder(self, path: str, found: _Found) -> bool:
        found = look(path) if found is ... else found
        return found is not None and found.kind == FOLDER

    def _is_link(self, path: str, found: _Found) -> bool:
        """Whether a name is a link, as the call sees it."""
        if found is ...:
            return self._seen is not None and bool(self._seen.target(path))
        return found is not None and found.kind == LINK

    def _led(self, path: str, found: _Found) -> tuple[str, _Found]:
        """Where a name leads that may be a link, and what stands there. Raises OSError where nobody can tell."""
        for _ in range(_MOST_LINKS):
            target = self._seen.target(path) if self._seen is not None and self._is_link(path, found) else ""
            if not target or self._seen is None:
                return path, found
            above, _slash, name = path.rpartition("/")
            above, _slash, name = os.path.join(above or "/", target).rstrip("/").rpartition("/")
            if name in ("", ".", ".."):
                path = self._folder(f"{above}/{name}")
                return path, self._look(path)
            path = f"{self._folder(above)}/{name}"
            if path.startswith(_OF_PROCESSES):
                path = self._way(path)
            found = self._look(path)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))

    def _descriptor(self, pid: int, number: int) -> str:
        """The path of what a process has open."""
        self._base = os.readlink(f"/proc/{pid}/fd/{number}")
        return self._base


def _number(argument: int) -> int:
    """A descriptor: the low half, with its sign."""
    argument &= 0xFFFFFFFF
    return argument - (1 << 32) if argument & 0x80000000 else argument
