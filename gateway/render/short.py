"""A verdict in three lines at most: what becomes of the call, why, and what to do about it."""

from __future__ import annotations

from gateway.render.style import Style, clipped
from gateway.render.text import headline
from gateway.render.verdict_message import advice, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.verdict import Verdict


def short_text(verdict: Verdict, found: dict[str, Any], style: Style, *, cut: bool) -> str:
    """The text of one verdict; `found` is what `explain` says of it. `cut`: each line is kept to the style's width, as
    on a terminal."""
    head = headline(verdict, found)
    is_allowed = verdict.decision.word == "allow"
    lines = [head if not cut else clipped(head, style.width)]
    for label, text in (
        ("why", why(verdict)),
        ("do", advice(verdict) or (not is_allowed and found.get("change")) or ""),
    ):
        if text:
            room = style.width - len(label) - 2
            lines.append(f"{style.paint(f'{label}:', 'dim')} {clipped(text, room) if cut else text}")
    decision = verdict.decision.word
    lines[0] = style.paint(decision.upper(), decision) + lines[0][len(decision) :]
    return "\n".join(lines) + "\n"
