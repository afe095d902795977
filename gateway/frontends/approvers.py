"""Who can be asked from the command line: the person, at the terminal and at a page of the console."""

from __future__ import annotations

import os

from gateway.render.style import style_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.approval.base import Answer, Approver, Dialled, Question, Review
    from gateway.approval.person import Person


def approvers() -> tuple[Approver, ...]:
    """The person at the terminal, if somebody is there who uses one of our streams; and at a page, if a console runs.
    Where both are, both are asked at once."""
    page = _page()
    if not (_is_terminal(0) or _is_terminal(2)):
        return () if page is None else (page,)
    from gateway.approval.console import Console

    terminal = Console(_question, review=_review, dialled=_dialled)
    if page is None:
        return (terminal,)
    from gateway.approval.page import Beside

    return (Beside(terminal, page, said=_said),)


def _page() -> Any:
    """A page of the console, None where none runs."""
    from gateway.approval.page_wire import FOLDER, SOCKET
    from gateway.core.places import places

    folder = os.path.join(places().state, FOLDER)
    if not os.path.lexists(os.path.join(folder, SOCKET)):
        return None
    from gateway.approval.page import Page

    return Page(_shown, folder)


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


def _shown(question: Question) -> dict[str, Any]:
    from gateway.frontends.question import question_shown

    return question_shown(question)


def _said(answer: Answer) -> None:
    """Tells the terminal, where the question still stands, that it was answered."""
    from gateway.approval.terminal import at_terminal, write

    said = "allowed" if answer.allow else "refused"
    at_terminal(lambda _reading, writing: write(writing, f"{said} on the console's page\n"))


def _review(review: Review, _number: int, differences: bool) -> str:
    from gateway.render.changes import difference_text, review_text

    return difference_text(review.found) if differences else review_text(review.found, review.status, review.problem)


def _dialled(question: Dialled, number: int) -> str:
    from gateway.frontends.dialled import dialled_text

    with os.fdopen(os.dup(number), "w", encoding="utf-8") as terminal:
        return dialled_text(question, style_for(terminal))
