"""Limits on a call's whole process tree, enforced by polling: for machines that delegate no control group.

One thread serves all calls of the process. A call that ends before its first look costs an entry in a table. A breach
ends the tree by its first process, which no number of forks outruns.
"""

from __future__ import annotations

import os
import threading
from time import monotonic, time

from gateway.sandbox import usage
from gateway.sandbox.allocated import allocated
from gateway.sandbox.bound_record import breach, size
from gateway.sandbox.cpu_clock import Clock, Counter
from gateway.sandbox.spawn import tree
from gateway.sandbox.unmapped import Unmapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.limits import Limits
    from gateway.model.result import Violation
    from gateway.sandbox.base import Running
    from gateway.sandbox.cgroup import Leaf

INTERVAL = 0.04
_SELDOM = 5  # looks between two at what is slow to read
_IDLE = 25  # looks without a call after which the thread sleeps until there is one


class Watcher:
    """One call, made before its command begins. `roots`: folders of the host that it may write; `private`: folders of
    its sandbox that are held in memory; `leaf`: the control group that it runs in, which then keeps the bounds that it
    can. Safe to use from several threads."""

    def __init__(
        self,
        running: Running,
        limits: Limits,
        roots: tuple[str, ...] = (),
        private: tuple[str, ...] = (),
        leaf: Leaf | None = None,
    ) -> None:
        self._running = running
        self._leaf = leaf
        self._limits = limits if leaf is None else limits.replace(memory=0, processes=0)
        self._roots = roots if limits.disk else ()
        self._private = private if limits.memory else ()
        self._free: dict[int, int] = {}
        self._most_free: dict[int, int] = {}  # what others give back meanwhile hides nothing that the tree takes
        self._looks = 0
        self._ended = threading.Lock()
        self._found: tuple[Violation, ...] = ()
        # Whoever is to be counted must not have begun.
        self._clock = Clock(Counter.of(running.root)) if limits.cpu_seconds and leaf is None else None
        self._unmapped = Unmapped() if self._limits.memory else None
        self._beyond = 0
        self._began = time()
        self.due = 0.0

    def start(self) -> None:
        """Begins to watch, if there is anything to watch for."""
        limits = self._limits
        if not (limits.memory or limits.processes or limits.cpu_seconds or limits.disk):
            return
        self._free = usage.free(self._roots)
        self.due = monotonic() + INTERVAL
        _watch.add(self)

    def stop(self) -> tuple[Violation, ...]:
        """Stops, and says what bound was broken: nothing or the one that ended the call."""
        _watch.remove(self)
        with self._ended:
            if self._clock is not None:
                self._clock.close()
            return self._found + (self._leaf.violations() if self._leaf is not None else ())

    def look(self) -> None:
        """One look. Ends the tree at a breach."""
        with self._ended:
            if self._found:
                return
            self._looks += 1
            found = self._breach(tree(self._running.root))
            if found is not None:
                self._running.kill()
                self._found = (found,)

    def _breach(self, pids: list[int]) -> Violation | None:
        limits = self._limits
        if limits.processes and len(pids) - 1 > limits.processes:
            return breach("processes", f"{limits.processes} processes", "start fewer at a time")
        if limits.cpu_seconds and self._cpu(pids) > limits.cpu_seconds:
            return breach("cpu_seconds", f"{limits.cpu_seconds:g} s of processor time", "do less in one call")
        if limits.memory and self._memory(pids) > limits.memory:
            return breach("memory", size(limits.memory), "work on smaller pieces, or with fewer workers")
        if limits.disk and self._disk(pids):
            return breach("disk", f"{size(limits.disk)} more on disk", "write less, or remove what is not needed first")
        return None

    def _cpu(self, pids: list[int]) -> float:
        if self._leaf is not None:
            return self._leaf.cpu_seconds()
        return self._clock.seconds(pids) if self._clock is not None else 0.0

    def _memory(self, pids: list[int]) -> int:
        """Bytes in use: a quick figure that is too high, and only if that is over the bound the exact one."""
        limit = self._limits.memory
        files = usage.filled(self._running.root, self._private)
        if self._unmapped is not None and self._looks % _SELDOM == 0:
            self._beyond = self._unmapped.bytes(pids, limit - files, files) + usage.page_tables(pids)
            self._beyond += self._unmapped.kernels(pids, limit)
        used = files + self._beyond
        if used > limit:
            return used
        return 0 if usage.resident(pids) + used <= limit else usage.proportional(pids) + used

    def _disk(self, pids: list[int]) -> bool:
        """Whether a file system has lost that much and this tree has to do with it: others write there too."""
        limit = self._limits.disk
        now = usage.free(self._roots)
        for device, before in self._free.items():
            most = self._most_free.get(device, before)
            self._most_free[device] = max(most, now.get(device, most))
        lost, lost_since = (
            max((before - now.get(device, before) for device, before in known.items()), default=0)
            for known in (self._free, self._most_free)
        )
        if lost_since <= limit:
            return False
        if lost <= limit:  # others may have taken again what they gave back
            return self._has_taken(pids)
        written = usage.written(pids)
        # Space can be taken without writing, also by files that have no name any more and that nobody holds open: a
        # loss several times the bound is held against it all the same.
        if written is None or written * 2 > limit or lost > 4 * limit:
            return True
        return self._has_taken(pids)

    def _has_taken(self, pids: list[int]) -> bool:
        """Whether what the tree changed takes that much, as allocated: slow, so looked at seldom."""
        limit = self._limits.disk
        return self._looks % _SELDOM == 0 and allocated(self._roots, pids, self._began, limit) >= limit


class _Watch:
    """The table of calls, and the thread that looks at them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._calls: dict[int, Watcher] = {}
        self._process = 0

    def add(self, watcher: Watcher) -> None:
        with self._lock:
            self._calls[id(watcher)] = watcher
            if self._process != os.getpid():
                self._process = os.getpid()
                threading.Thread(target=self._run, name="gateway-watch", daemon=True).start()
            elif len(self._calls) == 1:
                self._wake.notify()

    def remove(self, watcher: Watcher) -> None:
        with self._lock:
            self._calls.pop(id(watcher), None)

    def _run(self) -> None:
        idle = 0
        pause = threading.Event()
        while True:
            with self._lock:
                idle = 0 if self._calls else idle + 1
                if idle > _IDLE:
                    self._wake.wait()
                    idle = 0
                calls = list(self._calls.values())
            now = monotonic()
            for each in calls:
                if now >= each.due:
                    each.look()
            pause.wait(INTERVAL)


_watch = _Watch()


def _fresh_watch() -> None:
    """The old one's lock may have been held while the process was forked."""
    global _watch
    _watch = _Watch()


os.register_at_fork(after_in_child=_fresh_watch)
