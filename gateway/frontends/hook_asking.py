"""Where policy asks about a call of a foreign agent: a person at a page of the console, or elsewhere, before the agent
is left to ask its own.

The agent waits meanwhile, as long as its settings say (`--waits`), and runs the call when it has waited in vain. So it
is answered well before: with what was said on the page, else with what it would have been answered without one. The
hook's own process does this; the service, for which others wait, leaves it to that.
"""

from __future__ import annotations

import os
from time import monotonic

from gateway.agents.base import ALLOW, DENY
from gateway.approval.asking import Asking, Judgement
from gateway.approval.page import Page, Remote
from gateway.core.errors import GatewayError
from gateway.core.places import DESK_FOLDER
from gateway.core.quantities import counted
from gateway.core.value import Value
from gateway.model.decision import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from gateway.agents.base import Event
    from gateway.approval.base import Question
    from gateway.judge.judge import Judge
    from gateway.model.context import Context
    from gateway.model.grant import Grant
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict

    class Judging(Protocol):
        """One call, and who judges it (`gateway.frontends.hook`)."""

        event: Event
        gateway: Judge
        context: Context
        environment: Mapping[str, str]
        setting: Mapping[str, Any]

        def confined(self) -> Verdict | None: ...
        def judged(self, context: Context) -> Verdict: ...
        def rewritten(self, verdict: Verdict, *, asked: bool) -> Mapping[str, Any] | None: ...
        def where_policy_asks(self, verdict: Verdict) -> tuple[str, str]: ...


_TITLE = "asked by"


class Answered(Value):
    """What a person said of a call, or policy by the time that they had. `changed`: the input that is to run instead;
    `grant`: None where policy itself decided by then; `said`: why it does not run."""

    changed: Mapping[str, Any] | None
    verdict: Verdict
    decision: str
    grant: Grant | None
    said: str


def answered(judging: Judging, until: float) -> Answered | None:
    """What the person says; None where nobody is there to say it, or nobody did by then. `until`: by the monotonic
    clock. Raises GatewayError where the policy is broken by the time of the answer."""
    started = os.getppid()
    seconds = min(float(judging.setting["page"]), until - monotonic())
    shown = _Shown(judging, seconds)
    how: Any = {"seconds": seconds, "until": monotonic() + seconds, "silence_is_no": False}
    folder = os.path.join(judging.gateway.places.state, DESK_FOLDER)
    asking = Asking((Page(shown, folder, **how), Remote(shown, folder, **how)))
    try:
        first = _judgement(judging)
    except GatewayError:
        return None  # it cannot be planned, so what it could do cannot be shown
    if first.verdict.decision is not Decision.ASK:
        return None

    def again() -> Judgement:
        judging.gateway = judging.gateway.renewed()
        return _judgement(judging)

    approval = asking.approve(first, again, lambda: os.getppid() != started)
    if approval.unanswered:
        return None
    verdict = approval.judgement.verdict
    if approval.refusal:
        return Answered(None, verdict, decision=DENY, grant=approval.grant, said=approval.refusal)
    changed = judging.rewritten(verdict, asked=verdict.decision is Decision.ASK) if verdict.context.confined else None
    if changed is None and verdict.context.confined:
        why = "Its confined form cannot be had any more, and that is what was agreed to."
        return Answered(None, verdict, decision=DENY, grant=approval.grant, said=why)
    return Answered(changed, verdict, decision=ALLOW, grant=approval.grant, said="")


def _judgement(judging: Judging) -> Judgement:
    """The call as of now, in its confined form where that is what would run, with what that could do."""
    verdict = judging.confined() or judging.judged(judging.context)
    return Judgement(judging.gateway, verdict, _plan(judging, verdict))


def _plan(judging: Judging, verdict: Verdict) -> SandboxPlan | None:
    """What the confined form would run inside. Raises SandboxError where it could not."""
    if not verdict.context.confined or verdict.decision is Decision.DENY:
        return None
    from gateway.audit import secrets
    from gateway.calls.planner import Planner
    from gateway.sandbox.survey import Surveyor

    judge = judging.gateway
    return Planner(judge, Surveyor(judge, secrets.holds)).plan(verdict, judging.environment)


class _Shown:
    """What a page shows of the question: also who asks, and what becomes of it where nobody answers here."""

    def __init__(self, judging: Judging, seconds: float) -> None:
        self._judging = judging
        self._seconds = seconds

    def __call__(self, question: Question) -> dict[str, Any]:
        from gateway.agents import questions
        from gateway.frontends.question import question_shown

        title = questions.title_of(self._judging.event.agent)
        asks = self._judging.where_policy_asks(question.verdict)[0] != DENY
        then = "it asks there itself" if asks else "it is refused"
        told = f"{title}; where nobody answers here within {counted(int(self._seconds), 'second')}, {then}"
        found = question_shown(question)
        return {**found, "plan": [[_TITLE, [told]], *found["plan"]]}
