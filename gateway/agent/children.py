"""Agents that agents start: each with a conversation, a session and a transcript of its own, and with what its parent
has or less.

A child's policy is its parent's, with the rules of its type on top: those that hold for it alone, and those that hold
for every agent below it too. Its mode is never laxer, its tools are among its parent's, and its calls stand in the
record under its parent: its session is called `PARENT/NUMBER`.
"""

from __future__ import annotations

import os
import threading
from time import monotonic

from gateway.agent.budget import TURNS, Budget, Purse
from gateway.agent.child import Child
from gateway.agent.events import Called, Calling
from gateway.agent.loop import CANCELLED, DONE, Agent
from gateway.agent.mailbox import Post
from gateway.agent.transcript import Transcript
from gateway.agent.types import agent_types, rules_of, stricter
from gateway.calls.output import Failure, Output, Progress, Text
from gateway.calls.session import Session
from gateway.calls.state_folders import folder_of, told
from gateway.core.errors import GatewayError
from gateway.model.call import RawCall
from gateway.policy.wording import visible
from gateway.tasks.mail import Mail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.agent.events import Happening
    from gateway.agent.types import AgentType
    from gateway.calls.runner import RunsCalls
    from gateway.calls.work import Work
    from gateway.core.cancel import Cancel
    from gateway.core.errors import Problem
    from gateway.llm.model import Model
    from gateway.model.context import Context

ENTER, LEAVE = "EnterWorktree", "ExitWorktree"
MOST_DEEP = 3
MOST_AT_ONCE = 24
MOST_KEPT = 200
_LOOK_EVERY = 0.1
_IN_BACKGROUND = (
    "Agent `{}` works in the background. You are told when it has ended. AgentOutput tells how far it is, and TaskStop "
    "ends it."
)
# What a type that only reads may not do, where its parent's mode cannot be made the type's.
_READS = ("plan", "read_only")
_CEILING = '{"version": 1, "rules": [{"deny": {"effect": ["write", "delete", "push", "system", "process"]}}]}'


class Children:
    """The agents below one, all the way down. Safe to use from several threads."""

    def __init__(
        self,
        gateway: RunsCalls,
        model: Model,
        *,
        folder: str = "",
        budget: Budget | None = None,
        most_deep: int = MOST_DEEP,
        purse: Purse | None = None,
        fallback: Model | None = None,
        named: Callable[[str], str] = str,
    ) -> None:
        """`folder`: where transcripts are kept, "" to keep none; `budget`: what each may use; `purse`: what all of them
        use together with the one above them; `fallback`: who is asked where `model` cannot be had; `named`: the model
        that a name stands for, "" for none that is known."""
        self._gateway = gateway
        self._model = model
        self._folder = folder
        self._budget = budget or Budget()
        self._most_deep = most_deep
        self._purse = purse
        self._fallback = fallback
        self._named = named
        self._changed = threading.Condition()
        self._types: Mapping[str, AgentType] | None = None
        self._broken: tuple[Problem, ...] = ()
        self._lock = threading.Lock()
        self._children: dict[str, Child] = {}
        self._own: dict[Session, tuple[str, ...]] = {}  # rules that hold for a child alone

    def types(self) -> Mapping[str, AgentType]:
        """The types that may be started. Raises ConfigError."""
        with self._lock:
            if self._types is None:
                options = self._gateway.calls.judge.options
                self._types, self._broken = agent_types(
                    self._gateway.calls.judge.places, options.root, policies=options.policies, binding=options.binding
                )
            return self._types

    def working(self) -> tuple[Child, ...]:
        """Every agent that was started."""
        with self._lock:
            return tuple(self._children.values())

    def start(self, given: Mapping[str, Any], work: Work) -> Output:
        """The tool Agent: a new agent, or one that goes on, waited for unless it is to work in the background."""
        with self._lock:
            self._check_room()  # before one is made that could not begin
        child = self._resumed(given["resume"], work) if "resume" in given else self._made(given, work)
        with self._lock:
            self._check_room()
            if not child.at_rest.is_set():
                raise Failure(f"Agent `{child.name}` still works.", "Wait until it has ended: AgentOutput does.")
            if child.listening is not None and child.listening.is_alive():
                raise Failure(f"Agent `{child.name}` listens to its team.", "Send it a message: SendMessage does.")
            child.at_rest.clear()
        child.outcome, child.error = None, ""
        try:
            if given["isolation"] == "worktree" and not child.worktree:
                self._entered(child)
            if given["run_in_background"]:
                child.has_news = True
                name = f"gateway-agent-{child.name}"
                thread = threading.Thread(target=child.listen, args=(given["prompt"],), name=name, daemon=True)
                thread.start()
                child.listening = thread
        except BaseException:
            child.at_rest.set()
            raise
        if given["run_in_background"]:
            return Output((Text(_IN_BACKGROUND.format(child.name)),))
        watching = self._watched(child, work.progress)
        try:
            child.run(given["prompt"], work.cancel)
        finally:
            watching()
        return self._left(child)

    def _check_room(self) -> None:
        """Raises Failure where no more agents may work. Called with the lock held."""
        if sum(not each.at_rest.is_set() for each in self._children.values()) >= MOST_AT_ONCE:
            raise Failure(f"{MOST_AT_ONCE} agents work already.", "Wait until one has ended.")

    def _entered(self, child: Child) -> None:
        """Has a child work in a worktree of its own. Raises Failure where it cannot."""
        done = self._gateway.calls.call(RawCall(ENTER, {}), child.agent.session)
        if not done.ran or done.output.is_error:
            raise Failure(f"No worktree could be made for it: {done.text}")
        child.worktree = child.agent.session.cwd

    def _left(self, child: Child) -> Output:
        """What it is told of, and what became of its worktree: one in which nothing would be lost is removed."""
        output = self._told(child)
        with self._lock:  # of several that look at once one cleans up
            place = child.worktree if child.at_rest.is_set() else ""
            if place:
                child.worktree = ""
        if not place:
            return output
        done = self._gateway.calls.call(RawCall(LEAVE, {"remove": True}), child.agent.session)
        where = f"Its worktree is {place}." if os.path.isdir(place) else "Its worktree held nothing new and is removed."
        return output.replace(blocks=(*output.blocks, Text(f"{where} {done.text}" if done.ran else where)))

    def output(self, given: Mapping[str, Any], work: Work) -> Output:
        """The tool AgentOutput: what became of an agent, or how far it is."""
        child = self._known(given["id"], work)
        end = monotonic() + given["wait_up_to"] / 1000
        while given["block"] and not child.at_rest.is_set() and monotonic() < end and not work.cancel.is_set:
            child.at_rest.wait(_LOOK_EVERY)
        if child.at_rest.is_set():
            child.has_news = False  # this tells it
        return self._left(child)

    def _made(self, given: Mapping[str, Any], work: Work) -> Child:
        parent, context = work.session, work.context
        kind = self.types().get(given["subagent_type"])
        if kind is None:
            wanted = visible(given["subagent_type"])
            broken = f" Files that cannot be read: {'; '.join(map(str, self._broken))}." if self._broken else ""
            raise Failure(f"There is no type of agent `{wanted}`.", f"Known are {', '.join(self.types())}.{broken}")
        if context.depth >= self._most_deep:
            raise Failure(f"Agents may start agents {self._most_deep} deep, and no deeper.", "Do the task yourself.")
        self._check_team(given, folder_of(work))
        with self._lock:
            if len(self._children) >= MOST_KEPT:
                raise Failure(f"{MOST_KEPT} agents were started in this session, and no more may be.")
            number = sum(name.rpartition("/")[0] == parent.name for name in self._children) + 1
            name = f"{parent.name}/{number}"
            session = self._session(name, kind, given, parent, context)
            transcript = self._transcript(name)
            model_name = self._model_name(given.get("model", ""), kind)
            turns = [each for each in (given.get("max_turns", 0), kind.max_turns, self._budget.turns) if each]
            agent = Agent(
                self._gateway,
                self._model,
                session,
                budget=self._budget.replace(turns=min(turns) if turns else TURNS),
                transcript=transcript,
                own=kind.prompt,
                allowed=session.may,
                model_name=model_name,
                purse=self._purse,
                fallback=self._fallback,
                post=Post(folder_of(work), session.member) if session.member else None,
            )
            child = self._children[name] = Child(name, kind, agent, given["description"], transcript)
        agent.listener = lambda what: _seen(child, what)
        return child

    def _model_name(self, wanted: str, kind: AgentType) -> str:
        """The name of the model that a child is to have, "" for its parent's. Raises Failure where the name that was
        asked for stands for none."""
        if wanted and not self._named(wanted):
            raise Failure(f"No model is called `{visible(wanted)}` here.", "Leave `model` out for your own.")
        return self._named(wanted or kind.model) if wanted or kind.model else ""

    @staticmethod
    def _check_team(given: Mapping[str, Any], folder: str) -> None:
        """That a child can have the name that it is to have. Raises Failure."""
        if "team_name" not in given:
            return
        team, name = given["team_name"], given.get("name", "")
        with told():
            members = Mail(folder).teams().get(team)
        if members is None:
            raise Failure(f"There is no team `{visible(team)}`.", "Make it with TeamCreate.")
        if all(each.name != name for each in members):
            said = ", ".join(each.name for each in members)
            raise Failure(f"Team `{visible(team)}` has no member `{visible(name)}`.", f"`name` must be one of {said}.")

    def _session(
        self, name: str, kind: AgentType, given: Mapping[str, Any], parent: Session, context: Context
    ) -> Session:
        """The child's session. Called with the lock held."""
        floor = tuple(rule for rule in parent.handed_on(context.rules) if rule not in self._own.get(parent, ()))
        mode = stricter(context.mode, kind.mode)
        # As a mode is, this is handed down: what an agent that only reads starts does no more than read.
        floor += rules_of(kind.floor) + ((_CEILING,) if kind.mode in _READS and mode not in _READS else ())
        own = tuple(rule for rule in rules_of(kind.deny) if rule not in floor)
        rules = tuple(dict.fromkeys((*floor, *own)))
        reason = self._gateway.calls.judge.refuses_rules(rules)
        if reason:
            raise Failure(f"Agents of type `{kind.name}` cannot be started: {reason}.")
        cwd = given.get("cwd", context.cwd)
        if not os.path.isdir(cwd):
            raise Failure(f"{cwd} is no folder.", "Give one that is there.")
        session = Session(
            context.replace(
                cwd=os.path.realpath(cwd), mode=mode, rules=rules, agent=kind.name, depth=context.depth + 1
            ),
            name=name,
            environment=parent.environment,
            grants=None if parent.grants is None else type(parent.grants)(),
        )
        if session.context.workspace == parent.context.workspace:
            session.together = parent.together  # what it changes is shown with what its parent's calls do
        session.as_above = lambda mode: stricter(mode, parent.context.mode)
        session.agents = self
        session.model = parent.model
        session.member = given.get("name", "")
        session.has_servers = parent.has_servers and kind.allows_servers
        above = parent.may
        self._own[session] = own
        if kind.bounds_tools:
            session.may = kind.allows if above is None else lambda tool: kind.allows(tool) and above(tool)
        else:
            session.may = above
        return session

    def _resumed(self, name: str, work: Work) -> Child:
        """An agent that goes on, with what the one who has it go on may by now: its rules hold for it too. Raises
        Failure where they cannot."""
        child = self._known(name, work)
        session = child.agent.session
        rules = work.session.handed_on(work.context.rules)
        floor = tuple(rule for rule in rules if rule not in self._own.get(work.session, ()))
        added = tuple(rule for rule in floor if rule not in session.context.rules)
        if added:
            reason = self._gateway.calls.judge.refuses_rules((*session.context.rules, *added))
            if reason:
                raise Failure(f"Agent `{child.name}` cannot go on: {reason}.")
            session.rule(added)
        return child

    def news(self, session: Session) -> tuple[str, ...]:
        """What is to be told to the agent of a session: which of those that it started in the background have ended
        since it was asked last."""
        with self._changed:
            ended = [each for each in self._below(session) if each.has_news and each.at_rest.is_set()]
            for each in ended:
                each.has_news = False
        return tuple(
            f"Agent `{each.name}` has ended: {each.task}\n{self._told(each).blocks[0].text}"  # type: ignore[union-attr]
            for each in ended
        )

    def wait(self, session: Session, cancel: Cancel) -> None:
        """Waits until one of the agents has ended that the agent of a session started in the background, if there is
        one, or until `cancel` is set."""
        while not cancel.is_set:
            with self._changed:
                waited = [each for each in self._below(session) if each.has_news]
                if not waited or any(each.at_rest.is_set() for each in waited):
                    return
                self._changed.wait(_LOOK_EVERY)

    def stop(self, name: str, work: Work) -> Output:
        """The tool TaskStop, for an agent: ends what it does, with all that it has started. Raises Failure."""
        child = self._known(name, work)
        if child.at_rest.is_set() and (child.listening is None or not child.listening.is_alive()):
            raise Failure(f"Agent `{child.name}` has ended already.")
        with self._lock:
            below = [each for each in self._children.values() if each.name.startswith(child.name + "/")]
        for each in (child, *below):
            each.has_news = False
            each.cancel.set()
        while not child.at_rest.is_set() and not work.cancel.is_set:
            child.at_rest.wait(_LOOK_EVERY)
        return Output((Text(f"Agent `{child.name}` is stopped."),))

    def is_agent(self, name: str, session: Session) -> bool:
        """Whether a session has started an agent of this name."""
        with self._lock:
            return name in self._children or f"{session.name}/{name}" in self._children

    def _below(self, session: Session) -> list[Child]:
        with self._lock:
            return [each for each in self._children.values() if each.name.rpartition("/")[0] == session.name]

    def _known(self, name: str, work: Work) -> Child:
        """An agent that this one has started, or one of those below it."""
        with self._lock:
            child = self._children.get(name) or self._children.get(f"{work.session.name}/{name}")
            mine = [each for each in self._children if each.startswith(work.session.name + "/")]
        if child is None or child.name not in mine:
            raise Failure(f"There is no agent `{visible(name)}`.", f"You have started {', '.join(mine) or 'none'}.")
        return child

    def _transcript(self, name: str) -> Transcript | None:
        return Transcript(os.path.join(self._folder, name.replace("/", ".") + ".jsonl")) if self._folder else None

    def _watched(self, child: Child, progress: Callable[[Progress], None]) -> Callable[[], None]:
        """Tells what a child does while somebody waits for it; what ends that."""
        child.agent.listener = lambda what: _seen(child, what, progress)

        def end() -> None:
            child.agent.listener = lambda what: _seen(child, what)

        return end

    def _told(self, child: Child) -> Output:
        """What the one who started it is handed."""
        head = f"[agent {child.name}, {child.kind.name}]"
        outcome = child.outcome
        if child.error:
            return Output((Text(f"{head} It broke off: {visible(child.error)}"),), is_error=True)
        if outcome is None:
            doing = f"; last it called {child.doing}" if child.doing else ""
            return Output((Text(f"{head} It works on: {child.task}. {child.calls} calls so far{doing}."),))
        if outcome.why == DONE:
            return Output((Text(f"{outcome.text}\n\n{head}"),))
        why = "It was cancelled." if outcome.why == CANCELLED else f"It ended before it was done: {outcome.reason}."
        return Output((Text(f"{head} {why} What it said last:\n{outcome.text}"),), is_error=True)

    def close(self) -> None:
        """Ends every agent that still works."""
        with self._lock:
            children = list(self._children.values())
            self._children.clear()
        for child in children:
            child.cancel.set()
        for child in children:
            child.close()


def _seen(child: Child, what: Happening, progress: Callable[[Progress], None] | None = None) -> None:
    """Keeps and tells what an agent does."""
    if isinstance(what, Calling):
        child.calls += 1
        child.doing = what.raw.tool
    elif isinstance(what, Called) and progress is not None:
        refused = "" if what.done.ran else " (refused)"
        progress(Progress("event", f"{child.kind.name}: {what.raw.tool}{refused}"))


def host_of(session: Session) -> Children:
    """Who starts agents for a session. Raises Failure where nobody does."""
    host = session.agents
    if host is None:
        raise Failure("No agent can be started here: there is no model.", "Do the task yourself.")
    if not isinstance(host, Children):
        raise GatewayError("what starts agents for this session is no `Children`")
    return host
