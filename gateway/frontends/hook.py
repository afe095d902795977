"""The hook of a foreign agent: one event in, one answer out, in that agent's own dialect.

`answer` is what the process behind `gateway hook` and the warm service both call. It never raises: whatever goes wrong
ends in the answer that this agent takes for a refusal, with the reason.
"""

from __future__ import annotations

import os

from gateway.agents import dialect_of
from gateway.agents.base import (
    AFTER,
    ALLOW,
    ASK,
    BEFORE,
    CONFIG,
    DENY,
    PROMPT,
    SILENCE,
    Answer,
    Misfit,
    Reply,
    shell_of,
    universal_refusal,
)
from gateway.core.errors import CallError, GatewayError, fault
from gateway.core.value import Value
from gateway.frontends.hook_place import folder_of, mode_of, paused_of, root_of, worked_in
from gateway.frontends.jsontext import read_json
from gateway.judge.pipeline import TEMP
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.model.effect import HOLE, Touch
from gateway.tools.foreign import renamed, undescribed, unseen_place
from gateway.tools.registry import is_mcp_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from gateway.agents.base import Dialect, Event
    from gateway.audit.log import Log
    from gateway.frontends.hook_asking import Answered
    from gateway.frontends.hook_record import Pending
    from gateway.judge.judge import Judge
    from gateway.model.context import Context
    from gateway.model.grant import Grant
    from gateway.model.verdict import Verdict
    from gateway.tools.tool import Tool

    class Gateways(Protocol):
        """Who judges and who records. The cold process makes each once; the warm service keeps them, and reads the
        policy anew when it has changed."""

        def gateway(self, *, root: str, cwd: str, environment: Mapping[str, str]) -> Judge:
            """One for this project root, opened with `confined=False` and `binding=True`. Its own `cwd` and mode do
            not matter: each event brings its own. Raises GatewayError."""

        def log(self, gateway: Judge) -> Log:
            """Where what it decides is recorded."""

        def pending(self, gateway: Judge) -> Pending:
            """The calls that were let run and whose outcome is still to come."""

        def person_until(self) -> float:
            """Has a person's time begin: until when, by the monotonic clock, 0 where none can be waited for. Raises
            NotHere."""


__all__ = ["Asked", "Gateways", "NotHere", "Reply", "answer", "universal_refusal"]

_TICKET = " --ticket "


class NotHere(Exception):
    """A person is to be asked, which another process has to wait for."""


class Asked(Value):
    """How a hook was started, besides what it reads. `event`: the event it stands for, "" if only the input tells.
    `wish`: what is answered where policy asks and nobody is known to be there, "" for what is safe for the client.
    `servers`: the names of the client's MCP servers, where its own names for tools leave them open. `folder`: the
    hook's own working folder, where the session started."""

    event: str = ""
    wish: str = ""
    servers: tuple[str, ...] = ()
    folder: str = ""


def answer(
    agent: str,
    given: bytes,
    environment: Mapping[str, str],
    *,
    gateways: Gateways,
    asked: Asked = Asked(),  # noqa: B008 - a value
) -> Reply:
    """What `agent` is answered. Raises nothing but NotHere of `gateways`: any doubt is the agent's own refusal."""
    dialect: Dialect | None = None
    event: Event | None = None
    try:
        dialect = dialect_of(agent)
        if dialect is None:
            return universal_refusal(f"gateway: there is no agent `{agent[:80]}`; nothing can be decided for it.")
        told = read_json(given, "the event")
        if told.__class__ is not dict:
            raise Misfit("it must be a JSON object")
        found = dialect.read(told, environment, asked.servers)
        if asked.event and asked.event != found.name:
            event = found if found.kind == BEFORE else None  # of the two, the one that can be refused
            raise Misfit(f"the hook stands for `{asked.event[:80]}` and was given `{found.name[:80]}`")
        event = found
        return dialect.render(event, _answer(event, dialect, environment, gateways, asked))
    except NotHere:
        raise
    except Misfit as misfit:
        reason = f"gateway refused this call: what came is no event of `{agent}`: {misfit}."
    except GatewayError as error:
        reason = f"gateway refused this call: {_lines(error)}"
    except BaseException as error:
        # Whoever ends the process, or has no memory left, must not have let a call run by it.
        reason = f"gateway refused this call because of {fault(error)}."
    try:
        if dialect is None:
            return universal_refusal(reason)
        if event is None:  # who knows who asked
            return dialect.refuse(asked.event, reason)
        reply = dialect.render(event, Answer(DENY, reason))
        return reply.replace(stderr=reply.stderr or f"{reason}\n".encode("utf-8", "backslashreplace"))
    except BaseException:
        return universal_refusal("gateway refused this call because of an internal error.")


def _lines(error: GatewayError) -> str:
    from gateway.frontends.output import safe_lines

    return safe_lines(str(error))


def _answer(event: Event, dialect: Dialect, environment: Mapping[str, str], gateways: Gateways, asked: Asked) -> Answer:
    if event.kind == CONFIG:
        return Answer(DENY, "gateway: the settings of a running session are not changed; restart it to use them.")
    cwd = folder_of(event.cwd)
    if event.kind == PROMPT and not (event.reads or event.runs or "/" in event.prompt):
        return Answer(SILENCE)  # as nearly always: it pulls nothing in
    gateway = gateways.gateway(root=root_of(event, environment, cwd, asked.folder), cwd=cwd, environment=environment)
    if event.kind == AFTER:
        from gateway.frontends.hook_changes import has_run
        from gateway.frontends.hook_record import ended

        has_run(gateway, event)
        ended(gateways.log(gateway), gateways.pending(gateway), event)
        return Answer(SILENCE)
    judge = paused_of(gateway) or gateway

    def judging(call: Event) -> _Judging:
        return _Judging(
            call, dialect, environment, gateways, asked, gateway=judge, cwd=cwd, is_paused=judge is not gateway
        )

    if event.kind == PROMPT:
        from gateway.frontends.hook_prompt import answer_prompt

        return answer_prompt(event, cwd, judge, environment, judging)
    return judging(event).answer()


class _Judging:
    """One call of one event; one use."""

    def __init__(
        self,
        event: Event,
        dialect: Dialect,
        environment: Mapping[str, str],
        gateways: Gateways,
        asked: Asked,
        gateway: Judge,
        cwd: str,
        *,
        is_paused: bool = False,
    ) -> None:
        self.is_paused = is_paused
        self.event = event
        self.dialect = dialect
        self.environment = environment
        self.gateways = gateways
        self.asked = asked
        self.tools: dict[str, Tool] = {}  # that the call was judged as, by name
        self.gateway = gateway
        setting = gateway.loaded.settings.get("agents")
        self.setting: Mapping[str, Any] = setting.value if setting else {}
        self.context = gateway.context.replace(
            cwd=cwd,
            mode=mode_of(event, gateway, self.setting, is_paused=is_paused),
            confined=False,
            temp=(),
            agent=event.subagent[:200],
            depth=1 if event.subagent else 0,
        )

    def answer(self) -> Answer:
        """The answer, recorded."""
        from gateway.frontends.hook_record import no_call

        told = self.event
        try:
            changed, verdict = self._verdict()
        except CallError as error:
            self._recorded(no_call(self.event, self.context, said := _lines(error)), DENY, said)
            raise
        decision = self._decision(verdict, changed is not None)
        grant = None
        # Of a command that comes by again as it was rewritten somebody was asked before.
        if verdict.decision is Decision.ASK and self.event is told and (found := self._by_a_person()) is not None:
            changed, verdict, decision, grant = found.changed, found.verdict, found.decision, found.grant
            said = f"{self.reason(verdict, '')} {found.said}" if found.said else ""
        else:
            said = "" if decision in (ALLOW, SILENCE) else self.reason(verdict, decision)
        if problem := self._recorded(verdict, decision, said, changed, grant):
            return Answer(DENY, problem)
        if decision != DENY and changed is None and self.event.kind == BEFORE and not verdict.analysis.parts:
            from gateway.frontends.hook_changes import about_to_run

            about_to_run(self.gateway, self.event, verdict, certainly=decision in (ALLOW, SILENCE))
        return Answer(decision, said, changed)

    def refusal_of_prompt(self, *, typed: bool) -> str:
        """Why a call that a prompt makes by itself must not be, "" if it may. A refusal is recorded."""
        verdict = self.judged(self.context)
        if verdict.decision is Decision.ALLOW or (typed and verdict.decision is Decision.ASK):
            return ""
        said = self.reason(verdict, DENY if verdict.decision is Decision.DENY else "")
        self._recorded(verdict, DENY, said)
        return said

    def _recorded(
        self, verdict: Verdict, decision: str, said: str, changed: Mapping[str, Any] | None = None,
        grant: Grant | None = None,
    ) -> str:  # fmt: skip
        """Why the call must not run, as it would not be recorded; "" where it was, or need not be."""
        from gateway.frontends.hook_record import decided

        log, pending, paused = self.gateways.log(self.gateway), self.gateways.pending(self.gateway), self.is_paused
        told = (self.event, verdict, decision, said, changed, self.gateway)
        return decided(log, pending, *told, is_paused=paused, grant=grant)

    def _by_a_person(self) -> Answered | None:
        """What a person says at a page or elsewhere, where a setting wants them asked there; None where nobody does."""
        if not self.setting.get("page") or self.is_paused or self.event.kind != BEFORE:
            return None
        if not os.path.lexists(os.path.join(self.gateway.places.state, "console", "desk")):
            return None  # no console runs, and nothing more is loaded
        if not (until := self.gateways.person_until()):
            return None
        from gateway.frontends.hook_asking import answered

        return answered(self, until)

    # ---------------------------------------------------------------------------------------------- judging

    def _verdict(self) -> tuple[Mapping[str, Any] | None, Verdict]:
        """What is to run instead, if anything, and the verdict on it."""
        inner = self._inner()
        if inner is not None:
            return None, inner
        return self._guarded() or (None, self.judged(self.context))

    def judged(self, context: Context) -> Verdict:
        """The strictest verdict of all names that the call may have."""
        described = self.gateway.foreign(self.event.agent, self.event.tool)
        if described is not None:
            return self._checked(described, context)
        first, *others = self.event.names or (self.event.tool,)
        verdict = self._checked(self._tool(first), context)
        for name in others:
            found = self._checked(self._tool(name), context)
            if found.decision > verdict.decision:
                verdict = found
        return verdict

    def _tool(self, name: str) -> Tool:
        """A tool that the agent's own description does not know: a server's, or one that nobody described."""
        event = self.event
        if is_mcp_name(name):
            return self.gateway.foreign.of_server(self.gateway.registry, name, event.input)
        return undescribed(f"{event.agent}:{name}", event.input)

    def _checked(self, tool: Tool, context: Context) -> Verdict:
        event, gateway = self.event, self.gateway
        given = renamed(tool, event.input)
        context = worked_in(tool, given, context)
        if unseen := unseen_place(tool, given, context):
            raise CallError(
                f"`{unseen[:80]}` says where it works besides the field that `{event.tool[:80]}` has for that"
            )
        self.tools[tool.name] = tool
        raw = RawCall(tool.name, given, server=event.server)
        shell = tool.entry.get("shell") or shell_of(event.agent, self.environment)
        verdict = gateway.check(raw, context, foreign=tool, shell=shell)
        if self.dialect.UNSEEN_INPUT and tool.match_kind == "shell":
            from gateway.commands.waiting import waits_for_input

            found = waits_for_input(verdict.call.shown, verdict.analysis.parts)
            if found and verdict.decision is not Decision.DENY:
                from gateway.policy.unjudged import built_in, unjudged

                because = f"`{found}` takes further commands from its input, which this agent gives it unseen"
                return unjudged(verdict.call, verdict.context, built_in("interactive-program", because))
        return verdict

    def _guarded(self) -> tuple[Mapping[str, Any] | None, Verdict] | None:
        """The confined form of a shell command that may run, and the verdict on it. None where the agent itself runs
        it."""
        verdict = self.confined()
        if verdict is None or not verdict.context.confined:
            return None if verdict is None else (None, verdict)  # it asks to leave the sandbox
        shows = self.event.agent == "claude" and self.where_policy_asks(verdict)[0] == ASK
        changed = self.rewritten(verdict, asked=shows)
        return None if changed is None else (changed, verdict)

    def confined(self) -> Verdict | None:
        """A shell command judged as what it is where a setting wants it confined and that can be had, a call in the
        sandbox; None where the agent itself runs it."""
        text = self.event.input.get("command")
        rewrites = self.event.kind == BEFORE and self.event.tool in self.dialect.REWRITES
        if text.__class__ is not str or not rewrites or not self.gateway.loaded.guarded:
            return None
        from gateway.agents.guarded import unavailable

        return None if unavailable(self.gateway) else self.judged(self._confined())

    def rewritten(self, verdict: Verdict, *, asked: bool) -> Mapping[str, Any] | None:
        """The input that runs the confined form; None where it cannot be had. `asked`: somebody agrees to it first."""
        from gateway.agents.guarded import rewritten

        text, agent, session = self.event.input["command"], self.event.agent, self.event.session
        changed = rewritten(self.gateway, verdict, text, agent=agent, session=session, asked=asked)
        return None if changed is None else {**self.event.input, "command": changed}

    def _inner(self) -> Verdict | None:
        """The verdict on the command inside of a rewritten one that comes by again, in another event of the same call:
        it runs confined. Only a ticket that is there makes it one, and only for the very text that it was made for."""
        text = self.event.input.get("command")
        if text.__class__ is not str or _TICKET not in text or self.event.tool not in self.dialect.REWRITES:
            return None
        from gateway.agents.guarded import recognised

        found = recognised(text, self.gateway.places.state)
        if found is None or found.ticket is None:
            return None
        self.event = self.event.replace(input={**self.event.input, "command": found.text})
        return self.judged(self._confined())

    def _confined(self) -> Context:
        """The circumstances of a command that runs in the sandbox, as one of the client's session."""
        from gateway.core.room_names import of_client  # lazy: most hooks rewrite nothing

        return self.context.replace(confined=True, temp=TEMP, room=of_client(self.event.agent, self.event.session))

    # --------------------------------------------------------------------------------------------- answering

    def _decision(self, verdict: Verdict, is_changed: bool) -> str:
        """The word of the answer: what is safe for this client where policy asks."""
        if verdict.decision is Decision.DENY:
            return DENY
        if verdict.decision is Decision.ALLOW:
            quiet = (self.is_paused or self.setting.get("allow") == SILENCE) and not is_changed
            return SILENCE if quiet else ALLOW
        return self.where_policy_asks(verdict)[0]

    def where_policy_asks(self, verdict: Verdict) -> tuple[str, str]:
        """The word that this client is answered, and why if that is a refusal."""
        from gateway.agents import questions

        if questions.wants_others(self.gateway.loaded_for(verdict).settings):
            return DENY, questions.OTHERS
        paths = [item.effect for item in verdict.analysis.items if isinstance(item.effect, Touch)]
        leads = [effect.real or effect.path for effect in paths if effect.real or HOLE in effect.path]
        what = questions.about(self.event, verdict.context.root, leads)
        word = questions.asking(self.event, self.asked.wish, what)
        return word, questions.refusal_instead(self.event, self.asked.wish, what) if word == DENY else ""

    def reason(self, verdict: Verdict, decision: str) -> str:
        """For the model: the rule with its place, why, and what to do instead."""
        from gateway.frontends.hook_reason import reason  # lazy: an allow says nothing

        instead = self.where_policy_asks(verdict)[1] if decision == DENY and verdict.decision is Decision.ASK else ""
        tool = self.tools.get(verdict.call.tool)
        return reason(self.gateway, verdict, decision, instead, self.event, tool)
