"""The agent: a conversation between a model and the guarded tools, until the model has nothing left to do.

    ask the model → the calls it wants, judged and run as one turn → their results → ask the model again

    with Gateway(Options(cwd=".", binding=True)) as gateway, gateway.session() as session:
        outcome = Agent(gateway, Claude(), session).run("Why does the test fail?")
        outcome.text, outcome.why

Each step is written to the transcript before the next one begins, so a session can be taken up whatever ended it.
"""

from __future__ import annotations

import threading

from gateway.agent.asking import Asking, StoppedError
from gateway.agent.between_replies import Hearing
from gateway.agent.budget import OUT_OF_TURNS, Budget, Purse
from gateway.agent.conversation import Conversation
from gateway.agent.events import Called, Calling, Doing, Noticed
from gateway.agent.prompt import Surroundings
from gateway.agent.repeat_keys import Keys
from gateway.agent.replying import Replying
from gateway.agent.structured_answer import ASK_AGAIN, NONE_GIVEN, Answering, wrong_in
from gateway.agent.tool_offer import Offer
from gateway.agent.transcript import BEGUN, ENDED, SESSION, START, VERSION, told
from gateway.calls.results import tool_result
from gateway.calls.turn_drafts import said, shown_once
from gateway.config.layers import strict_as_both
from gateway.core.cancel import NEVER
from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value
from gateway.llm.model import (
    CALLS,
    END,
    LENGTH,
    PAUSED,
    REFUSED,
    STOPPED,
    WINDOW,
    ModelError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gateway.agent.asking import Patience
    from gateway.agent.events import Happening, Listener
    from gateway.agent.mailbox import Post
    from gateway.agent.transcript import Past, Transcript
    from gateway.calls.output import Progress
    from gateway.calls.runner import RunsCalls
    from gateway.calls.session import Session
    from gateway.core.cancel import Cancel
    from gateway.llm.model import Block, Message, Model, Reply

# Why a run ended, beside what its budget says.
DONE, CUT, DECLINED, CANCELLED, FAILED, UNANSWERED = (
    "done", "cut", "declined", "cancelled", "failed", "unanswered",
)  # fmt: skip
NOT_OFFERED = "There is no tool `{}` for this agent, so this call did not run."
CUT_OFF = "This call did not run: the reply that asked for it was cut off. Say less at a time."
GO_ON = "[gateway] Your reply was cut off at its greatest length. Go on exactly where it ended."


class Outcome(Value):
    """How a run ended. `why`: done, turns, tokens, cost, cut, declined, cancelled, failed or unanswered; `text`: what
    the model said last; `reason`: of what ended badly; `used`: tokens by kind; `answer`: where the session wants data
    (`session.answer_schema`), that data, which fits."""

    why: str
    text: str
    reason: str = ""
    turns: int = 0
    used: Mapping[str, int] = {}
    answer: Mapping[str, Any] | None = None


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
        purse: Purse | None = None,
        fallback: Model | None = None,
        patience: Patience | None = None,
        waits: bool = False,
        looks_at_git: bool = False,
    ) -> None:
        """`transcript`: where it is written; `past`: what it goes on from, in a mode as strict as both its own
        and the session's and under its rules (ConfigError where that cannot be). `listener` is told what happens as it
        happens, from any thread, one at a time. `own`: what the type of agent says of itself; `allowed`: the tools that
        it may call, of those that the policy leaves it; `model_name`: another one than the model's own;
        `post`: its mail, taken in before each turn; `purse`: what it uses together with others, by default a purse of
        its own with its budget; `fallback`: who is asked where `model` cannot be had; `patience`: how long a model is
        waited for; `waits`: whether a run ends only when the agents have that it started in the background;
        `looks_at_git`: whether it begins with git's status."""
        self.session = session
        self.said = Conversation(transcript, past)
        self._gateway = gateway
        self._budget = budget or Budget()
        self._purse = purse or Purse(self._budget)
        self._owns_purse = purse is None
        self.surroundings = Surroundings(gateway, session, own, looks_at_git=looks_at_git)
        asking = Asking(model, fallback, patience)
        self._replying = Replying(self.said, asking, self._budget, self._purse, self._tell, model_name)
        self._offer = Offer(gateway, session, self._may)
        self.listener = listener
        self._telling = threading.Lock()
        self._allowed = allowed
        self.hearing = Hearing(
            self.said,
            session,
            gateway,
            post=post,
            taken_in=past.mail if past is not None else (),
            tell=self._tell,
            waits=waits,
        )
        self._answering = Answering(session, 0)
        self._news: list[str] = []  # what the model is told behind the results of its calls
        self._longer = 0
        self._is_longer = False
        self._keys = Keys(session.name, past)
        if past is not None:
            self._take_up(past)
        elif transcript is not None:
            transcript.write(START, version=VERSION, session=session.name, model=model.name, **self._stands())

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation as the model is shown it."""
        return self.said.messages

    @property
    def turns(self) -> int:
        """How many replies there were."""
        return self.said.turns

    @property
    def used(self) -> Mapping[str, int]:
        """Its own tokens, by kind."""
        return self.said.used

    def _take_up(self, past: Past) -> None:
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

    def run(self, task: str, cancel: Cancel | None = None, *, is_narrowed: bool = False) -> Outcome:
        """Works on a task, or goes on with what was said to it. Never raises for what the model or a call does: how it
        ended is in the outcome. Raises OSError when the transcript cannot be written. `is_narrowed`: what was forbidden
        until the next task was forbidden for this one."""
        if not is_narrowed:
            self.session.next_task()
        self.said.task = task
        self.said.says(task)
        return self._until_handed_back(cancel or NEVER)

    @property
    def model_name(self) -> str:
        """Who is asked next."""
        return self._replying.model_name

    def use_model(self, name: str) -> None:
        """Has another model of the same provider answer from the next reply on."""
        self._replying.use(name)

    def enter(self, mode: str) -> str:
        """Has the session go on in another mode; why it must not, "" where it does. A person's doing: no call comes to
        this."""
        reason = self._gateway.calls.judge.refuses_mode(mode)
        if not reason:
            self.session.enter(mode)
            self.said.write(SESSION, **self._stands())
        return reason

    def compact(self, cancel: Cancel | None = None) -> str:
        """Has the model sum up what was said, which is then all that it knows of it; why not, "" where it is done."""
        if not self.messages:
            return "nothing was said yet"
        cancel = cancel or NEVER
        try:
            self._replying.compact(self.surroundings.prompt(cancel), self._offer.tools(), cancel)
        except StoppedError:
            return "it was cancelled"
        except ModelError as error:
            return str(error)
        self._forget()
        return ""

    def shows(self, blocks: Sequence[Block]) -> None:
        """Puts pictures before what is said next."""
        self.said.hear(blocks)

    def _forget(self) -> None:
        """What the model has read is gone, and so is what it was told."""
        self.session.reads.forget_all()
        self.surroundings.forget()

    def go_on(self, cancel: Cancel | None = None) -> Outcome:
        """Goes on where a session that was taken up had got to, without being told anything."""
        if not self.messages and not self.hearing.mail():
            return self._ended(FAILED, "", "nobody has said yet what is to be done")
        return self._until_handed_back(cancel or NEVER)

    def _until_handed_back(self, cancel: Cancel) -> Outcome:
        """As `_until_done`; what its commands have changed in layers is shown to the person then, and once."""
        with shown_once(self.session, lambda: cancel.is_set) as shown:
            outcome = self._until_done(cancel)
        if self.session.together is None and shown.outcome is not None:
            self.said.says(f"[gateway] {said(shown.outcome)}")
            for text in (said(shown.outcome), *shown.outcome.reports):
                self._tell(Noticed(text))
        return outcome

    def _until_done(self, cancel: Cancel) -> Outcome:
        outcome = None
        turns, text = 0, ""
        self._answering = Answering(self.session, self._budget.again)
        self._longer = self._budget.longer
        self._replying.afresh()
        if self._owns_purse:
            self._purse.begin()
        while outcome is None:
            why, reason = self._purse.is_out(self._replying.model_name)
            if cancel.is_set:
                outcome = self._ended(CANCELLED, text, "it was cancelled")
            elif turns >= self._budget.turns:
                outcome = self._ended(OUT_OF_TURNS, text, f"it has taken {turns} turns, which is all it may")
            elif why:
                outcome = self._ended(why, text, reason)
            else:
                turns += 1
                self.hearing.before_reply(cancel)
                try:
                    reply = self._asked(cancel)
                except StoppedError as stopped:
                    self.said.stopped(stopped.text)
                    outcome = self._ended(CANCELLED, stopped.text or text, "it was cancelled")
                    break
                except ModelError as error:
                    outcome = self._ended(FAILED, text, str(error))
                    break
                text = self._text(reply, text)
                outcome = self._act(reply, text, cancel)
                if outcome is not None and outcome.why == DONE and self.hearing.has_more(cancel):
                    outcome = None
        return outcome

    def _text(self, reply: Reply, before: str) -> str:
        """What it has said last: a text that was cut off and went on is one."""
        joined = before + reply.text if self._is_longer else reply.text
        self._is_longer = reply.stop_reason in (LENGTH, WINDOW) and not reply.calls
        return joined or before

    def _act(self, reply: Reply, text: str, cancel: Cancel) -> Outcome | None:
        """Does what a reply asks for; how the run ends with it, None if it goes on."""
        if reply.calls:
            results = self._results(reply, cancel)
            self.said.results(results)
            for each in self._news:
                self.said.says(each)
            if self._answering.answer is not None:
                return self._ended(DONE, text)
            wrong = wrong_in(reply, results, self._named) if self._answering.is_wanted else ""
            return self._ask_again(text, wrong) if wrong else None
        if reply.stop_reason == PAUSED:
            return None
        if reply.stop_reason == REFUSED:
            return self._ended(DECLINED, text, "the model declined")
        if reply.stop_reason in (LENGTH, WINDOW) and self._longer > 0:
            self._longer -= 1
            self.said.says(GO_ON)
            return None
        if reply.stop_reason not in (END, STOPPED):
            return self._ended(CUT, text, f"the reply was cut off: {reply.stop_reason}")
        return self._ask_again(text, NONE_GIVEN) if self._answering.is_wanted else self._ended(DONE, text)

    def _ask_again(self, text: str, why: str) -> Outcome | None:
        """Has the model give its answer as data, unless it was asked too often: the end of the run then."""
        if not self._answering.may_ask():
            return self._ended(UNANSWERED, text, self._answering.failed(why))
        self.said.says(ASK_AGAIN)
        return None

    def _asked(self, cancel: Cancel) -> Reply:
        """The model's reply."""
        for text in self.surroundings.news():
            self.said.says(f"[gateway] {text}")
        system = self.surroundings.prompt(cancel)
        self._tell_people()
        reply, was_shortened = self._replying.reply(system, self._offer.tools(), cancel)
        if was_shortened:
            self._forget()
        return reply

    def _tell_people(self) -> None:
        """Tells what the model is not told of what people have written down."""
        for text in self.surroundings.notices():
            self._tell(Noticed(text))

    def _results(self, reply: Reply, cancel: Cancel) -> list[Block]:
        """The results of a reply's calls, in their order. What was cut off is not what the model meant to do."""
        found: dict[str, Block] = {}
        self._news = []
        able = []
        for block in reply.calls:
            if reply.stop_reason != CALLS:
                found[block["id"]] = self.said.answered(told(block["id"], CUT_OFF))
            elif not self._may(block["name"]):
                found[block["id"]] = self.said.answered(told(block["id"], NOT_OFFERED.format(block["name"])))
            else:
                able.append(block)
        if able:
            found |= {block["tool_use_id"]: block for block in self._called(able, cancel)}
        return [found[block["id"]] for block in reply.calls]

    def _may(self, name: str) -> bool:
        return self._allowed is None or self._allowed(self._named(name))

    def _named(self, name: str) -> str:
        """The tool's own name, if it was called by an old one, or by the one that a model can call it by."""
        return self._gateway.calls.judge.registry.canonical_name(self.session.joined.judged(name))

    def _called(self, blocks: Sequence[Block], cancel: Cancel) -> list[Block]:
        """Lets the calls of one turn run."""
        raws = [self.session.joined.raw(block["name"], dict(block["input"])) for block in blocks]
        results: dict[int, Block] = {}

        def begun(index: int) -> None:
            self.said.write(BEGUN, id=blocks[index]["id"])
            self._tell(Calling(blocks[index]["id"], raws[index]))

        def doing(index: int, progress: Progress) -> None:
            self._tell(Doing(blocks[index]["id"], progress))

        def ended(index: int) -> None:
            done = turn.result(index)
            assert done is not None
            results[index] = self.said.answered(tool_result(done.output, blocks[index]["id"]))
            self._keys.ended(blocks[index], is_error=done.output.is_error)
            self._tell(Called(blocks[index]["id"], raws[index], done))

        before = self._stands()
        with self._gateway.calls.turn(
            self.session, cancel, doing, ended, begun, self._keys.of(blocks, self.turns)
        ) as turn:
            for raw in raws:
                turn.add(raw)
        # A fault of ours would be raised here. What the session did not take on is told only now.
        dones = list(turn.results())
        self._news = [f"[gateway] {report}" for done in dones for report in done.not_taken]
        remembered = self.surroundings.used(dones)
        if remembered:
            self._news.append(remembered)
        self._tell_people()
        if self._stands() != before:
            self.said.write(SESSION, **self._stands())
        return [results[index] for index in range(len(blocks))]

    def _ended(self, why: str, text: str, reason: str = "") -> Outcome:
        self.said.write(ENDED, why=why, reason=reason)
        answer = self._answering.answer if why == DONE else None
        return Outcome(why, text, reason=reason, turns=self.turns, used=dict(self.used), answer=answer)

    def _stands(self) -> dict[str, Any]:
        context = self.session.context
        return {"cwd": context.cwd, "mode": context.mode, "rules": list(self.session.handed_on(context.rules))}

    def _tell(self, happening: Happening) -> None:
        if self.listener is not None:
            with self._telling:
                self.listener(happening)
