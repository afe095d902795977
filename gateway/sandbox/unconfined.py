"""The backend `none`: no confinement, only where policy names it. What it still gives: exactly the plan's environment,
bounds on each process, closed descriptors, and an end of the whole tree as far as that can be had."""

from __future__ import annotations

import os
import sys
import threading

from gateway.sandbox.base import Probe, SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.base import Running, Streams
    from gateway.sandbox.launcher import Launcher

DEGRADED = (
    "nothing is confined: the command may read, change and reach whatever this user may",
    "protected names are put back after the call, not held during it",
    "a process that kills its supervisor or is started by a service outside goes on",
)


class Unconfined:
    """Runs a command without a sandbox."""

    name = "none"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._launcher: Launcher | None = None

    def probe(self) -> Probe:
        """It always works, and never holds."""
        return Probe(True, "nothing is confined", "", DEGRADED)

    def missing(self, plan: SandboxPlan) -> tuple[str, ...]:
        """Nothing is kept, so everything is missing unless policy says that this will do."""
        return () if self.name in plan.weaker else ("policy does not permit the weaker form `none`",)

    def start(
        self, plan: SandboxPlan, argv: Sequence[str | bytes], streams: Streams, keep: Sequence[int] = ()
    ) -> Running:
        """Starts the command, waiting. Raises SandboxError, also where policy does not name this form."""
        gaps = self.missing(plan)
        if gaps:
            raise SandboxError(gaps[0])
        from gateway.sandbox.landlock_rules import environment_of
        from gateway.sandbox.limits import bounds
        from gateway.sandbox.private import make_private, start_folder

        private = make_private(plan)
        try:
            if sys.platform != "linux":
                from gateway.sandbox.session import Session

                words = [os.fsencode(word) for word in argv]
                folder = os.fsencode(start_folder(plan, private))
                return Session(
                    words, environment_of(plan, private), folder, streams, keep, bounds(plan.limits, processes=False)
                )
            order: dict[str, object] = {
                "argv": [os.fsencode(word) for word in argv],
                "environment": environment_of(plan, private),
                "cwd": os.fsencode(start_folder(plan, private)),
                "rules": [],
                "handled": 0,
                "network": 0,
                "scoped": 0,
                "filters": [],
                "rlimits": bounds(plan.limits, processes=False),
                "private": os.fsencode(private),
            }
            return self._launch().start(order, streams, keep)
        except BaseException:
            if private:
                from gateway.sandbox.confined import remove

                remove(os.fsencode(private))
            raise

    def _launch(self) -> Launcher:
        with self._lock:
            if self._launcher is None:
                from gateway.sandbox.launcher import Launcher

                self._launcher = Launcher(free=True)
            return self._launcher
