"""Confinement by namespaces that the gateway makes itself: the same promise as bubblewrap's, from a launcher that is
already there, in a third of the time. How a call's sandbox is built is in `gateway.sandbox.launched`.

The command waits in process 1, which has built everything, holds no right to change it, and runs under the filter of
system calls; it is started by one word of ours. A gateway that dies before takes process 1 along.
"""

from __future__ import annotations

import os
import threading
import weakref

from gateway.sandbox.backends.spaces_order import early_of, order_of, steps_of
from gateway.sandbox.backends.spaces_running import Held
from gateway.sandbox.base import Probe, SandboxError
from gateway.sandbox.filter_here import changes_here, filter_here, names_here
from gateway.sandbox.mounts import inexpressible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.backends.launcher import Launcher
    from gateway.sandbox.base import Streams


_all: weakref.WeakSet[Spaces] = weakref.WeakSet()


def _fresh_locks() -> None:
    for each in _all:
        each.after_fork()


os.register_at_fork(after_in_child=_fresh_locks)


class Spaces:
    """The backend. `launcher`: another than the one that all calls of this process share."""

    name = "namespaces"
    whole = True
    tells = True
    apart = True  # what is done before a command begins can be done while its sandbox is being built
    lays = True  # a layer of the call's own over what it may write

    def __init__(self, launcher: Launcher | None = None) -> None:
        self._launcher = launcher
        self._probing = threading.Lock()
        self._probe: Probe | None = None
        self._held = False
        _all.add(self)

    def probe(self) -> Probe:
        """Runs the real thing with attempts to get out, once in this process; again where what held has failed."""
        with self._probing:
            if self._probe is None or (self._held and not self._probe.works):
                from gateway.sandbox.backends.spaces_probe import probe

                self._probe = probe(self)
                self._held = self._held or self._probe.works
            return self._probe

    def after_fork(self) -> None:
        """In the new process: whoever held the lock is not there."""
        self._probing = threading.Lock()

    def prepare(self) -> None:
        """Starts beforehand what a call will need, where it held when it was last tried. Waits for nothing."""
        from gateway.sandbox.backends.launcher import IN_SPACES
        from gateway.sandbox.backends.spaces_probe import known

        if not self._probing.acquire(blocking=False):
            return  # somebody is trying it just now
        try:
            if self._probe is None:
                self._probe = known()
                self._held = self._held or self._probe is not None
            holds = self._probe is not None and self._probe.works
        finally:
            self._probing.release()
        if holds:
            (self._launcher or IN_SPACES).prepare()

    def missing(self, plan: SandboxPlan) -> tuple[str, ...]:
        """What of the plan cannot be expressed, each as a sentence."""
        return inexpressible(plan)

    def start(
        self,
        plan: SandboxPlan,
        argv: Sequence[str | bytes],
        streams: Streams,
        keep: Sequence[int] = (),
        *,
        tells: bool = False,
        built: bool = True,
    ) -> Held:
        """Builds the sandbox, with the command waiting inside. `built`: waits until it is, else `Held.built` does.
        `tells`: what it started has a `listener`, which is told of every call that can change files before it is made;
        of renames and links where that changes layers. Raises SandboxError; then nothing runs."""
        gaps = self.missing(plan)
        if gaps:
            raise SandboxError(f"namespaces cannot enforce this plan: {'; '.join(gaps)}")
        if not plan.cwd.startswith("/") or "\0" in plan.cwd:
            raise SandboxError(f"the command cannot start in {plan.cwd!r}: it is no absolute path")
        if not argv or any(b"\0" in os.fsencode(word) for word in argv):
            raise SandboxError("there is no command, or a zero byte in its words")
        from gateway.sandbox.backends.launcher import IN_SPACES

        told = (changes_here() if plan.writes else names_here()) if tells else b""
        order = order_of(plan, argv, filter_here(plan.permits), terminal=streams.terminal, told=told)
        launcher = self._launcher or IN_SPACES
        made = steps_of(plan)
        room: tuple[int, ...] = ()
        if plan.loopback:
            from gateway.sandbox.backends.spaces_room import loopback_of  # lazy: it belongs to a session

            room = loopback_of(plan.loopback, launcher)
        try:
            talk = launcher.order(order, streams, keep, room, early_of(plan))
        finally:
            for each in room:
                os.close(each)
        held = Held(talk, made, self._forget, launcher.begun, leads=not streams.terminal)
        if built:
            held.built()
        return held

    def _forget(self) -> None:
        """What could not be built now is tried again by who asks next."""
        from gateway.sandbox.backends.spaces_probe import forget

        forget()
        self._probe = None
