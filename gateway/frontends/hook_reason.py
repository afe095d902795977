"""What a hook tells a model of a call that does not simply run: which rule, where, why, and what to do instead."""

from __future__ import annotations

from gateway.agents.base import DEFER, DENY
from gateway.model.decision import Decision
from gateway.policy.explain import message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.agents.base import Event
    from gateway.judge.judge import Judge
    from gateway.model.verdict import Verdict
    from gateway.tools.tool import Tool

_LEFT = "policy asks about it"


def reason(judge: Judge, verdict: Verdict, decision: str, instead: str, event: Event, tool: Tool | None) -> str:
    """`decision`: the word that is answered; `instead`: why a question is answered with a refusal; `tool`: as the agent
    has it, None for what is no call by itself."""
    text = message(verdict)
    source = verdict.reason.rule.source
    if source.file:
        text += f" [{source.layer} policy, {source.file}:{source.line}]"
    if decision == DENY and verdict.decision is Decision.ASK:
        text += f" {instead}"
    elif decision == DEFER:
        text += f" It waits for an answer: {_LEFT}."
    elif verdict.decision is Decision.ASK:
        from gateway.approval.unreviewed_files import changed_by_code

        if found := changed_by_code(judge, verdict):
            text += f" Code has changed files that run later: {'; '.join(found)}."
    if decision == DENY and tool is not None:
        from gateway.calls.proposing import kept_proposal

        proposal = kept_proposal(judge, verdict, tool, front=f"hook:{event.agent}", session=event.session[:200])
        text += "" if proposal is None else f" {proposal.told}"
    return text
