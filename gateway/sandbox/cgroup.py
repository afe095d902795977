"""A control group for one call, where one is delegated to us: the kernel then bounds the whole tree exactly.

Delegation is not looked up but tried: a leaf is made, and is only used if it has the controllers that count.
"""

from __future__ import annotations

import os
from itertools import count

from gateway.sandbox.bound_record import breach, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.limits import Limits
    from gateway.model.result import Violation

NEEDED = frozenset(("memory", "pids"))
_numbers = count(1)
_without: set[str] = set()  # what was said of our membership where a leaf turned out to keep no bounds


def own(mountinfo: str = "/proc/self/mountinfo", membership: str = "/proc/self/cgroup") -> str:
    """The folder of the control group (version 2) that this process is in, "" where there is none."""
    try:
        with open(mountinfo, encoding="utf-8", errors="surrogateescape") as file:
            mounts = [line.split() for line in file]
        with open(membership, encoding="utf-8", errors="surrogateescape") as file:
            path = next((line.rstrip("\n")[3:] for line in file if line.startswith("0::/")), "")
    except OSError:
        return ""
    top = next((fields[4] for fields in mounts if fields[fields.index("-") + 1] == "cgroup2"), "")
    return os.path.join(top, path.lstrip("/")).rstrip("/") if top and path and ".." not in path else ""


def _membership() -> str:
    """What the kernel says of the groups that this process is in, "" where it does not."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


class Leaf:
    """One call's group. Made empty; a process enters it while it waits, and with it all that it starts."""

    def __init__(self, folder: str, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits

    @classmethod
    def make(cls, limits: Limits, parent: str | None = None) -> Leaf | None:
        """A leaf with these bounds, or None where none is delegated: then it is not tried again until this process is
        in another group. `parent`: instead of our own group."""
        if parent is not None:
            return cls._made(limits, parent)
        membership = _membership()
        if not membership or membership in _without:
            return None
        leaf = cls._made(limits, own())
        if leaf is None:
            _without.add(membership)
        return leaf

    @classmethod
    def _made(cls, limits: Limits, parent: str) -> Leaf | None:
        if not parent:
            return None
        folder = os.path.join(parent, f"gateway-{os.getpid()}-{next(_numbers)}")
        try:
            os.mkdir(folder)
        except OSError:
            return None
        leaf = cls(folder, limits)
        if leaf._bound():
            return leaf
        leaf.remove()
        return None

    def _bound(self) -> bool:
        """Sets the bounds. False when the kernel does not keep them here."""
        if not set(self._read("cgroup.controllers").split()) >= NEEDED:
            return False
        wanted = []
        if self._limits.memory:
            wanted += [("memory.max", str(self._limits.memory)), ("memory.oom.group", "1")]
        if self._limits.processes:
            wanted.append(("pids.max", str(self._limits.processes + 1)))  # with process 1 of the sandbox
        return all(self._write(name, value) for name, value in wanted)

    def enter(self, pid: int) -> bool:
        """Puts a waiting process in."""
        return self._write("cgroup.procs", str(pid))

    def cpu_seconds(self) -> float:
        """Processor time of all that ever ran in it."""
        return self._count("cpu.stat", "usage_usec") / 1e6

    def violations(self) -> tuple[Violation, ...]:
        """The bounds that were broken."""
        found = []
        if self._limits.memory and self._count("memory.events", "oom_kill"):
            found.append(breach("memory", size(self._limits.memory), "work on smaller pieces, or with fewer workers"))
        if self._limits.processes and self._count("pids.events", "max"):
            found.append(breach("processes", f"{self._limits.processes} processes", "start fewer at a time"))
        return tuple(found)

    def kill(self) -> bool:
        """Ends everything in it at once."""
        return self._write("cgroup.kill", "1")

    def remove(self) -> bool:
        """Removes it; False while something still runs in it."""
        try:
            os.rmdir(self._folder)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def _count(self, name: str, key: str) -> int:
        for line in self._read(name).splitlines():
            word, _, value = line.partition(" ")
            if word == key:
                return int(value)
        return 0

    def _read(self, name: str) -> str:
        try:
            with open(os.path.join(self._folder, name), encoding="ascii") as file:
                return file.read()
        except OSError:
            return ""

    def _write(self, name: str, value: str) -> bool:
        try:
            descriptor = os.open(os.path.join(self._folder, name), os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            os.write(descriptor, value.encode("ascii"))
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True
