"""A verdict in three lines at most: what becomes of the call, why, and what to do about it."""

from __future__ import annotations

from gateway.policy.explain import reason_of, said_by_rule
from gateway.policy.wording import phrase, visible
from gateway.render.style import Style, clipped
from gateway.render.text import headline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.verdict import Verdict


def short_text(verdict: Verdict, found: dict[str, Any], style: Style, *, cut: bool) -> str:
    """The text of one verdict; `found` is what `explain` says of it. `cut`: each line is kept to the style's width, as
    on a terminal."""
    head = headline(verdict, found)
    lines = [head if not cut else clipped(head, style.width)]
    for label, text in (("why", _why(verdict)), ("do", _what_to_do(verdict, found))):
        if text:
            room = style.width - len(label) - 2
            lines.append(f"{style.paint(f'{label}:', 'dim')} {clipped(text, room) if cut else text}")
    decision = verdict.decision.word
    lines[0] = style.paint(decision.upper(), decision) + lines[0][len(decision) :]
    return "\n".join(lines) + "\n"


def _why(verdict: Verdict) -> str:
    """What the call does that decides, and what the rule says about it."""
    because, _instead = map(visible, said_by_rule(verdict))
    note = visible(verdict.reason.note) if reason_of(verdict) != "unknown_target" else ""
    if verdict.decision.word == "allow":
        return because
    does = f"it {phrase(verdict.analysis.items[verdict.reason.item].effect)}"
    return "; ".join(each for each in (does, because, note) if each)


def _what_to_do(verdict: Verdict, found: dict[str, Any]) -> str:
    """What the rule advises instead, else the smallest change; nothing for what is allowed."""
    if verdict.decision.word == "allow":
        return ""
    return visible(said_by_rule(verdict)[1]) or found.get("change") or ""
