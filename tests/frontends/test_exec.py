"""`gateway exec` as a process: its streams, its status and its signals are the command's own."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
import starting
from patience import patience
from warmed import warm

from gateway.api.executor import Execution
from gateway.frontends.cli.exec import _tell
from gateway.model.result import Result
from gateway.sandbox.backends.spaces import Spaces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

POLICY = """\
version: 1
extends: [guard]
settings: {sandbox: {write: ["./**"]}}
rules:
  - {id: everything, allow: "Bash(*)"}
  - {id: never, deny: "Bash(forbidden *)", because: nobody may}
  - {id: sometimes, ask: "Bash(asked *)"}
"""
MAIN = starting.GATEWAY
TRAPS = """
import os, signal
def told(number, frame):
    os.write(1, signal.Signals(number).name.encode() + b"\\n")
    os._exit(40 + number)
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
    signal.signal(getattr(signal, name), told)
heard, told_by = os.pipe()  # a signal that comes before the wait ends it as well
os.set_blocking(told_by, False)
signal.set_wakeup_fd(told_by)
print("ready", flush=True)
while True:
    os.read(heard, 1)
"""


class Place:
    """A project, and the command line in it."""

    def __init__(self, top: Path) -> None:
        self.project = top / "a project"
        self.home = top / "home"
        self.policies = top / "policies"
        for folder in (self.project, self.home, self.policies):
            folder.mkdir()
        self.says(POLICY)
        self.environment = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb"}
        warm(self.home / ".cache" / "gateway")

    def says(self, policy: str) -> None:
        (self.policies / "user.yaml").write_text(policy, encoding="utf-8")

    def words(self, *words: str | bytes) -> list[str | bytes]:
        return [*MAIN, "exec", "--policies", str(self.policies), *words]

    def run(self, *words: str | bytes, stdin: bytes = b"", **how: object) -> subprocess.CompletedProcess[bytes]:
        return starting.run(
            self.words(*words), cwd=self.project, env=self.environment, input=stdin, capture_output=True,
            timeout=120, check=False, **how,  # type: ignore[call-overload]
        )  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> Place:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("words", "status", "stdout", "stderr"),
    [
        (("-c", "echo out; echo err >&2; exit 3"), 3, b"out\n", b"err\n"),
        (("-c", "kill -TERM $$"), 143, b"", b""),
        (("-c", "exit 255"), 255, b"", b""),
        (("--", "sh", "-c", "exit 42"), 42, b"", b""),
        (("--", "no-such-program"), 127, b"", b"/bin/bash: line 1: no-such-program: command not found\n"),
        (("--", "echo", "a b", "*", "$HOME", "", "it's"), 0, b"a b * $HOME  it's\n", b""),
        (("--", "printf", "%s|", "-n", "--", "a\nb", "-c"), 0, b"-n|--|a\nb|-c|", b""),
        (("--", "--", "x"), 127, b"", b"/bin/bash: line 1: --: command not found\n"),
        (("-c", "printf 'a\\0\\377'"), 0, b"a\0\xff", b""),
    ],
    ids=[
        "a text", "a signal", "the largest number", "words", "no program", "words that a shell would change",
        "words with dashes and lines", "a dash as a program", "bytes",
    ],
)  # fmt: skip
def test_the_status_and_the_streams_are_the_commands_own(
    here: Place, words: Sequence[str | bytes], status: int, stdout: bytes, stderr: bytes
) -> None:
    done = here.run(*words)
    assert (done.returncode, done.stdout, done.stderr) == (status, stdout, stderr)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--", "forbidden", "x"), 126, b"gateway: refused: "),
        (("--", "asked", "x"), 126, b"gateway: refused: "),
        (("--", "printf", "%s|", b"\xff\xfe"), 126, b"nothing ran: must be valid Unicode"),
        ((), 2, b"a command must be given"),
        (("-c", "ls", "--", "ls"), 2, b"a command must be given"),
        (("ls",), 2, b"must stand behind --"),
        (("--timeout", "soon", "--", "ls"), 2, b"--timeout must be a number"),
        (("--no-such-option", "--", "ls"), 2, b"--no-such-option"),
        (("--mode", "nope", "--", "ls"), 2, b"mode must be one of default"),
        (("--trust-project", "zzz", "--", "ls"), 2, b"--trust-project must be a digest (got `zzz`)"),
        (("--cwd", "/nonexistent", "--", "ls"), 2, b"--cwd must be a folder that exists"),
    ],
    ids=[
        "denied", "nobody to ask", "words that are no text", "nothing", "both", "no dashes", "no time", "no option",
        "no mode", "no digest", "no folder",
    ],
)  # fmt: skip
def test_what_does_not_run_says_why(here: Place, words: Sequence[str], status: int, said: bytes) -> None:
    done = here.run(*words)
    assert (done.returncode, done.stdout) == (status, b"")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("policy", "at", "remedy"),
    [
        ("version: 1\nrules: [{", "3:1", "close the bracket that is opened before it"),
        ("version: 9\n", "1:10", ""),
        ("version: 1\nrulez: []\n", "2:1", "did you mean `rules`?"),
    ],
    ids=["no YAML", "another version", "a key"],
)
def test_a_broken_policy_runs_nothing_and_is_told_with_its_place_and_remedy(
    here: Place, policy: str, at: str, remedy: str
) -> None:
    here.says(policy)
    done = here.run("-c", "mkdir ran")
    assert (done.returncode, done.stdout) == (126, b"")
    assert f"gateway: nothing ran: {here.policies}/user.yaml:{at}: " in done.stderr.decode()
    assert remedy in done.stderr.decode()
    assert not (here.project / "ran").exists()


def test_what_comes_in_and_goes_out_is_the_same(here: Place) -> None:
    data = os.urandom(1_000_000)
    done = here.run("--", "cat", stdin=data)
    assert (done.returncode, done.stdout == data, done.stderr) == (0, True, b"")


@pytest.mark.parametrize("errors", ["", "2>&1"], ids=["output alone", "with errors"])
def test_a_reader_that_stops_ends_the_command(here: Place, errors: str) -> None:
    text = " ".join(f"'{word}'" for word in map(os.fsdecode, here.words("--", "yes"))).replace("'-c'", "-c")
    with open(here.project / "run", "w", encoding="utf-8") as file:
        file.write(f"{text} {errors} | head -1; echo ${{PIPESTATUS[0]}}\n")
    done = subprocess.run(["bash", "run"], cwd=here.project, env=here.environment, capture_output=True, check=False)
    assert done.stdout == b"y\n141\n", done


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_a_signal_is_passed_on(here: Place, name: str) -> None:
    (here.project / "traps.py").write_text(TRAPS, encoding="utf-8")
    number = getattr(signal, name)
    process = starting.Popen(
        here.words("--", "python3", "traps.py"), cwd=here.project, env=here.environment, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.read() == f"{name}\n".encode()
    assert process.returncode == 40 + number


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_what_a_terminal_sends_reaches_all_in_the_foreground(here: Place, name: str) -> None:
    number = getattr(signal, name)
    process = starting.Popen(
        here.words("-c", "echo ready; sleep 1000; echo x"), cwd=here.project, env=here.environment,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.read() == b""
    assert process.returncode == 128 + number


def test_what_the_caller_ignores_stays_ignored(here: Place) -> None:
    process = starting.Popen(
        ["nohup", *here.words("-c", "echo ready; cat; echo end")], cwd=here.project, env=here.environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGHUP)
        process.stdin.close()
        assert process.stdout.read() == b"end\n"
    assert process.returncode == 0


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)], ids=str)
def test_closed_streams_do_no_harm(here: Place, closed: tuple[int, ...]) -> None:
    text = "cat; echo out; echo err >&2; mkdir ran"
    streams = (subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE)
    given = [starting.CLOSED if number in closed else each for number, each in enumerate(streams)]
    done = starting.run(
        here.words("-c", text), cwd=here.project, env=here.environment, stdin=given[0], stdout=given[1],
        stderr=given[2], check=False,
    )  # fmt: skip
    assert (here.project / "ran").is_dir(), done
    assert done.stdout == (None if 1 in closed else b"out\n")
    assert done.stderr == (None if 2 in closed else b"err\n")
    assert done.returncode == 0


def test_no_more_time_is_taken_than_was_given(here: Place) -> None:
    limit = int(patience(0.3) * 10) / 10
    done = here.run("--timeout", f"{limit:g}", "-c", "echo before; sleep 1000")
    assert (done.returncode, done.stdout) == (137, b"before\n")
    assert done.stderr == f"gateway: stopped: it ran for more than {limit:g} s\n".encode()


def test_a_report_tells_everything(here: Place) -> None:
    done = here.run("--report", "report.json", "-c", "cat /root/x; mkdir a; exit 4")
    assert done.returncode == 4
    report = json.loads((here.project / "report.json").read_text("utf-8"))
    assert sorted(report) == ["result", "verdict"]
    result = report["result"]
    assert (result["ended"], result["status"], result["backend"]) == ("exited", 4, "namespaces")
    assert report["verdict"]["decision"] == "allow"


def test_a_report_that_cannot_be_written_does_not_change_the_status(here: Place) -> None:
    done = here.run("--report", "/no/such/place", "-c", "exit 4")
    assert done.returncode == 4
    assert b"the report cannot be written" in done.stderr


def test_what_the_sandbox_refused_is_told_on_standard_error(here: Place) -> None:
    outside = here.project.parent / "outside"
    outside.mkdir()
    (here.project / "script").write_text(f"echo x > '{outside}/new'\n", encoding="utf-8")
    done = here.run("--", "sh", "script")
    assert done.returncode != 0
    assert b"gateway: probably blocked: " in done.stderr
    assert list(outside.iterdir()) == []


class Terminal:
    """A command at a terminal of its own, and what its screen shows."""

    def __init__(self, here: Place, *words: str) -> None:
        self.screen, theirs = pty.openpty()
        self.process = starting.Popen(
            here.words(*words), cwd=here.project, env=here.environment, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=starting.take_terminal,
        )  # fmt: skip
        os.close(theirs)
        self.shown = b""

    def until(self, text: bytes) -> None:
        while text not in self.shown:
            assert select.select([self.screen], [], [], 60)[0], self.shown
            try:
                more = os.read(self.screen, 9999)
            except OSError:
                more = b""
            assert more, self.shown
            self.shown += more

    def type(self, text: bytes) -> None:
        os.write(self.screen, text)

    def status(self) -> int:
        while True:
            try:
                more = os.read(self.screen, 9999)
            except OSError:
                more = b""
            if not more:
                break
            self.shown += more
        return self.process.wait()


@pytest.fixture
def terminal(here: Place) -> Iterator[type[Terminal]]:
    made: list[Terminal] = []

    def make(*words: str) -> Terminal:
        made.append(Terminal(here, *words))
        return made[-1]

    yield make  # type: ignore[misc]
    for each in made:
        os.close(each.screen)


def test_a_key_that_interrupts_reaches_a_program_that_finishes(here: Place, terminal) -> None:
    (here.project / "traps.py").write_text(TRAPS, encoding="utf-8")
    made = terminal("--", "python3", "traps.py")
    made.until(b"ready")
    made.type(b"\x03")
    assert made.status() == 40 + signal.SIGINT
    assert b"SIGINT" in made.shown


def test_a_key_that_interrupts_ends_a_whole_line(terminal) -> None:
    made = terminal("-c", "echo ready; sleep 1000; echo went on")
    made.until(b"ready")
    made.type(b"\x03")
    assert made.status() == 130
    assert b"went on" not in made.shown


def test_a_program_may_talk_to_the_person(terminal) -> None:
    made = terminal("--", "python3", "-i", "-q")
    made.until(b">>>")
    made.type(b"print(6 * 7)\n")
    made.until(b"42")
    made.type(b"exit(5)\n")
    assert made.status() == 5


@pytest.mark.parametrize(("answer", "status"), [(b"y\n", 127), (b"n\n", 126), (b"\n", 126), (b"\x04", 126)], ids=str)
def test_the_person_at_the_terminal_is_asked(terminal, answer: bytes, status: int) -> None:
    made = terminal("--", "asked", "x")
    made.until(b"y")
    made.until(b"] ")
    made.type(answer)
    assert made.status() == status, made.shown


def test_a_key_that_stops_stops_both_and_they_go_on_together(here: Place, terminal) -> None:
    (here.project / "traps.py").write_text(TRAPS, encoding="utf-8")
    made = terminal("--", "python3", "traps.py")
    made.until(b"ready")
    made.type(b"\x1a")
    assert os.WIFSTOPPED(os.waitpid(made.process.pid, os.WUNTRACED)[1])
    os.kill(made.process.pid, signal.SIGCONT)
    made.type(b"\x03")
    assert made.status() == 40 + signal.SIGINT


@pytest.mark.parametrize(
    ("ended", "status", "said"),
    [("refused", 126, "refused"), ("failed", 126, "nothing ran"), ("failed", 1, "cut short")],
)
def test_of_what_had_begun_nobody_is_told_that_it_did_not(
    capsys: pytest.CaptureFixture[str], ended: str, status: int, said: str
) -> None:
    _tell(Execution(None, Result(ended, status, reason="no descriptor was left")))  # type: ignore[arg-type]
    assert capsys.readouterr().err == f"gateway: {said}: no descriptor was left\n"
