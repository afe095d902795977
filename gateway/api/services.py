"""What serves calls that run: who judges them, who is asked, where they are recorded, and the servers they may use.

One `Services` serves any number of calls at once, whatever they came through. Those below see it by the ports of
`gateway.calls.ports`; it is the only one that knows MCP servers and language servers.
"""

from __future__ import annotations

import os
from _thread import allocate_lock

from gateway.audit import calls, secrets
from gateway.audit.log import log_of
from gateway.calls.planner import Planner
from gateway.model.decision import Decision
from gateway.sandbox.run import Runner
from gateway.sandbox.survey import Surveyor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from gateway.approval.asking import Approval, Judgement
    from gateway.approval.base import Answer, Approver, Attendant, Decided, Dialled, Review, Reviewer
    from gateway.approval.grants import Grants
    from gateway.approval.person import Person
    from gateway.audit.calls import Recorded
    from gateway.audit.log import Log
    from gateway.calls.session import Session
    from gateway.calls.work import Work
    from gateway.core.cancel import Cancel
    from gateway.judge.judge import Judge
    from gateway.lsp.edits import Edit
    from gateway.lsp.server_pool import Languages
    from gateway.mcp.server_pool import Servers
    from gateway.mcp.tool_catalogue import Catalogue
    from gateway.model.call import RawCall
    from gateway.model.context import Context
    from gateway.model.grant import Grant
    from gateway.model.plan import SandboxPlan
    from gateway.model.record import Rewritten
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.tools.registry import Registry


class Services:
    """Safe to use from several threads."""

    def __init__(
        self,
        judge: Judge,
        *,
        approver: Approver | Sequence[Approver] = (),
        runner: Runner | None = None,
        log: Log | None = None,
        front: str = "library",
        person: Person | None = None,
        saves_changes: bool = True,
    ) -> None:
        """`approver`: who can be asked where policy asks, in the order of its setting `approvers`; without one, what
        would be asked is refused. `log`: where every decision and outcome is recorded, by default in the user's state
        folder as policy says; `front`: through what the calls came. `person`: who sits before the sessions and can be
        asked what is no approval; None for nobody. `saves_changes`: what calls change is saved, so that it can be
        taken back."""
        self.saves_changes = saves_changes
        self._approvers = approver if isinstance(approver, (list, tuple)) else (approver,)
        self._planner = Planner(judge, Surveyor(judge, secrets.holds))
        self._has_saved = False
        self.runner = runner or Runner(os.path.join(judge.places.state, "quarantine"))
        self.log = log or log_of(
            judge.places.state, judge.loaded.settings, _private_fields(judge.registry), judge.environment
        )
        self.front = front
        self.person = person
        self._servers: Servers | None = None
        self._languages: Languages | None = None
        self._lock = allocate_lock()

    @property
    def servers(self) -> Servers:
        """The MCP servers that policy configures."""
        with self._lock:
            if self._servers is None:
                from gateway.mcp.server_pool import Servers

                self._servers = Servers(self)
            return self._servers

    @property
    def languages(self) -> Languages:
        """The language servers that policy configures."""
        with self._lock:
            if self._languages is None:
                from gateway.lsp.server_pool import Languages

                self._languages = Languages(self)
            return self._languages

    def server(self, name: str, session: Session, cancel: Cancel) -> AbstractContextManager[Any]:
        """The MCP server of this name, for as long as it is used; started when it is first needed. Raises Failure."""
        return self.servers.lent(name, session, cancel)

    def catalogue(self, session: Session) -> Catalogue:
        """What a session's model gets of MCP servers from now on."""
        from gateway.mcp.tool_catalogue import catalogue_of

        return catalogue_of(session, self.servers, self)

    def language(self, path: str, session: Session, cancel: Cancel) -> Any:
        """The language server for a file of this name; started when it is first needed. Raises Failure."""
        return self.languages.get(path, session, cancel)

    def edit(self, work: Work) -> Edit | None:
        """What has language servers hear of what a call changes; None where none was ever asked. Never raises."""
        return None if self._languages is None else self._languages.edit(work)

    @property
    def planner(self) -> Planner:
        """Who judges the next call: by the policy files as they were, unless an answer has changed them."""
        return self._renewed() if self._has_saved else self._planner

    @property
    def planner_before(self) -> Planner:
        """Who judged by the policy files as they were when they could last be read."""
        return self._planner

    @property
    def judge(self) -> Judge:
        """Who judges: the judge that was given, or one that read the policy anew after it had changed."""
        return self._planner.judge

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
        """Asks, `first_asked` before all others; once there is an answer, the call is judged and planned anew by the
        policy files as they are then."""
        from gateway.approval.asking import Asking, Judgement  # lazy, as all of it: most calls are not asked about

        def again() -> Judgement:
            nonlocal planner
            planner = self._renewed()
            now = planner.judge.check(raw, context)
            return Judgement(planner.judge, now, None if now.decision is Decision.DENY else planned(planner, now))

        first = Judgement(planner.judge, verdict, plan)
        approvers = self._approvers if first_asked is None else (first_asked, *self._approvers)
        approval = Asking(approvers, grants).approve(first, again, cancelled)
        if approval.grant is not None and approval.grant.saved:
            self._has_saved = True
        return planner, approval

    def can_review(self, planner: Planner) -> bool:
        """Whether somebody can be asked what becomes of what a call has changed, when it has ended."""
        return bool(self._approvers) and bool(self._reviewers(planner))

    def review(self, planner: Planner, review: Review) -> Decided | None:
        """What the first of them says who says anything."""
        from gateway.approval.base import Decided

        for each in self._reviewers(planner):
            found = each.review(review)
            if isinstance(found, Decided):
                return found
        return None

    def can_be_dialled(self, planner: Planner) -> bool:
        """Whether somebody can be asked about connections of a call while it runs."""
        return bool(self._approvers) and bool(self._attendants(planner))

    def dialled(self, planner: Planner, question: Dialled) -> Answer:
        """What the first of them says who says anything; a refusal where nobody does."""
        from gateway.approval.base import checked_dial, no

        for each in self._attendants(planner):
            found = each.dialled(question)
            if found is not None:
                return checked_dial(found, question)
        return no("nobody")

    def _attendants(self, planner: Planner) -> list[Attendant]:
        return [each for each in self._chosen(planner) if getattr(each, "dials", False)]

    def _reviewers(self, planner: Planner) -> list[Reviewer]:
        return [each for each in self._chosen(planner) if getattr(each, "reviews", False)]

    def _chosen(self, planner: Planner) -> Sequence[Any]:
        """Those who may be asked what is no approval of a call; nobody where policy wants others to agree."""
        from gateway.approval.asking import chosen_of, together
        from gateway.approval.base import wants_others

        settings = planner.judge.loaded.settings
        if "remote" in settings and wants_others(settings["remote"].value):
            return ()
        return together(chosen_of(self._approvers, settings.get("approvers")))

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
        """Records what was decided, before anything of the call runs. `rewritten`: what hooks made of the call."""
        policy = planner.judge.loaded_for(verdict).policy.revision
        told = None if grant is None else calls.told(grant)
        return calls.decided(
            self.log, verdict, front=self.front, session=session, plan=plan, grant=told, policy=policy,
            rewritten=rewritten, bundle=planner.judge.bundle,
        )  # fmt: skip

    def ended(self, recorded: Recorded, verdict: Verdict, result: Result) -> Result:
        """Records what became of the call; the result says what could not be recorded."""
        return calls.ended(self.log, recorded, verdict, result)

    def look_again(self) -> None:
        """Has the next call judged by the policy files as they are by then."""
        self._has_saved = True

    def _renewed(self) -> Planner:
        """Who judges by the policy files as they are now."""
        planner = self._planner
        judge = planner.judge.renewed()
        if judge is not planner.judge:
            planner = self._planner = Planner(judge, Surveyor(judge, secrets.holds))
            if self._servers is not None:
                self._servers.look_over_all()
        self._has_saved = False
        return planner

    def close(self) -> None:
        """Ends what serves the calls. No call may be running."""
        if self._servers is not None:
            self._servers.close()
        if self._languages is not None:
            self._languages.close()
        self.runner.close()
        self.log.close()


def _private_fields(registry: Registry) -> Callable[[str], Collection[str]]:
    """Which fields of a tool the record keeps size and digest of only, as `tools.yaml` declares them."""
    return lambda name: registry[name].entry["private"] if name in registry else ()
