"""One call and its record: what happens to the call when the record cannot be written."""

from __future__ import annotations

from gateway.errors import AuditError
from gateway.model.decision import Decision
from gateway.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.audit.log import Log
    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict


class Recorded(Value):
    """A decision that was recorded, or why it was not. `may_run`: False where the call must not run without it."""

    id: str = ""
    problem: str = ""
    may_run: bool = True


def decided(
    log: Log,
    verdict: Verdict,
    *,
    front: str,
    session: str = "",
    plan: SandboxPlan | None = None,
    grant: Mapping[str, Any] | None = None,
    policy: str = "",
) -> Recorded:
    """Records a decision, before anything of the call runs."""
    try:
        known = log.decision(verdict, front=front, session=session, plan=plan, grant=grant, policy=policy)
    except AuditError as error:
        return Recorded(problem=str(error), may_run=not log.is_needed(verdict))
    return Recorded(known)


def ended(log: Log, recorded: Recorded, verdict: Verdict, result: Result) -> Result:
    """Records what became of the call; a denied one has no outcome. The result says what could not be recorded: the
    call has run, or been refused, all the same."""
    problem = recorded.problem and f"This call is not recorded: {recorded.problem}."
    if recorded.id and verdict.decision is not Decision.DENY:
        try:
            log.outcome(recorded.id, result)
        except AuditError as error:
            problem = f"What became of this call is not recorded: {error}."
    if not problem:
        return result
    return result.replace(reason=f"{result.reason} {problem}".lstrip())
