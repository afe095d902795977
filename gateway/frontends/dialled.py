"""A connection of a call that runs, as a person is shown it: where to, who dialled, what may leave with it, and why it
is asked about. Nothing in it is invisible, and nothing that matters is cut."""

from __future__ import annotations

from gateway.approval.confusable import findings, with_escapes
from gateway.policy.explain import message
from gateway.policy.wording import shortened, visible
from gateway.render.style import Style, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.approval.base import Dialled

_LONGEST_CALL = 300
_WIDE = 8


def dialled_rows(question: Dialled) -> list[tuple[str, list[str]]]:
    """What there is to be shown as labels, each with its lines: for a terminal as for a page."""
    call = question.verdict.call
    said = f"{call.tool}({shortened(call.shown, _LONGEST_CALL)})" if call.shown else call.tool
    risky = [f"`{each.word}` may be taken for another name: {each.why}" for each in findings(question.host)]
    sends = ["anything that this call could read:", *question.reads]
    if question.secrets:
        sends += ["among that, files that look like secrets:", *question.secrets]
    return [
        ("to", [with_escapes(visible(question.where)), *risky]),
        ("from", [visible(question.program) or "a program of the call that cannot be told"]),
        ("call", [with_escapes(visible(said))]),
        ("may send", [visible(each) for each in sends]),
        ("asks", [visible(message(question.verdict))]),
    ]


def dialled_text(question: Dialled, style: Style) -> str:
    """The same as a terminal shows it, and that the call waits."""
    head = style.paint("A command that runs wants to connect to a host that nobody predicted, and waits.", "strong")
    lines = ["", head]
    for label, said in dialled_rows(question):
        lines += _labelled(label, said, style)
    return "\n".join(lines) + "\n"


def _labelled(label: str, said: Iterable[str], style: Style) -> list[str]:
    shown = [part for line in said for part in wrapped(line, style.width - _WIDE - 4)]
    heads = [label.ljust(_WIDE), *[" " * _WIDE] * len(shown)]
    return [f"  {style.paint(head, 'dim')}  {part}" for head, part in zip(heads, shown, strict=False)]
