"""The person at the terminal says whether a call that runs may connect to a host that nobody predicted.

The call stands still meanwhile: it may share this terminal, and what it writes there could stand in the place of the
question, what it asks for could be answered instead of it.
"""

from __future__ import annotations

import termios
from time import monotonic

from gateway.approval.base import Answer, no
from gateway.approval.terminal import as_usual, forget_input, pressed_or_typed, write
from gateway.model.grant import ONCE, SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.approval.base import Dialled

_TRIES = 3


def ask(
    question: Dialled, show: Callable[[Dialled, int], str], reading: int, writing: int, seconds: float, by: str
) -> Answer:
    """The person's answer; silence, the end of input and answers that are none are no."""
    if question.cancelled():  # somebody else was asked something until now
        return no(by, "no answer came")
    try:
        with question.still() as stands:
            if not stands:
                return no("nobody", "the call could not be made to stand still for the question")
            with as_usual(reading, writing):
                return _dialog(question, show, reading, writing, seconds, by)
    except (OSError, termios.error):
        return no(by, "the terminal is gone")


def _dialog(
    question: Dialled, show: Callable[[Dialled, int], str], reading: int, writing: int, seconds: float, by: str
) -> Answer:
    text = show(question, writing) + _choices(question)
    end = monotonic() + seconds
    for _ in range(_TRIES):
        forget_input(reading)
        write(writing, text)
        line = pressed_or_typed(reading, writing, end - monotonic(), question.cancelled, ("y",))
        if line is None:
            write(writing, "\n")
            return no(by, "no answer came")
        if line in ("y", "yes"):
            return Answer(True, ONCE, by)
        word, _, reason = line.partition(" ")
        if word in ("n", "no", "N"):
            return no(by, reason.strip(), scope=SESSION if word == "N" and question.session else ONCE)
        text = f"That is none of the answers, and nothing was sent. {_prompt(question)}"
    return no(by, "there was no clear answer")


def _offered(question: Dialled) -> list[tuple[str, str]]:
    offered = [("y", "yes, this call, this host and port"), ("n", "no; what you write behind it is told to the model")]
    return [*offered, ("N", "no, and not again in this session")] if question.session else offered


def _prompt(question: Dialled) -> str:
    return f"Let it connect? [{'/'.join(key for key, _ in _offered(question))}] "


def _choices(question: Dialled) -> str:
    return "\n" + "".join(f"  {key}  {what}\n" for key, what in _offered(question)) + _prompt(question)
