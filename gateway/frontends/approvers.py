"""Who can be asked from the command line."""

from __future__ import annotations

import os

from gateway.render.style import style_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.approval.base import Approver, Question
    from gateway.approval.person import Person


def approvers() -> tuple[Approver, ...]:
    """The person at the terminal, if somebody is there who uses one of our streams."""
    if not (_is_terminal(0) or _is_terminal(2)):
        return ()
    from gateway.approval.console import Console

    return (Console(_question),)


def person() -> Person | None:
    """Who can be asked what is no approval: the same person."""
    if not (_is_terminal(0) or _is_terminal(2)):
        return None
    from gateway.approval.console_person import AtConsole
    from gateway.policy.wording import visible

    return AtConsole(visible)


def _is_terminal(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False


def _question(question: Question, number: int) -> str:
    from gateway.frontends.question import question_text

    with os.fdopen(os.dup(number), "w", encoding="utf-8") as terminal:
        return question_text(question, style_for(terminal))
