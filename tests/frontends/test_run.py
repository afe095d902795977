"""`gateway run` as a process: the result on standard output, everything else beside it, and a status that tells."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
from typing import TYPE_CHECKING

import pytest
import starting
from warmed import warm

from gateway.sandbox.backends.spaces import Spaces

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

MAIN = [*starting.GATEWAY, "run"]
POLICY = """\
version: 1
rules:
  - {id: everything, allow: "Bash(*)"}
  - {id: never, deny: "Bash(forbidden *)", because: nobody may}
"""


class Place:
    """A project, and the command line in it."""

    def __init__(self, top: Path) -> None:
        self.project, self.home = top / "project", top / "home"
        config = self.home / ".config" / "gateway"
        for folder in (self.project, self.home, config):
            folder.mkdir(parents=True)
        (config / "policy.yaml").write_text(POLICY, encoding="utf-8")
        (self.project / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TERM": "xterm-256color"}
        warm(self.home / ".cache" / "gateway")

    def run(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return starting.run(
            [*MAIN, *words], cwd=self.project, env=self.environment, input=stdin, capture_output=True, timeout=120,
            check=False,
        )  # fmt: skip

    def on_a_terminal(self, *words: str, columns: str = "80", **more: str) -> tuple[int, str]:
        """The status, and all that a person sees. `more`: of the environment."""
        ours, theirs = pty.openpty()
        process = starting.Popen(
            [*MAIN, *words], cwd=self.project, env={**self.environment, "COLUMNS": columns, **more}, stdin=theirs,
            stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        seen = b""
        while select.select([ours], [], [], 60)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
        os.close(ours)
        return process.wait(60), seen.decode("utf-8", "replace").replace("\r\n", "\n")


@pytest.fixture
def here(tmp_path: Path) -> Place:
    return Place(tmp_path)


def confined() -> None:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")


def test_a_result_stands_alone_on_standard_output(here: Place) -> None:
    done = here.run("Read(a.txt)")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"     1\tone\n     2\ttwo\n", b"")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["Read(.env)"], 126, b"gateway: refused: `Read("),
        (["Write(b)"], 126, b"gateway: refused: $.content: must be given"),
        (["--tool", "Read", "--input", '{"file_path": "a", "x": 1}'], 126, b"gateway: refused: $.x"),
        (["Nope(x)"], 2, b"gateway: tool must be a known name"),
        ([], 2, b"a call must be given"),
        (["Read(a)", "--tool", "Read", "--input", "{}"], 2, b"a call must be given"),
        (["--tool", "Read", "--input", "["], 2, b"--input"),
        (["Read(a.txt)", "--theme", "pink"], 2, b"--theme must be one of dark, light, contrast"),
        (["Read(a.txt)", "--width", "3"], 2, b"--width must be from 20 to 1000 columns"),
    ],
)
def test_what_does_not_run_says_why_and_prints_nothing(here: Place, words: list[str], status: int, said: bytes) -> None:
    done = here.run(*words)
    assert (done.returncode, done.stdout) == (status, b"")
    assert said in done.stderr


def test_a_tool_that_says_it_did_not_work_ends_with_1(here: Place) -> None:
    done = here.run("Read(no-such)")
    assert done.returncode == 1
    assert b"no-such" in done.stdout


def test_the_input_may_come_from_standard_input(here: Place) -> None:
    done = here.run("--tool", "Read", "--input", "-", stdin=b'{"file_path": "a.txt", "limit": 1}')
    assert done.stdout.startswith(b"     1\tone\n")


def test_a_command_gives_its_own_status(here: Place) -> None:
    confined()
    done = here.run("Bash(echo out; exit 7)")
    assert (done.returncode, done.stdout[:4]) == (7, b"out\n")
    assert here.run("Bash(forbidden x)").returncode == 126


def test_json_holds_everything(here: Place) -> None:
    done = here.run("--json", "Read(a.txt)")
    found = json.loads(done.stdout)
    assert sorted(found) == ["output", "record", "reports", "result", "verdict"]
    assert found["output"]["content"] == [{"type": "text", "text": "     1\tone\n     2\ttwo"}]
    assert (found["verdict"]["decision"], found["result"]["ended"], bool(found["record"])) == ("allow", "exited", True)
    refused = here.run("--json", "Read(.env)")
    assert (refused.returncode, json.loads(refused.stdout)["result"]["ended"]) == (126, "refused")


def test_a_person_sees_the_call_and_its_result(here: Place) -> None:
    status, seen = here.on_a_terminal("--theme", "light", "Read(a.txt)")
    assert status == 0
    assert "● " in seen
    assert "Read a.txt" in seen
    assert "one" in seen
    assert "\x1b[" in seen


def test_a_person_sees_a_refusal_with_its_rule(here: Place) -> None:
    status, seen = here.on_a_terminal("Read(.env)")
    assert status == 126
    assert "✗ " in seen
    assert "rule secret-files" in seen


def test_what_a_command_prints_is_seen_once(here: Place) -> None:
    confined()
    status, seen = here.on_a_terminal("Bash(echo once)")
    assert (status, seen.count("once")) == (0, 2)  # in the call, and in what it prints


def test_nothing_that_a_file_holds_plays_tricks_on_a_terminal(here: Place) -> None:
    (here.project / "a.txt").write_text("\x1b]0;title\x07\x1b[2J‮gnp.exe\n", encoding="utf-8")
    _status, seen = here.on_a_terminal("Read(a.txt)")
    assert "\\x1b]0;title\\x07\\x1b[2J\\u202egnp.exe" in seen
    assert "\x1b]0;" not in seen
    assert "\x1b[2J" not in seen


def test_what_may_be_done_about_a_refusal_stands_on_a_line_of_its_own(here: Place) -> None:
    done = here.run("--tool", "Raed", "--input", "{}")
    first, second = done.stderr.decode().splitlines()
    assert (done.returncode, first.startswith("gateway: refused: "), second.startswith("  help: ")) == (126, True, True)


MANY = "".join(f"{number}\n" for number in range(1, 100_001))


@pytest.mark.parametrize("words", [["--json"], []], ids=["as data", "as text"])
def test_a_long_result_is_whole_where_it_is_piped(here: Place, words: list[str]) -> None:
    confined()
    done = here.run(*words, "Bash(seq 100000; exit 3)")
    text = json.loads(done.stdout)["output"]["content"][0]["text"] + "\n" if words else done.stdout.decode()
    assert (done.returncode, text == MANY + "[Exit status 3]\n") == (3, True)


def test_what_other_tools_say_is_whole_where_it_is_piped(here: Place) -> None:
    (here.project / "many.txt").write_text(MANY, encoding="ascii")
    done = here.run("--tool", "Grep", "--input", json.dumps(
        {"pattern": "^[0-9]*$", "output_mode": "content", "head_limit": 0}
    ))  # fmt: skip
    assert done.stdout.decode().splitlines()[-1] == "many.txt:100000:100000"
    assert len(done.stdout.splitlines()) == 100_000


@pytest.mark.parametrize("full", [False, True])
def test_on_a_terminal_a_long_result_is_seen_at_a_glance_or_whole_and_names_no_file(here: Place, full: bool) -> None:
    confined()
    status, seen = here.on_a_terminal(*["--full"] * full, "Bash(seq 100000; exit 3)")
    assert status == 3
    assert "gateway-" not in seen
    assert seen.count("\n99999\n") == 1
    assert (seen.count("\n500\n"), "--full shows them" in seen) == ((1, False) if full else (0, True))
    assert seen.count("[Exit status 3]") == 1
    assert full or seen.count("\n") < 50


def test_a_terminal_that_knows_ascii_only_refuses_nothing(here: Place) -> None:
    (here.project / "a.txt").write_text("é\n", encoding="utf-8")
    status, seen = here.on_a_terminal("Read(a.txt)", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (status, "* " in seen, "\\xe9" in seen) == (0, True, True)
    status, seen = here.on_a_terminal("Read(.env)", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (status, "x `Read(" in seen) == (126, True)


def test_nothing_runs_on_behind_a_call_that_is_the_only_one(here: Place) -> None:
    confined()
    done = here.run("--tool", "Bash", "--input", '{"command": "true", "run_in_background": true}')
    assert (done.returncode, b"Nothing can run in the background here." in done.stdout) == (1, True)


def test_nothing_is_left_in_the_temporary_folder(here: Place, tmp_path: Path) -> None:
    confined()
    (tmp_path / "temporary").mkdir()
    here.environment["TMPDIR"] = str(tmp_path / "temporary")
    assert here.run("Bash(seq 100000)").returncode == 0
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "an end"])
def test_a_signal_that_ended_the_call_is_the_status(here: Place, number: signal.Signals) -> None:
    confined()
    ours, theirs = pty.openpty()
    process = starting.Popen(
        [*MAIN, "Bash(echo begun; sleep 60)"], cwd=here.project, env=here.environment, stdin=theirs, stdout=theirs,
        stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    with process:
        seen = b""
        while b"begun\r\n" not in seen and select.select([ours], [], [], 60)[0]:
            seen += os.read(ours, 65536)
        process.send_signal(number)
        status = process.wait(120)
    os.close(ours)
    assert (b"begun\r\n" in seen, status) == (True, 128 + number)
