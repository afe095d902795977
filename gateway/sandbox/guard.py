"""Watches protected names while a call runs: new ones are removed as they appear, and a call is ended that has detached
a held name from its place.

The kernel tells what changes in the watched folders. Where it has no watch left for some of them, what appears there is
dealt with when the call has ended, as everything is where no kernel tells.
"""

from __future__ import annotations

import os
import select
import threading
from _thread import get_ident, start_new_thread
from contextlib import suppress
from math import ceil, inf
from time import monotonic

from gateway.model.result import Violation
from gateway.sandbox.after.protect import ASK, MOST_TOLD, Protected
from gateway.sandbox.after.quarantine import Quarantine
from gateway.sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.base import Look, Running
    from gateway.sandbox.changed_folders import ChangedFolders

# A new name is left this long, so that who unpacks it is done with it. In seconds.
GRACE = 0.25
MOST_NEW = 1_000
_PAUSE = 0.005  # between two looks; that a held name comes loose is seen at once
_IDLE = 0.5


def guarded(
    plan: SandboxPlan, classify: Callable[[str], str], look: Look, quarantine: str, *, held: bool
) -> tuple[Protected, Quarantine]:
    """Remembers what there is before a call, for who looks after it; as `Protected`. `quarantine`: the folder for what
    is taken away. Raises SandboxError; then nothing may run."""
    protected = Protected(plan, classify, look, held=held)
    protected.before()
    return protected, Quarantine(quarantine, protected.began, classify)


class Guard:
    """One call. It waits, without doing anything, until something happens in the folders that the call may write."""

    def __init__(self, protected: Protected, quarantine: Quarantine, changes: ChangedFolders, running: Running) -> None:
        self._protected = protected
        self._changes = changes
        self._quarantine = quarantine
        self._running = running
        self._seen: dict[str, float] = {}
        self._count = 0
        self._stirred = False
        self._found: list[Violation] = []
        self._reason = ""
        self._wake, self._woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._ending = self._started = False
        self._is_alone = False
        self._thread = 0
        self._running_on = threading.Lock()  # a thread of its own would be waited for until it runs

    def start(self) -> None:
        """Begins to watch, where the kernel tells."""
        if not self._protected.known or self._changes.descriptor < 0:
            return
        self._changes.listen(self._happened)
        self._running_on.acquire()
        self._started = True
        try:
            start_new_thread(self._run, ())
        except RuntimeError:  # no thread is to be had: what appears is dealt with when it has ended
            self._is_alone = True
            self._running_on.release()

    @property
    def degraded(self) -> tuple[str, ...]:
        """What it did not do while the call ran."""
        unwatched = self._is_alone or self._changes.unwatched or self._changes.descriptor < 0
        return (_UNWATCHED,) if unwatched else ()

    def stop(self) -> tuple[str, list[Violation]]:
        """Stops: why the call was ended, "" if it was not, and what was done."""
        if self._started:
            self._started = False
            self._ending = True
            os.write(self._woken, b".")
            self._running_on.acquire()
            self._changes.ignore(self._happened)
        for descriptor in (self._wake, self._woken):
            if descriptor >= 0:
                os.close(descriptor)
        self._wake = self._woken = -1
        return self._reason, self._found

    def _happened(self, folder: str, name: str, concerned: bool) -> None:
        """Told by whoever reads what has happened, perhaps another call's guard."""
        identities = self._protected.identities
        lost = identities.lost(f"{folder.rstrip('/')}/{name}" if name else folder) if identities is not None else ""
        if lost and not self._reason:
            self._end(f"`{lost}` was replaced while the call ran, so that the sandbox no longer held it")
        if concerned and not self._stirred:
            self._stirred = True
            if get_ident() != self._thread:
                os.write(self._woken, b".")

    def _end(self, reason: str) -> None:
        self._reason = reason
        self._running.kill()

    def _run(self) -> None:
        self._thread = get_ident()
        try:
            self._watch()
        except Exception:  # nobody would see a held name come loose
            if not self._ending and not self._reason:
                self._end("what watches over protected names while it runs has failed")
        finally:
            self._running_on.release()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        source = self._changes.descriptor
        poll.register(source, select.POLLIN)
        rested = 0.0
        while True:
            due = max(min(self._seen.values(), default=inf), rested)
            if self._stirred:
                due = rested
            poll.poll(max(0, ceil(min(due - monotonic(), _IDLE) * 1000)))
            self._changes.read()
            if self._is_over():
                return
            if monotonic() >= (rested if self._stirred else due):
                stirred, self._stirred = self._stirred, False
                with suppress(SandboxError, OSError):  # the look when it has ended deals with it
                    self._look(stirred)
                rested = monotonic() + _PAUSE

    def _is_over(self) -> bool:
        with suppress(BlockingIOError):
            os.read(self._wake, 64)
        return self._ending

    def _look(self, stirred: bool) -> None:
        fresh = self._protected.appeared()
        now = monotonic()
        seen = {path: self._seen.get(path, now + GRACE) for path in fresh}
        # What was let be (a repository that is being made) is looked at again when something has happened.
        self._seen = {path: now + GRACE if when == inf and stirred else when for path, when in seen.items()}
        due = {path: fresh[path] for path, when in self._seen.items() if when <= now}
        for violation in self._protected.sweep_live(due, self._quarantine):
            self._count += 1
            if len(self._found) < MOST_TOLD:
                self._found.append(violation)
        self._seen = {path: when if when > now else inf for path, when in self._seen.items()}
        if self._count + len(fresh) > MOST_NEW and not self._reason:
            self._found.append(
                Violation("protected", self._protected.plan.watched[0], rule="", source="sweep", hint=f"{_MUCH}; {ASK}")
            )
            self._end(_MUCH)


_UNWATCHED = "the kernel tells of changes in some folders only: what came there was dealt with when the call had ended"
_MUCH = f"the call made more than {MOST_NEW:,} names that policy protects, and was ended"
