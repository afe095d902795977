"""From a verdict to what may run: the sandbox plan, its limits, and what is protected by name while it runs."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.judge.pipeline import TEMP
from gateway.model.effect import LEAVE
from gateway.model.plan import Network
from gateway.sandbox.base import Names
from gateway.sandbox.marks import COMPARED, DEEP
from gateway.sandbox.plan import plan_of
from gateway.sandbox.profile import profile_of
from gateway.sandbox.run import Protection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.judge.judge import Judge
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict
    from gateway.sandbox.profile import Profile
    from gateway.sandbox.survey import Surveyor

# What a tool may ask for where no policy limits the time of a call; without asking it gets what the plan says.
MOST_SECONDS = 600.0


def asks_to_leave(verdict: Verdict) -> bool:
    """Whether a call asks to run without the sandbox. Where its verdict lets it run, it may: a person or a rule that
    names this has said so."""
    return any(getattr(item.effect, "action", "") == LEAVE for item in verdict.analysis.items)


def confined(verdict: Verdict) -> Verdict:
    """The verdict as that on a call in the sandbox: what is looked at before one that leaves it is the same."""
    return verdict.replace(context=verdict.context.replace(confined=True, temp=TEMP))


class Planner(Value):
    """A judge and who looks at the host for it: one call is judged, planned and held by the same."""

    judge: Judge
    surveyor: Surveyor

    def plan(self, verdict: Verdict, environment: Mapping[str, str] | None) -> SandboxPlan:
        """What the call of a verdict could see and do. Raises SandboxError where nothing may run."""
        if environment is not None:  # programs are found where they were looked for when the call was judged
            environment = {**environment, "PATH": self.judge.search_path}
        profile = profile_of(self.judge.loaded_for(verdict).settings)
        if asks_to_leave(verdict):
            plan = self._planned(confined(verdict), profile, environment)
            return plan.replace(private=(), network=Network(), weaker=(), layers=(), free=True)
        return self._planned(verdict, profile, environment)

    def _planned(self, verdict: Verdict, profile: Profile, environment: Mapping[str, str] | None) -> SandboxPlan:
        return plan_of(verdict, profile, self.surveyor.survey(verdict, environment))

    def limits_seconds(self, verdict: Verdict) -> bool:
        """Whether policy itself says how long a call may take."""
        limits = self.judge.loaded_for(verdict).settings.get("limits")
        return limits is not None and "seconds" in limits.value

    def most_seconds(self, verdict: Verdict, plan: SandboxPlan) -> float:
        """The longest that a tool may ask for, 0 without limit."""
        return plan.limits.seconds if self.limits_seconds(verdict) else max(plan.limits.seconds, MOST_SECONDS)

    def protection(self, verdict: Verdict) -> Protection:
        """What the call may not change by name, and what is swept up after it."""
        surveyor = self.surveyor

        def look(folder: str, bounded: bool) -> Names:
            marks = surveyor.marks(verdict, folder, bounded=bounded)
            held = [mark for mark in marks if (mark.fixed or mark.hidden) and mark.kind != COMPARED]
            found = {mark.path: mark.fixed or mark.hidden for mark in held}
            closed = tuple([mark.path for mark in marks if mark.closed])
            return Names(found, closed, tuple([mark.path for mark in marks if mark.kind == DEEP]))

        return Protection(lambda path: surveyor.rule_on(verdict, path), look, surveyor.changes)
