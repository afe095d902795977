"""The hook as a process, with a service and without: the same answers, in time, whatever becomes of the service."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fuzzing import THOROUGH
from inprocess import called
from patience import patience

from gateway.core.command_lines import client_line
from gateway.frontends.hook_process import decide

from .conftest import ALLOWED, DENIED, Home

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("linux")
COMMANDS = [
    ALLOWED, DENIED, "rm -rf /", "curl https://example.com/", "git push --force", "ls | head -3", "cat <<E\nx\nE",
    "echo 'not closed", "npm test", "cd sub && touch ../x", "",
]  # fmt: skip


def test_the_first_hook_starts_it_and_the_next_ones_use_it(home: Home) -> None:
    assert home.services() == []
    pid = home.serve()
    os.kill(pid, 0)
    assert home.services() == [pid]
    assert home.ask("hook", "claude", given=home.event(ALLOWED))[0] == home.hook(ALLOWED)
    assert home.services() == [pid]


@pytest.fixture(scope="module")
def served() -> Iterator[Home]:
    """One that serves, for questions that change nothing."""
    made = Home(Path(tempfile.mkdtemp(prefix="gw-", dir="/tmp")).resolve())
    try:
        made.serve()
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "copilot", "opencode", "cursor"])
def test_the_answers_are_the_same_bytes_as_without_it(
    served: Home, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(served.project)
    monkeypatch.setattr(os, "environ", dict(served.environment))
    events = [served.event(text) for text in COMMANDS]
    events += [b"", b"{", b"[]", b"null", b"\xff"]
    events += [served.event(ALLOWED, tool_name="Write"), served.event(ALLOWED, cwd="x")]
    for each in events:
        warm = served.ask("hook", agent, given=each)[0]
        cold = decide([agent], each, served.environment)
        assert warm == tuple(cold)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("CLAUDE_CONFIG_DIR", "settings.json"),
        ("CODEX_HOME", "hooks.json"),
        ("GEMINI_CLI_HOME", "settings.json"),
        ("COPILOT_HOME", "settings.json"),
        ("OPENCODE_CONFIG_DIR", "plugin/gateway.js"),
    ],
)
def test_the_settings_of_agents_are_protected_with_it_where_a_variable_moves_them(
    home: Home, name: str, file: str
) -> None:
    own = home.project / "own"
    wanted = {"tool_name": "Write", "tool_input": {"file_path": str(own / file), "content": ""}}
    event = home.event("", **wanted)
    home.serve()
    before = home.ask("hook", "claude", given=event)[0]
    assert b'"permissionDecision":"ask"' in before[0]
    assert home.ask("hook", "claude", given=event, **{name: str(own)}) == (None, True)  # this one knows nothing of it
    os.kill(home.services()[0], signal.SIGKILL)
    home.environment[name] = str(own)
    home.serve()
    warm = home.ask("hook", "claude", given=event)[0]
    assert b'"permissionDecision":"deny"' in warm[0]


@pytest.mark.parametrize(
    "words",
    [
        ("--json", "Bash(ls)"),
        ("Bash(rm -rf /)",),
        ("--short", "Bash(rm -rf /)"),
        ("--full", "Bash(rm -rf /)"),
        ("--json", "--full", "Bash(npm test)"),
        ("--mode", "plan", "--json", "Write(x)"),
        ("--tool", "Bash", "--input", '{"command": "git status"}', "--json"),
        ("--unconfined", "Bash(npm test)"),
        ("--cwd", "..", "Read(p/README.md)"),
        ("Read(é\N{SNOWMAN})",),
    ],
    ids=" ".join,
)
def test_a_dry_run_says_the_same_with_it(served: Home, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(served.project)
    cold = called(["check", *words], served.project, served.environment)
    answered, _ = served.ask("check", *words)
    assert said(words, *answered) == said(words, cold.stdout, cold.stderr, cold.returncode)


def said(words: tuple[str, ...], out: bytes, err: bytes, status: int) -> tuple[Any, bytes, int]:
    """What a dry run says, but for the time that it took."""
    if "--json" not in words:
        return out, err, status
    told: Any = json.loads(out)
    assert told.pop("elapsed_us") > 0
    return told, err, status


def test_a_dry_run_of_a_process_is_the_services(home: Home) -> None:
    words = ("--json", "Bash(ls)")

    def run() -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "gateway", "check", *words], cwd=home.project, capture_output=True, check=False,
            env=home.environment | {"PYTHONPATH": os.pathsep.join(sys.path)}, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return said(words, done.stdout, done.stderr, done.returncode)

    cold = run()
    home.serve()
    assert run() == cold


LEFT = [
    ("check", "--batch", "-"),
    ("check", "--tool", "Bash", "--input", "-"),
    ("check", "--plan", "Bash(ls)"),
    ("check", "Nonsense("),
    ("check", "--mode", "nonsense", "Bash(ls)"),
    ("check",),
    ("run", "Bash(ls)"),
    ("exec", "-c", "ls"),
    ("policy", "show"),
    ("hook",),
    ("hook", "nobody"),
    ("hook", "claude", "--nonsense"),
    ("hook", "claude", "--policies", "relative"),
    (),
]


def test_everything_else_is_left_to_the_cold_path(served: Home) -> None:
    assert {words: served.ask(*words) for words in LEFT} == dict.fromkeys(LEFT, (None, False))


def test_a_changed_policy_decides_the_next_hook(home: Home) -> None:
    home.serve()
    found = [home.decision("cat README.md")]
    for text in ("deny: ['Bash(cat *)']", "allow: ['Bash(cat *)']", "ask: ['Bash(cat *)']"):
        home.policy(f"version: 1\n{text}\n")
        found.append(home.decision("cat README.md"))
    home.policy("version: 1\nrules: [{")
    found.append(json.loads(home.hook()[0])["hookSpecificOutput"]["permissionDecision"])
    assert found == ["allow", "deny", "allow", "ask", "deny"]
    assert len(home.services()) == 1


def test_many_at_once_start_one_and_are_all_answered(home: Home) -> None:
    (home.top / ".local" / "state" / "gateway").mkdir(parents=True)
    pairs = 50 if THOROUGH else 12
    texts = [ALLOWED, DENIED] * pairs
    with ThreadPoolExecutor(len(texts)) as pool:
        found = list(pool.map(lambda text: home.decision(text, deadline="300"), texts))
    assert found == ["allow", "deny"] * pairs
    home.serve()
    assert len(home.services()) == 1


@pytest.mark.usefixtures("linux")
def test_one_ends_when_it_is_told_to(home: Home) -> None:
    pid = home.serve()
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        ignored = next(int(line.split()[1], 16) for line in file if line.startswith("SigIgn"))
    assert [each for each in ("SIGTERM", "SIGHUP", "SIGINT") if ignored & 1 << getattr(signal, each) - 1] == []
    os.kill(pid, signal.SIGTERM)
    for _ in range(2000):
        if not home.services():
            break
        subprocess.run(["sleep", "0.02"], check=True)
    assert (home.services(), home.decision(DENIED)) == ([], "deny")


def test_one_that_is_stopped_is_not_waited_for(home: Home) -> None:
    pid = home.serve()
    os.kill(pid, signal.SIGSTOP)
    assert home.hook(ALLOWED, "--deadline", str(patience(9)))[2] == 0
    assert home.decision(DENIED) == "deny"
    assert pid not in home.services()  # and nobody waits for it again


def test_one_that_is_killed_in_the_middle_of_an_answer_is_made_up_for(home: Home) -> None:
    pid = home.serve()
    os.kill(pid, signal.SIGSTOP)
    with home.start() as process:
        assert process.stdin is not None
        process.stdin.write(home.event(DENIED))
        process.stdin.close()
        process.stdin = None
        # It has sent its question once it waits for the answer.
        for _ in range(2000):
            wchan = f"/proc/{process.pid}/syscall"
            with open(wchan, encoding="ascii") as file:
                if file.read().split()[0] == "45" or not os.path.exists(wchan):
                    break
        os.kill(pid, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
    assert (json.loads(out)["hookSpecificOutput"]["permissionDecision"], err, process.returncode) == ("deny", b"", 0)


@pytest.mark.parametrize("what", ["a file", "nothing", "a folder", "a socket without anybody"])
def test_what_stands_in_the_place_of_its_socket_answers_nothing(home: Home, what: str) -> None:
    pid = home.serve()
    os.kill(pid, signal.SIGKILL)
    (path,) = home.folder.glob("*.sock")
    if what != "a socket without anybody":
        path.unlink()
    if what == "a file":
        path.write_text('{"hookSpecificOutput":{"permissionDecision":"allow"}}')
    if what == "a folder":
        path.mkdir()
    assert home.decision(DENIED) == "deny"


def test_a_service_that_says_yes_to_everything_from_a_folder_of_others_is_not_heard(home: Home) -> None:
    pid = home.serve()
    home.folder.chmod(0o777)
    assert home.decision(DENIED) == "deny"
    os.kill(pid, 0)


def test_the_cold_path_is_held_to_the_time(home: Home) -> None:
    home.folder.mkdir(parents=True, mode=0o755)
    home.folder.chmod(0o755)  # nobody may serve from there
    out, err, status = home.hook(ALLOWED, "--deadline", "0.001")
    assert status == 2
    assert json.loads(out)["reason"] == err.decode().removesuffix("\n")
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1"])
def test_a_signal_ends_in_the_refusal(home: Home, number: str) -> None:
    with home.start() as process:
        waits = f"/proc/{process.pid}/status"
        mask = 1 << (getattr(signal, number) - 1)
        for _ in range(100_000):  # until it has taken the signal over
            with open(waits, encoding="ascii") as file:
                caught = next((line for line in file if line.startswith("SigCgt:")), "SigCgt: 0")
            if int(caught.split()[1], 16) & mask and int(caught.split()[1], 16) & 1 << (signal.SIGALRM - 1):
                break
        process.send_signal(getattr(signal, number))
        out, err = process.communicate(timeout=60)
    assert (json.loads(out)["decision"], process.returncode, b"signal" in err) == ("block", 2, True)


def test_a_closed_input_ends_in_the_refusal(home: Home) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *client_line("hook", "claude")], capture_output=True, cwd=home.project,
        env=home.environment, check=False,
    )  # fmt: skip
    assert (json.loads(done.stdout)["decision"], done.returncode) == ("block", 2)


def test_a_closed_output_is_no_consent(home: Home) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *client_line("hook", "claude")], input=home.event(ALLOWED),
        stderr=subprocess.PIPE, cwd=home.project, env=home.environment, check=False,
    )  # fmt: skip
    assert (done.returncode, b"cannot be written" in done.stderr) == (2, True)


def test_a_home_that_cannot_be_written_has_no_service_and_all_answers(home: Home) -> None:
    home.environment["XDG_STATE_HOME"] = "/proc/nowhere"
    assert home.decision(DENIED) == "deny"
    assert home.services() == []


def test_by_a_variable_nobody_is_asked_and_none_is_started(home: Home) -> None:
    home.environment["GATEWAY_SERVICE"] = "off"
    home.hook()
    assert (home.decision(DENIED), home.services()) == ("deny", [])
    del home.environment["GATEWAY_SERVICE"]
    home.serve()
    assert home.ask("hook", "claude", GATEWAY_SERVICE="off") == (None, False)


def test_the_other_commands_come_through_the_client_too(home: Home) -> None:
    done = subprocess.run(
        client_line("check", "--json", "Bash(ls)"), cwd=home.project, env=home.environment, capture_output=True,
        check=False,
    )  # fmt: skip
    assert (json.loads(done.stdout)["decision"], done.stderr, done.returncode) == ("allow", b"", 0)
