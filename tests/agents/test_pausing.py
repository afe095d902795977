"""Hooks that a person has put aside: until when, for which project, and what holds meanwhile."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import starting
from attended import at_terminal
from hooking import SESSION, World, before

from gateway.agents.pausing import FILE, LONGEST, Pause, begin, end, known, pause_of
from gateway.config.layers import Setting
from gateway.core.errors import ConfigError
from gateway.core.places import Places
from gateway.frontends.cli.doctor import setup_findings
from gateway.frontends.finding import BETTER

NOW = 1_800_000_000.0
HERE, THERE = Pause(NOW, NOW + 600, "/p"), Pause(NOW, NOW + 900, "/q")


@pytest.fixture
def state(tmp_path: Path) -> str:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return str(folder)


@pytest.mark.parametrize(
    ("root", "after", "holds"),
    [("/p", 0, True), ("/p", 599, True), ("/p", 600, False), ("/p", -1, False), ("/q", 0, False), ("/p/sub", 0, False)],
)
def test_a_pause_holds_for_its_project_and_its_time(state: str, root: str, after: float, holds: bool) -> None:
    begin(state, HERE)
    assert pause_of(state, root, {}, NOW + after) == (HERE if holds else None)


def test_a_pause_for_every_project_holds_in_each_and_the_longest_counts(state: str) -> None:
    begin(state, HERE)
    everywhere = Pause(NOW, NOW + 1200)
    begin(state, everywhere)
    assert [pause_of(state, root, {}, NOW) for root in ("/p", "/q")] == [everywhere, everywhere]


def test_a_new_pause_takes_the_place_of_the_one_before(state: str) -> None:
    begin(state, HERE)
    begin(state, THERE)
    shorter = HERE.replace(until=NOW + 60)
    begin(state, shorter)
    assert set(known(state)) == {shorter, THERE}


def test_ending_ends_those_that_hold_here(state: str) -> None:
    for each in (HERE, THERE, Pause(NOW, NOW + 60)):
        begin(state, each)
    assert end(state, "/p") == (HERE, Pause(NOW, NOW + 60))
    assert known(state) == (THERE,)
    assert end(state, "/p") == ()
    begin(state, HERE)
    assert (set(end(state, None)), known(state)) == ({HERE, THERE}, ())


def test_none_is_longer_than_a_day_whatever_the_file_says(state: str) -> None:
    begin(state, Pause(NOW, NOW + 10 * LONGEST))
    assert pause_of(state, "/p", {}, NOW + LONGEST - 1) is not None
    assert pause_of(state, "/p", {}, NOW + LONGEST) is None


def test_where_policy_forbids_it_none_holds(state: str) -> None:
    begin(state, HERE)
    assert pause_of(state, "/p", {"pause": Setting(False, "f", "enterprise")}, NOW) is None
    assert pause_of(state, "/p", {"pause": Setting(True, "f", "enterprise")}, NOW) == HERE


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", '[{"since": 0}]', '[{"since": 0, "until": "x", "root": ""}]', "null",
                json.dumps([{"since": NOW, "until": NOW + 9, "root": ["/p"]}])]
)  # fmt: skip
def test_a_broken_file_pauses_nothing(state: str, content: str) -> None:
    Path(state, FILE).write_text(content, encoding="utf-8")
    os.chmod(Path(state, FILE), 0o600)
    assert known(state) == ()


def test_a_file_that_others_may_write_pauses_nothing(state: str) -> None:
    begin(state, HERE)
    os.chmod(Path(state, FILE), 0o666)
    assert known(state) == ()
    os.chmod(Path(state, FILE), 0o600)
    assert known(state) == (HERE,)
    os.chmod(state, 0o777)
    assert known(state) == ()
    with pytest.raises(ConfigError, match="nobody else can write"):
        begin(state, HERE)


# ------------------------------------------------------------------------------------------ what hooks answer meanwhile

RULES = "rules:\n  - {id: mine, deny: 'Bash(make *)'}\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = World(tmp_path_factory.mktemp("paused"), RULES)
    os.chmod(made.home / ".local" / "state" / "gateway", 0o700) if made.state.exists() else made.state.mkdir(
        mode=0o700, parents=True
    )
    return made


def said(world: World, agent: str, command: str) -> str:
    """The word of a hook on a shell command; "" for silence."""
    out, _err, status = world.run(agent, before(agent, str(world.project), given={"command": command}))
    assert status == 0
    if not out:
        return ""
    told = json.loads(out)
    own = told.get("hookSpecificOutput", told)
    word = own.get("permissionDecision") or own.get("decision") or ""
    assert isinstance(word, str)
    return word


@pytest.mark.parametrize(
    ("command", "otherwise", "meanwhile"),
    [
        ("make x", "deny", ""),  # a rule of one's own
        ("./unknown-program", "ask", ""),  # what the mode asks about
        ("cat README.md", "allow", ""),  # what would be allowed is left to the agent as well
        ("rm -rf /", "deny", "deny"),
        ("cat ~/.ssh/id_rsa", "deny", "deny"),
        ("echo {} > ~/.claude/settings.json", "deny", "deny"),
        ("gateway pause 1h", "deny", "deny"),
    ],
)
def test_what_protects_the_system_still_holds_and_the_rest_is_left_to_the_agent(
    world: World, command: str, otherwise: str, meanwhile: str
) -> None:
    assert said(world, "claude", command) == otherwise
    begin(str(world.state), Pause(time.time() - 1, time.time() + 300, str(world.project)))
    try:
        assert said(world, "claude", command) == meanwhile
    finally:
        end(str(world.state), str(world.project))


def test_a_pause_of_another_project_changes_nothing_here(world: World) -> None:
    begin(str(world.state), Pause(time.time() - 1, time.time() + 300, str(world.home / "other")))
    try:
        assert said(world, "claude", "make x") == "deny"
    finally:
        end(str(world.state), str(world.home / "other"))


def test_what_is_left_to_the_agent_is_recorded_as_such(world: World) -> None:
    begin(str(world.state), Pause(time.time() - 1, time.time() + 300))
    try:
        said(world, "claude", "make recorded")
    finally:
        end(str(world.state), "")
    lines = (world.state / "audit" / "000001.jsonl").read_text(encoding="utf-8").splitlines()
    (record,) = [each for each in map(json.loads, lines) if "make recorded" in json.dumps(each)]
    assert (record["front"], record["session"], record["decision"]) == ("hook:claude paused", SESSION, "allow")


# ------------------------------------------------------------------------------------------------------- the command


def run(world: World, *words: str, types: str | None = None) -> tuple[int, str]:
    import subprocess
    import sys

    arguments: dict[str, Any] = {
        "args": [sys.executable, "-m", "gateway", "pause", *words], "cwd": world.project, "env": world.environment(),
    }  # fmt: skip
    if types is not None:
        return at_terminal(arguments, types)
    done = starting.run(**arguments, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_a_person_at_a_terminal_pauses_and_ends_it(world: World) -> None:
    assert run(world) == (0, "nothing is paused here\n")
    status, screen = run(world, "10m", types="y\n")
    assert (status, f"paused: hooks in {world.project}, until " in screen) == (0, True)
    (one,) = known(str(world.state))
    assert (round(one.until - one.since), one.root) == (600, str(world.project))
    assert run(world)[1].startswith(f"paused: hooks in {world.project}, until ")
    where = Places("/nonexistent", str(world.config), str(world.state), str(world.home / ".cache"), str(world.home))
    found = [each for each in setup_findings(where, str(world.project)) if each.name == "pause"]
    assert [(each.state, each.remedy) for each in found] == [(BETTER, "end it with `gateway pause --end`")]
    assert run(world, "--end") == (0, f"ended: hooks in {world.project}\n")
    assert known(str(world.state)) == ()


def test_without_a_yes_or_a_terminal_nothing_is_paused(world: World) -> None:
    status, screen = run(world, "10m", types="n\n")
    assert (status, screen.endswith("not paused\r\n")) == (1, True)
    status, told = run(world, "10m")
    assert (status, "a pause must be given by a person at a terminal" in told, "--yes" in told) == (2, True, False)
    assert known(str(world.state)) == ()


@pytest.mark.parametrize("length", ["0m", "10", "m", "1.5h", "-5m", "25h", "2d", "1000000000000s", "٣m"])
def test_a_length_that_is_none_is_refused(world: World, length: str) -> None:
    status, told = run(world, "--", length)
    assert (status, "TIME must be a length of time" in told) == (2, True)


def test_a_pause_is_ended_whatever_the_policy_has_become(tmp_path: Path) -> None:
    broken = World(tmp_path, "rules: [\n")
    broken.state.mkdir(mode=0o700, parents=True)
    begin(str(broken.state), Pause(time.time() - 1, time.time() + 300, str(broken.project)))
    assert run(broken, "--end") == (0, f"ended: hooks in {broken.project}\n")


def test_where_policy_forbids_it_the_command_says_so(tmp_path: Path) -> None:
    forbidding = World(tmp_path, "settings: {pause: false}\n")
    status, told = run(forbidding, "10m")
    assert (status, "policy must allow a pause (setting `pause` is false)" in told) == (2, True)
