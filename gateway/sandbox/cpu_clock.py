"""Processor time of a tree of processes.

What /proc says leaves out whoever ended without being waited for, and a program may choose that nobody waits. So the
kernel is asked to count for the first process and all that it will start, which it does where it lets users measure
themselves at all; and what is seen of processes is remembered when they are gone.
"""

from __future__ import annotations

import os
from sys import byteorder
from time import monotonic

from gateway.sandbox import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

_OPEN = {"x86_64": 298, "aarch64": 241}  # perf_event_open
_SOFTWARE, _SIZE, _TASK_CLOCK = 1, 112, 1
_INHERIT, _NOT_KERNEL, _NOT_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_CLOSE_ON_EXEC = 8
_FLAGS_AT = 40
_EVERYWHERE, _NO_GROUP = -1, -1


class Counter:
    """The kernel's own count of the time that a process, and all that it starts from now on, is on a processor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Begins to count; None where the kernel does not let this user."""
        import ctypes  # lazy: few calls have such a bound
        import struct

        number = _OPEN.get(os.uname().machine)
        if number is None:
            return None
        wanted = bytearray(_SIZE)
        struct.pack_into("=IIQ", wanted, 0, _SOFTWARE, _SIZE, _TASK_CLOCK)
        struct.pack_into("=Q", wanted, _FLAGS_AT, _INHERIT | _NOT_KERNEL | _NOT_HYPERVISOR)
        call = ctypes.CDLL(None, use_errno=True).syscall
        call.restype = ctypes.c_long
        given = ctypes.create_string_buffer(bytes(wanted), _SIZE)
        descriptor = call(
            *map(ctypes.c_long, (number,)), given, *map(ctypes.c_long, (pid, _EVERYWHERE, _NO_GROUP, _CLOSE_ON_EXEC))
        )
        return cls(descriptor) if descriptor >= 0 else None

    def seconds(self) -> float:
        """The count so far."""
        said = os.read(self._descriptor, 8)
        return int.from_bytes(said, byteorder) / 1e9 if len(said) == 8 else 0.0

    def close(self) -> None:
        """Ends the count."""
        os.close(self._descriptor)


class Clock:
    """The time of one tree, by looking again and again. Never less than what any of its sources says.

    Where looks show that time was lost with processes nobody waited for, and the kernel does not count, each process
    that is seen running stands for the time between two looks: what lives shorter than that is met by chance."""

    def __init__(self, counter: Counter | None) -> None:
        self._counter = counter
        self._own: dict[tuple[int, int], float] = {}
        self._gone = 0.0
        self._met = 0.0
        self._last = monotonic()
        self._lost = False

    def seconds(self, pids: list[int]) -> float:
        """One look. `pids`: the tree as it is now."""
        now = monotonic()
        own: dict[tuple[int, int], float] = {}
        told = running = 0.0
        for pid in pids:
            seen = usage.times(pid)
            if seen is None:
                continue
            own[pid, seen.started] = seen.own
            told += seen.own + seen.waited_for
            running += seen.running
        self._gone += sum(seconds for each, seconds in self._own.items() if each not in own)
        self._own = own
        known = self._gone + sum(own.values())
        # A tick's error for each process that is there.
        self._lost = self._lost or known > told + usage.TICK * (len(own) + 1)
        self._met += min(running, os.cpu_count() or 1) * (now - self._last)
        self._last = now
        counted = self._counter.seconds() if self._counter is not None else 0.0
        return max(told, known, counted, self._met if self._lost and not counted else 0.0)

    def close(self) -> None:
        """Ends the kernel's count."""
        if self._counter is not None:
            self._counter.close()
            self._counter = None
