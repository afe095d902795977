"""Scheduled calls: what is due is claimed once, what was missed is counted, what was never heard of again unknown."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from gateway.core.errors import StoreError
from gateway.tasks.crons import GRACE, MOST_RUNS, Crons, Job

if TYPE_CHECKING:
    from pathlib import Path

MINUTE, HOUR = 60.0, 3600.0
GIVEN: dict[str, Any] = {
    "name": "", "schedule": "0 * * * *", "zone": "UTC", "kind": "command", "text": "make", "root": "/p",
    "cwd": "/p/src", "mode": "default", "rules": ("a", "b"), "agent": "", "depth": 0, "once": False,
}  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.now = HOUR * 1000 + 30 * MINUTE

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def crons(tmp_path: Path, clock: Clock) -> Crons:
    return Crons(str(tmp_path), now=clock)


def test_a_call_is_kept_as_it_was_made(crons: Crons, clock: Clock) -> None:
    job = crons.create(**GIVEN)
    assert crons.jobs() == (job,)
    assert job.as_dict() == {**GIVEN, "id": job.id, "created": clock.now, "seen": clock.now}
    assert job.next() == HOUR * 1001


def test_names_are_each_projects_own(crons: Crons) -> None:
    named = {**GIVEN, "name": "nightly"}
    first = crons.create(**named)
    other = crons.create(**{**named, "root": "/q"})
    with pytest.raises(StoreError, match="there is a scheduled call `nightly` already"):
        crons.create(**named)
    with pytest.raises(StoreError, match="there are 2 scheduled calls `nightly`"):
        crons.delete("nightly")
    with pytest.raises(StoreError, match="there is no scheduled call `nightly`"):
        crons.delete("nightly", "/r")
    assert crons.delete("nightly", "/q") == other
    assert crons.delete(first.id, "/p") == first
    assert crons.jobs() == ()


def test_a_schedule_that_is_none_is_not_kept(crons: Crons) -> None:
    with pytest.raises(StoreError):
        crons.create(**{**GIVEN, "schedule": "now and then"})
    assert crons.jobs() == ()


def outcomes(crons: Crons) -> list[tuple[str, float, str]]:
    return [(run.outcome, run.due / HOUR, run.reason) for run in crons.runs()]


def test_what_is_due_is_claimed_once(crons: Crons, clock: Clock) -> None:
    job = crons.create(**GIVEN)
    assert crons.claim(job.id) == (None, None)
    clock.now = HOUR * 1001 + 5
    started, missed = crons.claim(job.id)
    assert started is not None
    assert (started.due, started.outcome, missed) == (HOUR * 1001, "started", None)
    assert crons.claim(job.id) == (None, None)
    crons.ended(started.id, "done", "", "r1")
    crons.ended(started.id, "failed", "too late to say so", "r2")
    assert [(run.outcome, run.record, run.ended) for run in crons.runs()] == [("done", "r1", clock.now)]


LATE = {
    "in time": (GRACE - 1, False, [("started", 1001.0, "")]),
    "too late": (GRACE, False, [("missed", 1001.0, "once: nothing was there to fire it")]),
    "while it still runs": (1, True, [("missed", 1001.0, "once: it was still running")]),
    "hours later": (3 * HOUR + GRACE, False, [("missed", 1004.0, "4 times: nothing was there to fire it")]),
    "hours later, when it is due again": (
        3 * HOUR,
        False,
        [("missed", 1003.0, "3 times: nothing was there to fire it"), ("started", 1004.0, "")],
    ),
}


@pytest.mark.parametrize(("late", "is_running", "expected"), LATE.values(), ids=LATE)
def test_what_was_missed_is_told_and_not_made_up_for(
    crons: Crons, clock: Clock, late: float, is_running: bool, expected: Any
) -> None:
    job = crons.create(**GIVEN)
    clock.now = HOUR * 1001 + late
    crons.claim(job.id, is_running=is_running)
    assert outcomes(crons) == expected
    assert crons.claim(job.id) == (None, None)


def test_a_call_for_once_is_gone_when_it_begins(crons: Crons, clock: Clock) -> None:
    job = crons.create(**{**GIVEN, "once": True})
    clock.now = HOUR * 1001 + GRACE  # it was missed, so it is still to come
    crons.claim(job.id)
    assert [each.id for each in crons.jobs()] == [job.id]
    clock.now = HOUR * 1002
    crons.claim(job.id)
    assert crons.jobs() == ()


def test_what_was_never_heard_of_again_is_unknown(crons: Crons, clock: Clock) -> None:
    job = crons.create(**GIVEN)
    clock.now = HOUR * 1001
    crons.claim(job.id)
    assert [(run.outcome, run.job) for run in crons.give_up()] == [("unknown", job.id)]
    assert crons.give_up() == ()
    assert outcomes(crons) == [
        ("unknown", 1001.0, "what fired it was killed; whether it has done its work is not known")
    ]


def test_old_entries_make_room(crons: Crons, clock: Clock) -> None:
    job = crons.create(**{**GIVEN, "schedule": "* * * * *"})
    for _ in range(MOST_RUNS + 5):
        clock.now += MINUTE
        crons.claim(job.id)
    assert len(crons.runs(most=1000)) == MOST_RUNS


CLAIMING = """
import sys
from gateway.tasks.crons import Crons
folder, job, now = sys.argv[1:]
crons = Crons(folder, now=lambda: float(now))
print("ready", flush=True)
sys.stdin.readline()
print("claimed" if crons.claim(job)[0] else "nothing", flush=True)
sys.stdin.readline()
"""


def test_several_processes_claim_it_once_and_being_killed_does_not_give_it_back(
    crons: Crons, clock: Clock, tmp_path: Path
) -> None:
    job: Job = crons.create(**GIVEN)
    clock.now = HOUR * 1001
    words = [sys.executable, "-c", CLAIMING, str(tmp_path), job.id, str(clock.now)]
    running = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = []
    for each in running:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in running:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in running:
        assert each.stdout is not None
        said.append(each.stdout.readline().strip())
        each.send_signal(signal.SIGKILL)
        each.communicate()
    assert sorted(said) == ["claimed", "nothing", "nothing", "nothing"]
    assert crons.claim(job.id) == (None, None)
