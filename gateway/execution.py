"""Judged, then run confined: what `gateway exec` does, as a library.

    from gateway import Executor, Gateway, Options

    with Executor(Gateway(Options(cwd=".", binding=True))) as executor:
        done = executor.run("git status | head -3")
        done.verdict.decision, done.result.status, done.result.stdout, done.result.violations

The plan is made from the very verdict that let the call run, and the text that runs is the text that was analysed.
Where policy asks, an approver is asked; what runs is then what was shown (`gateway.approval.asking`).
"""

from __future__ import annotations

import os

from gateway.approval.asking import Approval, Asking, Judgement
from gateway.audit import calls
from gateway.audit.log import log_of
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.model.result import Result
from gateway.model.value import Value
from gateway.policy.explain import message
from gateway.sandbox.base import SandboxError
from gateway.sandbox.plan import plan_of
from gateway.sandbox.profile import profile_of
from gateway.sandbox.run import CAPTURED, NOT_RUN, Cancel, Command, Protection, Runner, Ways, not_run
from gateway.sandbox.shell import arguments, find_bash
from gateway.sandbox.survey import Surveyor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
    from typing import Any, Self

    from gateway.approval.base import Approver
    from gateway.approval.grants import Grants
    from gateway.audit.calls import Recorded
    from gateway.audit.log import Log
    from gateway.engine import Gateway
    from gateway.model.context import Context
    from gateway.model.grant import Grant
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict
    from gateway.sandbox.base import Running
    from gateway.sandbox.pump import Listener
    from gateway.tools.registry import Registry

SHELL = "Bash"


class Execution(Value):
    """A call that was judged, and what became of it. `plan`: None when policy refused it. `grant`: the answer where
    somebody was asked."""

    verdict: Verdict
    result: Result
    plan: SandboxPlan | None = None
    grant: Grant | None = None


class _Guard(Value):
    """A gateway and who looks at the host for it: one call is judged, planned and held by the same."""

    gateway: Gateway
    surveyor: Surveyor

    def plan(self, verdict: Verdict, environment: Mapping[str, str] | None) -> SandboxPlan:
        if environment is not None:  # programs are found where they were looked for when the call was judged
            environment = {**environment, "PATH": self.gateway.search_path}
        profile = profile_of(self.gateway.loaded_for(verdict).settings)
        return plan_of(verdict, profile, self.surveyor.survey(verdict, environment))

    def protection(self, verdict: Verdict) -> Protection:
        surveyor = self.surveyor

        def names(folder: str) -> dict[str, str]:
            marks = surveyor.marks(verdict, folder)
            return {mark.path: mark.fixed or mark.hidden for mark in marks if mark.fixed or mark.hidden}

        return Protection(lambda path: surveyor.rule_on(verdict, path), names)


class Executor:
    """Runs shell texts for one gateway. Safe to use from several threads and from asyncio."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        approver: Approver | Sequence[Approver] = (),
        grants: Grants | None = None,
        runner: Runner | None = None,
        log: Log | None = None,
        front: str = "library",
    ) -> None:
        """`approver`: who can be asked where policy asks, in the order of its setting `approvers`; without one, what
        would be asked is refused. `grants`: keeps answers for a session; without it there is none. `log`: where every
        decision and outcome is recorded, by default in the user's state folder as policy says; `front`: through what
        the calls came."""
        approvers = approver if isinstance(approver, (list, tuple)) else (approver,)
        self._asking = Asking(approvers, grants)
        self._guard = _Guard(gateway, Surveyor(gateway))
        self._has_saved = False
        self._runner = runner or Runner(os.path.join(gateway.places.state, "quarantine"))
        self._log = log or log_of(
            gateway.places.state, gateway.loaded.settings, _private_fields(gateway.registry), gateway.environment
        )
        self._front = front

    @property
    def gateway(self) -> Gateway:
        """Who judges: the gateway that was given, or one that read the policy anew after it had changed."""
        return self._guard.gateway

    def run(
        self,
        text: str,
        *,
        context: Context | None = None,
        ways: Ways = CAPTURED,
        seconds: float | None = None,
        environment: Mapping[str, str] | None = None,
        listener: Listener | None = None,
        cancel: Cancel | None = None,
        started: Callable[[Running], None] | None = None,
        report: bool = False,
        session: str = "",
    ) -> Execution:
        """Judges a shell text and, if it may run, runs it confined until its whole tree of processes has ended.

        `seconds`: of wall time, never more than policy's limit. `environment`: what the command's is chosen from, the
        gateway's own by default. `listener` is handed captured output as it comes, from this thread. `session`: what
        the record calls the session. Raises CallError for a text that cannot be judged, ConfigError for a broken
        policy.

        What cannot be recorded does not run, unless it has no effect (`gateway.audit.log`).
        """
        raw = RawCall(SHELL, {"command": text})
        guard = self._renewed() if self._has_saved else self._guard
        verdict = guard.gateway.check(raw, context)
        if verdict.decision is Decision.DENY or not verdict.context.confined:
            return self._not_run(guard, session, Execution(verdict, _refused(verdict)))
        try:
            plan = guard.plan(verdict, environment)
        except SandboxError as error:
            return self._not_run(guard, session, Execution(verdict, not_run(error)))
        grant = None
        if verdict.decision is Decision.ASK:
            try:
                guard, approval = self._approved(guard, verdict, plan, raw, context, environment, cancel)
            except SandboxError as error:
                return self._not_run(guard, session, Execution(verdict, not_run(error)))
            judged, grant = approval.judgement, approval.grant
            verdict = judged.verdict
            if approval.refusal or judged.plan is None:
                refused = Execution(verdict, _refused(verdict, approval.refusal), judged.plan, grant)
                return self._not_run(guard, session, refused)
            plan = judged.plan
        if seconds is not None:
            most = plan.limits.seconds
            plan = plan.replace(limits=plan.limits.replace(seconds=min(seconds, most) if most else seconds))
        bash = find_bash()
        if not bash:
            missing = not_run(SandboxError("there is no bash on this system", "install bash"))
            return self._not_run(guard, session, Execution(verdict, missing, plan, grant))
        recorded = self._recorded(guard, session, verdict, plan, grant)
        if not recorded.may_run:
            unrecorded = f"It is refused, because it would not be recorded: {recorded.problem}."
            return Execution(verdict, Result("refused", NOT_RUN, reason=unrecorded), plan, grant)
        command = Command(lambda number: arguments(bash, text, number), ways, report)
        protection = guard.protection(verdict)
        result = self._runner.run(plan, command, protection, listener=listener, cancel=cancel, started=started)
        return Execution(verdict, calls.ended(self._log, recorded, verdict, result), plan, grant)

    def _recorded(
        self, guard: _Guard, session: str, verdict: Verdict, plan: SandboxPlan | None, grant: Grant | None
    ) -> Recorded:
        policy = guard.gateway.loaded_for(verdict).policy.revision
        told = None if grant is None else _told(grant)
        return calls.decided(
            self._log, verdict, front=self._front, session=session, plan=plan, grant=told, policy=policy
        )

    def _not_run(self, guard: _Guard, session: str, done: Execution) -> Execution:
        """Records a call that does not run, whether that works or not."""
        recorded = self._recorded(guard, session, done.verdict, done.plan, done.grant)
        return done.replace(result=calls.ended(self._log, recorded, done.verdict, done.result))

    async def run_async(self, text: str, *, listener: Listener | None = None, **how: Any) -> Execution:
        """The same without blocking the loop, on which `listener` is called. When a task is cancelled, the command has
        ended with its whole tree before the cancellation goes on."""
        import asyncio

        loop = asyncio.get_running_loop()

        def tell(stream: int, data: bytes) -> None:
            loop.call_soon_threadsafe(listener, stream, data)  # type: ignore[arg-type]

        told = None if listener is None else tell
        cancel = Cancel()
        work = loop.run_in_executor(None, lambda: self.run(text, listener=told, cancel=cancel, **how))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            cancel.set()
            await asyncio.wait([work])
            raise
        finally:
            cancel.close()

    async def stream(self, text: str, **how: Any) -> AsyncIterator[tuple[int, bytes] | Execution]:
        """What the command prints as it comes, as (1 or 2, bytes), and last the execution."""
        import asyncio

        output: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()
        work = asyncio.ensure_future(
            self.run_async(text, listener=lambda stream, data: output.put_nowait((stream, data)), **how)
        )
        work.add_done_callback(lambda _done: output.put_nowait(None))
        try:
            while (chunk := await output.get()) is not None:
                yield chunk
            yield await work
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait([work])

    def plan(self, verdict: Verdict, environment: Mapping[str, str] | None = None) -> SandboxPlan:
        """What the call of a verdict could see and do. Raises SandboxError where nothing may run."""
        return self._guard.plan(verdict, environment)

    def _approved(
        self,
        guard: _Guard,
        verdict: Verdict,
        plan: SandboxPlan,
        raw: RawCall,
        context: Context | None,
        environment: Mapping[str, str] | None,
        cancel: Cancel | None,
    ) -> tuple[_Guard, Approval]:
        """Asks; once there is an answer, the call is judged and planned anew by the policy files as they are then."""

        def again() -> Judgement:
            nonlocal guard
            guard = self._renewed()
            now = guard.gateway.check(raw, context)
            planned = None if now.decision is Decision.DENY else guard.plan(now, environment)
            return Judgement(guard.gateway, now, planned)

        first = Judgement(guard.gateway, verdict, plan)
        approval = self._asking.approve(first, again, lambda: cancel is not None and cancel.is_set)
        if approval.grant is not None and approval.grant.saved:
            self._has_saved = True
        return guard, approval

    def _renewed(self) -> _Guard:
        """Who judges by the policy files as they are now."""
        guard = self._guard
        gateway = guard.gateway.renewed()
        if gateway is not guard.gateway:
            guard = self._guard = _Guard(gateway, Surveyor(gateway))
        self._has_saved = False
        return guard

    def close(self) -> None:
        """Ends what serves the calls. No call may be running."""
        self._runner.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class Session:
    """One shell's worth of calls: each runs confined by itself, and the working folder carries over."""

    def __init__(self, executor: Executor, context: Context | None = None) -> None:
        self._executor = executor
        self._name = os.urandom(6).hex()
        self.context = context or executor.gateway.context

    @property
    def cwd(self) -> str:
        """Where the next call starts."""
        return self.context.cwd

    def run(self, text: str, **how: Any) -> Execution:
        """As `Executor.run`, from the folder that the last call ended in."""
        done = self._executor.run(text, context=self.context, report=True, session=self._name, **how)
        self._follow(done.result.cwd)
        return done

    async def run_async(self, text: str, **how: Any) -> Execution:
        """As `Executor.run_async`, from the folder that the last call ended in."""
        done = await self._executor.run_async(text, context=self.context, report=True, session=self._name, **how)
        self._follow(done.result.cwd)
        return done

    def _follow(self, folder: str) -> None:
        """The command said where it ended; it could say anything, so only a folder that is really there counts. Each
        call is judged anew from where it starts."""
        if folder and os.path.isdir(folder) and os.path.realpath(folder) == folder:
            self.context = self.context.replace(cwd=folder)


def _private_fields(registry: Registry) -> Callable[[str], Collection[str]]:
    """Which fields of a tool the record keeps size and digest of only, as `tools.yaml` declares them."""
    return lambda name: registry[name].entry["private"] if name in registry else ()


def _told(grant: Grant) -> dict[str, Any]:
    """A grant as the record tells it: without its digests, which would let anybody try guesses."""
    found: dict[str, Any] = {"allow": grant.allow, "scope": grant.scope, "by": grant.by}
    return found | ({"saved": grant.saved} if grant.saved else {}) | ({"until": grant.until} if grant.until else {})


def _refused(verdict: Verdict, why: str = "") -> Result:
    reason = message(verdict)
    if why:
        reason += f" {why}"
    elif verdict.decision is not Decision.DENY:
        reason = "The call asks to run without the sandbox, which is not done here."
    return Result("refused", NOT_RUN, reason=reason)
