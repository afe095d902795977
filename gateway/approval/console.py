"""The person at the terminal is asked. Silence, end of input, a time-out or anything that is no answer means no.

The question and the answer go over the terminal itself, whatever standard input and output are. What was typed before
the question stood there is thrown away: nobody answers a question that was not shown.
"""

from __future__ import annotations

import os
import select
import termios
import threading
from time import monotonic

from gateway.approval.base import Answer, no
from gateway.model.grant import ALWAYS, ONCE, SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.approval.base import Question

    Show = Callable[[Question, int], str]

TERMINAL = "/dev/tty"
SECONDS = 300.0
MOST_TYPED = 256
_LOOK_EVERY = 0.5
_YES = {"y": ONCE, "yes": ONCE, "s": SESSION, "a": ALWAYS}
_CHOICES = ((ONCE, "y", "once"), (SESSION, "s", "for this session"), (ALWAYS, "a", "always: save the rule shown above"))

# One question at a time on a terminal, whoever asks.
_one_at_a_time = threading.Lock()


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
        self._by = by or _user()

    def ask(self, question: Question) -> Answer | None:
        """The person's answer; None where no person can be asked."""
        with _one_at_a_time:
            if self._streams is not None:
                return self._safely(question, *self._streams)
            try:
                terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
            except OSError:
                return None
            try:
                # In the background, reading would stop the process, and nobody would know why.
                if os.tcgetpgrp(terminal) != os.getpgrp():
                    return None
                return self._safely(question, terminal, terminal)
            except OSError:
                return None
            finally:
                os.close(terminal)

    def _safely(self, question: Question, reading: int, writing: int) -> Answer:
        try:
            return self._dialog(question, reading, writing)
        except (OSError, termios.error):
            return no(self._by, "the terminal is gone")

    def _dialog(self, question: Question, reading: int, writing: int) -> Answer:
        text = self._show(question, writing) + _choices(question)
        _forget_input(reading)
        _write(writing, text)
        line = self._line(question, reading)
        if line is None:
            _write(writing, "\n")
            return no(self._by, "no answer came")
        if line in ("N", "n", "no"):
            return no(self._by, scope=SESSION if line == "N" and SESSION in question.may else ONCE)
        scope = _YES.get(line, "")
        if scope not in question.may:
            return no(self._by, "" if not line else "that was none of the answers")
        return Answer(True, scope, self._by, question.always if scope == ALWAYS else "")

    def _line(self, question: Question, reading: int) -> str | None:
        """What was typed up to the end of the line; None for silence and for the end of input."""
        end = monotonic() + self._seconds
        typed = b""
        while b"\n" not in typed:
            left = end - monotonic()
            if left <= 0 or question.cancelled() or len(typed) > MOST_TYPED:
                return None
            if not select.select([reading], [], [], min(left, _LOOK_EVERY))[0]:
                continue
            data = os.read(reading, MOST_TYPED)
            if not data:
                return None
            typed += data
        line, _, more = typed.partition(b"\n")
        if more or select.select([reading], [], [], 0)[0]:  # a text that was pasted, whose first line looks like a key
            _forget_input(reading)
            return "?"
        return line.decode("utf-8", "replace").strip()


def _choices(question: Question) -> str:
    offered = [(key, what) for scope, key, what in _CHOICES if scope in question.may]
    offered.append(("n", "no"))
    if SESSION in question.may:
        offered.append(("N", "no, and not again in this session"))
    lines = [f"  {key}  {what}\n" for key, what in offered]
    return "\n" + "".join(lines) + f"Run it? [{'/'.join(key for key, _ in offered)}] "


def _forget_input(descriptor: int) -> None:
    """Throws away what was typed and not read yet."""
    if os.isatty(descriptor):
        termios.tcflush(descriptor, termios.TCIFLUSH)


def _write(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(descriptor, data) :]


def _user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"
