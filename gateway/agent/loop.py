"""The agent: a conversation between a model and the guarded tools, until the model has nothing left to do.

    ask the model → the calls it wants, judged and run as one turn → their results → ask the model again

    with Gateway(Options(cwd=".", binding=True)) as gateway, gateway.session() as session:
        outcome = Agent(gateway, Claude(), session).run("Why does the test fail?")
        outcome.text, outcome.why

Each step is written to the transcript before the next one begins, so a session can be taken up whatever ended it.
"""

from __future__ import annotations

import threading
from time import monotonic

from gateway.agent.prompt import system_prompt
from gateway.agent.repeat_keys import Keys
from gateway.agent.structured_answer import ASK_AGAIN, NONE_GIVEN, Answering, wrong_in
from gateway.agent.transcript import ASSISTANT, BEGUN, ENDED, RESULT, SESSION, START, USER, VERSION, told
from gateway.calls.results import tool_result
from gateway.config.layers import strict_as_both
from gateway.core.cancel import NEVER
from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value
from gateway.llm.model import CALLS, END, PAUSED, REFUSED, ModelError, Reply, Request, Said, reply_of
from gateway.mcp.offered_tools import definitions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gateway.agent.mailbox import Post
    from gateway.agent.transcript import Past, Transcript
    from gateway.calls.output import Done, Progress
    from gateway.calls.runner import RunsCalls
    from gateway.calls.session import Session
    from gateway.core.cancel import Cancel
    from gateway.llm.model import Block, Message, Model
    from gateway.model.call import RawCall

TURNS = 200
STARTS = "Agent"  # the tool that starts other agents
# Why a run ended.
DONE, OUT_OF_TURNS, OUT_OF_TOKENS, CUT, DECLINED, CANCELLED, FAILED, UNANSWERED = (
    "done", "turns", "tokens", "cut", "declined", "cancelled", "failed", "unanswered",
)  # fmt: skip
NOT_OFFERED = "There is no tool `{}` for this agent, so this call did not run."
CUT_OFF = "This call did not run: the reply that asked for it was cut off. Say less at a time."
_OFFER_SECONDS = 60


class Budget(Value):
    """What a run may use. `turns`: replies of the model; `tokens`: read and written together, 0 for any number;
    `reply`: tokens of one reply; `again`: how often it is asked again for an answer that must be data."""

    turns: int = TURNS
    tokens: int = 0
    reply: int = 8_192
    again: int = 3


class Outcome(Value):
    """How a run ended. `why`: done, turns, tokens, cut, declined, cancelled, failed or unanswered; `text`: what the
    model said last; `reason`: of what ended badly; `used`: tokens by kind; `answer`: where the session wants data
    (`session.answer_schema`), that data, which fits."""

    why: str
    text: str
    reason: str = ""
    turns: int = 0
    used: Mapping[str, int] = {}
    answer: Mapping[str, Any] | None = None


class Calling(Value):
    """A call that begins. `id`: the model's name for it."""

    id: str
    raw: RawCall


class Called(Value):
    """A call that has ended, and what the model is handed of it."""

    id: str
    raw: RawCall
    done: Done


class Doing(Value):
    """What happens while a call runs."""

    id: str
    progress: Progress


class Noticed(Value):
    """What people should know, such as a server that has ended."""

    text: str


if TYPE_CHECKING:
    Happening = Said | Reply | Calling | Doing | Called | Noticed
    Listener = Callable[[Happening], None]


class Agent:
    """One conversation. Its runs come one after the other."""

    def __init__(
        self,
        gateway: RunsCalls,
        model: Model,
        session: Session,
        *,
        budget: Budget | None = None,
        transcript: Transcript | None = None,
        past: Past | None = None,
        listener: Listener | None = None,
        own: str = "",
        allowed: Callable[[str], bool] | None = None,
        model_name: str = "",
        post: Post | None = None,
    ) -> None:
        """`transcript`: where it is written; `past`: what it goes on from, in a mode as strict as both its own
        and the session's and under its rules (ConfigError where that cannot be). `listener` is told what happens as it
        happens, from any thread, one at a time. `own`: what the type of agent says of itself; `allowed`: the tools that
        it may call, of those that the policy leaves it; `model_name`: another one than the model's own;
        `post`: its mail, taken in before each turn."""
        self.session = session
        self.messages: list[Message] = []
        self.turns = 0
        self.used: dict[str, int] = {}
        self._gateway = gateway
        self._model = model
        self._budget = budget or Budget()
        self._transcript = transcript
        self._model_name = model_name
        self.listener = listener
        self._telling = threading.Lock()
        self._own = own
        self._allowed = allowed
        self.post = post
        self._taken_in: set[int] = set()
        self._answering = Answering(session, 0)
        self._keys = Keys(session.name, past)
        self._offered: tuple[object, tuple[Mapping[str, Any], ...]] = None, ()
        if past is not None:
            self._take_up(past)
        elif transcript is not None:
            transcript.write(START, version=VERSION, session=session.name, model=model.name, **self._stands())

    def _take_up(self, past: Past) -> None:
        self.messages = list(past.messages)
        self.turns, self.used = past.turns, dict(past.used)
        self._taken_in = set(past.mail)
        self.session.follow(past.cwd)
        now = self.session.context.mode
        mode = strict_as_both(now, past.mode)
        reason = "" if mode else f"no mode is as strict as both that one and {now}"
        if mode not in ("", now):
            reason = self._gateway.calls.judge.refuses_mode(mode)
        if reason:
            raise ConfigError(Problem(f"the session was in the mode {past.mode}: {reason}", remedy="begin a new one"))
        if mode != now:
            self.session.enter(mode)
        if past.rules:
            reason = self._gateway.calls.judge.refuses_rules(past.rules)
            if reason:
                raise ConfigError(Problem(f"the rules of the session cannot hold: {reason}", remedy="begin a new one"))
            self.session.rule(past.rules)

    def run(self, task: str, cancel: Cancel | None = None) -> Outcome:
        """Works on a task, or goes on with what was said to it. Never raises for what the model or a call does: how it
        ended is in the outcome. Raises OSError when the transcript cannot be written."""
        cancel = cancel or NEVER
        self.session.next_task()
        self._hear([{"type": "text", "text": task}])
        return self._until_done(cancel)

    def go_on(self, cancel: Cancel | None = None) -> Outcome:
        """Goes on where a session that was taken up had got to, without being told anything."""
        if not self.messages and not self.take_in():
            return self._ended(FAILED, "", "nobody has said yet what is to be done")
        return self._until_done(cancel or NEVER)

    def take_in(self) -> bool:
        """Takes in what mail has come; whether there was any."""
        messages = self.post.receive(self._taken_in) if self.post is not None else ()
        for each in messages:
            assert self.post is not None
            said = f"[message from {each.sender}, team {each.team}]\n{each.text}"
            self._hear([{"type": "text", "text": said}], mail=each.id)
            self._taken_in.add(each.id)
            self.post.acknowledge(each)
        return bool(messages)

    def _until_done(self, cancel: Cancel) -> Outcome:
        outcome = None
        turns = 0
        text = ""
        self._answering = Answering(self.session, self._budget.again)
        while outcome is None:
            if cancel.is_set:
                outcome = self._ended(CANCELLED, text, "it was cancelled")
            elif turns >= self._budget.turns:
                outcome = self._ended(OUT_OF_TURNS, text, f"it has taken {turns} turns, which is all it may")
            elif self._budget.tokens and self._spent() >= self._budget.tokens:
                spent = f"it has used {self._spent():,} tokens of {self._budget.tokens:,}"
                outcome = self._ended(OUT_OF_TOKENS, text, spent)
            else:
                turns += 1
                self.take_in()
                self._look_around(cancel)
                try:
                    reply = self._asked(cancel)
                except ModelError as error:
                    why = CANCELLED if cancel.is_set else FAILED
                    outcome = self._ended(why, text, "it was cancelled" if cancel.is_set else str(error))
                    break
                text = reply.text or text
                outcome = self._act(reply, text, cancel)
        return outcome

    def _look_around(self, cancel: Cancel) -> None:
        """Takes in which MCP servers have come and gone."""
        joined = self._gateway.calls.services.catalogue(self.session)
        if not self.session.has_servers or self.messages[-1]["role"] != "user":
            return  # there is nothing to take in, or the model goes on with what it was saying
        news = joined.look(cancel)
        if news.told:
            self._hear([{"type": "text", "text": f"[gateway] {text}"} for text in news.told])
        for text in (*news.told, *news.people):
            self._tell(Noticed(text))

    def _act(self, reply: Reply, text: str, cancel: Cancel) -> Outcome | None:
        """Does what a reply asks for; how the run ends with it, None if it goes on."""
        if reply.calls:
            results = self._results(reply, cancel)
            self.messages.append({"role": "user", "content": results})
            if self._answering.answer is not None:
                return self._ended(DONE, text)
            wrong = wrong_in(reply, results, self._named) if self._answering.is_wanted else ""
            return self._ask_again(text, wrong) if wrong else None
        if reply.stop_reason == PAUSED:
            return None
        if reply.stop_reason == REFUSED:
            return self._ended(DECLINED, text, "the model declined")
        if reply.stop_reason not in (END, "stop_sequence"):
            return self._ended(CUT, text, f"the reply was cut off: {reply.stop_reason}")
        return self._ask_again(text, NONE_GIVEN) if self._answering.is_wanted else self._ended(DONE, text)

    def _ask_again(self, text: str, why: str) -> Outcome | None:
        """Has the model give its answer as data, unless it was asked too often: the end of the run then."""
        if not self._answering.may_ask():
            return self._ended(UNANSWERED, text, self._answering.failed(why))
        self._hear([{"type": "text", "text": ASK_AGAIN}])
        return None

    def _asked(self, cancel: Cancel) -> Reply:
        """The model's reply. A model that gives no sign of life is left behind when the run is cancelled."""
        context = self.session.context
        system = system_prompt(context, self._own)
        request = Request(
            system, tuple(self.messages), tools=self._tools(), max_tokens=self._budget.reply, model=self._model_name
        )
        reply = reply_of(self._model, request, self._heard_of(cancel), cancel)
        if not reply.content or not all(isinstance(block.get("input"), dict) for block in reply.calls):
            raise ModelError("the model's reply cannot be used: it says nothing, or calls without an input")
        self._write(ASSISTANT, content=list(reply.content), stop=reply.stop_reason, usage=dict(reply.usage))
        self.messages.append({"role": "assistant", "content": list(reply.content)})
        self.turns += 1
        for name, count in reply.usage.items():
            self.used[name] = self.used.get(name, 0) + count
        self._tell(reply)
        return reply

    def _tools(self) -> tuple[Mapping[str, Any], ...]:
        """What the model is offered. It is made anew when what it follows from has changed, and after a while, since
        rules may speak of the time. What is called is judged in any case."""
        context, judge = self.session.context, self._gateway.calls.judge
        revision = judge.loaded_with(context.rules).policy.revision
        there = self.session.joined.version
        key = (revision, context.mode, self.session.searched, there, monotonic() // _OFFER_SECONDS)
        if self._offered[0] != key:
            found = [
                each if each["name"] != STARTS else each | {"description": each["description"] + self._kinds()}
                for each in definitions(judge, "anthropic", "", self.session)
                if self._allowed is None or self._allowed(self._named(each["name"]))
            ]
            self._offered = key, tuple(found)
        return self._offered[1]

    def _kinds(self) -> str:
        """The types of agents that may be started, for the description of the tool that starts them."""
        if self.session.agents is None:
            return ""
        lines = [f"- {each.name}: {each.description}" for each in self.session.agents.types().values()]
        return "\n\nTypes:\n" + "\n".join(lines)

    def _heard_of(self, cancel: Cancel) -> Callable[[Said], None] | None:
        if self.listener is None:
            return None
        return lambda said: None if cancel.is_set else self._tell(said)

    def _results(self, reply: Reply, cancel: Cancel) -> list[Block]:
        """The results of a reply's calls, in their order. What was cut off is not what the model meant to do."""
        found: dict[str, Block] = {}
        able = []
        for block in reply.calls:
            if reply.stop_reason != CALLS:
                found[block["id"]] = self._answered(told(block["id"], CUT_OFF))
            elif self._allowed is not None and not self._allowed(self._named(block["name"])):
                found[block["id"]] = self._answered(told(block["id"], NOT_OFFERED.format(block["name"])))
            else:
                able.append(block)
        if able:
            found |= {block["tool_use_id"]: block for block in self._called(able, cancel)}
        return [found[block["id"]] for block in reply.calls]

    def _named(self, name: str) -> str:
        """The tool's own name, if it was called by an old one, or by the one that a model can call it by."""
        return self._gateway.calls.judge.registry.canonical_name(self.session.joined.judged(name))

    def _called(self, blocks: Sequence[Block], cancel: Cancel) -> list[Block]:
        """Lets the calls of one turn run."""
        raws = [self.session.joined.raw(block["name"], dict(block["input"])) for block in blocks]
        results: dict[int, Block] = {}

        def begun(index: int) -> None:
            self._write(BEGUN, id=blocks[index]["id"])
            self._tell(Calling(blocks[index]["id"], raws[index]))

        def doing(index: int, progress: Progress) -> None:
            self._tell(Doing(blocks[index]["id"], progress))

        def ended(index: int) -> None:
            done = turn.result(index)
            assert done is not None
            results[index] = self._answered(tool_result(done.output, blocks[index]["id"]))
            self._keys.ended(blocks[index], is_error=done.output.is_error)
            self._tell(Called(blocks[index]["id"], raws[index], done))

        before = self._stands()
        with self._gateway.calls.turn(
            self.session, cancel, doing, ended, begun, self._keys.of(blocks, self.turns)
        ) as turn:
            for raw in raws:
                turn.add(raw)
        for _done in turn.results():
            pass  # a fault of ours would be raised here
        if self._stands() != before:
            self._write(SESSION, **self._stands())
        return [results[index] for index in range(len(blocks))]

    def _answered(self, block: Block) -> Block:
        self._write(RESULT, block=block)
        return block

    def _hear(self, content: list[Block], **more: Any) -> None:
        """Something is said to the model."""
        self._write(USER, content=content, **more)
        if self.messages and self.messages[-1]["role"] == "user":
            content = [*self.messages.pop()["content"], *content]
        self.messages.append({"role": "user", "content": content})

    def _ended(self, why: str, text: str, reason: str = "") -> Outcome:
        self._write(ENDED, why=why, reason=reason)
        answer = self._answering.answer if why == DONE else None
        return Outcome(why, text, reason=reason, turns=self.turns, used=dict(self.used), answer=answer)

    def _stands(self) -> dict[str, Any]:
        context = self.session.context
        return {"cwd": context.cwd, "mode": context.mode, "rules": list(context.rules)}

    def _spent(self) -> int:
        return sum(count for name, count in self.used.items() if name.endswith("_tokens"))

    def _write(self, kind: str, **what: Any) -> None:
        if self._transcript is not None:
            self._transcript.write(kind, **what)

    def _tell(self, happening: Happening) -> None:
        if self.listener is not None:
            with self._telling:
                self.listener(happening)
