"""A person at a terminal is asked about a connection of a call that runs, while that stands still."""

from __future__ import annotations

import os
import termios
import tty
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from approval.test_console import Person

from gateway.approval import terminal
from gateway.approval.base import Answer, Dialled, checked_dial, no
from gateway.approval.console import Console
from gateway.approval.page import Beside, Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NO = no("ann")


@pytest.fixture
def ask(judged) -> Iterator[Callable[..., tuple[Answer | None, Person, list[str]]]]:
    people: list[Person] = []

    def asked(
        *types: bytes | None,
        stands: bool = True,
        cancelled: bool = False,
        session: bool = True,
        before: Callable[[int], None] = lambda _terminal: None,
        **how: float,
    ):
        person = Person(*types, prompt=b"Let it connect?")
        people.append(person)
        before(person.slave)
        happened: list[str] = []

        @contextmanager
        def still() -> Iterator[bool]:
            happened.append("stands")
            try:
                yield stands
            finally:
                happened.append("goes on")

        console = Console(
            lambda _question, _number: "", dialled=lambda question, _number: f"to {question.where}\n",
            streams=(person.slave, person.slave), by="ann", **how,
        )  # fmt: skip
        question = Dialled(
            judged("make a").verdict, "up.acme.com", 443, still=still, session=session, cancelled=lambda: cancelled
        )
        return console.dialled(question), person, happened

    yield asked
    for person in people:
        person.leave()


@pytest.mark.parametrize(
    ("types", "session", "expected"),
    [
        pytest.param((b"y\n",), True, Answer(True, "once", "ann"), id="yes"),
        pytest.param((b"yes\n",), False, Answer(True, "once", "ann"), id="yes, in a word"),
        pytest.param((b"n\n",), True, NO, id="no"),
        pytest.param((b"n use the mirror\n",), True, no("ann", "use the mirror"), id="no, with a reason"),
        pytest.param((b"N\n",), True, no("ann", scope="session"), id="no for the session"),
        pytest.param((b"N\n",), False, NO, id="there is no session"),
        pytest.param((b"s\n",), True, no("ann", "there was no clear answer"), id="nothing is allowed for the session"),
        pytest.param((b"\n",), True, no("ann", "there was no clear answer"), id="an empty line"),
        pytest.param((b"x\n", b"y\n"), True, Answer(True, "once", "ann"), id="a slip, then yes"),
        pytest.param((b"y\ny\n",), True, no("ann", "there was no clear answer"), id="pasted"),
        pytest.param((b"\x04",), True, no("ann", "no answer came"), id="the end of input"),
        pytest.param((None,), True, no("ann", "no answer came"), id="the terminal goes away"),
    ],
)
def test_only_a_clear_yes_is_one(ask, types: tuple[bytes | None, ...], session: bool, expected: Answer) -> None:
    answer, person, happened = ask(*types, session=session)
    if types == (None,):
        assert answer in (expected, no("ann", "the terminal is gone"))
    else:
        assert answer == expected
    assert happened == ["stands", "goes on"]
    assert b"to up.acme.com:443" in person.seen


def test_what_a_program_made_of_the_terminal_neither_hides_the_question_nor_keeps_the_answer_back(ask) -> None:
    def spoilt(terminal: int) -> None:
        os.write(terminal, b"\x1b[8m\x1b(0\x1b[1;1r\x1b]0;a title that never ends")
        tty.setraw(terminal)

    answer, person, _happened = ask(b"y\r", before=spoilt)
    assert answer == Answer(True, "once", "ann")
    _shown, _title, rest = person.seen.partition(b"never ends")
    assert rest.startswith(b"\x18\x1b\\\x1b[!p\x1b[0m\x1b(B")
    assert b"to up.acme.com:443" in rest
    assert not termios.tcgetattr(person.slave)[3] & termios.ICANON  # as the program had it


def test_a_key_alone_is_a_yes_once_the_question_has_stood_there(ask, monkeypatch) -> None:
    monkeypatch.setattr(terminal, "SETTLED", 0.0)
    assert ask(b"y", seconds=10.0)[0] == Answer(True, "once", "ann")


def test_silence_is_no(ask) -> None:
    assert ask(b"", seconds=0.1)[0] == no("ann", "no answer came")


def test_a_question_that_nobody_waits_for_any_more_is_not_shown(ask) -> None:
    answer, person, happened = ask(b"y\n", cancelled=True)
    assert (answer, person.seen, happened) == (no("ann", "no answer came"), b"", [])


def test_a_call_that_does_not_stand_still_is_not_asked_about(ask) -> None:
    """What it writes could stand in the place of the question."""
    answer, person, _happened = ask(b"y\n", stands=False)
    assert (answer, person.seen) == (no("nobody", "the call could not be made to stand still for the question"), b"")


def test_a_terminal_beside_a_page_is_asked_and_one_without_a_text_is_not(judged, tmp_path) -> None:
    def show(_question: object, _number: int) -> str:
        return ""

    page = Page(lambda _question: {}, str(tmp_path))
    assert [Beside(Console(show, dialled=each), page).dials for each in (show, None)] == [True, False]
    assert [Console(show, dialled=each).dials for each in (show, None)] == [True, False]
    assert Console(show).dialled(Dialled(judged("make a").verdict, "up.acme.com", 443)) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, no("nobody", "the answer was none")),
        (True, no("nobody", "the answer was none")),
        (Answer(True, "session", "ann"), no("ann", "the answer was not among those that this question has")),
        (Answer(True, "once", "ann", rule="x"), no("ann", "the answer was not among those that this question has")),
        (Answer(1, "once", "ann"), no("ann", "the answer was not among those that this question has")),  # type: ignore[arg-type]
        (Answer(False, "session", "ann", note="x"), no("ann", "x")),
        (Answer(True, "once", "ann", note="x"), Answer(True, "once", "ann", note="x")),
    ],
)
def test_an_answer_counts_for_this_once_or_is_a_no(judged, answer: object, expected: Answer) -> None:
    assert checked_dial(answer, Dialled(judged("make a").verdict, "up.acme.com", 443)) == expected
