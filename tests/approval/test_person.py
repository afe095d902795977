"""Questions that are no approvals: what counts as an answer, and a person at a real terminal."""

from __future__ import annotations

import os
import pty
import threading
from typing import Any

import pytest

from gateway.approval.console_person import AtConsole, understood
from gateway.approval.person import Asked, Choice, Inquiry, Reply, replies
from gateway.policy.wording import visible

INQUIRY = Inquiry("Which?", (Choice("Red", "warm"), Choice("Blue", "cold")), "Colour")
SEVERAL = INQUIRY.replace(several=True)
CLOSED = INQUIRY.replace(free=False)


LINES = {
    "a number": (INQUIRY, "2", Reply(("Blue",))),
    "a label in any case": (INQUIRY, " red ", Reply(("Red",))),
    "words": (INQUIRY, "Green, rather", Reply(other="Green, rather")),
    "a number that is none": (INQUIRY, "3", None),
    "two where one is asked for": (INQUIRY, "1,2", None),
    "two": (SEVERAL, "2, 1", Reply(("Blue", "Red"))),
    "the same twice": (SEVERAL, "1,red", Reply(("Red",))),
    "words where there may be none": (CLOSED, "Green", None),
    "nothing": (INQUIRY, "", None),
    "a paste": (INQUIRY, "?", None),
}


@pytest.mark.parametrize(("inquiry", "line", "reply"), LINES.values(), ids=LINES)
def test_a_line_is_understood_or_it_is_no_answer(inquiry: Inquiry, line: str, reply: Reply | None) -> None:
    assert understood(line, inquiry) == reply


def raises(_inquiries: Any) -> Any:
    raise RuntimeError


WRONG = {
    "nothing": lambda _: None,
    "too few": lambda _: [],
    "too many": lambda _: [Reply(("Red",))] * 2,
    "what is no reply": lambda _: ["Red"],
    "an empty one": lambda _: [Reply()],
    "a label that is none": lambda _: [Reply(("Green",))],
    "two": lambda _: [Reply(("Red", "Blue"))],
    "one and words": lambda _: [Reply(("Red",), "rather")],
    "a failure": raises,
}


@pytest.mark.parametrize("function", WRONG.values(), ids=WRONG)
def test_what_is_no_answer_to_the_question_counts_as_silence(function: Any) -> None:
    assert replies(Asked(function), [INQUIRY], lambda: False) is None


def test_an_answer_is_one() -> None:
    assert replies(Asked(lambda _: [Reply(("Red",))]), [INQUIRY], lambda: False) == (Reply(("Red",)),)
    assert replies(Asked(lambda _: [Reply(other="x")]), [CLOSED], lambda: False) is None
    assert replies(Asked(lambda _: [Reply(("Red",))]), [INQUIRY], lambda: True) is None
    assert replies(None, [INQUIRY], lambda: False) is None


class Terminal:
    """A pseudo-terminal with a person who types a line whenever they are asked for one."""

    def __init__(self, *lines: str) -> None:
        self.mine, self.theirs = pty.openpty()
        self.lines = [line.encode() for line in lines]
        self.shown = b""
        self.typing = threading.Thread(target=self._type)

    def ask(self, *inquiries: Inquiry, seconds: float = 30.0) -> Any:
        self.typing.start()
        try:
            console = AtConsole(visible, seconds=seconds, streams=(self.theirs, self.theirs))
            return console.answer(inquiries, cancelled=lambda: False)
        finally:
            os.close(self.theirs)
            self.typing.join()
            os.close(self.mine)

    def _type(self) -> None:
        prompts = 0
        while True:
            try:
                data = os.read(self.mine, 4096)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            self.shown += data
            while self.shown.count(b"] ") - self.shown.count(b"[Colour] ") > prompts and self.lines:
                prompts += 1
                os.write(self.mine, self.lines.pop(0))


def test_a_person_at_a_terminal_answers_each_question_in_turn() -> None:
    terminal = Terminal("2\n", "Green\n")
    assert terminal.ask(INQUIRY, INQUIRY.replace(question="And here?")) == (Reply(("Blue",)), Reply(other="Green"))
    shown = terminal.shown.decode().replace("\r\n", "\n")
    assert shown.startswith(
        "\n[Colour] Which?\n  1  Red: warm\n  2  Blue: cold\n  or say it in your own words\n[1-2] 2\n"
    )


def test_a_slip_is_asked_about_again_and_silence_is_no_answer() -> None:
    assert Terminal("7\n", "1\n").ask(INQUIRY) == (Reply(("Red",)),)
    assert Terminal("7\n", "8\n", "9\n").ask(INQUIRY) is None
    assert Terminal().ask(INQUIRY, seconds=0.0) is None
    assert Terminal("\x04").ask(INQUIRY) is None  # the end of input


def test_what_a_model_writes_plays_no_tricks_on_the_terminal() -> None:
    terminal = Terminal("1\n")
    bad = "\x1b[2J\x07\u202e"
    terminal.ask(INQUIRY.replace(question=bad, body=f"{bad}\n{bad}", choices=(Choice(bad, bad), Choice("No", ""))))
    assert not {"\x1b", "\x07", "\u202e"} & set(terminal.shown.decode())
