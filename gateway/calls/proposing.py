"""What a call that was refused because nobody could be asked proposes: kept for a person to look at, and told."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.approval.proposing import Proposal
    from gateway.calls.ports import InProgress
    from gateway.judge.judge import Judge
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.tools.tool import Tool

# Who "answers" where nobody was there.
_NOBODY = ("nobody", "policy")
_REVIEWER = "auto ("  # a model, whose no is not that of a person


def refused_proposal(life: InProgress, result: Result) -> Proposal | None:
    """The rule that would have let a refused call run, told to its model; None where there is none, and where a person
    has said no: then it is not proposed later either, when nobody is there."""
    verdict, tool, grant = life.verdict, life.tool, life.grant
    if result.ended != "refused" or verdict is None or tool is None:
        return None
    if grant and grant.by not in _NOBODY:
        if not grant.allow and not grant.by.startswith(_REVIEWER):
            forbid_proposal(life.planner.judge, verdict, tool)
        return None
    found = kept_proposal(life.planner.judge, verdict, tool, front=life.services.front, session=life.session.name)
    life.notes += [found.told] if found is not None else []
    return found


def kept_proposal(judge: Judge, verdict: Verdict, tool: Tool, *, front: str, session: str) -> Proposal | None:
    """The rule that would let a call run, kept for a person to look at; None where there is none, or it cannot be kept.
    Never raises: a refusal is one with a proposal or without it."""
    if all(each.reason.rule.lane != "mode" for each in verdict.outcomes):
        return None  # a rule says so: no other rule helps
    try:
        from gateway.approval.proposals import Proposals
        from gateway.approval.proposing import proposed

        found = proposed(judge, verdict, tool)
        kept = found and Proposals(judge.places.state, verdict.context.root).keep(
            found, verdict, front=front, session=session
        )
    except Exception:
        return None
    return found if kept else None


def forbid_proposal(judge: Judge, verdict: Verdict, tool: Tool) -> None:
    """Remembers that a person does not want the rule of a call. Never raises: it is proposed again, then."""
    try:
        from gateway.approval.proposals import Proposals
        from gateway.approval.proposing import proposed

        found = proposed(judge, verdict, tool)
        if found is not None:
            Proposals(judge.places.state, verdict.context.root).refuse(found.id)
    except Exception:
        return
