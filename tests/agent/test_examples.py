"""The sessions in `examples/`, replayed by the command line as their pages say."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from inprocess import called
from warmed import warm

EXAMPLES = Path(__file__).parents[2] / "examples"


class World:
    """A copy of an example's project, and a user of their own."""

    def __init__(self, example: str, top: Path) -> None:
        self.example = EXAMPLES / example
        self.project = top / "project"
        shutil.copytree(self.example / "project", self.project)
        self.home = top / "home"
        self.home.mkdir()
        warm(self.home / ".cache" / "gateway")
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    def gateway(self, *words: str) -> subprocess.CompletedProcess[str]:
        done = called(list(words), self.home, self.environment)
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    def trust(self) -> None:
        said = self.gateway("policy", "trust", str(self.project)).stdout
        digest = re.search(r"^digest (\w+)$", said, re.MULTILINE)
        assert digest is not None
        assert self.gateway("policy", "trust", "--yes", digest[1], str(self.project)).returncode == 0

    def agent(self, task: str, *words: str) -> subprocess.CompletedProcess[str]:
        script = str(self.example / "session.yaml")
        return self.gateway("agent", "--cwd", str(self.project), "--script", script, *words, task)

    def refused(self) -> list[str]:
        """The rules that refused calls, as the record has them."""
        lines = self.gateway("audit", "tail", "--json", "-n", "1000").stdout.splitlines()
        told = [json.loads(line) for line in lines]
        return [each["rule"][0] for each in told if each.get("decision") == "deny"]


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="the session runs the system's Python")
def test_a_session_mends_a_failing_test_and_is_refused_on_the_way(tmp_path: Path) -> None:
    world = World("fix-a-test", tmp_path)
    before = (world.project / "test_prices.py").read_text()
    world.trust()
    done = world.agent("Make the tests pass.")
    assert (done.returncode, done.stderr.count("was refused by rule `tests-say-what-is-right`")) == (0, 1), done.stderr
    assert "Both tests pass." in done.stdout
    assert world.refused() == ["tests-say-what-is-right"]
    assert (world.project / "test_prices.py").read_text() == before
    assert "(100 - percent_off) // 100" in (world.project / "prices.py").read_text()


def test_the_same_session_mends_nothing_where_nobody_trusts_the_project(tmp_path: Path) -> None:
    world = World("fix-a-test", tmp_path)
    before = (world.project / "prices.py").read_text()
    done = world.agent("Make the tests pass.")
    assert done.returncode == 1
    assert (world.project / "prices.py").read_text() == before


def test_a_team_of_three_works_on_a_list_of_tasks(tmp_path: Path) -> None:
    world = World("team", tmp_path)
    done = world.agent("Summarise the notes.", "--policies", str(world.example / "policies"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "The summary is written and checked.\n", "")
    assert (world.project / "summary.md").read_text() == "The release is on Wednesday.\n"


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="the session runs the system's Python")
def test_a_check_that_was_kept_for_later_fires_and_says_what_it_found(tmp_path: Path) -> None:
    world = World("scheduled-check", tmp_path)
    index = (world.project / "index.md").read_text()
    world.trust()
    done = world.agent("Watch the links.")
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "Both are kept. `gateway cron run` fires them.\n", "",
    ), done  # fmt: skip
    script = str(world.example / "session.yaml")
    state = world.home / ".local" / "state" / "gateway"
    with closing(sqlite3.connect(state / "cron.sqlite")) as database, database:
        database.execute("UPDATE jobs SET created = created - 70, seen = seen - 70")
    fired = world.gateway("cron", "run", "--once", "--json", "--script", script)
    told = [json.loads(line) for line in fired.stdout.splitlines()]
    ended = {
        each["name"]: (each["outcome"], each["reason"]) for each in told if each["outcome"] not in ("started", "missed")
    }
    assert ended == {
        "check": ("failed", "status 1"),
        "look": ("done", "on-call.md is missing; found.md says so. I may not change the index."),
    }, fired
    assert (world.project / "found.md").read_text() == "index.md names on-call.md, which is not there.\n"
    assert (world.project / "index.md").read_text() == index
    assert world.refused() == ["notes-are-peoples"]


def test_nothing_of_it_is_kept_where_nobody_trusts_the_project(tmp_path: Path) -> None:
    world = World("scheduled-check", tmp_path)
    assert world.agent("Watch the links.").returncode == 1
    assert world.gateway("cron", "list", "--cwd", str(world.project)).stdout == "there are no scheduled calls\n"


@pytest.mark.parametrize("keeps", [True, False], ids=["and keeps what it did", "and takes it back"])
def test_an_agent_of_ones_own_is_refused_asks_and_leaves_a_way_back(
    ground, capsys, monkeypatch: pytest.MonkeyPatch, keeps: bool
) -> None:
    shutil.copytree(EXAMPLES / "own-agent", ground.project, dirs_exist_ok=True)
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "y" if "[y/N]" in question or keeps else "n"

    monkeypatch.chdir(ground.project)
    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(sys, "argv", ["agent.py", "Note that dates are checked.", "session.yaml"])
    runpy.run_path("agent.py", run_name="__main__")
    said = capsys.readouterr().out.splitlines()
    assert said == ["It stands in NEXT.md, and the check is content.", *([] if keeps else ["taken back"])]
    assert ["scripts are looked at first" in asked[0], asked[1:]] == [
        True, ["Write changed NEXT.md. Keep it? [Y/n] "],
    ]  # fmt: skip
    assert (ground.project / "NEXT.md").exists() is keeps
    assert (ground.project / "CHANGES.md").read_text() == "# 1.0\n"
    denied = [each["rule"][0] for each in ground.records() if each.get("decision") == "deny"]
    assert denied == ["released"]


def test_an_agent_of_ones_own_takes_fifteen_lines() -> None:
    lines = (EXAMPLES / "own-agent" / "agent.py").read_text().splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("person ="))
    assert len([line for line in lines[begin:] if line.strip()]) <= 15
