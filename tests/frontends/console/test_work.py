"""Work in a process of its own: how far it is, what comes out, and what becomes of what goes wrong."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from consoles import until

from gateway.frontends.console.work import MOST_AT_ONCE, Job, Work

TELLS = (
    "import json, sys; given = json.loads(sys.stdin.readline()); "
    'print(json.dumps({"done": 1, "of": 4}), flush=True); print(json.dumps({"result": [sys.argv[1], given]}))'
)
WAITS = "import sys; sys.stdin.read(); import time; time.sleep(60)"


def ended(work: Work, *given: Any, **how: Any) -> Job:
    job = work.begin(*given, **how)
    assert job is not None
    until(lambda: job.is_ended)
    return job


def test_what_comes_out_is_kept_with_how_far_it_was():
    work = Work([sys.executable, "-c", TELLS])
    job = ended(work, "index", {"a": 1}, about={"b": 2})
    assert (job.done, job.of, job.result, job.problem) == (1, 4, ["index", {"a": 1}], "")
    assert work.find(job.id) is job
    assert (work.take(job.id), work.find(job.id)) == (job, None)


@pytest.mark.parametrize(
    "program", ["pass", "raise SystemExit(3)", "print('no json')", "print('[]')", "print('{\"of\": 1}')"]
)
def test_what_breaks_is_told_and_nothing_comes_out(program: str):
    job = ended(Work([sys.executable, "-c", program]), "index", {})
    assert job.result is None
    assert job.problem
    assert ended(Work(["/nowhere"]), "index", {}).problem


def test_the_same_is_done_once_at_a_time_and_not_too_much_at_once():
    work = Work([sys.executable, "-c", WAITS])
    first = work.begin("index", {}, name="index")
    assert work.begin("index", {}, name="index") is first
    others = [work.begin("replay", {}) for _ in range(MOST_AT_ONCE)]
    assert [each is None for each in others] == [False] * (MOST_AT_ONCE - 1) + [True]
    running = [each for each in (first, *others) if each is not None]
    until(lambda: all(each._process is not None for each in running))
    work.close()
    until(lambda: all(each.is_ended for each in running))
