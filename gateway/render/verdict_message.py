"""The messages for a model and for a person about a verdict: `verdict.said`."""

from __future__ import annotations

from gateway.model.verdict_message import Said
from gateway.policy.explain import message, reason_of, rule_of, said_by_rule
from gateway.policy.wording import phrase, visible
from gateway.render.text import headline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.verdict import Verdict


def said(verdict: Verdict) -> Said:
    """What is to be said of a verdict."""
    source = verdict.reason.rule.source
    place = f"{source.layer} policy, {visible(source.file)}:{source.line}" if source.file else ""
    found = {
        "decision": verdict.decision.word,
        "reason": reason_of(verdict),
        "rule": rule_of(verdict.reason.rule),
        "mode": verdict.context.mode,
    }
    instead = advice(verdict)
    parts = [headline(verdict, found), why(verdict), f"instead: {instead}" if instead else ""]
    sentences = [each[0].upper() + each[1:].rstrip(".") + "." for each in parts if each]
    return Said(message(verdict), " ".join(sentences), place)


def why(verdict: Verdict) -> str:
    """What the call does that decides, and what the rule says about it."""
    because, _instead = map(visible, said_by_rule(verdict))
    note = visible(verdict.reason.note) if reason_of(verdict) != "unknown_target" else ""
    if verdict.decision.word == "allow":
        return because
    does = f"it {phrase(verdict.analysis.items[verdict.reason.item].effect)}"
    return "; ".join(each for each in (does, because, note, visible(verdict.unfetched)) if each)


def advice(verdict: Verdict) -> str:
    """What the rule advises instead; nothing for what is allowed."""
    return "" if verdict.decision.word == "allow" else visible(said_by_rule(verdict)[1])
