"""Whom a question is shown, and whose answer counts: the side of whoever asks, against consoles that are none."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from gateway.approval.base import Answer, Dialled, Question, Review, no
from gateway.approval.page import Beside, First, Page, Remote
from gateway.approval.page_wire import (
    KEPT,
    MOST_BYTES,
    digest_of,
    is_console,
    is_private,
    line_of,
    message_of,
    process_words,
)
from gateway.core.places import DESK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALWAYS = "allow: Bash(make)"


class Other:
    """Listens where a console would, and answers a question as it is told."""

    def __init__(self, folder: str, *says: Callable[[dict[str, Any]], dict[str, Any]] | bytes) -> None:
        self.heard: list[Any] = []
        self._says = says
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        here = os.getcwd()
        os.chdir(folder)  # names of sockets are short
        try:
            self._server.bind(DESK)
        finally:
            os.chdir(here)
        self._server.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:
            return
        with connection, connection.makefile("rb") as reading:
            try:
                asked = message_of(reading.readline())
                self.heard.append(asked)
                for each in self._says if asked is not None else ():
                    connection.sendall(each if isinstance(each, bytes) else line_of(each(asked["question"])))
                self.heard.append(message_of(reading.readline()))
            except OSError:
                pass

    def close(self) -> None:
        """Ends, whether anybody came or not."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._server.close()


@pytest.fixture
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as found:
        yield found


@pytest.fixture
def question(judged) -> Question:
    return Question(judged("make").verdict, None, ("once", "always"), always=ALWAYS)


def page(folder: str, **how: Any) -> Page:
    return Page(lambda _question: {"text": "?"}, folder, **{"knows": lambda _pid: True, "seconds": 30.0, **how})


def shows(_question: dict[str, Any]) -> dict[str, Any]:
    return {"shown": True}


def answers(**fields: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        usual = {"id": asked["id"], "digest": digest_of(asked), "allow": True, "scope": "once", "note": ""}
        return {"answer": {**usual, **fields}}

    return answer


def outcome(asks: Page | Beside, question: Question, folder: str, *says: Any) -> tuple[Answer | None, Any]:
    """What came of asking, and the last that the other side heard."""
    other = Other(folder, *says)
    try:
        found = asks.ask(question)
    finally:
        other.close()
    return found, (other.heard or [None])[-1]


def test_an_answer_to_this_question_counts(folder: str, question: Question):
    found, heard = outcome(page(folder), question, folder, shows, answers())
    assert found is not None
    assert (found.allow, found.scope, found.rule, heard) == (True, "once", "", {"taken": True})
    assert found.by.endswith("at the console's page")


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "another"}, {"digest": "0" * 48}, {"digest": ""}, {"allow": "yes"}, {"allow": 1}, {"allow": None},
        {"scope": "forever"}, {"scope": None}, {"note": 5},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_answer_to_it_is_not_taken(folder: str, question: Question, fields: dict[str, Any]):
    assert outcome(page(folder), question, folder, shows, answers(**fields)) == (None, {"taken": False})


@pytest.mark.parametrize(
    "says", [b"\n", b"{}\n", b"yes\n", b'{"shown": 1}\n', b'{"shown": false}\n', b"\xff\n", b"[]\n"]
)
def test_where_nothing_says_that_a_page_shows_it_nobody_is_there(folder: str, question: Question, says: bytes):
    assert outcome(page(folder), question, folder, says)[0] is None


def test_an_answer_before_the_question_is_shown_is_none(folder: str, question: Question):
    assert outcome(page(folder), question, folder, answers())[0] is None


def test_what_another_program_says_does_not_count_and_it_is_told_nothing(folder: str, question: Question):
    """It listens in the console's place: this very process is none."""
    asks = Page(lambda _question: {"text": "?"}, folder, seconds=30.0)
    assert outcome(asks, question, folder, shows, answers()) == (None, None)


def test_a_folder_that_others_can_write_or_that_is_a_link_is_not_used(folder: str, question: Question):
    os.chmod(folder, 0o777)
    assert not is_private(folder)
    assert outcome(page(folder), question, folder, shows, answers()) == (None, None)
    os.chmod(folder, 0o700)
    os.symlink(folder, f"{folder}/link")
    assert [is_private(each) for each in (folder, f"{folder}/link", f"{folder}/nothing")] == [True, False, False]
    assert page(f"{folder}/link").ask(question) is None


def test_where_nothing_listens_or_the_question_is_too_long_nobody_is_there(folder: str, question: Question):
    assert page(folder).ask(question) is None
    long = Page(lambda _question: {"text": "x" * MOST_BYTES}, folder, knows=lambda _pid: True)
    assert outcome(long, question, folder, shows, answers()) == (None, None)


def test_silence_on_the_page_is_no(folder: str, question: Question):
    found, _ = outcome(page(folder, seconds=0.3), question, folder, shows)
    assert found is not None
    assert (found.allow, found.note) == (False, "no answer came")


def test_whoever_is_shown_two_questions_cannot_answer_one_with_the_other(folder: str, question: Question):
    seen: list[str] = []

    def older(asked: dict[str, Any]) -> dict[str, Any]:
        seen.append(digest_of(asked))
        return answers(digest=seen[0])(asked)

    assert outcome(page(folder), question, folder, shows, older)[0] is not None
    os.unlink(f"{folder}/{DESK}")
    assert outcome(page(folder), question, folder, shows, older)[0] is None
    assert seen[0] != seen[1]


def test_the_digest_is_of_all_that_is_shown():
    shown = {"id": "a", "text": "b", "may": ["once"], "bound": ["c"]}
    changed = [{**shown, name: other} for name in shown for other in ("", "x", ["once", "always"])]
    assert digest_of(shown) not in {digest_of(each) for each in changed}
    assert digest_of(shown) == digest_of(dict(reversed(shown.items())))


class Sits:
    """At a terminal: says this when it is told to, or waits until nobody wants an answer any more."""

    name = "console"

    def __init__(self, says: Answer | None) -> None:
        self.says = says

    def ask(self, question: Question) -> Answer | None:
        while self.says is None and not question.cancelled():
            threading.Event().wait(0.01)
        return self.says or no("ann", "no answer came")


def test_the_first_of_terminal_and_page_has_answered(folder: str, question: Question):
    said: list[Answer] = []
    by_page, _ = outcome(Beside(Sits(None), page(folder), said=said.append), question, folder, shows, answers())
    assert by_page is not None
    assert (by_page.allow, said) == (True, [by_page])
    os.unlink(f"{folder}/{DESK}")
    terminal = no("ann", "not this")
    assert outcome(Beside(Sits(terminal), page(folder), said=said.append), question, folder, shows)[0] == terminal
    assert len(said) == 1


def test_without_a_page_the_terminal_is_asked_alone(folder: str, question: Question):
    assert Beside(Sits(no("ann")), page(folder)).ask(question) == no("ann")


def test_only_one_answer_is_the_first():
    first = First()
    assert [first.take(no(str(number))) for number in range(3)] == [True, False, False]
    assert first.answer == no("0")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how a process was started")
def test_a_process_is_the_console_by_its_words_its_program_and_its_variables():
    import subprocess

    wait = ["-c", "import sys; print('x', flush=True); sys.stdin.read()"]
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}

    def known(words: list[str], environment: dict[str, str]) -> bool:
        with subprocess.Popen(
            words, executable=sys.executable, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.read(1) == b"x"
            try:
                return is_console(process.pid)
            finally:
                process.stdin.close()

    assert not is_console(os.getpid())
    assert not known([sys.executable, *wait], kept)
    assert not known([sys.executable, "-I", *wait], kept)
    assert not known([sys.executable, *wait, *process_words()[1:]], kept)


def test_a_console_that_was_started_with_another_loader_is_none(monkeypatch: pytest.MonkeyPatch):
    from gateway.approval import page_wire

    files = {"cmdline": "\0".join([*process_words(), "0", "1", "1", "/", ""]), "environ": "HOME=/x\0PATH=/bin\0"}
    monkeypatch.setattr(page_wire, "_read", lambda path: files[path.rpartition("/")[2]].encode())
    assert is_console(os.getpid())
    for variables in ("LD_PRELOAD=/x", "PYTHONPATH=/x", "PYTHONSTARTUP=/x", "LD_LIBRARY_PATH=/x"):
        files["environ"] = f"HOME=/x\0{variables}\0"
        assert not is_console(os.getpid())


# ------------------------------------------------------------------------------------------------------- from elsewhere


def remote(folder: str) -> Remote:
    return Remote(lambda _question: {"text": "?"}, folder, knows=lambda _pid: True, seconds=30.0)


def at(approver: Any) -> Any:
    """Where its question may be answered."""
    return getattr(approver, "at", None) or at(approver._page)


def test_here_and_elsewhere_are_asked_by_one_question(folder: str):
    here, there, terminal = page(folder), remote(folder), Sits(None)
    assert [at(each) for each in (here, there, there.beside(here), there.beside(Beside(terminal, here)))] == [
        ("page",), ("elsewhere",), ("page", "elsewhere"), ("page", "elsewhere"),
    ]  # fmt: skip
    assert (at(here), at(there.beside(terminal))) == (("page",), ("elsewhere",))


def test_who_answered_from_elsewhere_is_named(folder: str, question: Question):
    found, _ = outcome(remote(folder), question, folder, shows, answers(people=["ann"]))
    assert found is not None
    assert (found.allow, found.by) == (True, "ann, from elsewhere")


@pytest.mark.parametrize(
    ("people", "counts"),
    [(["ann", "ben"], True), (["ann", "ben", "cy"], True), (["ann"], False), (["ann", "ann"], False), ([], False),
     (["ann", "root"], False), (["ann", ""], False), (["ann", 1], False), ("ann", False), (None, False)],
    ids=str,
)  # fmt: skip
def test_a_yes_counts_when_as_many_others_agreed_as_policy_wants(
    folder: str, question: Question, people: Any, counts: bool
):
    asked = question.replace(people=2, not_by="root")
    found, heard = outcome(remote(folder), asked, folder, shows, answers(people=people))
    assert (found is not None and found.allow, heard) == (counts, {"taken": counts})


def test_a_question_waits_as_long_as_policy_says(folder: str, question: Question):
    asked: list[Any] = []

    def shown(told: dict[str, Any]) -> dict[str, Any]:
        asked.append(told["seconds"])
        return shows(told)

    found, _ = outcome(remote(folder), question.replace(seconds=0.3), folder, shown)
    assert found is not None
    assert (found.allow, found.note, asked) == (False, "no answer came", [0.3])


# -------------------------------------------------------------------------------------------------- while a call runs


def connection(question: Question, **how: Any) -> Dialled:
    return Dialled(question.verdict, "example.org", 443, **how)


def attends(folder: str) -> Page:
    return page(folder, dialled=lambda asked: {"text": asked.where})


def test_a_page_says_whether_a_call_that_stands_still_may_connect(folder: str, question: Question):
    stood: list[str] = []

    @contextmanager
    def still() -> Iterator[bool]:
        stood.append("begins")
        yield True
        stood.append("ends")

    other = Other(folder, shows, answers())
    found = attends(folder).dialled(connection(question, still=still))
    other.close()
    assert found is not None
    assert (found.allow, found.scope, found.rule, stood) == (True, "once", "", ["begins", "ends"])
    asked = other.heard[0]["question"]
    assert (asked["text"], asked["may"], asked["always"], asked["seconds"]) == ("example.org:443", ["once"], "", 60.0)


@pytest.mark.parametrize(
    ("says", "there"), [(b'{"shown": true}\n', True), (b'{"shown": false}\n', False), (b"x\n", False)]
)
def test_whether_somebody_is_there_is_asked_without_a_question(folder: str, says: bytes, there: bool):
    other = Other(folder, says)
    assert attends(folder).dials is there
    other.close()
    assert other.heard[0] == {"there": ["page"]}
    assert (page(folder).dials, attends(f"{folder}/nothing").dials) == (False, False)


def test_what_waits_no_longer_is_not_asked(folder: str, question: Question):
    other = Other(folder, shows, answers())
    assert attends(folder).dialled(connection(question, cancelled=lambda: True)) is None
    other.close()
    assert other.heard == []


def test_where_a_terminal_is_there_it_is_asked_about_connections(folder: str, question: Question):
    class Terminal(Sits):
        dials = True

        def dialled(self, _question: Dialled) -> Answer | None:
            return self.says

    other = Other(folder, shows, answers())
    refused = Beside(Terminal(no("ann")), attends(folder)).dialled(connection(question))
    by_page = Beside(Terminal(None), attends(folder)).dialled(connection(question))
    other.close()
    assert (refused, by_page is not None and by_page.allow) == (no("ann"), True)


def changed(question: Question, **how: Any) -> Review:
    found = SimpleNamespace(missed=tuple(how.pop("missed", ())), changes=how.pop("changes", ("x",)))
    return Review(question.verdict, cast("Any", found), **how)


def looks(folder: str, **how: Any) -> Page:
    return page(folder, review=lambda _review: {"text": "changed"}, **how)


@pytest.mark.parametrize(
    ("how", "fields", "decided"),
    [
        ({}, {}, (["once"], True, False, False, "", False)),
        ({"session": True}, {"scope": "session"}, (["once", "session"], True, False, True, "", False)),
        ({"missed": [("x", "changed meanwhile")]}, {}, (["once"], True, True, False, "", False)),
        ({}, {"allow": False, "note": "not this"}, (["once"], False, False, False, "not this", False)),
        ({"real": True}, {"scope": "real"}, (["once", "real"], False, False, False, "", True)),
        ({"real": True, "changes": ()}, {"scope": "real"}, (["real"], False, False, False, "", True)),
        ({"real": True}, {"scope": "real", "allow": False}, (["once", "real"], False, False, False, "", False)),
    ],
)
def test_a_page_says_what_becomes_of_what_a_call_has_changed(
    folder: str, question: Question, how: Any, fields: Any, decided: Any
):
    other = Other(folder, shows, answers(**fields))
    found = looks(folder).review(changed(question, **how))
    other.close()
    assert found is not None
    offered = other.heard[0]["question"]["may"]
    assert (offered, found.keep, found.rest, found.session, found.note, found.real) == decided


def test_nothing_is_run_without_a_layer_that_was_not_offered_so(folder: str, question: Question):
    other = Other(folder, shows, answers(scope="real"))
    assert looks(folder).review(changed(question)) is None
    other.close()


def test_silence_about_what_a_call_has_changed_decides_nothing(folder: str, question: Question):
    other = Other(folder, shows)
    assert looks(folder, seconds=0.3).review(changed(question)) is None
    other.close()
    assert page(folder).review(changed(question)) is None
