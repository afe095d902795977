"""Connections of a call that runs which nobody predicted: what policy says of each, and the person where it asks.

Such a connection may carry whatever the call could read, so it is judged as one that sends, by the same policy and
circumstances as the call. Only a person is asked, while the connection is held; a yes is for this call, this host and
this port.
"""

from __future__ import annotations

from gateway.approval.base import Dialled
from gateway.core.errors import fault
from gateway.core.value import Value
from gateway.judge.runtime_effects import judged_besides
from gateway.model.decision import Decision
from gateway.model.effect import Connect
from gateway.model.grant import SESSION
from gateway.model.plan import HIDDEN, Endpoint
from gateway.policy.hostrules import within
from gateway.policy.modes import SYSTEM_VIEW
from gateway.policy.wording import visible
from gateway.sandbox.egress.held_connection import Answered
from gateway.sandbox.nested_paths import is_below
from gateway.sandbox.paused_call import stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.calls.ports import InProgress
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict
    from gateway.policy.hostrules import Only
    from gateway.sandbox.base import Running
    from gateway.sandbox.egress.held_connection import Dial

MOST_NAMED = 8


class Dialling:
    """`gateway.sandbox.online.Asking`, of one call."""

    def __init__(self, life: InProgress, verdict: Verdict, plan: SandboxPlan) -> None:
        self._life, self._verdict, self._plan = life, verdict, plan
        refused, self._only = life.planner.surveyor.forbidden_hosts(verdict)
        self.denied = tuple(Endpoint(each.host, each.port, each.rule) for each in refused)

    def of(self, running: Running) -> Asked:
        """For the call as it runs."""
        return Asked(self._life, self._verdict, plan=self._plan, only=self._only, running=running)


class Asked(Value):
    """`gateway.sandbox.egress.held_connection.Asks`: says it for one call that runs."""

    life: InProgress
    verdict: Verdict
    plan: SandboxPlan
    only: tuple[Only, ...]
    running: Running

    def judged(self, host: str, port: int) -> Answered | None:
        """What policy, or an answer in this session, says by itself; None where a person has to say. Never raises."""
        try:
            return self._judged(host, port)
        except Exception as error:
            return Answered(False, reason=f"it could not be judged because of {fault(error)}")

    def _judged(self, host: str, port: int) -> Answered | None:
        outside = next((each for each in self.only if not within(host, each.hosts)), None)
        if outside is not None:
            return Answered(False, rule=outside.rule, reason=f"rule `{outside.rule}` refuses it")
        verdict = self._on(host, port)
        rule = verdict.reason.rule
        if verdict.decision is Decision.DENY:
            return Answered(False, rule=rule.id, reason=f"rule `{rule.id}` denies it")
        if verdict.decision is Decision.ALLOW and rule.lane == "allow":
            return Answered(True, rule=rule.id)
        if (host, port) in self.life.session.refused_hosts:
            return Answered(False, "session", reason="it was refused before, for this session")
        return None

    def _on(self, host: str, port: int) -> Verdict:
        """The verdict on the connection, as one more effect of the call."""
        return judged_besides(self.life.planner.judge, self.verdict, Connect(host, port, "send"))

    def ask(self, dial: Dial, withdrawn: Callable[[], bool]) -> Answered:
        """What the person says. Never raises."""
        life, running = self.life, self.running

        def cancelled() -> bool:
            return withdrawn() or life.cancel.is_set or bool(getattr(running, "interrupted", False))

        try:
            question = Dialled(
                self._on(dial.host, dial.port), dial.host, dial.port, dial.program, reads=self._reads(),
                secrets=self._secrets(), cancelled=cancelled, still=lambda: stopped(running.root),
                session=life.grants is not None,
            )  # fmt: skip
            answer = life.services.dialled(life.planner, question)
        except Exception as error:
            return Answered(False, "nobody", reason=f"nobody could be asked because of {fault(error)}")
        if answer.allow:
            return Answered(False, "nobody", reason="the call ends") if cancelled() else Answered(True, answer.by)
        if answer.scope == SESSION:
            life.session.refused_hosts.add((dial.host, dial.port))
        note = f": {visible(answer.note).rstrip('.')}" if answer.note else ""
        return Answered(False, answer.by, reason=f"{answer.by} refused it when it was dialled{note}")

    def _reads(self) -> tuple[str, ...]:
        """What the call can read beside the system's own files, the workspace first."""
        context = self.verdict.context
        shown = [each.path for each in self.plan.mounts if each.access != HIDDEN]
        own = [path for path in shown if not is_below(path, SYSTEM_VIEW)]
        first = [path for path in context.workspace if path in own]
        rest = [path for path in own if path not in first and not is_below(path, first)]
        named = [*first, *rest]
        more = [f"and {len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
        temporary = ["the session's temporary folder and loopback"] if self.plan.shared or self.plan.loopback else []
        return (*named[:MOST_NAMED], *more, *temporary)

    def _secrets(self) -> tuple[str, ...]:
        """Files of the workspace that look like secrets, and that are not hidden from this call."""
        found = self.life.planner.surveyor.secret_files(self.verdict.context.workspace)
        hidden = [each.path for each in self.plan.mounts if each.access == HIDDEN]
        return tuple([path for path in found if not is_below(path, hidden)][:MOST_NAMED])
