"""Protocols for what calls need of the packages above them: each user names the part that it uses, and no more.

`gateway.api.services.Services` is all of it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    from gateway.approval.asking import Approval
    from gateway.approval.base import Answer, Approver, Decided, Dialled, Review
    from gateway.approval.grants import Grants
    from gateway.approval.person import Person
    from gateway.audit.calls import Lasting, Recorded
    from gateway.calls.output import Done, Output, Progress
    from gateway.calls.planner import Planner
    from gateway.calls.session import Session
    from gateway.calls.work import Handler, Work
    from gateway.core.cancel import Cancel
    from gateway.judge.judge import Judge
    from gateway.model.call import RawCall
    from gateway.model.context import Context
    from gateway.model.grant import Grant
    from gateway.model.plan import SandboxPlan
    from gateway.model.record import Rewritten
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.sandbox.changes.drafting import Draft
    from gateway.sandbox.run import Runner
    from gateway.tools.tool import Tool

    class Judges(Protocol):
        """Who judges and plans."""

        @property
        def planner(self) -> Planner:
            """For the next call, by the policy files as they are. Raises ConfigError where they are broken."""

        @property
        def planner_before(self) -> Planner:
            """By the policy files as they were when they could last be read."""

        @property
        def judge(self) -> Judge:
            """Who judges by now."""

        def look_again(self) -> None:
            """Has the next call judged by the policy files as they are by then."""

    class Approves(Protocol):
        """Who is asked where policy asks."""

        def approved(
            self,
            planner: Planner,
            verdict: Verdict,
            plan: SandboxPlan | None,
            raw: RawCall,
            context: Context | None,
            grants: Grants | None,
            planned: Callable[[Planner, Verdict], SandboxPlan | None],
            cancelled: Callable[[], bool],
            first_asked: Approver | None = None,
        ) -> tuple[Planner, Approval]:
            """Asks, `first_asked` before all others; once there is an answer, the call is judged and planned anew by
            the policy files as they are."""

        def can_review(self, planner: Planner) -> bool:
            """Whether somebody can be asked what becomes of what a call has changed, when it has ended."""

        def review(self, planner: Planner, review: Review) -> Decided | None:
            """What they say, None where nobody does."""

        def can_be_dialled(self, planner: Planner) -> bool:
            """Whether somebody can be asked about connections of a call while it runs."""

        def dialled(self, planner: Planner, question: Dialled) -> Answer:
            """What they say; a refusal where nobody does."""

    class Records(Protocol):
        """Where calls are recorded."""

        def recorded(
            self,
            planner: Planner,
            session: str,
            verdict: Verdict,
            plan: SandboxPlan | None,
            grant: Grant | None,
            *,
            rewritten: Rewritten | None = None,
        ) -> Recorded:
            """Records what was decided, before anything of the call runs."""

        def ended(self, recorded: Recorded, verdict: Verdict, result: Result) -> Result:
            """Records what became of the call; the result says what could not be recorded."""

    class Starts(Judges, Approves, Records, Protocol):
        """What starting a command takes, be it for a call or to serve calls."""

        @property
        def runner(self) -> Runner:
            """What runs it in the sandbox."""

    class Edit(Protocol):
        """What goes along with a call that may change files."""

        reports: list[str]

        def told(self, output: Output) -> Output:
            """The output, with what is wrong with the files by now."""

    class Extras(Protocol):
        """Servers that calls may use."""

        def server(self, name: str, session: Session, cancel: Cancel) -> AbstractContextManager[Any]:
            """The MCP server of this name, for as long as it is used. Raises Failure."""

        def catalogue(self, session: Session) -> Any:
            """What a session's model gets of MCP servers (`gateway.mcp.tool_catalogue`)."""

        def language(self, path: str, session: Session, cancel: Cancel) -> Any:
            """The language server for a file of this name. Raises Failure."""

        def edit(self, work: Work) -> Edit | None:
            """What has language servers hear of what a call changes, None where none was ever asked."""

    class Serves(Starts, Extras, Protocol):
        """All that the life of a call takes."""

        @property
        def person(self) -> Person | None:
            """Who sits before the sessions, None where nobody does."""

        @property
        def front(self) -> str:
            """Through what the calls came."""

        @property
        def saves_changes(self) -> bool:
            """Whether what calls change is saved, so that it can be taken back."""

        def close(self) -> None:
            """Ends what serves calls. No call may be running."""

    class InProgress(Protocol):
        """One call that is led through its life (`gateway.calls.lifecycle.Life`), as what belongs to it sees it."""

        services: Serves
        planner: Planner
        raw: RawCall
        session: Session
        context: Context
        cancel: Cancel
        progress: Callable[[Progress], None] | None
        environment: Mapping[str, str] | None
        key: str
        given: Handler | None
        tool: Tool | None
        verdict: Verdict | None
        plan: SandboxPlan | None
        grant: Grant | None
        grants: Grants | None
        output: Output
        result: Result | None
        reports: list[str]
        notes: list[str]
        draft: Draft | None
        unfetched: bool

        def another(self, raw: RawCall, /) -> Done:
            """Leads a call that belongs to this one through a life of its own."""

        def again(self) -> Done:
            """Leads this call through once more without a layer, as a person has said who saw what it did in one."""

        def lasts(self) -> Lasting:
            """The call runs on when its handler has returned: what is told its end."""
