"""What outlives a call: where the session stands, what was read in it, what runs on in the background.

    with gateway.session() as session:
        gateway.call(RawCall("Bash", {"command": "cd src"}), session=session)
        session.context.cwd

A session's working folder and mode change only between calls, never under a call that runs.
"""

from __future__ import annotations

import os
import threading
from weakref import finalize

from gateway.calls.scratch import Scratch, reserved
from gateway.core.errors import GatewayError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

    from gateway.approval.grants import Grants
    from gateway.approval.person import Person
    from gateway.calls.background import Shells
    from gateway.calls.reads import Reads
    from gateway.model.context import Context


class Session:
    """One conversation's worth of calls. Safe to use from several threads.

    `name` stands in the record. `environment`: exported variables that calls keep by choice, None to keep none.
    `grants`: what was answered for this session; None: no answer holds for longer than one call. `single`: it ends with
    its one call, whose result is therefore given whole, and which can leave nothing running.
    """

    def __init__(
        self,
        context: Context,
        *,
        name: str | None = None,
        environment: Mapping[str, str] | None = None,
        grants: Grants | None = None,
        single: bool = False,
        person: Person | None = None,
    ) -> None:
        """`name`: a new one by default. `person`: who sits before it, None where nobody does."""
        self.name = os.urandom(6).hex() if name is None else name
        self.environment = environment
        self.grants = grants
        self.single = single
        self.person = person
        self.member = ""  # the name under which teams know whoever works in it
        self.before_plan = ""  # the mode that an accepted plan leads back to
        # For an agent that another one has started: makes its mode stricter where that one's is by now.
        self.as_above: Callable[[str], str] | None = None
        self.may: Callable[[str], bool] | None = None  # the tools that its agent may call, None for all
        self.agents: Any = None  # who starts other agents for it (`gateway.agent.children`), None where nobody does
        self.model: Any = None  # who reads for its tools (`gateway.llm.model.Model`), None where nobody does
        self.left: dict[str, str] = {}  # worktree that was entered -> the working folder before
        self.todos: tuple[tuple[str, str, str], ...] = ()
        self.answer_schema: Mapping[str, Any] | None = None  # what its final answer must be, where it must be data
        self.answer: Mapping[str, Any] | None = None
        self.begun_by_person = ""  # the skill or command that a person begins just now
        self.joined: Any = (
            None  # what its model gets of MCP servers (`gateway.mcp.tool_catalogue`), None where none have joined it
        )
        self.has_servers = True  # whether its agent may call any tool of an MCP server
        # Files that a call may go on to change in a layer and keep, as a person has said, by tool, call and folder.
        self.agreed_changes: dict[tuple[str, str, str], frozenset[str]] = {}
        self.refused_hosts: set[tuple[str, int]] = set()  # that calls dialled, and a person refused for the session
        # The layers of a turn whose changes are shown at its end (`gateway.calls.turn_drafts.Together`), else None.
        self.together: Any = None
        self.searched: frozenset[str] = frozenset()  # tools that were searched for, and are shown in full since
        # The folder has its name from the start and is made when it is needed: no call sees its circumstances change.
        self._context = context.replace(scratch=reserved(context.workspace))
        self._lock = threading.RLock()
        self._reads: Reads | None = None
        self._shells: Shells | None = None
        self._scratch: Scratch | None = None
        self._end: finalize[..., Session] | None = None
        self._closed = False
        self._with_it: list[Callable[[], object]] = []
        self._for_now: tuple[str, ...] = ()
        self.opened: frozenset[str] = frozenset()  # of its rules, those that end with it, whoever goes on

    @property
    def context(self) -> Context:
        """The circumstances of the next call: working folder and mode as the calls before it left them, the mode made
        stricter where the session above it has become stricter meanwhile."""
        context = self._context
        if self.as_above is None:
            return context
        mode = self.as_above(context.mode)
        return context if mode == context.mode else context.replace(mode=mode)

    @property
    def cwd(self) -> str:
        """Where the next call starts."""
        return self._context.cwd

    @property
    def reads(self) -> Reads:
        """What the session's calls have read, and in which version."""
        with self._lock:
            if self._reads is None:
                from gateway.calls.reads import Reads

                self._reads = Reads()
            return self._reads

    @property
    def shells(self) -> Shells:
        """The session's background commands; they end with it."""
        with self._lock:
            self._check_open()
            if self._shells is None:
                from gateway.calls.background import Shells

                self._shells = Shells()
            return self._shells

    def scratch(self) -> str:
        """A folder of this session that nobody else can look into, for outputs too long to show; it goes with it.
        Raises GatewayError where there can be none, or no more."""
        with self._lock:
            self._check_open()
            if self._scratch is None:
                self._scratch = Scratch(self._context.scratch)
                self._end = finalize(self, self._scratch.remove)
            return self._scratch.path

    def follow(self, folder: str) -> bool:
        """Makes a folder the working one if it is really there, by its real path. A command said where it ended, and
        could say anything; each call is judged anew from where it starts."""
        if not (folder and os.path.isdir(folder) and os.path.realpath(folder) == folder):
            return False
        with self._lock:
            self._context = self._context.replace(cwd=folder)
        return True

    def enter(self, mode: str) -> None:
        """Makes another mode that of the next call. Whether policy leaves it open is for the caller to have asked."""
        with self._lock:
            self._context = self._context.replace(mode=mode)

    def rule(self, rules: tuple[str, ...]) -> None:
        """Adds rules, each the text of a policy file, which hold from the next call on. Whether they can hold is for
        the caller to have asked."""
        with self._lock:
            self._context = self._context.replace(rules=tuple(dict.fromkeys((*self._context.rules, *rules))))

    def narrows_for_now(self, rules: tuple[str, ...]) -> None:
        """Says of rules that `rule` is about to add that they hold until the next task only."""
        with self._lock:
            self._for_now += rules

    def opens(self, rules: tuple[str, ...]) -> None:
        """Says of rules that `rule` is about to add that they allow something, so that they end with this session:
        neither the agents that it starts, nor what it schedules, nor what is begun from its transcript has them."""
        with self._lock:
            self.opened |= frozenset(rules)

    def handed_on(self, rules: tuple[str, ...]) -> tuple[str, ...]:
        """Of some rules, those that hold for what outlives the session too."""
        return tuple(text for text in rules if text not in self.opened) if self.opened else rules

    @property
    def lasting_rules(self) -> tuple[str, ...]:
        """Its rules, without those that hold until the next task only, or until it ends."""
        with self._lock:
            passing, rules = self._for_now, self.handed_on(self._context.rules)
        return tuple(text for text in rules if text not in passing) if passing else rules

    def next_task(self) -> None:
        """Somebody has said what to do next: what a skill of the last task forbade is forbidden no longer. Nothing that
        a model can do comes to this."""
        with self._lock:
            passing, self._for_now = set(self._for_now), ()
            rules = tuple(text for text in self._context.rules if text not in passing)
            self._context = self._context.replace(rules=rules)

    def ends_with_it(self, end: Callable[[], object]) -> None:
        """Has this called when the session is closed. Raises GatewayError where it has been."""
        with self._lock:
            self._check_open()
            self._with_it.append(end)

    def close(self) -> None:
        """Ends every background command and server of the session, and removes the scratch folder. No call of the
        session may be running."""
        with self._lock:
            self._closed = True
            shells, self._shells = self._shells, None
            self._scratch = None
            with_it, self._with_it = self._with_it, []
        try:
            if shells is not None:
                shells.close()
        finally:
            try:
                for end in with_it:
                    end()
            finally:
                if self._end is not None:
                    self._end()

    def _check_open(self) -> None:
        if self._closed:
            raise GatewayError("the session has ended")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
