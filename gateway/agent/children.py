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

from gateway.agent.loop import CANCELLED, DONE, TURNS, Agent, Budget, Called, Calling
from gateway.agent.mailbox import Post
from gateway.agent.transcript import Transcript
from gateway.agent.types import agent_types, rules_of, stricter
from gateway.calls.output import Failure, Output, Progress, Text
from gateway.calls.session import Session
from gateway.calls.state_folders import folder_of, told
from gateway.core.cancel import Cancel
from gateway.core.errors import GatewayError
from gateway.model.call import RawCall
from gateway.policy.wording import visible
from gateway.tasks.mail import Mail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.agent.loop import Happening, Outcome
    from gateway.agent.types import AgentType
    from gateway.calls.runner import RunsCalls
    from gateway.calls.work import Work
    from gateway.core.errors import Problem
    from gateway.llm.model import Model
    from gateway.model.context import Context

ENTER, LEAVE = "EnterWorktree", "ExitWorktree"
MOST_DEEP = 3
MOST_AT_ONCE = 24
MOST_KEPT = 200
_LOOK_EVERY = 0.1
# What a type that only reads may not do, where its parent's mode cannot be made the type's.
_READS = ("plan", "read_only")
_CEILING = '{"version": 1, "rules": [{"deny": {"effect": ["write", "delete", "push", "system", "process"]}}]}'


class Child:
    """One agent that was started. `outcome`: None while it works."""

    def __init__(self, name: str, kind: AgentType, agent: Agent, task: str, transcript: Transcript | None) -> None:
        self.name = name
        self.kind = kind
        self.agent = agent
        self.task = task
        self.transcript = transcript
        self.outcome: Outcome | None = None
        self.error = ""
        self.doing = ""  # what it was seen to do last
        self.calls = 0
        self.worktree = ""
        self.cancel = Cancel()
        self.at_rest = threading.Event()  # it has nothing to do
        self.at_rest.set()
        self.listening: threading.Thread | None = None
        self.post = agent.post

    def run(self, task: str, cancel: Cancel) -> None:
        """Works on a task until that has ended. Never raises: what went wrong is in `error`."""
        self._do(lambda: self.agent.run(task, cancel))

    def listen(self, task: str) -> None:
        """Works on a task, and then on what its teams write to it, until it is cancelled or in no team any more."""
        self.run(task, self.cancel)
        while not self.cancel.is_set and not self.error and self.agent.post is not None:
            self._do(self._mail)

    def _mail(self) -> Outcome | None:
        """Does what the next message asks for; what was before if none came."""
        post = self.agent.post
        if post is None or not post.is_member():
            self.agent.post = None
        elif self.agent.take_in():
            self.at_rest.clear()
            return self.agent.go_on(self.cancel)
        else:
            self.cancel.wait(_LOOK_EVERY)
        return self.outcome

    def _do(self, work: Callable[[], Outcome | None]) -> None:
        try:
            self.outcome = work()
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
        finally:
            self.at_rest.set()

    def close(self) -> None:
        """Ends whatever it still does."""
        self.cancel.set()
        self.at_rest.wait()
        if self.listening is not None:
            self.listening.join()
        if self.post is not None:
            self.post.close()
        self.agent.session.close()
        if self.transcript is not None:
            self.transcript.close()
        self.cancel.close()


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
    ) -> None:
        """`folder`: where transcripts are kept, "" to keep none; `budget`: what each may use."""
        self._gateway = gateway
        self._model = model
        self._folder = folder
        self._budget = budget or Budget()
        self._most_deep = most_deep
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
                name = f"gateway-agent-{child.name}"
                thread = threading.Thread(target=child.listen, args=(given["prompt"],), name=name, daemon=True)
                thread.start()
                child.listening = thread
        except BaseException:
            child.at_rest.set()
            raise
        if given["run_in_background"]:
            return Output((Text(f"Agent `{child.name}` works in the background: AgentOutput tells how far it is."),))
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
            turns = [each for each in (given.get("max_turns", 0), kind.max_turns, self._budget.turns) if each]
            agent = Agent(
                self._gateway,
                self._model,
                session,
                budget=self._budget.replace(turns=min(turns) if turns else TURNS),
                transcript=transcript,
                own=kind.prompt,
                allowed=session.may,
                model_name=given.get("model", kind.model),
                post=Post(folder_of(work), session.member) if session.member else None,
            )
            child = self._children[name] = Child(name, kind, agent, given["description"], transcript)
        agent.listener = lambda what: _seen(child, what)
        return child

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
        floor = tuple(rule for rule in context.rules if rule not in self._own.get(parent, ()))
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
        floor = tuple(rule for rule in work.context.rules if rule not in self._own.get(work.session, ()))
        added = tuple(rule for rule in floor if rule not in session.context.rules)
        if added:
            reason = self._gateway.calls.judge.refuses_rules((*session.context.rules, *added))
            if reason:
                raise Failure(f"Agent `{child.name}` cannot go on: {reason}.")
            session.rule(added)
        return child

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
