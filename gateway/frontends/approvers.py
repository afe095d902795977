"""Who can be asked from the command line: the person, at the terminal and at a page of the console."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.approval.base import Answer, Approver, Dialled, Question, Review
    from gateway.approval.page import Page, Remote
    from gateway.approval.person import Person


def approvers(*, lasting: bool = False) -> tuple[Approver, ...]:
    """The person at the terminal, if somebody is there who uses one of our streams; and at a page or elsewhere, if a
    console runs. Where several are, all are asked at once. `lasting`: whoever asks goes on for long, so that a console
    may start meanwhile."""
    found: list[Approver] = []
    pages = by_console(lasting=lasting)
    if _is_terminal(0) or _is_terminal(2):
        from gateway.approval.console import Console

        found.append(Console(_question, review=_review, dialled=_dialled))
    if not pages:
        return tuple(found)
    from gateway.approval.page import Beside

    here, elsewhere = pages
    return (Beside(found[0], here, said=_said) if found else here, elsewhere)


def by_console(*, lasting: bool) -> tuple[()] | tuple[Page, Remote]:
    """A page of the console here, and people elsewhere whom it asks. `lasting`: also where none runs now."""
    from gateway.core.places import DESK, DESK_FOLDER, places

    folder = os.path.join(places().state, DESK_FOLDER)
    if not lasting and not os.path.lexists(os.path.join(folder, DESK)):
        return ()
    from gateway.approval.page import Page, Remote

    shows: Any = {"dialled": _dialled_shown, "review": _review_shown}
    return Page(_shown, folder, **shows), Remote(_shown, folder, **shows)


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
    from gateway.render.style import style_for

    with os.fdopen(os.dup(number), "w", encoding="utf-8") as terminal:
        return question_text(question, style_for(terminal))


def _shown(question: Question) -> dict[str, Any]:
    from gateway.frontends.question import question_shown

    return question_shown(question)


def _dialled_shown(question: Dialled) -> dict[str, Any]:
    from gateway.frontends.question import dialled_shown

    return dialled_shown(question)


def _review_shown(review: Review) -> dict[str, Any]:
    from gateway.frontends.question import review_shown

    return review_shown(review)


def _said(answer: Answer) -> None:
    """Tells the terminal, where the question still stands, that it was answered."""
    from gateway.approval.terminal import at_terminal, write
    from gateway.policy.wording import visible

    said = "allowed" if answer.allow else "refused"
    at_terminal(lambda _reading, writing: write(writing, f"{said} by {visible(answer.by)}\n"))


def _review(review: Review, _number: int, differences: bool) -> str:
    from gateway.render.changes import difference_text, review_text

    return difference_text(review.found) if differences else review_text(review.found, review.status, review.problem)


def _dialled(question: Dialled, number: int) -> str:
    from gateway.frontends.dialled import dialled_text
    from gateway.render.style import style_for

    with os.fdopen(os.dup(number), "w", encoding="utf-8") as terminal:
        return dialled_text(question, style_for(terminal))
