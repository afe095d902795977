"""The file system of one call, built from nothing in a mount namespace of its own.

    /            a small file system in memory while building: masks, contents of files
    /old         the host's own, the source of everything that is shown; gone when the building is done
    /new         what becomes the root of the command

What calls have in common can be laid out before it is known which one it is for: `prepare` makes the early part of an
order, and when the order is there `fill` uses it only if that has the same early part, byte for byte, and every object
is still what its path leads to, on the host and in what was laid out. Else all of it is thrown away and made anew.

Sources and mount points are opened without following any link, and what is mounted is what was opened: who renames and
links meanwhile in a folder that another call may write gets an error out of it, and nothing else. A mount point is made
only where the file system is ours; on the host it must be there.
"""

from __future__ import annotations

import ctypes
import errno
import marshal
import os
from stat import S_ISDIR, S_ISLNK

from gateway.sandbox.launched.kernel import MOVE_MOUNT, PIVOT_ROOT, Refused, call, checked, libc, shown
from gateway.sandbox.launched.mounting import (
    EMPTY_PATH,
    FROM_AND_TO_OPENED,
    NO_NAME,
    WHOLE_TREE,
    below,
    copied,
    link_below,
    mount,
    opened,
    pin,
    set_attributes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Kinds of steps, as `gateway.sandbox.backends.spaces_order` gives them.
BIND, ELSEWHERE, MASK, MEMORY, LAYER, OVER, AGAIN = "bind", "elsewhere", "mask", "memory", "layer", "over", "again"
LINK = "link"

_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXECUTE = 1, 2, 4, 8  # as flags of mounts, and as their attributes
_RECURSIVE, _PRIVATE, _SLAVE, _DETACH = 0x4000, 0x40000, 0x80000, 2
_BASE = b"/tmp"
_FILE_MASK, _FOLDER_MASK, _NOTHING = b"/masked", b"/masked-folder", b"/nothing"
_DEVICES = (b"null", b"zero", b"full", b"random", b"urandom", b"tty")
_LINKS_OF_DEVICES = (
    (b"fd", b"/proc/self/fd"),
    (b"stdin", b"/proc/self/fd/0"),
    (b"stdout", b"/proc/self/fd/1"),
    (b"stderr", b"/proc/self/fd/2"),
    (b"core", b"/proc/kcore"),
    (b"ptmx", b"pts/ptmx"),
)


class Root:
    """Builds one, in order: `begin`, `prepare` where something is known beforehand, `fill`, `finish`. Each raises
    Refused; then nothing may be run."""

    def __init__(self, machine: str) -> None:
        self._pivot_root = PIVOT_ROOT[machine]
        self._old = self._new = -1
        self._ours: set[int] = set()  # file systems in which mount points may be made
        self._early: bytes | None = None  # what was prepared
        # What was prepared: place, whether it is a folder, where it must still be that, and what it is.
        self._shown: list[tuple[bytes, bool, tuple[int, ...], tuple[int, int]]] = []

    def begin(self) -> None:
        """Leaves the host's root for one in memory, with the host below it, and makes what every call has."""
        mount(b"", b"/", b"", _RECURSIVE | _SLAVE, b"")
        if not os.path.isdir(_BASE):
            raise Refused(f"{shown(_BASE)}: there is no such folder to build a root in")
        mount(b"tmpfs", _BASE, b"tmpfs", _NO_SETUID | _NO_DEVICES, b"mode=0755")
        os.mkdir(_BASE + b"/old", 0o755)
        os.mkdir(_BASE + b"/new", 0o755)
        call("the first root", self._pivot_root, _BASE, _BASE + b"/old")
        os.chdir("/")
        os.close(os.open(_FILE_MASK, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0))
        os.mkdir(_FOLDER_MASK, 0)
        os.mkdir(_NOTHING, 0o555)
        self._old = opened(b"/old")
        self._furnish()

    def _furnish(self) -> None:
        """A new root for the command with what all of them have, and nothing else."""
        mount(b"tmpfs", b"/new", b"tmpfs", _NO_SETUID | _NO_DEVICES, b"mode=0755")
        self._new = opened(b"/new")
        self._ours.add(os.fstat(self._new).st_dev)
        self._mounted(b"proc", b"/proc", _NO_SETUID | _NO_DEVICES | _NO_EXECUTE, b"")
        # Process 1 is a program of the host's, started where that may be written: its file must not be reached.
        nothing = copied(opened(_NOTHING), b"/proc/1", _READ_ONLY | _NO_SETUID | _NO_DEVICES | _NO_EXECUTE)
        self._attach(nothing, b"/proc/1", folder=True)
        self._devices()

    def prepare(self, early: bytes) -> None:
        """Makes the early part of an order that may come, or nothing where it cannot be made now."""
        try:
            self._make_early(early)
        except (Refused, OSError):
            self._start_over()

    def _make_early(self, early: bytes) -> None:
        order = marshal.loads(early)
        for path, target in order["links"]:
            self._link(path, target)
        if order["machine"]:
            self._shut_machine()
        else:
            self._seal(b"/proc")
        if not order["in_devices"]:
            self._seal(b"/dev")
        self._memory(b"/dev/shm", 0o1777, order["shared"])
        shown_of_host: list[bytes] = []
        for kind, path, folder, how in order["steps"]:
            if kind not in (BIND, MASK, MEMORY):
                raise Refused(f"{shown(path)} cannot be mounted before it is known for which call")
            self._step(kind, path, folder, how)
            # Who renames where the mount point is the host's takes the mount off; where it is ours nobody can.
            loose = any(path.startswith(outer + b"/") for outer in shown_of_host)
            sides = ((self._old,) if kind == BIND else ()) + ((self._new,) if loose else ())
            self._shown.append((path, folder, sides, self._identity(self._new, path, folder)))
            if kind == BIND:
                shown_of_host.append(path)
        self._early = early

    def fill(self, early: bytes, order: dict[str, Any]) -> None:
        """Makes everything that this command will see, from what was prepared if that is what it would make now."""
        if self._early is not None and not (self._early == early and self._is_as_prepared()):
            self._start_over()
        if self._early is None:
            self._make_early(early)
        for kind, path, folder, how in order["steps"]:
            self._step(kind, path, folder, how)
        self._files(order)

    def _is_as_prepared(self) -> bool:
        """Whether every object that was mounted is still in its place, and still what the host has there."""
        try:
            return all(
                self._identity(side, path, folder) == found
                for path, folder, sides, found in self._shown
                for side in sides
            )
        except Refused:
            return False

    def _identity(self, top: int, path: bytes, folder: bool) -> tuple[int, int]:
        """What lies at a path: one that is mounted is nobody else's meanwhile."""
        found = below(top, path, folder=folder)
        if found < 0:
            raise Refused(f"{shown(path)}: {os.strerror(-found)}")
        state = os.fstat(found)
        os.close(found)
        return state.st_dev, state.st_ino

    def _start_over(self) -> None:
        """Throws away all that was made for the command, with everything that is mounted in it."""
        os.close(self._new)
        checked("throwing away what was prepared", libc.umount2(b"/new", _DETACH))
        self._ours.clear()
        self._shown.clear()
        self._early = None
        self._furnish()

    def _step(self, kind: str, path: bytes, folder: bool, how: Any) -> None:
        if kind == MEMORY:
            self._memory(path, *how)
        elif kind == BIND:
            self._attach(copied(self._source(path, folder), path, how), path, folder)
        elif kind == ELSEWHERE:  # a folder of the host's, shown at another path
            source, attributes = how
            self._attach(copied(self._source(source, folder), path, attributes), path, folder)
        elif kind == LAYER:
            self._layer(path, *how)
        elif kind == OVER:
            self._over(path, *how)
        elif kind == LINK:
            self._stay(path)
        elif kind == AGAIN:  # of what was made, not of the host's
            self._attach(copied(self._target(path, folder), path, how), path, folder)
        else:
            mask = opened(_FOLDER_MASK if folder else _FILE_MASK)
            self._attach(copied(mask, path, _READ_ONLY | _NO_SETUID | _NO_DEVICES | _NO_EXECUTE), path, folder)

    def _files(self, order: dict[str, Any]) -> None:
        """What lies on top of all that is mounted, and the marks that it is finished."""
        for number, (path, content) in enumerate(order["files"]):
            name = b"/file%d" % number
            with open(name, "wb") as file:
                os.fchmod(file.fileno(), 0o555 if content.startswith(b"#!") else 0o444)
                file.write(content)
            self._attach(copied(opened(name), path, _READ_ONLY | _NO_SETUID | _NO_DEVICES), path, folder=False)
        for path, target in order["late_links"]:  # in folders that were empty until now
            self._link(path, target)
        how = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        os.close(os.open(order["marker"].lstrip(b"/"), how, 0o444, dir_fd=self._new))
        for path in order["sealed"]:
            self._seal(path)
        self._seal(b"/")

    def finish(self) -> None:
        """The command's root becomes the root, and everything else is gone."""
        # What is mounted on the host from now on was not planned: it could be written where all is to be read.
        set_attributes(self._new, b"/", 0, EMPTY_PATH | WHOLE_TREE, _PRIVATE)
        for descriptor in (self._old, self._new):
            os.close(descriptor)
        os.chdir("/new")
        call("the root", self._pivot_root, b".", b".")
        checked("leaving the host's root", libc.umount2(b".", _DETACH))
        os.chdir("/")

    def _link(self, path: bytes, target: bytes) -> None:
        folder, _slash, name = path.rpartition(b"/")
        here = self._target(folder, folder=True)
        if os.fstat(here).st_dev not in self._ours:
            raise Refused(f"{shown(path)}: a link cannot be made in a folder of the host")
        os.symlink(target, name, dir_fd=here)
        os.close(here)

    def _source(self, path: bytes, folder: bool) -> int:
        """The host's own object at a path, which must be what it was when the call was planned."""
        descriptor = below(self._old, path, folder=folder)
        if descriptor < 0:
            why = "a link leads elsewhere" if -descriptor == errno.ELOOP else os.strerror(-descriptor)
            raise Refused(f"{shown(path)} is no longer what it was when the call was planned: {why}")
        if not folder and S_ISDIR(os.fstat(descriptor).st_mode):
            raise Refused(f"{shown(path)} is no longer what it was when the call was planned: it is a folder")
        return descriptor

    def _target(self, path: bytes, folder: bool) -> int:
        """Where to mount it, made where the file system is ours. The kernel mounts no file on a folder, nor a folder on
        a file."""
        descriptor = below(self._new, path, folder=folder)
        if descriptor == -errno.ENOENT:
            return self._made(path, folder)
        if descriptor < 0:
            raise Refused(f"{shown(path)}: {os.strerror(-descriptor)} (as a place to mount it)")
        return descriptor

    def _made(self, path: bytes, folder: bool) -> int:
        """The same, of which at least the last part is not there yet."""
        above, _slash, name = path.rstrip(b"/").rpartition(b"/")
        around = self._target(above, folder=True)
        try:
            if os.fstat(around).st_dev not in self._ours:
                raise Refused(f"{shown(path)} has gone (it was there when the call was planned)")
            if not folder:
                return os.open(name, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444, dir_fd=around)
            os.mkdir(name, 0o755, dir_fd=around)
            made = below(around, name, folder=True)
        finally:
            os.close(around)
        if made < 0:
            raise Refused(f"{shown(path)}: {os.strerror(-made)}")
        return made

    def _attach(self, tree: int, path: bytes, folder: bool) -> None:
        target = self._target(path, folder)
        call(
            f"mounting {shown(path)}", MOVE_MOUNT,
            ctypes.c_int(tree), NO_NAME, ctypes.c_int(target), NO_NAME, ctypes.c_uint(FROM_AND_TO_OPENED),
        )  # fmt: skip
        os.close(tree)
        os.close(target)

    def _stay(self, path: bytes) -> None:
        """Has a link stay where it is, by a mount of it over itself. Where the kernel takes none (before 5.12, or one
        that does not let links be mounted on) it is compared afterwards, as without mounts."""
        found = link_below(self._new, path)
        if found < 0 or not S_ISLNK(os.fstat(found).st_mode):
            raise Refused(f"{shown(path)} is no longer what it was when the call was planned: it is no link")
        pin(found)
        os.close(found)

    def _layer(self, path: bytes, lowers: list[bytes], upper: bytes, work: bytes, once: bool, attributes: int) -> None:
        """Folders of the host's, the topmost first, over which lies what was changed in them: nothing is ever written
        to them. `once`: it need not outlive the machine, so that its end waits for no disk."""
        parts = [self._source(each, folder=True) for each in (upper, work, *lowers)]
        checked(
            f"laying a layer over {shown(path)}", self._laid(self._target(path, folder=True), parts, once, attributes)
        )

    def _laid(self, target: int, parts: list[int], once: bool, attributes: int) -> int:
        """What the kernel says to it. `parts`: what is changed, a folder beside it, and what lies below; all closed."""
        over, beside, *below = [b"/old/proc/self/fd/%d" % part for part in parts]
        options = b"lowerdir=%b,upperdir=%b,workdir=%b,userxattr" % (b":".join(below), over, beside)
        if once:
            options += b",volatile"
        result = int(
            libc.mount(b"overlay", b"/old/proc/self/fd/%d" % target, b"overlay", ctypes.c_ulong(attributes), options)
        )
        for descriptor in (*parts, target):
            os.close(descriptor)
        return result

    def _over(self, path: bytes, size: int, attributes: int) -> None:
        """A folder of the host's to read, in which what is changed lies in memory. Where the kernel lays nothing over
        it, it is only to be read."""
        source = self._source(path, folder=True)
        mode = os.fstat(source).st_mode & 0o777
        self._memory(path, 0o700, size)
        memory = below(self._new, path)
        parts = []
        for name, how in ((b"upper", mode), (b"work", 0o700)):
            os.mkdir(name, how, dir_fd=memory)
            parts.append(below(memory, name, folder=True))
        if self._laid(memory, [*parts, source], True, attributes & ~_READ_ONLY):
            self._attach(copied(self._source(path, folder=True), path, attributes), path, folder=True)

    def _memory(self, path: bytes, mode: int, size: int) -> None:
        around = self._mounted(b"tmpfs", path, _NO_SETUID | _NO_DEVICES, b"mode=%o,size=%d" % (mode, size))
        mounted = below(self._new, path)
        if mounted < 0 or os.fstat(mounted).st_dev == around:
            raise Refused(f"{shown(path)} has been moved while it was mounted")
        self._ours.add(os.fstat(mounted).st_dev)
        os.close(mounted)

    def _mounted(self, kind: bytes, path: bytes, flags: int, options: bytes) -> int:
        """The file system that it is mounted in, by its device."""
        target = self._target(path, folder=True)
        around = os.fstat(target).st_dev
        mount(kind, b"/old/proc/self/fd/%d" % target, kind, flags, options)
        os.close(target)
        return around

    def _seal(self, path: bytes) -> None:
        """Makes one mount read-only, not those in it."""
        mounted = below(self._new, path) if path.strip(b"/") else os.dup(self._new)
        if mounted < 0:
            raise Refused(f"{shown(path)}: {os.strerror(-mounted)} (after it was mounted)")
        set_attributes(mounted, path, _READ_ONLY, EMPTY_PATH)
        os.close(mounted)

    def _shut_machine(self) -> None:
        """Where the command may write in /proc what is about its processes, what is the machine's is shut one by
        one."""
        for name in sorted(os.listdir(b"/new/proc")):
            state = os.lstat(b"/new/proc/" + name)
            if name.isdigit() or S_ISLNK(state.st_mode) or not (S_ISDIR(state.st_mode) or state.st_mode & 0o222):
                continue
            path = b"/proc/" + name
            shut = copied(below(self._new, path), path, _READ_ONLY | _NO_SETUID | _NO_DEVICES | _NO_EXECUTE)
            self._attach(shut, path, S_ISDIR(state.st_mode))

    def _devices(self) -> None:
        """The devices that every program may expect, and terminals of its own."""
        self._memory(b"/dev", 0o755, 1 << 20)
        for name in _DEVICES:
            source = below(self._old, b"dev/" + name)
            if source >= 0:
                path = b"/dev/" + name
                self._attach(copied(source, path, _NO_SETUID | _NO_EXECUTE), path, folder=False)
        for name, target in _LINKS_OF_DEVICES:
            os.symlink(target, b"/new/dev/" + name)
        self._mounted(b"devpts", b"/dev/pts", _NO_SETUID | _NO_EXECUTE, b"newinstance,ptmxmode=0666,mode=620")
        os.mkdir(b"/new/dev/shm", 0o755)
