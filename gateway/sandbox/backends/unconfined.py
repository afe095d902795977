"""The backend `none`: no confinement, only where policy names it. What it still gives: exactly the plan's environment,
bounds on each process, closed descriptors, and an end of the whole tree as far as that can be had."""

from __future__ import annotations

import os
import sys

from gateway.sandbox.base import Probe, SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.base import Running, Streams

DEGRADED = (
    "nothing is confined: the command may read, change and reach whatever this user may",
    "protected names are put back after the call, not held during it",
    "a process that kills its supervisor or is started by a service outside goes on",
)


class Unconfined:
    """Runs a command without a sandbox."""

    name = "none"
    whole = False

    def probe(self) -> Probe:
        """It always works, and never holds."""
        return Probe(True, "nothing is confined", "", DEGRADED)

    def missing(self, plan: SandboxPlan) -> tuple[str, ...]:
        """Nothing is kept, so everything is missing unless policy says that this will do."""
        return () if plan.free or self.name in plan.weaker else ("policy does not permit the weaker form `none`",)

    def start(
        self, plan: SandboxPlan, argv: Sequence[str | bytes], streams: Streams, keep: Sequence[int] = ()
    ) -> Running:
        """Starts the command, waiting. Raises SandboxError, also where policy does not name this form."""
        gaps = self.missing(plan)
        if gaps:
            raise SandboxError(gaps[0])
        from gateway.sandbox.placeholders import private_for

        with private_for(plan) as private:
            if sys.platform != "linux":
                from gateway.sandbox.backends.landlock_rules import environment_of
                from gateway.sandbox.limits import bounds
                from gateway.sandbox.placeholders import start_folder
                from gateway.sandbox.session import Session

                words = [os.fsencode(word) for word in argv]
                folder = os.fsencode(start_folder(plan, private))
                return Session(
                    words, environment_of(plan, private), folder, streams, keep, bounds(plan.limits, processes=False)
                )
            from gateway.sandbox.backends.launcher import FREE

            return FREE.start(plan, argv, streams, keep, private)
