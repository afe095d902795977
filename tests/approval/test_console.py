"""The dialog at a terminal, on a pair of pseudo-terminals; and that nobody is asked where nobody can be."""

from __future__ import annotations

import itertools
import os
import pty
import select
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway.approval import terminal
from gateway.approval.base import Answer, Question, no
from gateway.approval.console import Console
from gateway.approval.terminal import pressed_or_typed, typed_line

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = "allow: {command: make}"
ALL = ("once", "session", "always")


class Person:
    """Sits at the other end of a terminal: reads what is shown, and types when the question stands there: each time the
    next of these, the last one again and again."""

    def __init__(self, *types: bytes | None, prompt: bytes = b"Run it?") -> None:
        self.prompt = prompt
        self.master, self.slave = pty.openpty()
        self.types = types
        self.seen = b""
        self._thread = threading.Thread(target=self._sit)
        self._thread.start()

    def _sit(self) -> None:
        for asked in itertools.count(1):
            while self.seen.count(self.prompt) < asked or not self.seen.endswith(b"] "):
                try:
                    self.seen += os.read(self.master, 4096)
                except OSError:
                    return  # the other end is closed
            types = self.types[min(asked, len(self.types)) - 1]
            if types is None:
                os.close(self.master)
                self.master = -1
                return
            os.write(self.master, types)

    def leave(self) -> None:
        os.close(self.slave)
        self._thread.join()
        if self.master >= 0:
            os.close(self.master)


@pytest.fixture
def ask(judged) -> Iterator:
    """Asks a person who types this; gives the answer and what was on the screen."""
    people = []

    def asked(*types: bytes | None, may: tuple[str, ...] = ALL, before: bytes = b"", seconds: float = 60.0):
        person = Person(*types)
        people.append(person)
        if before:
            os.write(person.master, before)
        console = Console(
            lambda _question, _number: "the question\n",
            streams=(person.slave, person.slave),
            by="ann",
            seconds=seconds,
        )
        return console.ask(Question(judged("make a").verdict, None, may, RULE)), person

    yield asked
    for person in people:
        person.leave()


NO = "no; what you write behind it is told to the model"
UNCLEAR = no("ann", "there was no clear answer")


def yes(scope: str, rule: str = "") -> Answer:
    return Answer(True, scope, "ann", rule)


@pytest.mark.parametrize(
    ("types", "may", "expected"),
    [
        pytest.param(b"y\n", ALL, yes("once"), id="once"),
        pytest.param(b"yes\n", ALL, yes("once"), id="once, in a word"),
        pytest.param(b" y \n", ALL, yes("once"), id="with blanks"),
        pytest.param(b"s\n", ALL, yes("session"), id="for the session"),
        pytest.param(b"a\n", ALL, yes("always", RULE), id="always"),
        pytest.param(b"n\n", ALL, no("ann"), id="no"),
        pytest.param(b"n use the other file\n", ALL, no("ann", "use the other file"), id="no, and why"),
        pytest.param(b"N it is not yours\n", ALL, no("ann", "it is not yours", "session"), id="never, and why"),
        pytest.param(b"nope\n", ALL, UNCLEAR, id="another word for no"),
        pytest.param(b"y n\n", ALL, UNCLEAR, id="both"),
        pytest.param(b"N\n", ALL, no("ann", scope="session"), id="no for the session"),
        pytest.param(b"N\n", ("once",), no("ann"), id="no for the session where there is none"),
        pytest.param(b"\n", ALL, no("ann"), id="nothing but the key"),
        pytest.param(b"\x04", ALL, no("ann", "no answer came"), id="the end of input"),
        pytest.param(None, ALL, no("ann", "the terminal is gone"), id="the terminal is closed"),
        pytest.param(b"a\n", ("once",), UNCLEAR, id="always where it is not offered"),
        pytest.param(b"s\n", ("once",), UNCLEAR, id="a session where there is none"),
        pytest.param(b"Y\n", ALL, UNCLEAR, id="another letter"),
        pytest.param(b"yy\n", ALL, UNCLEAR, id="a key twice"),
        pytest.param(b"y\nrm -rf /\n", ALL, no("ann", "that was none of the answers"), id="a text that was pasted"),
        pytest.param(b"\xff\xfe\n", ALL, UNCLEAR, id="no text"),
        pytest.param(b"y" * 300 + b"\n", ALL, UNCLEAR, id="far too much"),
    ],
)
def test_an_answer_is_one_of_the_keys_and_everything_else_is_a_no(ask, types: bytes, may, expected: Answer) -> None:
    assert ask(types, may=may)[0] == expected


def test_a_wrong_key_is_asked_about_again(ask) -> None:
    answer, person = ask(b"x\n", b"y\n")
    assert answer == yes("once")
    assert person.seen.count(b"That is none of the answers, and nothing has run. Run it? [y/s/a/n/N] ") == 1
    assert ask(b"x\n", b"yy\n", b"y\n")[0] == UNCLEAR  # once


def test_what_is_typed_behind_a_wrong_key_is_not_its_answer(ask) -> None:
    assert ask(b"x\ny\n")[0] == no("ann", "that was none of the answers")


def test_silence_is_a_no(ask) -> None:
    assert ask(b"", seconds=0.01)[0] == no("ann", "no answer came")


def test_what_was_typed_before_the_question_is_no_answer(ask) -> None:
    assert ask(b"n\n", before=b"y\n")[0] == no("ann")


def test_only_the_answers_that_are_possible_are_shown(ask) -> None:
    shown = [ask(b"n\n", may=may)[1].seen.replace(b"\r\n", b"\n").decode() for may in (ALL, ("once",))]
    expected = (
        f"the question\n\n  y  once\n  s  for this session\n  a  always: save the rule shown above\n  n  {NO}\n"
        "  N  no, and not again in this session\nRun it? [y/s/a/n/N] "
    )
    typed = [text.rstrip("n\n") for text in shown]  # what is typed may be echoed before that is looked at, and after
    assert typed[0].endswith(expected)
    assert typed[1].endswith(f"the question\n\n  y  once\n  n  {NO}\nRun it? [y/n] ")


def test_a_call_that_was_cancelled_is_not_waited_for(judged) -> None:
    reading, writing = os.pipe()
    with open(os.devnull, "wb") as nowhere:
        console = Console(lambda _question, _number: "", streams=(reading, nowhere.fileno()), by="ann")
        question = Question(judged("make a").verdict, None, cancelled=lambda: True)
        assert console.ask(question) == no("ann", "no answer came")
    os.close(reading)
    os.close(writing)


AT_ITS_TERMINAL = """
import fcntl, os, sys, termios
from gateway.approval.base import Question
from gateway.approval.console import Console
where = sys.argv[1]
if where != "no terminal":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
if where == "the background":
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os._exit(0)
    os.setpgid(0, 0)
answer = Console(lambda question, number: "question ", by="ann").ask(Question(None, None))
os.write(int(sys.argv[2]), repr(answer).encode())
"""


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("the foreground", repr(yes("once"))),
        ("the background", "None"),
        ("no terminal", "None"),
    ],
)
def test_a_person_is_asked_at_the_terminal_of_the_session_and_nowhere_else(where: str, expected: str) -> None:
    master, slave = pty.openpty()
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", AT_ITS_TERMINAL, where, str(writing)],
        stdin=slave,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=(writing,),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    os.close(writing)
    os.close(slave)
    seen = b""
    if where == "the foreground":
        while not seen.endswith(b"] "):
            seen += os.read(master, 4096)
        os.write(master, b"y\n")
    with open(reading, "rb") as told:
        assert told.read().decode() == expected
    assert process.wait(timeout=60) == 0
    os.close(master)


@pytest.mark.parametrize(
    ("typed", "line"),
    [(b"y\n", "y"), (b"y\nrm -rf x\n", "?"), (b"y" * 100 + b"; rm -rf x\n", None)],
    ids=["a line", "several", "one that is too long"],
)
def test_nothing_that_was_typed_is_left_for_whoever_reads_next(typed: bytes, line: str | None) -> None:
    master, slave = pty.openpty()
    try:
        os.write(master, typed)
        assert typed_line(slave, 30, lambda: False, 16) == line
        assert select.select([slave], [], [], 0)[0] == []
    finally:
        os.close(master)
        os.close(slave)


class Keys:
    """Presses keys at a terminal, one after the other, and reads what is shown."""

    def __init__(self, *keys: bytes) -> None:
        self.master, self.slave = pty.openpty()
        self._keys = keys
        self._thread = threading.Thread(target=self._press)

    def _press(self) -> None:
        for key in self._keys:
            while termios.tcgetattr(self.slave)[3] & termios.ICANON and key == self._keys[0]:
                select.select([], [], [], 0.001)  # until single keys are read
            os.write(self.master, key)

    def answer(self) -> str | None:
        before = termios.tcgetattr(self.slave)
        self._thread.start()
        try:
            return pressed_or_typed(self.slave, self.slave, 30, lambda: False, ["y", "s"])
        finally:
            self._thread.join()
            assert termios.tcgetattr(self.slave) == before
            os.close(self.master)
            os.close(self.slave)


EVER = 25.0


@pytest.mark.parametrize(
    ("keys", "settled", "alone", "answer"),
    [
        pytest.param([b"y"], 0.0, 0.0, "y", id="a key by itself needs no Enter"),
        pytest.param([b"\x7f", b"y"], 0.0, 0.0, "y", id="there is nothing to take back before it"),
        pytest.param([b"n", b" why\n"], 0.0, 0.0, "n why", id="a no is a line, with its reason"),
        pytest.param([b"y", b"es\n"], 0.0, EVER, "yes", id="what goes on is a line"),
        pytest.param([b"ye", b"t\n"], 0.0, 0.0, "yet", id="what comes at once is a line"),
        pytest.param([b"y", b"\n"], EVER, 0.0, "y", id="what comes with the question is the beginning of a line"),
        pytest.param([b"y", b"ou\n"], EVER, 0.0, "you", id="and may go on"),
        pytest.param([b"\x04"], 0.0, 0.0, None, id="the end of input"),
        pytest.param([b"y\nrm x\n"], 0.0, 0.0, "?", id="a text that was pasted"),
        pytest.param([b"y", b"\nrm x\n"], 0.0, EVER, "?", id="a text that was pasted slowly"),
    ],
)
def test_a_key_by_itself_is_an_answer_and_the_beginning_of_something_else_is_none(
    monkeypatch, keys: list[bytes], settled: float, alone: float, answer: str | None
) -> None:
    monkeypatch.setattr(terminal, "SETTLED", settled)
    monkeypatch.setattr(terminal, "ALONE", alone)
    assert Keys(*keys).answer() == answer
