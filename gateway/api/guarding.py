"""The policy before tools that others run: the one place where a framework's call becomes a judged call, and back.

    look    what policy says of a call before anything runs: allow, ask or deny, with the words for a person and a model
    run     its whole life: judged, approved, recorded, done by the tool itself or by the gateway, recorded again

Between the two a framework may stop and ask a person in its own way. The answer counts for exactly what was looked at:
where the call, the policy or a file that it runs is another by then, it is refused.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as Late

from gateway.approval.base import Answer, no
from gateway.approval.digests import identity
from gateway.calls.leading import lead
from gateway.calls.lifecycle import Life
from gateway.calls.output import Failure, Output, Text
from gateway.calls.session import Session
from gateway.core.async_threads import on_thread
from gateway.core.errors import GatewayError, fault
from gateway.core.value import Value
from gateway.mcp.offered_tools import definitions
from gateway.model.call import RawCall
from gateway.model.decision import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from gateway.approval.base import Question
    from gateway.calls.output import Done
    from gateway.calls.runner import RunsCalls
    from gateway.calls.work import Work
    from gateway.core.cancel import Cancel
    from gateway.model.call import Call
    from gateway.model.grant import Grant
    from gateway.model.verdict import Verdict

    JudgedAs = Mapping[str, str | Callable[[Mapping[str, Any]], RawCall]]

# The server that a program's own tools count as; rules name them `mcp__app__NAME`.
SERVER = "app"
ALLOW, ASK, DENY = "allow", "ask", "deny"
_LOOK = 0.2
_CHANGED = "what it would do is another by now than what was approved"


class Asked(Value):
    """A call of a framework's tool. `agent`: the name of the agent that makes it, "" for the one that a person speaks
    to; `id`: the framework's own name for the call; `own`: the tool is one of the gateway's, which runs it itself."""

    tool: str
    given: Mapping[str, Any]
    id: str = ""
    agent: str = ""
    own: bool = False


class Looked(Value):
    """What policy says of a call. `decision`: allow, ask or deny; `said`: why, for a model; `shown`: why, for a person;
    `about`: what an answer is bound to, where policy asks."""

    decision: str
    said: str
    shown: str = ""
    verdict: Verdict | None = None
    about: Grant | None = None


class Answered(Value):
    """A person has answered in the framework's own way. `about`: from `Looked`; `by`: who, for the record; `note`: what
    the model should know of a no."""

    allow: bool
    about: Grant | None
    by: str = "a person"
    note: str = ""


class Ran(Value):
    """What became of a call. `content`: what the tool gave, as it gave it, None where it did not run or where the
    gateway ran it; `error`: what the tool raised; `text`: all that the model gets; `is_error`: whether that is a
    refusal or a failure."""

    text: str
    is_error: bool
    done: Done | None = None
    content: Any = None
    error: Exception | None = None


class RefusedError(GatewayError):
    """A guarded function was not called: why, as a model may read it."""


class Guard:
    """The policy before the tools of one conversation. Safe to use from several threads and loops."""

    def __init__(
        self,
        gateway: RunsCalls,
        session: Session | None = None,
        *,
        judged_as: JudgedAs | None = None,
        server: str = SERVER,
    ) -> None:
        """`judged_as`: for tools by name which call of a known tool theirs amount to: its name, where the fields are
        the same, or a function of the input. Others are `mcp__SERVER__NAME`: what nobody declared of them is judged by
        what their arguments look like, and asks. `session`: by default the one that all calls of the gateway without a
        session share."""
        self.gateway = gateway
        self.session = session if session is not None else gateway.calls.shared()
        self._judged_as = judged_as or {}
        self._server = server
        self._agents: dict[str, Session] = {}
        self._lock = threading.Lock()

    # ---------------------------------------------------------------------------------------------- before it runs

    def look(self, asked: Asked) -> Looked:
        """What policy says, by the files as they are now. Never raises for what a call is."""
        try:
            judge = self.gateway.calls.judge
            verdict = judge.check(self._raw(asked), self._session(asked).context)
        except Exception as error:
            why = str(error) if isinstance(error, GatewayError) else f"It was refused because of {fault(error)}."
            return Looked(DENY, why, why)
        if verdict.decision is Decision.ALLOW:
            return Looked(ALLOW, "", verdict=verdict)
        said = verdict.said
        if verdict.decision is Decision.DENY:
            return Looked(DENY, said.model, said.person, verdict)
        about = identity(verdict, judge.loaded_for(verdict).policy.revision)
        return Looked(ASK, said.model, shown=said.person, verdict=verdict, about=about)

    def own_tools(self) -> list[dict[str, Any]]:
        """The gateway's own tools that policy leaves something of: name, description and input_schema of each. None
        waits to be searched for: frameworks are given their tools once."""
        found = definitions(self.gateway.calls.judge, "mcp", self.session.context.mode, self.session)
        return [
            {"name": each["name"], "description": each["description"], "input_schema": each["inputSchema"]}
            for each in found
        ]

    # ------------------------------------------------------------------------------------------------- running it

    def run(
        self,
        asked: Asked,
        does: Callable[[Any], Any] | None = None,
        *,
        answered: Answered | None = None,
        cancel: Cancel | None = None,
        told: Callable[[Any], Output] | None = None,
    ) -> Ran:
        """Leads a call through its life. `does`: the tool itself, which is given the input that was judged, and runs in
        this process and outside any sandbox; it is not called for the gateway's own. Never raises for what a call is or
        does: what the tool raised is in the result. `told`: what is recorded of what it gives, and what hooks may
        change: by default its text."""
        kept: list[Any] = []
        raised: list[Exception] = []
        outputs: list[Output] = []

        def work(call: Call, _work: Work) -> Output:
            assert does is not None
            try:
                kept.append(does(self._input(asked, call, is_changed=life.rewritten is not None)))
            except Failure:
                raise
            except Exception as error:
                raised.append(error)
                raise Failure(f"{type(error).__name__}: {error}") from error
            outputs.append(told(kept[0]) if told is not None else Output((Text(_text(kept[0])),)))
            return outputs[0]

        try:
            raw = self._raw(asked)
        except Exception as error:  # whoever wrote it did not expect this input
            return Ran(f"The call was refused: what it amounts to cannot be told ({type(error).__name__}).", True)
        services, session = self.gateway.calls.services, self._session(asked)
        approver = None if answered is None else _OneAnswer(self.gateway, answered)
        if asked.own:
            done = lead(services, raw, session, cancel=cancel, approver=approver)
            done = self.gateway.calls.settled(done, session)
        else:
            life = Life(services, raw, session, cancel=cancel, work=work, starts=False, approver=approver)
            done = life.live()
        is_whole = bool(outputs) and done.output == outputs[0]  # no hook has changed it
        return Ran(
            done.text,
            done.output.is_error,
            done=done,
            content=kept[0] if is_whole else None,
            error=raised[0] if raised else None,
        )

    async def run_async(
        self,
        asked: Asked,
        does: Callable[[Any], Awaitable[Any]] | None = None,
        *,
        answered: Answered | None = None,
        told: Callable[[Any], Output] | None = None,
    ) -> Ran:
        """As `run`, without blocking the loop, on which the tool itself runs, in the context of whoever called. When
        the task is cancelled, the call has ended before the cancellation goes on."""
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()

        def live(cancel: Cancel) -> Ran:
            def waited(given: Any) -> Any:
                assert does is not None
                return _on_loop(loop, context, lambda: does(given), cancel)

            return self.run(asked, None if does is None else waited, answered=answered, cancel=cancel, told=told)

        found: Ran = await on_thread(live)
        return found

    async def look_async(self, asked: Asked) -> Looked:
        """As `look`, without blocking the loop."""
        found: Looked = await on_thread(lambda _cancel: self.look(asked))
        return found

    # --------------------------------------------------------------------------------------------------- what it is

    def _raw(self, asked: Asked) -> RawCall:
        if asked.own:
            return RawCall(asked.tool, asked.given)
        judged_as = self._judged_as.get(asked.tool)
        if judged_as is None:
            return RawCall(f"mcp__{self._server}__{asked.tool}", asked.given)
        return RawCall(judged_as, asked.given) if isinstance(judged_as, str) else judged_as(asked.given)

    def _input(self, asked: Asked, call: Call, *, is_changed: bool) -> Any:
        """What the tool is called with: what was judged. A hook that changed a call that stands for another one has
        changed what nobody can hand on."""
        if asked.tool not in self._judged_as:
            return thawed(call.input)
        if is_changed:
            raise Failure("The call was changed by a hook, and this tool cannot take the change.")
        return thawed(asked.given)

    def _session(self, asked: Asked) -> Session:
        """Whose working folder, mode and rules hold: those of the agent that calls. Nothing confines what runs in this
        process."""
        session = self._of_agent(asked.agent) if asked.agent else self.session
        if asked.own:
            return session
        return Session(session.context.replace(confined=False), name=session.name, grants=session.grants)

    def _of_agent(self, agent: str) -> Session:
        """The session of an agent that another one has started: deeper by one, under its name."""
        with self._lock:
            found = self._agents.get(agent)
            if found is None:
                above = self.session
                context = above.context.replace(agent=agent, depth=above.context.depth + 1)
                found = Session(
                    context, name=f"{above.name}/{agent}", environment=above.environment, grants=above.grants
                )
                found.may = above.may
                self.session.ends_with_it(found.close)
                self._agents[agent] = found
            return found


class _OneAnswer:
    """An answer that somebody gave to the question about one call, and to no other."""

    name = "console"

    def __init__(self, gateway: RunsCalls, answered: Answered) -> None:
        self._gateway = gateway
        self._answered = answered

    def ask(self, question: Question) -> Answer | None:
        """The answer; a no where the question is another one."""
        answered = self._answered
        if not answered.allow:
            return no(answered.by, answered.note)
        judge = self._gateway.calls.judge
        now = identity(question.verdict, judge.loaded_for(question.verdict).policy.revision)
        return Answer(True, "once", answered.by) if answered.about == now else no(answered.by, _CHANGED)


def guarded(guard: Guard, function: Callable[..., Any], tool: str) -> Callable[..., Any]:
    """The function with the policy before it, for calls of a tool of this name. It gives and raises what the function
    does; RefusedError where that was not called, or a hook has changed what it gave."""
    import functools
    import inspect

    signature = inspect.signature(function)

    def asked(values: tuple[Any, ...], named: dict[str, Any]) -> Asked:
        return Asked(tool, dict(signature.bind(*values, **named).arguments))

    def content(ran: Ran) -> Any:
        if ran.error is not None:
            raise ran.error
        if ran.is_error or ran.done is None or not ran.done.ran:
            raise RefusedError(ran.text)
        return ran.content

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def called_async(*values: Any, **named: Any) -> Any:
            return content(await guard.run_async(asked(values, named), lambda given: function(**given)))

        return called_async

    @functools.wraps(function)
    def called(*values: Any, **named: Any) -> Any:
        return content(guard.run(asked(values, named), lambda given: function(**given)))

    return called


def _on_loop(
    loop: asyncio.AbstractEventLoop, context: contextvars.Context, does: Callable[[], Awaitable[Any]], cancel: Cancel
) -> Any:
    """What a coroutine gives that runs on another thread's loop, in a context of that thread's."""
    given: Future[Any] = Future()
    tasks: list[asyncio.Task[None]] = []

    async def awaited() -> None:
        try:
            found = await does()
        except asyncio.CancelledError:
            given.cancel()
        except BaseException as error:
            given.set_exception(error)
        else:
            given.set_result(found)

    loop.call_soon_threadsafe(lambda: tasks.append(loop.create_task(awaited(), context=context)))
    while True:
        try:
            return given.result(_LOOK)
        except Late:
            if given.done():
                raise
            if cancel.is_set and tasks:
                loop.call_soon_threadsafe(tasks[0].cancel)
        except CancelledError as error:
            raise Failure("It was cancelled.") from error


def _text(content: Any) -> str:
    """What is recorded of a result, and what hooks may change."""
    said = getattr(content, "content", content)
    return said if isinstance(said, str) else str(said)


def thawed(value: Any) -> Any:
    """Frozen data as tools take it."""
    if hasattr(value, "items"):
        return {name: thawed(item) for name, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, (list, tuple)) else value
