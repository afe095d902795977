"""Questions at the page: asked by commands that really wait, answered once, by whom they were shown, as they were
shown."""

from __future__ import annotations

import os
import pty
import sys
from typing import TYPE_CHECKING

import pytest
from consoles import until
from patience import patience

if TYPE_CHECKING:
    import subprocess

    from consoles import Running


def answered(running: Running, name: str, digest: str, answer: str, **more: str) -> int:
    told = {"id": name, "digest": digest, "answer": answer, **more}
    return running.post("/api/answer", running.opened(), told).status


def asks(running: Running, name: str) -> subprocess.Popen[str]:
    return running.gateway("exec", "--", "touch", name)


def test_yes_on_the_page_runs_the_call_and_is_recorded(listening: Running):
    waits = asks(listening, "one")
    name, digest = listening.question()
    assert answered(listening, name, digest, "once") == 200
    assert waits.communicate(timeout=patience(5)) == ("", None)
    assert (listening.project / "one").exists()
    assert "at the console's page" in listening.run("audit", "grep", "--json", "touch one")
    assert listening.questions() == []


def test_no_on_the_page_refuses_it_and_tells_why(listening: Running):
    waits = asks(listening, "two")
    name, digest = listening.question()
    assert answered(listening, name, digest, "no", note="write three instead") == 200
    assert "write three instead" in waits.communicate(timeout=patience(5))[0]
    assert (waits.returncode, (listening.project / "two").exists()) == (126, False)


def test_the_page_has_a_command_run_for_real_that_a_layer_could_not_hold(listening: Running):
    (listening.project / "old").mkdir()
    (listening.project / "old/file").write_text("x")
    code = "import os; os.rename('old', 'new')"
    waits = listening.gateway("exec", "--draft", "--mode", "accept_edits", "--", "python3", "-c", code)
    name, digest = listening.question()
    assert answered(listening, name, digest, "once") == 400
    assert answered(listening, name, digest, "real") == 200
    waits.communicate(timeout=patience(10))
    assert (waits.returncode, (listening.project / "new/file").read_text()) == (0, "x")


def test_always_saves_the_rule_that_was_shown(listening: Running):
    waits = asks(listening, "deep.txt")
    name, digest = listening.question()
    assert answered(listening, name, digest, "always") == 200
    waits.communicate(timeout=patience(5))
    assert "always-" in listening.run("grants", "list")
    again = asks(listening, "deep.txt")
    assert (again.communicate(timeout=patience(5))[0], again.returncode) == ("", 0)


def test_what_is_no_answer_to_this_very_question_answers_nothing(listening: Running):
    first, second = asks(listening, "three"), asks(listening, "four")
    until(lambda: len(listening.questions()) == 2)
    (name, digest), (other, others) = listening.questions()
    early = listening.questions()  # shown now, answered at once
    attempts = {
        "unknown": ("0" * 32, digest, "once", 404),
        "older digest": (name, "0" * 48, "once", 409),
        "no digest": (name, "", "once", 409),
        "another's digest": (name, others, "once", 409),
        "another's name": (other, digest, "once", 409),
        "not offered": (name, digest, "session", 400),
        "no answer": (name, digest, "yes", 400),
        "empty": (name, digest, "", 400),
    }
    listening.question()
    found = {each: answered(listening, *given[:3]) for each, given in attempts.items()}
    assert found == {each: given[3] for each, given in attempts.items()}
    for told in ({}, {"id": [name]}, {"id": name, "digest": [digest], "answer": "once"},
                 {"id": name, "digest": digest, "answer": ["once"]}, {"id": name, "digest": digest, "answer": None},
                 {"id": name, "digest": digest, "answer": "no", "note": ["x"]},
                 {"id": name, "digest": digest, "answer": "no", "note": "x" * 5000}):  # fmt: skip
        assert listening.post("/api/answer", listening.opened(), told).status in (400, 404, 409)
    assert early == listening.questions()  # both still wait
    for known, known_digest in early:
        assert answered(listening, known, known_digest, "no") == 200
    for waits in (first, second):
        waits.communicate(timeout=patience(5))
        assert waits.returncode == 126


def test_a_question_is_answered_once_and_not_later(listening: Running):
    waits = asks(listening, "five")
    name, digest = listening.question()
    assert answered(listening, name, digest, "no") == 200
    assert answered(listening, name, digest, "once") == 404
    waits.communicate(timeout=patience(5))
    assert answered(listening, name, digest, "once") == 404
    assert not (listening.project / "five").exists()


def test_a_click_before_the_question_could_be_seen_answers_nothing(listening: Running):
    waits = asks(listening, "six")
    name, digest = until(listening.questions)[0]
    assert answered(listening, name, digest, "once") == 425
    listening.question()
    assert answered(listening, name, digest, "no") == 200
    waits.communicate(timeout=patience(5))
    assert not (listening.project / "six").exists()


def test_whoever_asks_no_longer_is_not_answered(listening: Running):
    waits = asks(listening, "seven")
    name, digest = listening.question()
    waits.kill()
    waits.communicate(timeout=patience(5))
    until(lambda: not listening.questions())
    assert answered(listening, name, digest, "once") == 404
    assert not (listening.project / "seven").exists()


def test_where_no_page_is_open_nobody_is_asked(running: Running):
    until(lambda: "0" if not streams(running) else "")
    waits = asks(running, "eight")
    said, _ = waits.communicate(timeout=patience(5))
    assert waits.returncode == 126
    assert "nobody to ask" in said


def streams(running: Running) -> int:
    """How many connections to the console stand, as the kernel lists them."""
    mark = f":{running.port:04X} "
    with open("/proc/net/tcp", encoding="ascii") as table:
        return sum(mark in line.split(" 0A ")[0] and " 01 " in line for line in table)


def test_a_reader_is_shown_the_question_and_cannot_answer(listening: Running):
    waits = asks(listening, "nine")
    name, digest = listening.question()
    page = listening.get("/pending", listening.reader).text
    assert "touch nine" in page
    assert "<button" not in page
    assert (
        listening.post("/api/answer", listening.reader, {"id": name, "digest": digest, "answer": "once"}).status == 401
    )
    assert answered(listening, name, digest, "no") == 200
    waits.communicate(timeout=patience(5))


@pytest.mark.parametrize("first", ["terminal", "page"])
def test_the_terminal_and_the_page_are_asked_at_once_and_the_first_answer_counts(listening: Running, first: str):
    name = f"both-{first}"
    child, master = pty.fork()
    if child == 0:
        os.chdir(listening.project)
        os.execve(sys.executable, [sys.executable, "-m", "gateway", "exec", "--", "touch", name], listening.environment)
    seen = b""
    while b"Run it?" not in seen:
        seen += os.read(master, 4096)
    question, digest = listening.question()
    if first == "terminal":
        os.write(master, b"y\n")
        until(lambda: not listening.questions())
        assert answered(listening, question, digest, "no") == 404
    else:
        assert answered(listening, question, digest, "once") == 200
    try:
        while data := os.read(master, 4096):
            seen += data
    except OSError:
        pass  # its end
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (listening.project / name).exists()
    assert (b"at the console's page" in seen) == (first == "page")
    os.close(master)
