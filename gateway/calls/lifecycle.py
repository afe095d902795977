"""The life of one call, from what was received to what became of it.

    receive → understand → before-hooks → judge → confine → approve → record → run → limit → after-hooks → record

Whatever goes wrong on the way is a refused or failed call with a record: never a crash, never a call that ran unjudged.
"""

from __future__ import annotations

from time import monotonic

from gateway.calls.attended import circumstances, settle, without_layer
from gateway.calls.containing import FIRST, cannot_hold, is_first
from gateway.calls.handlers import check, handler
from gateway.calls.hooks.selection import hooks_of
from gateway.calls.layered import done, is_layered
from gateway.calls.output import Crowded, Done, Failure, Output
from gateway.calls.planner import asks_to_leave
from gateway.calls.proposing import refused_proposal
from gateway.calls.refusal import UNCONFINED, Refused, exited, guard_of, never_judged, refused, said
from gateway.calls.saving import written_by
from gateway.core.cancel import NEVER
from gateway.core.errors import CallError, ConfigError, GatewayError, fault
from gateway.model.changes import KEEP
from gateway.model.decision import Decision
from gateway.model.record import Rewritten
from gateway.model.result import Result
from gateway.policy.explain import message
from gateway.policy.unjudged import INTERNAL, INVALID, built_in
from gateway.sandbox.base import SandboxError
from gateway.sandbox.run import NOT_RUN, not_run
from gateway.tools.canonical import canonicalise
from gateway.tools.traits import is_concurrency_safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.approval.base import Approver
    from gateway.approval.grants import Grants
    from gateway.audit.calls import Lasting, Recorded
    from gateway.calls.hooks.selection import Hooks
    from gateway.calls.output import Progress
    from gateway.calls.planner import Planner
    from gateway.calls.ports import Serves
    from gateway.calls.session import Session
    from gateway.calls.work import Handler, Work
    from gateway.core.cancel import Cancel
    from gateway.judge.judge import Contains
    from gateway.model.call import Call, RawCall
    from gateway.model.context import Context
    from gateway.model.grant import Grant
    from gateway.model.plan import SandboxPlan
    from gateway.model.rule import Rule
    from gateway.model.verdict import Verdict
    from gateway.sandbox.changes.drafting import Draft
    from gateway.tools.tool import Tool


class Life:
    """One call; one use."""

    def __init__(
        self,
        services: Serves,
        raw: RawCall,
        session: Session,
        *,
        cancel: Cancel | None = None,
        progress: Callable[[Progress], None] | None = None,
        beside: bool = False,
        environment: Mapping[str, str] | None = None,
        work: Handler | None = None,
        starts: bool = True,
        key: str = "",
        approver: Approver | None = None,
    ) -> None:
        """`beside`: the call runs beside others, so it must be safe to. `environment`: what a command's is chosen from.
        `work`: does the work instead of the tool's own handler. `starts`: a command of the call is started here, in the
        sandbox; `work` that runs it otherwise is judged by what the session says of confinement. `key`: the same for a
        call that is made again. `approver`: who is asked about it before those that are asked about all."""
        self.services = services
        self.planner, self.broken = guard_of(services)
        self.raw = raw.replace(partial=False) if raw.partial else raw  # what is not given is not there
        self.session = session
        self.context: Context = circumstances(session.context, raw, services, self.planner)
        self.cancel = cancel or NEVER
        self.progress = progress
        self.beside = beside
        self.environment = session.environment if environment is None else environment
        self.given, self.starts = work, starts
        self.key = key
        self.approver = approver
        self.does: Handler | None = None
        self.grants: Grants | None = session.grants
        self.tool: Tool | None = None
        self.verdict: Verdict | None = None
        self.plan: SandboxPlan | None = None
        self.grant: Grant | None = None
        self.recorded: Recorded | None = None
        self.lasting: Lasting | None = None
        self.output = Output()
        self.result: Result | None = None
        self.notes: list[str] = []
        self.reports: list[str] = []
        self.error: GatewayError | None = None
        self.rule: Rule | None = None  # of the hook that refused it
        self.rewritten: Rewritten | None = None
        self.ran = self.for_real = False
        self.unfetched = False  # what the call installs could not be fetched, so nothing of it ran
        self.draft: Draft | None = None  # what the call has changed in layers of its own, to be decided about

    def live(self) -> Done:
        """Leads the call through. Raises nothing but what ends the process, and `Crowded`."""
        work = self.begin()
        return self.end(None if work is None else work[0], work)

    def begin(self) -> tuple[Handler, Work] | None:
        """Leads the call to where it may run, judged, approved and recorded; None where it may not. `end` has to
        follow. Raises as `live` does."""
        found: list[tuple[Handler, Work]] = []
        self._safely(lambda: found.append(self._begin()))
        return found[0] if found else None

    def end(self, does: Handler | None, work: tuple[Handler, Work] | None, began: float = 0.0) -> Done:
        """Has the work done that `begin` let through, by its handler or by one that only tells what was done meanwhile,
        since `began`; and leads the call to its end. Raises as `live` does."""
        if work is not None and does is not None:
            self._safely(lambda: self._finish(does, work[1], began or monotonic()))
        return self._close()

    def _begin(self) -> tuple[Handler, Work]:
        if self.broken is not None:
            raise self.broken
        call = self._understand()
        self._hooks_before(call)
        verdict = self._judge()
        verdict = self._confine(verdict)
        verdict = self._approve(verdict)
        work = self._work(verdict)
        self._record(verdict)
        return work

    def _finish(self, does: Handler, work: Work, began: float) -> None:
        verdict = work.verdict
        edit = None if verdict.drafts else self.services.edit(work)  # else nobody sees it changed yet
        written = written_by(self, verdict)
        self._run(verdict, (does, work), began)
        settle(self, verdict)
        if written is not None:
            written.finish()
        if edit is not None:
            self.output = edit.told(self.output)
            self.reports += edit.reports
        if self.given is None:
            from gateway.calls.results import limit

            limit(self)
        self._hooks_after()

    def _safely(self, does: Callable[[], None]) -> None:
        try:
            does()
        except Refused as refusal:
            self._end(refusal.result)
        except (CallError, ConfigError) as error:
            self.error = error
            self._end(refused(str(error)))
        except Failure as failure:
            self._end(refused(str(failure)))
        except SandboxError as error:
            self._end(not_run(error))
        except Crowded:
            raise
        except Exception as error:
            self._end(refused(f"It was refused because of {fault(error)}."))
        except BaseException as error:
            self._end(Result("cancelled", NOT_RUN, reason=f"{type(error).__name__} ended it"))
            self._close()
            raise

    # ------------------------------------------------------------------------------------- before it may run

    def _understand(self) -> Call | None:
        """Find the tool, bring the call to its canonical form, hold it to the schema and to what the tool itself says
        of a call without looking at the world."""
        self.tool = self.planner.judge.registry.tool(self.raw.tool)
        looked = check(self.tool.entry)
        if looked is None and not self._hooks("before_call"):
            return None  # judging does the same
        call = canonicalise(self.tool, self.raw, self.context)
        if looked is not None:
            looked(call)
        return call

    def _hooks(self, event: str) -> Hooks:
        return hooks_of(self.planner, event, self._name())

    def _hooks_before(self, call: Call | None) -> None:
        """Hooks that guard may refuse the call or change its input. A changed one goes past all of them again."""
        found = self._hooks("before_call")
        if not found or call is None:
            return
        answer = found.ask_before(call, self, self._reread)
        self.notes += answer.notes
        self.reports += answer.reports
        self.rewritten = Rewritten(call, answer.changed) if answer.changed else None
        if answer.refusal:
            self.rule = answer.rule
            raise Refused(refused(answer.refusal))
        self.raw = answer.raw

    def _reread(self, raw: RawCall) -> Call:
        self.raw = raw
        call = self._understand()
        assert call is not None  # there are hooks
        return call

    def _judge(self, contains: Contains | None = None) -> Verdict:
        verdict = self.planner.judge.check(self.raw, self.context, contains=contains)
        verdict = self.verdict = without_layer(verdict) if self.for_real else verdict
        if verdict.decision is Decision.DENY:
            raise Refused(refused(message(verdict)))
        if not verdict.context.confined and self._starts(verdict) and not asks_to_leave(verdict):
            raise Refused(refused(f"{message(verdict)} {UNCONFINED}"))
        if self.beside and not self.is_safe(verdict):
            raise Crowded
        assert self.tool is not None
        self.does = self.given or handler(self.tool.entry)  # nobody is asked about what nothing stands behind
        return verdict

    def is_safe(self, verdict: Verdict) -> bool:
        """Whether the call may run beside others."""
        return self.tool is not None and is_concurrency_safe(self.tool, verdict.analysis.items, verdict.facts)

    def _starts(self, verdict: Verdict) -> bool:
        """Whether the call starts a command: a tool may do so for some inputs only."""
        assert self.tool is not None
        given, actions = verdict.call.input, self.tool.actions
        return self.starts and any(do == "argv" or (do == "shell" and given.get(name)) for do, name, *_ in actions)

    def _planned(self, planner: Planner, verdict: Verdict) -> SandboxPlan | None:
        return planner.plan(verdict, self.environment) if self._starts(verdict) else None

    def _confine(self, verdict: Verdict) -> Verdict:
        """The plan of what a command of this call may see and do, made from the very verdict. What a contained call
        changes is kept unasked only while it can be taken back: else it is judged as one that is not contained."""
        if self.given is None and self._starts(verdict):
            self.session.scratch()  # commands see nothing of it, so it must be there before one is planned
        self.plan = self._planned(self.planner, verdict)
        together = self.session.together
        if together is not None:
            verdict = self.verdict = together.before(self, verdict, self._planned, self._judge)
        if verdict.contained and not is_layered(self):
            why = cannot_hold(self, verdict, self.plan)
            if why:
                self.notes.append(f"It is not contained: {why}.")
                verdict = self._judge(contains=lambda _drafted, _state: why)
                self.plan = self._planned(self.planner, verdict)
            elif verdict.changes == KEEP and is_first(self.planner.judge.places.state):
                self.reports.append(FIRST)
        return verdict

    def _approve(self, verdict: Verdict) -> Verdict:
        """Where policy asks: what runs is what was shown, judged once more by the policy as it is after the answer."""
        if verdict.decision is not Decision.ASK or self.cancel.is_set:
            return verdict
        self.planner, approval = self.services.approved(
            self.planner, verdict, self.plan, self.raw, self.context, self.grants, self._planned,
            lambda: self.cancel.is_set, self.approver,
        )  # fmt: skip
        judged, self.grant = approval.judgement, approval.grant
        verdict = self.verdict = judged.verdict
        self.plan = judged.plan
        if approval.refusal:
            raise Refused(refused(f"{message(verdict)} {approval.refusal}"))
        return verdict

    def _work(self, verdict: Verdict) -> tuple[Handler, Work]:
        """What does the work, and what it works with."""
        from gateway.calls.handler_context import work_of

        if self.cancel.is_set:
            raise Refused(Result("cancelled", NOT_RUN, reason="it was cancelled before it started"))
        assert self.does is not None
        return self.does, work_of(self, verdict)

    def _record(self, verdict: Verdict) -> None:
        """No record, no run."""
        recorded = self._recorded(verdict)
        if recorded.may_run:
            self.recorded = recorded
            return
        self.recorded = recorded.replace(problem="")  # which is what the refusal says
        raise Refused(refused(f"It is refused, because it would not be recorded: {recorded.problem}."))

    def _recorded(self, verdict: Verdict) -> Recorded:
        told = verdict, self.plan, self.grant
        return self.services.recorded(self.planner, self.session.name, *told, rewritten=self.rewritten)

    def another(self, raw: RawCall) -> Done:
        """Leads a call that belongs to this one through a life of its own."""
        return Life(self.services, raw, self.session, cancel=self.cancel, environment=self.environment).live()

    def again(self) -> Done:
        """Leads this call through once more without a layer, as a person has said who saw what it did in one."""
        life = Life(
            self.services, self.raw, self.session, cancel=self.cancel, progress=self.progress, work=self.given,
            environment=self.environment, starts=self.starts, approver=self.approver,
        )  # fmt: skip
        life.for_real = True
        return life.live()

    def lasts(self) -> Lasting:
        """The call runs on when its handler has returned: what is told its end."""
        from gateway.audit.calls import Lasting

        recorded, verdict = self.recorded, self.verdict
        assert recorded is not None
        assert verdict is not None
        self.lasting = Lasting(lambda result: self.services.ended(recorded, verdict, result))
        return self.lasting

    # ---------------------------------------------------------------------------------------- while it runs, and after

    def _run(self, verdict: Verdict, work: tuple[Handler, Work], began: float) -> None:
        self.ran = True
        does, given = work
        try:
            output = done(self, verdict, does, given)
        except Failure as failure:
            self.output = said(str(failure), is_error=True)
            self.result = Result("exited", 1, reason=failure.message, seconds=monotonic() - began)
        except SandboxError as error:
            self.result = not_run(error)
            self.output = said(f"Nothing ran: {self.result.reason}.", is_error=True)
        except (Exception, SystemExit) as error:
            cancelled = self.cancel.is_set
            reason = "it was cancelled" if cancelled else fault(error)
            self.output = said(f"{verdict.call.tool} did not finish: {reason}.", is_error=True)
            self.result = Result("cancelled" if cancelled else "failed", 1, reason=reason, seconds=monotonic() - began)
        else:
            self.output = output
            self.result = output.result or exited(int(output.is_error), monotonic() - began)

    def _hooks_after(self) -> None:
        """Hooks that watch: they may add notes; whether they work changes nothing that has happened."""
        event = "after_failure" if self.output.is_error else "after_call"
        if found := self._hooks(event):
            answer = found.tell_after(event, self)
            self.notes += answer.notes
            self.reports += answer.reports

    def _end(self, result: Result) -> None:
        """Ends the call with this, unless it has run: then what it did is told, and what went wrong after it."""
        if self.ran and self.result is not None:
            self.reports.append(f"after it had run, {result.reason}")
            return
        self.result = result
        self.output = said(result.reason, is_error=True)

    def _close(self) -> Done:
        """Records what became of the call; one that got no further than being judged is recorded as such."""
        result = self.result or refused("Nothing became of it.")
        verdict = self.verdict or self._refusal_of(result.reason)
        recorded = self.recorded
        try:
            if recorded is None:
                recorded = self._recorded(verdict)
            told = self.services.ended(recorded, verdict, result)
        except Exception as error:  # a fault of ours must not take away what the call has done
            told = result.replace(reason=f"{result.reason} This call is not recorded, because of {fault(error)}.")
        if self.lasting is not None:
            self.lasting.started()
        if told.reason != result.reason:
            self.reports.append(told.reason[len(result.reason) :].lstrip(". "))
        proposal = refused_proposal(self, result)
        output = self.output.replace(notes=(*self.output.notes, *self.notes)) if self.notes else self.output
        return Done(
            verdict,
            output,
            result=told,
            plan=self.plan,
            grant=self.grant,
            record=recorded.id if recorded is not None else "",
            reports=tuple(self.reports),
            error=self.error,
            alone=self.ran and not self.is_safe(verdict),
            ran=self.ran,
            proposal=proposal,
        )

    def _refusal_of(self, because: str) -> Verdict:
        """A denial in the place of the verdict that was never reached."""
        rule = self.rule or built_in(INVALID if isinstance(self.error, CallError) else INTERNAL, because)
        name = self._name() if isinstance(self.raw.tool, str) else "?"
        return never_judged(name, self.raw, self.context, rule)

    def _name(self) -> str:
        return self.raw.tool if self.tool is None else self.tool.name
