"""The person at the terminal is asked. Silence, end of input and a time-out mean no; a key that is no answer is asked
about again, and means no at last.

The question and the answer go over the terminal itself, whatever standard input and output are. What was typed before
the question stood there is thrown away: nobody answers a question that was not shown.
"""

from __future__ import annotations

import termios
from time import monotonic

from gateway.approval.base import Answer, no
from gateway.approval.terminal import PASTED, SECONDS, at_terminal, forget_input, pressed_or_typed, user, write
from gateway.model.grant import ALWAYS, ONCE, SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.approval.base import Decided, Dialled, Question, Review
    from gateway.approval.console_review import ShowReview

    Show = Callable[[Question, int], str]
    ShowDialled = Callable[[Dialled, int], str]

_TRIES = 2
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
        review: ShowReview | None = None,
        dialled: ShowDialled | None = None,
    ) -> None:
        """`show` makes the text of a question, for an output on that descriptor. `streams`: where to read and to write
        instead of at the terminal. `by`: who sits there, the user of this process by default. `review` makes the text
        of what a call has changed, and the differences; without it nobody is asked about that here. `dialled` makes
        that of a connection of a call that runs; likewise."""
        self._show = show
        self._seconds = seconds
        self._streams = streams
        self._by = by or user()
        self._review = review
        self._dialled = dialled

    def ask(self, question: Question) -> Answer | None:
        """The person's answer; None where no person can be asked."""
        return at_terminal(lambda reading, writing: self._safely(question, reading, writing), self._streams)

    @property
    def reviews(self) -> bool:
        """Whether it can be asked when a call has ended."""
        return self._review is not None

    def review(self, review: Review) -> Decided | None:
        """What the person decides about what a call has changed; None where no person can be asked, or none answers."""
        show = self._review
        if show is None:
            return None
        from gateway.approval.console_review import ask

        return at_terminal(
            lambda reading, writing: ask(review, show, reading, writing, self._seconds, self._by), self._streams
        )

    @property
    def dials(self) -> bool:
        """Whether it can be asked while a call runs."""
        return self._dialled is not None

    def dialled(self, question: Dialled) -> Answer | None:
        """The person's answer, while the call stands still; None where no person can be asked."""
        show = self._dialled
        if show is None:
            return None
        from gateway.approval.console_dialled import ask

        return at_terminal(
            lambda reading, writing: ask(question, show, reading, writing, self._seconds, self._by), self._streams
        )

    def _safely(self, question: Question, reading: int, writing: int) -> Answer:
        try:
            return self._dialog(question, reading, writing)
        except (OSError, termios.error):
            return no(self._by, "the terminal is gone")

    def _dialog(self, question: Question, reading: int, writing: int) -> Answer:
        text = self._show(question, writing) + _choices(question)
        end = monotonic() + (question.seconds or self._seconds)
        keys = [key for scope, key, _ in _CHOICES if scope in question.may]
        for _ in range(_TRIES):
            forget_input(reading)
            write(writing, text)
            line = pressed_or_typed(reading, writing, end - monotonic(), question.cancelled, keys)
            if line is None:
                write(writing, "\n")
                return no(self._by, "no answer came")
            answer = self._understood(line, question)
            if answer is not None:
                return answer
            text = f"That is none of the answers, and nothing has run. {_prompt(question)}"
        return no(self._by, "there was no clear answer")

    def _understood(self, line: str, question: Question) -> Answer | None:
        """The answer that a line is; None for one that may be meant otherwise."""
        word, _, reason = line.partition(" ")
        if word in ("N", "n", "no"):
            scope = SESSION if word == "N" and SESSION in question.may else ONCE
            return no(self._by, reason.strip(), scope=scope)
        if line in ("", PASTED):
            return no(self._by, "that was none of the answers" if line else "")
        scope = _YES.get(line, "")
        if scope not in question.may:
            return None
        return Answer(True, scope, self._by, question.always if scope == ALWAYS else "")


def _offered(question: Question) -> list[tuple[str, str]]:
    offered = [(key, what) for scope, key, what in _CHOICES if scope in question.may]
    offered.append(("n", "no; what you write behind it is told to the model"))
    if SESSION in question.may:
        offered.append(("N", "no, and not again in this session"))
    return offered


def _prompt(question: Question) -> str:
    return f"Run it? [{'/'.join(key for key, _ in _offered(question))}] "


def _choices(question: Question) -> str:
    return "\n" + "".join(f"  {key}  {what}\n" for key, what in _offered(question)) + _prompt(question)
