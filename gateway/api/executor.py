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

from gateway.api.services import Services
from gateway.calls.leading import lead
from gateway.calls.output import Output
from gateway.calls.session import Session as Circumstances
from gateway.core.value import Value
from gateway.model.call import RawCall
from gateway.sandbox.call_descriptors import CAPTURED, Ways

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from typing import Any, Self

    from gateway.approval.base import Approver
    from gateway.approval.grants import Grants
    from gateway.approval.proposing import Proposal
    from gateway.audit.log import Log
    from gateway.calls.work import Work
    from gateway.core.cancel import Cancel
    from gateway.judge.judge import Judge
    from gateway.model.call import Call
    from gateway.model.context import Context
    from gateway.model.grant import Grant
    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.sandbox.base import Running
    from gateway.sandbox.pump import Listener
    from gateway.sandbox.run import Runner

SHELL = "Bash"


class Execution(Value):
    """A call that was judged, and what became of it. `plan`: None when policy refused it. `grant`: the answer where
    somebody was asked. `proposal`: the rule that would have let a refused call run."""

    verdict: Verdict
    result: Result
    plan: SandboxPlan | None = None
    grant: Grant | None = None
    proposal: Proposal | None = None


class Executor:
    """Runs shell texts for one gateway. Safe to use from several threads and from asyncio."""

    def __init__(
        self,
        gateway: Judge,
        *,
        approver: Approver | Sequence[Approver] = (),
        grants: Grants | None = None,
        runner: Runner | None = None,
        log: Log | None = None,
        front: str = "library",
        saves_changes: bool = True,
    ) -> None:
        """`approver`: who can be asked where policy asks, in the order of its setting `approvers`; without one, what
        would be asked is refused. `grants`: keeps answers for a session; without it there is none. `log`: where every
        decision and outcome is recorded, by default in the user's state folder as policy says; `front`: through what
        the calls came; `saves_changes`: what they change is saved, so that it can be taken back."""
        self._services = Services(
            gateway, approver=approver, runner=runner, log=log, front=front, saves_changes=saves_changes
        )
        self._grants = grants

    @property
    def gateway(self) -> Judge:
        """Who judges: the gateway that was given, or one that read the policy anew after it had changed."""
        return self._services.judge

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
        lasting: bool = False,
        told: Callable[[bytes], None] | None = None,
    ) -> Execution:
        """Judges a shell text and, if it may run, runs it confined until its whole tree of processes has ended.

        `seconds`: of wall time, never more than policy's limit. `environment`: what the command's is chosen from, the
        gateway's own by default. `listener` is handed captured output as it comes, from this thread. `session`: what
        the record calls the session. `lasting`: it may take as long as it takes, unless policy itself names a limit.
        `told` is handed what the shell reports of its end as it comes; with it the shell waits for jobs that it leaves.
        Raises CallError for a text that cannot be judged, ConfigError for a broken policy; either is recorded as a
        refusal.

        What cannot be recorded does not run, unless it has no effect (`gateway.audit.log`).
        """

        def work(_call: Call, work: Work) -> Output:
            assert work.run is not None
            result = work.run(
                text, seconds=seconds, ways=ways, listener=listener, started=started, report=report, own_limit=True,
                lasting=lasting, told=told, cancel=cancel,
            )  # fmt: skip
            return Output(result=result)

        done = lead(
            self._services,
            RawCall(SHELL, {"command": text}),
            Circumstances(context or self.gateway.context, name=session, grants=self._grants),
            cancel=cancel,
            environment=environment,
            work=work,
        )
        if done.error is not None:
            raise done.error
        return Execution(done.verdict, done.result, plan=done.plan, grant=done.grant, proposal=done.proposal)

    async def run_async(self, text: str, *, listener: Listener | None = None, **how: Any) -> Execution:
        """The same without blocking the loop, on which `listener` is called. When a task is cancelled, the command has
        ended with its whole tree before the cancellation goes on."""
        import asyncio

        from gateway.core.async_threads import on_thread

        loop = asyncio.get_running_loop()

        def tell(stream: int, data: bytes) -> None:
            loop.call_soon_threadsafe(listener, stream, data)  # type: ignore[arg-type]

        told = None if listener is None else tell
        done: Execution = await on_thread(lambda cancel: self.run(text, listener=told, cancel=cancel, **how))
        return done

    async def stream(self, text: str, **how: Any) -> AsyncIterator[tuple[int, bytes] | Execution]:
        """What the command prints as it comes, as (1 or 2, bytes), and last the execution."""
        import asyncio

        from gateway.core.async_threads import ended

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
            await ended(work)

    def plan(self, verdict: Verdict, environment: Mapping[str, str] | None = None) -> SandboxPlan:
        """What the call of a verdict could see and do. Raises SandboxError where nothing may run."""
        return self._services.planner.plan(verdict, environment)

    def close(self) -> None:
        """Ends what serves the calls. No call may be running."""
        self._services.close()

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
