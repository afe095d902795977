"""`gateway cron`: processes of their own, in a home of their own."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import starting

from gateway.tasks.crons import Crons

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "home" / "project" / ".git").mkdir(parents=True)
    config = tmp_path / "home" / ".config" / "gateway"
    config.mkdir(parents=True)
    policy = {"version": 1, "settings": {"sandbox": {"weaker": ["landlock", "none"]}}, "allow": ["Bash(ls *)"]}
    (config / "policy.yaml").write_text(json.dumps(policy), encoding="utf-8")
    return tmp_path.resolve()


def add(place: Path, *, ago: float = 0.0, **given: Any) -> str:
    """A scheduled call that was made that long ago."""
    import time

    project = str(place / "home" / "project")
    usual = {
        "name": "look", "schedule": "* * * * *", "zone": "UTC", "kind": "command", "text": "ls .", "root": project,
        "cwd": project, "mode": "default", "rules": (), "agent": "", "depth": 0, "once": False,
    }  # fmt: skip
    state = place / "home" / ".local" / "state" / "gateway"
    return Crons(str(state), now=lambda: time.time() - ago).create(**{**usual, **given}).id


@pytest.fixture
def cron(in_process: Any, place: Path) -> Any:
    def run(*words: str) -> Any:
        return in_process("cron", *words, cwd=place / "home" / "project", HOME=str(place / "home"))

    return run


def test_calls_for_later_are_listed_and_removed(cron: Any, place: Path) -> None:
    assert cron("list").stdout == b"there are no scheduled calls\n"
    job = add(place)
    assert cron("list").stdout.startswith(f"{job}  * * * * * (UTC)  command: ls .  [look] next ".encode())
    assert f"in {place}/home/project".encode() in cron("list", "--all").stdout
    (found,) = json.loads(cron("list", "--json").stdout)["jobs"]
    assert (found["id"], found["text"], found["root"]) == (job, "ls .", f"{place}/home/project")
    assert cron("remove", "look").stdout == f"{job} is removed\n".encode()
    gone = cron("remove", "look")
    assert (gone.returncode, b"there is no scheduled call `look`" in gone.stderr) == (2, True)


def test_what_is_due_fires_once(cron: Any, place: Path) -> None:
    add(place, ago=70)  # at least one minute has begun since
    reports = [json.loads(line) for line in cron("run", "--once", "--json").stdout.splitlines()]
    assert [each["outcome"] for each in reports if each["outcome"] != "missed"] == ["started", "done"]
    assert b"done" in cron("list").stdout


def test_a_prompt_is_done_by_an_agent(cron: Any, place: Path) -> None:
    add(place, ago=70, kind="prompt", text="Look.")
    script = place / "script.yaml"
    script.write_text("version: 1\nturns: [{say: I have looked.}]\n", encoding="utf-8")
    done = cron("run", "--once", "--json", "--script", str(script))
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    found = [(each["outcome"], each["reason"]) for each in reports if each["outcome"] != "missed"]
    assert found == [("started", ""), ("done", "I have looked.")]


def test_one_process_fires_and_ends_when_it_is_told_to(command: Any, cron: Any, place: Path) -> None:
    add(place, ago=70)
    arguments = command("cron", "run", "--json", cwd=place / "home" / "project", HOME=str(place / "home"))
    running = starting.Popen(**arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    while json.loads(running.stdout.readline())["outcome"] != "started":
        pass
    second = cron("run", "--once")
    assert (second.returncode, b"another process fires calls already" in second.stderr) == (2, True)
    running.send_signal(signal.SIGTERM)
    _out, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (0, b"")
