"""Scheduled calls fire when they are due, judged by the policy of that moment, and never twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gateway.api.gateway import Gateway
from gateway.core.cancel import Cancel
from gateway.core.errors import StoreError
from gateway.core.places import places
from gateway.tasks.crons import FILE, Crons, Run
from gateway.tasks.firing import Firing

if TYPE_CHECKING:
    from gateway.config.load import Options

HOUR = 3600.0
POLICY = {
    "settings": {"sandbox": {"weaker": ["landlock", "none"]}},
    "allow": ["Bash(touch *)", "Edit(./**)"],
}


def opened(options: Options) -> Gateway:
    """A gateway for a project, as the command line opens one."""
    return Gateway(options, where=places(), front="cron")


class Station:
    """Fires in a project of its own, by a clock that a test sets."""

    def __init__(self, ground: Any) -> None:
        self.ground = ground
        self.now = HOUR * 500_000 + 5
        self.told: list[Run] = []
        self.cancel = Cancel()
        self.prompts: list[str] = []
        ground.says(POLICY)
        self.crons = Crons(places().state, now=self.clock)

    def clock(self) -> float:
        return self.now

    def add(self, **given: Any) -> str:
        usual = {
            "name": "", "schedule": "0 * * * *", "zone": "UTC", "kind": "command", "text": "touch made",
            "root": str(self.ground.project), "cwd": str(self.ground.project), "mode": "default", "rules": (),
            "agent": "", "depth": 0, "once": False,
        }  # fmt: skip
        return self.crons.create(**{**usual, **given}).id

    def firing(self) -> Firing:
        return Firing(places(), self.cancel, opened, prompted=self.prompted, told=self.told.append, now=self.clock)

    def prompted(self, gateway: Any, session: Any, task: str, _cancel: Cancel) -> tuple[str, str]:
        self.prompts.append(f"{task} in {session.context.mode} at {os.path.basename(gateway.context.cwd)}")
        return "done", "It is done."

    def fire(self) -> list[tuple[str, str]]:
        """An hour passes, and what is due by then fires."""
        self.now += HOUR
        self.told.clear()
        with self.firing() as firing:
            firing.fire()
            firing.wait()
        return [(run.outcome, run.reason) for run in self.told]

    @property
    def made(self) -> list[str]:
        return sorted(name for name in os.listdir(self.ground.project) if not name.startswith("."))


@pytest.fixture
def station(ground):
    made = Station(ground)
    yield made
    made.cancel.close()


def test_a_command_runs_when_it_is_due_and_is_in_the_record(station: Station) -> None:
    job = station.add()
    assert station.fire() == [("started", ""), ("done", "")]
    assert station.made == ["made"]
    (run,) = station.crons.runs()
    records = [each for each in station.ground.records() if each.get("id") == run.record]
    decision = next(each for each in records if each["kind"] == "decision")
    assert (decision["front"], decision["session"]) == ("cron", f"cron-{job}-{run.id}")


def test_it_is_judged_when_it_fires(station: Station) -> None:
    station.add()
    station.ground.says({**POLICY, "deny": ["Bash(touch *)"]})
    (_started, (outcome, reason)) = station.fire()
    assert (outcome, station.made) == ("refused", [])
    assert "was refused by rule" in reason
    station.ground.says(POLICY)
    assert station.fire() == [("started", ""), ("done", "")]


def test_nobody_is_asked(station: Station) -> None:
    station.add(text="rm made")
    (_started, (outcome, reason)) = station.fire()
    assert outcome == "refused"
    assert "nobody to ask" in reason


NARROWER = {
    "of a mode that writes nothing": {"mode": "plan"},
    "under a rule of its session": {"rules": (json.dumps({"version": 1, "deny": ["Edit(made)"]}),)},
    "of an agent that a rule speaks of": {"agent": "Explore"},
    "in a folder that is gone": {"cwd": "/nonexistent/folder"},
    "under rules that cannot hold": {"rules": ("nonsense: [",)},
}


@pytest.mark.parametrize("given", NARROWER.values(), ids=NARROWER)
def test_whoever_made_it_has_nothing_done_later_that_they_may_not_do(station: Station, given: dict[str, Any]) -> None:
    station.ground.says({**POLICY, "rules": [{"id": "explorers", "deny": {"agent": "Explore", "effect": "write"}}]})
    station.add(**given)
    assert [outcome for outcome, _reason in station.fire()] == ["started", "refused"]
    assert station.made == []


@pytest.mark.parametrize("mode", ["bypass", "accept_edits", "auto"])
def test_a_looser_mode_is_not_taken_along(station: Station, mode: str) -> None:
    station.add(mode=mode, text="rm -f made")
    assert [outcome for outcome, _reason in station.fire()] == ["started", "refused"]


@pytest.mark.parametrize(
    ("mode", "then"),
    [
        pytest.param("auto", "default", id="a mode that is neither stricter nor looser: one as strict as both"),
        pytest.param("accept_edits", "accept_edits", id="the twin, made in the mode of the policy"),
    ],
)
def test_what_was_made_in_another_mode_fires_in_none_looser_than_either(station: Station, mode: str, then: str) -> None:
    station.ground.says({**POLICY, "settings": {**POLICY["settings"], "mode": "accept_edits"}})
    station.add(kind="prompt", text="Look.", mode=mode)
    station.fire()
    assert station.prompts == [f"Look. in {then} at project"]


def test_no_mode_is_made_up_where_none_is_as_strict_as_both(station: Station) -> None:
    station.ground.says({**POLICY, "settings": {**POLICY["settings"], "mode": "dont_ask"}})
    station.add(mode="plan")
    ((_started, _why), (outcome, reason)) = station.fire()
    assert (outcome, station.made) == ("refused", [])
    assert "no mode is as strict as that and dont_ask" in reason


def test_a_command_that_fails_says_so(station: Station) -> None:
    station.add(text="touch nowhere/made")
    assert [outcome for outcome, _reason in station.fire()] == ["started", "failed"]


def test_a_prompt_goes_to_an_agent_in_the_mode_it_was_made_in(station: Station) -> None:
    station.add(kind="prompt", text="Look around.", mode="plan")
    assert station.fire() == [("started", ""), ("done", "It is done.")]
    assert station.prompts == ["Look around. in plan at project"]


def test_a_fault_of_one_is_its_own(station: Station, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(station, "prompted", broken)
    station.add(kind="prompt", text="x")
    station.add()
    found = station.fire()
    assert ("failed", "an internal error (RuntimeError)") in found
    assert ("done", "") in found


def test_what_was_missed_is_told(station: Station) -> None:
    station.add()
    station.now += 5 * HOUR
    assert station.fire() == [("missed", "5 times: nothing was there to fire it"), ("started", ""), ("done", "")]
    station.now += 60 * 10
    assert station.fire() == [("missed", "once: nothing was there to fire it")]


def test_one_process_fires_for_a_state_folder(station: Station) -> None:
    with station.firing(), pytest.raises(StoreError, match="another process fires calls already"):
        station.firing()
    station.firing().close()


FIRING = """
import sys
from gateway.api.gateway import Gateway
from gateway.tasks.firing import Firing
from gateway.core.places import places
from gateway.core.cancel import Cancel
def told(run):
    print(run.outcome, flush=True)
def prompted(gateway, session, task, cancel):
    open("begun", "a").write("x")
    print("working", flush=True)
    sys.stdin.readline()
    return "done", ""
opened = lambda options: Gateway(options, front="cron")
with Firing(places(), Cancel(), opened, prompted=prompted, told=told, now=lambda: float(sys.argv[1])) as firing:
    firing.start()
    firing.fire()
    print("waiting", flush=True)
    firing.wait()
"""


def test_what_was_firing_when_it_was_killed_does_not_fire_again(station: Station) -> None:
    station.add(kind="prompt", text="x")
    station.now += HOUR
    words = [sys.executable, "-c", FIRING, str(station.now)]
    tests = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": tests}

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=station.ground.project
        )

    first = start()
    assert first.stdout is not None
    assert "working\n" in first.stdout  # read until it says so, or has ended
    first.send_signal(signal.SIGKILL)
    first.communicate()
    out, _errors = start().communicate("\n", timeout=60)
    assert out.split() == ["unknown", "waiting"]
    assert (station.ground.project / "begun").read_text(encoding="utf-8") == "x"
    assert [run.outcome for run in station.crons.runs()] == ["unknown"]


def test_it_ends_when_it_is_cancelled(station: Station) -> None:
    station.add()
    station.now += HOUR
    station.cancel.set()
    with station.firing() as firing:
        firing.run()
    assert station.told == []


def test_a_call_whose_time_zone_is_gone_stops_no_other(station: Station) -> None:
    broken = station.add()
    station.now += 1
    good = station.add(text="touch good")
    with sqlite3.connect(os.path.join(places().state, FILE)) as database:
        database.execute("UPDATE jobs SET zone = 'No/Where' WHERE id = ?", (broken,))
    database.close()
    assert [(job.id, job.next() is None) for job in station.crons.jobs()] == [(broken, True), (good, False)]
    station.now += HOUR
    with station.firing() as firing:
        for _ in range(3):
            firing.fire()
            firing.wait()
        assert firing._pause() > 0
    assert [(run.job, run.outcome) for run in station.told] == [
        (broken, "failed"), (good, "started"), (good, "done"),
    ]  # fmt: skip
    assert "no time zone `No/Where`" in station.told[0].reason
    assert station.made == ["good"]


def test_what_was_claimed_is_done_whether_anybody_hears_of_it_or_not(station: Station) -> None:
    station.add()

    def gone(_run: Run) -> None:
        raise BrokenPipeError

    station.now += HOUR
    with Firing(places(), station.cancel, opened, told=gone, now=station.clock) as firing:
        firing.fire()
        firing.wait()
    assert station.made == ["made"]
    assert [run.outcome for run in station.crons.runs()] == ["done"]


def test_a_state_folder_that_cannot_be_written_is_said(station: Station) -> None:
    Path(places().state, "cron.lock").mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be used"):
        station.firing()
