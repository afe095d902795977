"""The person at the terminal is asked. Silence, end of input, a time-out or anything that is no answer means no.

The question and the answer go over the terminal itself, whatever standard input and output are. What was typed before
the question stood there is thrown away: nobody answers a question that was not shown.
"""

from __future__ import annotations

import termios

from gateway.approval.base import Answer, no
from gateway.approval.terminal import SECONDS, at_terminal, forget_input, typed_line, user, write
from gateway.model.grant import ALWAYS, ONCE, SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.approval.base import Question

    Show = Callable[[Question, int], str]

_YES = {"y": ONCE, "yes": ONCE, "s": SESSION, "a": ALWAYS}
_CHOICES = ((ONCE, "y", "once"), (SESSION, "s", "for this session"), (ALWAYS, "a", "always: save the rule shown above"))


class Console:
    """Asks at the controlling terminal, or at the descriptors given."""

    name = "console"

    def __init__(
        self,
        show: Show,
        *,
        seconds: float = SECONDS,
        streams: tuple[int, int] | None = None,
        by: str = "",
    ) -> None:
        """`show` makes the text of a question, for an output on that descriptor. `streams`: where to read and to write
        instead of at the terminal. `by`: who sits there, the user of this process by default."""
        self._show = show
        self._seconds = seconds
        self._streams = streams
        self._by = by or user()

    def ask(self, question: Question) -> Answer | None:
        """The person's answer; None where no person can be asked."""
        return at_terminal(lambda reading, writing: self._safely(question, reading, writing), self._streams)

    def _safely(self, question: Question, reading: int, writing: int) -> Answer:
        try:
            return self._dialog(question, reading, writing)
        except (OSError, termios.error):
            return no(self._by, "the terminal is gone")

    def _dialog(self, question: Question, reading: int, writing: int) -> Answer:
        text = self._show(question, writing) + _choices(question)
        forget_input(reading)
        write(writing, text)
        line = typed_line(reading, self._seconds, question.cancelled)
        if line is None:
            write(writing, "\n")
            return no(self._by, "no answer came")
        if line in ("N", "n", "no"):
            return no(self._by, scope=SESSION if line == "N" and SESSION in question.may else ONCE)
        scope = _YES.get(line, "")
        if scope not in question.may:
            return no(self._by, "" if not line else "that was none of the answers")
        return Answer(True, scope, self._by, question.always if scope == ALWAYS else "")


def _choices(question: Question) -> str:
    offered = [(key, what) for scope, key, what in _CHOICES if scope in question.may]
    offered.append(("n", "no"))
    if SESSION in question.may:
        offered.append(("N", "no, and not again in this session"))
    lines = [f"  {key}  {what}\n" for key, what in offered]
    return "\n" + "".join(lines) + f"Run it? [{'/'.join(key for key, _ in offered)}] "
