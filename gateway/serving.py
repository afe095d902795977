"""What serves calls: who judges them, who is asked, where they are recorded, and what runs what they start.

One `Services` serves any number of calls at once, whatever they came through; `gateway.life` leads each through.
"""

from __future__ import annotations

import os
from _thread import allocate_lock

from gateway.approval.asking import Asking, Judgement
from gateway.audit import calls
from gateway.audit.log import log_of
from gateway.hooks.run import Hooks
from gateway.model.decision import Decision
from gateway.model.value import Value
from gateway.sandbox.base import Names
from gateway.sandbox.plan import plan_of
from gateway.sandbox.profile import profile_of
from gateway.sandbox.run import Protection, Runner
from gateway.sandbox.survey import Surveyor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from gateway.approval.asking import Approval
    from gateway.approval.base import Approver
    from gateway.approval.grants import Grants
    from gateway.approval.person import Person
    from gateway.audit.calls import Recorded
    from gateway.audit.log import Log
    from gateway.engine import Gateway
    from gateway.lsp.edits import Edit
    from gateway.lsp.running import Languages
    from gateway.model.call import RawCall
    from gateway.model.context import Context
    from gateway.model.grant import Grant
    from gateway.model.plan import SandboxPlan
    from gateway.model.record import Rewritten
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.servers import Servers
    from gateway.tools.handling import Work
    from gateway.tools.registry import Registry

# What a tool may ask for where no policy limits the time of a call; without asking it gets what the plan says.
MOST_SECONDS = 600.0


class Guard(Value):
    """A gateway and who looks at the host for it: one call is judged, planned and held by the same."""

    gateway: Gateway
    surveyor: Surveyor

    def plan(self, verdict: Verdict, environment: Mapping[str, str] | None) -> SandboxPlan:
        """What the call of a verdict could see and do. Raises SandboxError where nothing may run."""
        if environment is not None:  # programs are found where they were looked for when the call was judged
            environment = {**environment, "PATH": self.gateway.search_path}
        profile = profile_of(self.gateway.loaded_for(verdict).settings)
        return plan_of(verdict, profile, self.surveyor.survey(verdict, environment))

    def limits_seconds(self, verdict: Verdict) -> bool:
        """Whether policy itself says how long a call may take."""
        limits = self.gateway.loaded_for(verdict).settings.get("limits")
        return limits is not None and "seconds" in limits.value

    def most_seconds(self, verdict: Verdict, plan: SandboxPlan) -> float:
        """The longest that a tool may ask for, 0 without limit."""
        return plan.limits.seconds if self.limits_seconds(verdict) else max(plan.limits.seconds, MOST_SECONDS)

    def protection(self, verdict: Verdict) -> Protection:
        """What the call may not change by name, and what is swept up after it."""
        surveyor = self.surveyor

        def look(folder: str) -> Names:
            marks = surveyor.marks(verdict, folder)
            found = {mark.path: mark.fixed or mark.hidden for mark in marks if mark.fixed or mark.hidden}
            return Names(found, tuple([mark.path for mark in marks if mark.closed]))

        return Protection(lambda path: surveyor.rule_on(verdict, path), look)


class Services:
    """Safe to use from several threads."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        approver: Approver | Sequence[Approver] = (),
        runner: Runner | None = None,
        log: Log | None = None,
        front: str = "library",
        person: Person | None = None,
    ) -> None:
        """`approver`: who can be asked where policy asks, in the order of its setting `approvers`; without one, what
        would be asked is refused. `log`: where every decision and outcome is recorded, by default in the user's state
        folder as policy says; `front`: through what the calls came. `person`: who sits before the sessions and can be
        asked what is no approval; None for nobody."""
        self._approvers = approver if isinstance(approver, (list, tuple)) else (approver,)
        self._guard = Guard(gateway, Surveyor(gateway))
        self._has_saved = False
        self.runner = runner or Runner(os.path.join(gateway.places.state, "quarantine"))
        self.log = log or log_of(
            gateway.places.state, gateway.loaded.settings, _private_fields(gateway.registry), gateway.environment
        )
        self.front = front
        self.person = person
        self.hooks = Hooks()
        self._servers: Servers | None = None
        self._languages: Languages | None = None
        self._lock = allocate_lock()

    @property
    def servers(self) -> Servers:
        """The MCP servers that policy configures."""
        with self._lock:
            if self._servers is None:
                from gateway.servers import Servers

                self._servers = Servers(self)
            return self._servers

    @property
    def languages(self) -> Languages:
        """The language servers that policy configures."""
        with self._lock:
            if self._languages is None:
                from gateway.lsp.running import Languages

                self._languages = Languages(self)
            return self._languages

    def edit(self, work: Work) -> Edit | None:
        """What has language servers hear of what a call changes; None where none was ever asked. Never raises."""
        return None if self._languages is None else self._languages.edit(work)

    @property
    def guard(self) -> Guard:
        """Who judges the next call: by the policy files as they were, unless an answer has changed them."""
        return self._renewed() if self._has_saved else self._guard

    @property
    def guard_before(self) -> Guard:
        """Who judged by the policy files as they were when they could last be read."""
        return self._guard

    @property
    def gateway(self) -> Gateway:
        """Who judges: the gateway that was given, or one that read the policy anew after it had changed."""
        return self._guard.gateway

    def approved(
        self,
        guard: Guard,
        verdict: Verdict,
        plan: SandboxPlan | None,
        raw: RawCall,
        context: Context | None,
        grants: Grants | None,
        planned: Callable[[Guard, Verdict], SandboxPlan | None],
        cancelled: Callable[[], bool],
    ) -> tuple[Guard, Approval]:
        """Asks; once there is an answer, the call is judged and planned anew by the policy files as they are then."""

        def again() -> Judgement:
            nonlocal guard
            guard = self._renewed()
            now = guard.gateway.check(raw, context)
            return Judgement(guard.gateway, now, None if now.decision is Decision.DENY else planned(guard, now))

        first = Judgement(guard.gateway, verdict, plan)
        approval = Asking(self._approvers, grants).approve(first, again, cancelled)
        if approval.grant is not None and approval.grant.saved:
            self._has_saved = True
        return guard, approval

    def recorded(
        self,
        guard: Guard,
        session: str,
        verdict: Verdict,
        plan: SandboxPlan | None,
        grant: Grant | None,
        *,
        rewritten: Rewritten | None = None,
    ) -> Recorded:
        """Records what was decided, before anything of the call runs. `rewritten`: what hooks made of the call."""
        policy = guard.gateway.loaded_for(verdict).policy.revision
        told = None if grant is None else _told(grant)
        return calls.decided(
            self.log, verdict, front=self.front, session=session, plan=plan, grant=told, policy=policy,
            rewritten=rewritten,
        )  # fmt: skip

    def ended(self, recorded: Recorded, verdict: Verdict, result: Result) -> Result:
        """Records what became of the call; the result says what could not be recorded."""
        return calls.ended(self.log, recorded, verdict, result)

    def look_again(self) -> None:
        """Has the next call judged by the policy files as they are by then."""
        self._has_saved = True

    def _renewed(self) -> Guard:
        """Who judges by the policy files as they are now."""
        guard = self._guard
        gateway = guard.gateway.renewed()
        if gateway is not guard.gateway:
            guard = self._guard = Guard(gateway, Surveyor(gateway))
            if self._servers is not None:
                self._servers.look_over_all()
        self._has_saved = False
        return guard

    def close(self) -> None:
        """Ends what serves the calls. No call may be running."""
        if self._servers is not None:
            self._servers.close()
        if self._languages is not None:
            self._languages.close()
        self.runner.close()
        self.log.close()


def _private_fields(registry: Registry) -> Callable[[str], Collection[str]]:
    """Which fields of a tool the record keeps size and digest of only, as `tools.yaml` declares them."""
    return lambda name: registry[name].entry["private"] if name in registry else ()


def _told(grant: Grant) -> dict[str, Any]:
    """A grant as the record tells it: without its digests, which would let anybody try guesses."""
    found: dict[str, Any] = {"allow": grant.allow, "scope": grant.scope, "by": grant.by}
    return found | ({"saved": grant.saved} if grant.saved else {}) | ({"until": grant.until} if grant.until else {})
