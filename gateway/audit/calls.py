"""One call and its record: what happens to the call when the record cannot be written."""

from __future__ import annotations

from _thread import allocate_lock

from gateway.core.errors import AuditError
from gateway.core.value import Value
from gateway.model.decision import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.audit.log import Log
    from gateway.model.grant import Grant
    from gateway.model.plan import SandboxPlan
    from gateway.model.record import Rewritten
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
    rewritten: Rewritten | None = None,
    bundle: Callable[[], bytes | None] | None = None,
) -> Recorded:
    """Records a decision, before anything of the call runs. What is given is as in `Log.decision`."""
    try:
        known = log.decision(
            verdict, front=front, session=session, plan=plan, grant=grant, policy=policy, rewritten=rewritten,
            bundle=bundle,
        )  # fmt: skip
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
    stop = "." if result.reason and result.reason[-1] not in ".!?" else ""
    return result.replace(reason=f"{result.reason}{stop} {problem}".lstrip())


def told(grant: Grant) -> dict[str, Any]:
    """A grant as the record tells it: without its digests, which would let anybody try guesses."""
    found: dict[str, Any] = {"allow": grant.allow, "scope": grant.scope, "by": grant.by}
    return found | ({"saved": grant.saved} if grant.saved else {}) | ({"until": grant.until} if grant.until else {})


class Lasting:
    """A call that runs on after its handler has returned. Its end is recorded once, behind the outcome that says that
    it was started, whichever of them comes first. Safe to use from several threads."""

    def __init__(self, record: Callable[[Result], Result]) -> None:
        """`record`: records an outcome of the call; the result says what could not be recorded."""
        self.problem = ""  # what could not be recorded of its end
        self._record = record
        self._lock = allocate_lock()
        self._is_started = False
        self._end: Result | None = None

    def started(self) -> None:
        """The call was answered, and that it was started is recorded."""
        with self._lock:
            self._is_started = True
            end, self._end = self._end, None
        if end is not None:
            self._write(end)

    def ended(self, result: Result) -> None:
        """The call has ended now. Never raises."""
        with self._lock:
            if not self._is_started:
                self._end = result
                return
        self._write(result)

    def _write(self, result: Result) -> None:
        try:
            self.problem = self._record(result).reason[len(result.reason) :].lstrip(". ")
        except Exception as error:  # a fault of ours: nobody waits here who could be told otherwise
            self.problem = f"What became of this call is not recorded: {type(error).__name__}: {error}"
