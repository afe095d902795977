"""`gateway agent` as a process: for a pipe, as lines of JSON, and on a terminal with a person who types."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import starting
from fakemessages import FakeMessages
from inprocess import called
from warmed import warm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAIN = [*starting.GATEWAY, "agent"]
LOOK = {"say": "I will look.", "calls": [{"Read": {"file_path": "a.txt"}}]}
KEY = {"calls": [{"Bash": {"command": "cat ~/.ssh/id_rsa"}}]}


class Place:
    """A project with a script, and the command line in it."""

    def __init__(self, top: Path) -> None:
        self.project, self.home = top / "project", top / "home"
        self.project.mkdir()
        self.home.mkdir()
        (self.project / "a.txt").write_text("alpha\n", encoding="utf-8")
        warm(self.home / ".cache" / "gateway")
        self.environment = {"HOME": str(self.home), "TERM": "xterm-256color", "PATH": os.environ["PATH"]}
        self.script = top / "script.yaml"
        self.persons: list[Person] = []

    def plays(self, *turns: dict[str, Any]) -> None:
        self.script.write_text(json.dumps({"version": 1, "turns": turns}), encoding="utf-8")

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        model = [] if "--model" in words else ["--script", str(self.script)]
        done = called(["agent", *model, *words], self.project, {**self.environment, **environment})
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    def events(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run("--json", *words).stdout.splitlines()]

    def sessions(self) -> list[str]:
        return sorted(str(each) for each in self.home.glob(".local/state/gateway/projects/*/sessions/*.jsonl"))


class Person:
    """Sits at a terminal of `gateway agent`: waits for what is shown, and types."""

    def __init__(self, place: Place, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        self._process = starting.Popen(
            [*MAIN, "--script", str(place.script), *words], cwd=place.project,
            env={**place.environment, "COLUMNS": "100"}, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=starting.take_terminal,
        )  # fmt: skip
        os.close(theirs)
        place.persons.append(self)
        self.seen = ""

    def waits_for(self, text: str) -> None:
        while text not in self.seen:
            assert select.select([self._ours], [], [], 60)[0], f"{text!r} was never shown: {self.seen}"
            assert self._read(), f"{text!r} was never shown: {self.seen}"

    def ends_at_the_prompt(self) -> None:
        """Presses Ctrl-C until it was told how the session ends, and then Ctrl-D until it did: a key that comes just
        when the prompt begins to wait is seen with the next one only, and before that Ctrl-D means nothing."""
        self.types("\x03")
        while True:
            if not select.select([self._ours], [], [], 5)[0]:
                os.write(self._ours, b"\x04" if "Ctrl-C again" in self.seen else b"\x03")
            elif not self._read():
                break
            elif self.seen.endswith("ends the session)\n\n> "):
                os.write(self._ours, b"\x04")

    def types(self, text: str) -> None:
        self.seen = ""
        os.write(self._ours, text.encode())

    def _read(self) -> bool:
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False
        self.seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data.decode("utf-8", "replace")).replace("\r\n", "\n")
        return bool(data)

    def close(self) -> None:
        """Nobody sits there any more, however the test ended."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def leaves(self) -> int:
        """The exit status, when all was shown."""
        while select.select([self._ours], [], [], 60)[0] and self._read():
            pass
        os.close(self._ours)
        return self._process.wait(60)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for each in place.persons:
        each.close()


def test_the_answer_stands_alone_on_standard_output(here: Place) -> None:
    here.plays(LOOK, KEY, {"say": "It says alpha.", "expect": ["refused by rule `secret-files`"]})
    done = here.run("What does it say?")
    assert (done.returncode, done.stdout) == (0, "It says alpha.\n")
    assert done.stderr.startswith("gateway: refused: Bash: `~/.ssh/id_rsa` was refused by rule `secret-files`")


def test_events_are_lines_of_json(here: Place) -> None:
    here.plays(LOOK, {"say": "alpha"})
    found = here.events("go")
    (session,) = here.sessions()
    told = [
        {key: value for key, value in each.items() if key not in ("session", "used", "by_model", "record")}
        for each in found
    ]
    assert told == [
        {"event": "start", "model": f"scripted:{here.script}", "transcript": session, "unknown": []},
        {"event": "text", "text": "I will look."},
        {"event": "reply", "stop": "tool_use"},
        {"event": "call", "id": "call_1_1", "tool": "Read", "input": {"file_path": "a.txt"}},
        {
            "event": "result", "id": "call_1_1", "decision": "allow", "rule": "mode:default", "ran": True,
            "is_error": False, "text": "     1\talpha",
        },
        {"event": "text", "text": "alpha"},
        {"event": "reply", "stop": "end_turn"},
        {"event": "end", "why": "done", "text": "alpha", "reason": "", "turns": 2, "cost": None},
    ]  # fmt: skip


@pytest.mark.parametrize("by", ["last", "name", "beginning", "path"])
def test_a_session_goes_on(here: Place, by: str) -> None:
    here.plays(LOOK, {"say": "one"}, {"say": "two", "expect": ["and now"]})
    here.run("go")
    (path,) = here.sessions()
    name = path.rpartition("/")[2].removesuffix(".jsonl")
    wanted = {"last": "last", "name": name.rpartition("-")[2], "beginning": name[:12], "path": path}[by]
    done = here.run("--resume", wanted, "and now")
    assert (done.returncode, done.stdout) == (0, "two\n")
    assert here.sessions() == [path]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param([], "a task must be given", id="no task"),
        pytest.param(["--resume", "none", "go"], "no session of this project begins with `none`", id="no such session"),
        pytest.param(["--resume", "last", "go"], "no session to go on with", id="no session at all"),
        pytest.param(
            ["--model", "x", "--script", "y", "go"], "--model and --script must not be given together", id="two models"
        ),
        pytest.param(["--max-turns", "0", "go"], "--max-turns", id="no turns"),
        pytest.param(["--mode", "sleepy", "go"], "mode must be one of", id="no such mode"),
        pytest.param(["--cwd", "/nonexistent", "go"], "--cwd must be a folder", id="no such folder"),
    ],
)
def test_wrong_usage_is_said_and_nothing_is_done(here: Place, words: list[str], said: str) -> None:
    here.plays({"say": "x"})
    done = here.run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert here.sessions() == []


def test_a_task_that_is_not_done_is_told_by_the_status(here: Place) -> None:
    here.plays(LOOK, LOOK, LOOK)
    done = here.run("--max-turns", "2", "go")
    assert (done.returncode, done.stderr) == (1, "gateway: it has taken 2 turns, which is all it may\n")


def test_without_a_transcript_nothing_is_kept(here: Place) -> None:
    here.plays({"say": "x"})
    assert here.run("--no-transcript", "go").stdout == "x\n"
    assert here.sessions() == []


def test_where_no_transcript_can_be_kept_nothing_runs(here: Place) -> None:
    here.plays({"say": "x"})
    (here.home / ".local").write_text("")
    done = here.run("go")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--no-transcript" in done.stderr


def test_a_person_sees_what_is_said_and_done(here: Place) -> None:
    here.plays(LOOK, KEY, {"say": "It says alpha."}, {"say": "Yes."})
    person = Person(here)
    person.waits_for("> ")
    person.types("What does it say?\r")
    person.waits_for("It says alpha.")
    wanted = ["I will look.", "● Read a.txt", "1  alpha", "● $ cat ~/.ssh/id_rsa"]
    assert [line for line in map(str.strip, person.seen.splitlines()) if line in wanted] == wanted
    assert "was refused by rule `secret-files`" in person.seen
    person.waits_for("> ")
    person.types("Sure?\r")
    person.waits_for("Yes.")
    person.waits_for("> ")
    person.types("\x04")
    assert person.leaves() == 0


def test_a_person_is_asked_in_place(here: Place) -> None:
    """Before what a rule asks about, and at the end of the turn about what lies in a layer."""
    protected = here.project / "CLAUDE.md"
    here.plays(
        {"calls": [{"Write": {"file_path": "new.txt", "content": "x\n"}}]},
        {"calls": [{"Write": {"file_path": "CLAUDE.md", "content": "y\n"}}]},
        {"say": "Written."},
    )
    person = Person(here, "write it")
    person.waits_for("Run it?")
    assert not (here.project / "new.txt").exists()
    person.types("y\r")
    person.waits_for("Keep it?")
    assert (protected.read_text(), (here.project / "new.txt").exists()) == ("y\n", False)
    person.types("y\r")
    assert person.leaves() == 0
    assert (here.project / "new.txt").read_text() == "x\n"


def test_what_is_typed_while_the_model_works_is_told_to_it_and_answers_no_question(here: Place) -> None:
    here.plays(
        {"calls": [{"Bash": {"command": "echo started; until [ -e go.txt ]; do sleep 0.05; done"}}]},
        {
            "say": "I will write.",
            "calls": [{"Write": {"file_path": "new.txt", "content": "x"}}],
            "expect": ["y please"],
        },
        {"say": "Written."},
    )
    person = Person(here)
    person.waits_for("> ")
    person.types("go\r")
    person.waits_for("started")
    person.types("y please\r")
    person.waits_for("(told to the model before its next reply)")
    person.types("/cost\r")
    person.waits_for("(done when the model has ended)")
    (here.project / "go.txt").touch()
    person.waits_for("Keep it?")
    assert not (here.project / "new.txt").exists()
    person.types("n not that file\r")
    person.waits_for("cost not known")
    person.waits_for("> ")
    person.types("/quit\r")
    assert person.leaves() == 0
    assert not (here.project / "new.txt").exists()


def test_a_session_is_written_as_a_page(here: Place) -> None:
    here.plays(LOOK, {"say": "It says alpha."})
    here.run("What does it say?")
    done = called(["agent", "--export", "-"], here.project, here.environment)
    assert done.returncode == 0
    assert "It says alpha." in done.stdout.decode()
    for _ in range(2):
        done = called(["agent", "--export", "page.html"], here.project, here.environment)
    assert "cannot be written: File exists" in done.stderr.decode()
    assert "It says alpha." in (here.project / "page.html").read_text()


@pytest.mark.parametrize(
    ("limits", "words", "why"),
    [
        pytest.param({"task_turns": 1}, ["--max-turns", "5"], "it has taken 1 turns", id="replies"),
        pytest.param({"task_tokens": 1}, [], "tokens of 1", id="tokens"),
        pytest.param({"task_cents": 1}, [], "needs the price", id="a cost that nobody can keep to"),
    ],
)
def test_policy_bounds_what_a_task_may_use(here: Place, limits: dict[str, int], words: list[str], why: str) -> None:
    policy = here.home / ".config" / "gateway" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text(json.dumps({"version": 1, "extends": ["daily"], "settings": {"limits": limits}}))
    here.plays(LOOK, {"say": "never"})
    done = here.run(*words, "go")
    assert (done.returncode != 0, why in done.stderr) == (True, True), done.stderr


def test_ctrl_c_ends_what_runs_and_then_the_session(here: Place) -> None:
    here.plays({"calls": [{"Bash": {"command": "echo started; sleep 100"}}]}, {"say": "never"})
    person = Person(here)
    person.waits_for("> ")
    person.types("go\r")
    person.waits_for("started")
    person.types("\x03")
    person.waits_for("it was cancelled")
    person.waits_for("> ")
    person.ends_at_the_prompt()
    assert "Ctrl-C again" in person.seen
    assert person.leaves() == 0


def test_ctrl_c_during_a_task_from_the_command_line_is_told_by_the_status(here: Place) -> None:
    here.plays({"calls": [{"Bash": {"command": "echo started; sleep 100"}}]}, {"say": "never"})
    person = Person(here, "go")
    person.waits_for("started")
    person.types("\x03")
    assert person.leaves() == 130


DECISIONS = ("allow", "deny", "ask")


class Reviewing(FakeMessages):
    """Writes a file for each decision as the agent's model, and decides so as the reviewer's."""

    def _message(self, turn: int) -> dict[str, Any]:
        system = str(self.asked[turn]["system"])
        reviews = self.reviews()
        message = super()._message(len(self.asked) - reviews - 1)
        if "You decide for a person" not in system:
            return message
        token = re.search(r'\\?"for\\?": \\?"(\w+)', system)
        assert token is not None
        said = json.dumps({"for": token[1], "decision": DECISIONS[reviews - 1], "reason": "It is what was asked for."})
        return {**message, "content": [{"type": "text", "text": said}], "stop_reason": "end_turn"}

    def reviews(self) -> int:
        return sum("You decide for a person" in str(each["system"]) for each in self.asked)


@pytest.mark.parametrize(
    ("review", "reviewed", "written"),
    [
        pytest.param("mode", 0, ["allow.txt", "ask.txt", "deny.txt"], id="which no reviewer sees"),
        pytest.param("changes", 3, ["allow.txt"], id="which the reviewer lets run, refuses or leaves to nobody"),
    ],
)
def test_in_the_mode_auto_a_change_that_a_rule_allows_is_reviewed(
    here: Place, review: str, reviewed: int, written: list[str]
) -> None:
    policy = here.home / ".config" / "gateway" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    settings, names = {"mode": "auto", "review": review}, [f"{each}.txt" for each in DECISIONS]
    rules = {"version": 1, "settings": settings, "allow": [f"Edit(./{name})" for name in names]}
    policy.write_text(json.dumps(rules), encoding="utf-8")
    fake = Reviewing([*([("Write", {"file_path": name, "content": "x\n"})] for name in names), ["Done."]])
    try:
        done = here.run("--model", "some-model", "go", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=fake.url)
    finally:
        fake.close()
    made = [name for name in sorted(names) if (here.project / name).exists()]
    assert (done.stdout, fake.reviews(), made) == ("Done.\n", reviewed, written)
    told = "It was not approved: It is what was asked for."
    assert [told in str(each) for each in fake.results()] == [False, bool(reviewed), False]
