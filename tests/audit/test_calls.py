"""Calls that run on after they were answered: their end is recorded once, behind their start, whichever comes first."""

from __future__ import annotations

import threading

import pytest

from gateway.audit.calls import Lasting
from gateway.model.result import Result

START, END = Result("started", 0), Result("exited", 7)


@pytest.mark.parametrize("is_early", [True, False], ids=["it ended before it was answered", "after it"])
def test_the_end_is_recorded_behind_the_start(is_early: bool) -> None:
    found: list[Result] = []

    def record(result: Result) -> Result:
        found.append(result)
        return result

    lasting = Lasting(record)
    if is_early:
        lasting.ended(END)
        assert found == []
    record(START)
    lasting.started()
    if not is_early:
        assert found == [START]
        lasting.ended(END)
    assert (found, lasting.problem) == ([START, END], "")


def test_both_at_once_record_one_end() -> None:
    for _ in range(200):
        found: list[Result] = []
        lasting = Lasting(lambda result, found=found: found.append(result) or result)  # type: ignore[misc]
        gate = threading.Barrier(2)
        both = [
            threading.Thread(target=lambda act=act, gate=gate: (gate.wait(), act()))
            for act in (lasting.started, lambda lasting=lasting: lasting.ended(END))
        ]
        for each in both:
            each.start()
        for each in both:
            each.join()
        assert found == [END]


def _fails(_result: Result) -> Result:
    raise ValueError("broken")


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (lambda result: result.replace(reason="It is not recorded."), "It is not recorded."),
        (_fails, "What became of this call is not recorded: ValueError: broken"),
    ],
    ids=["the record cannot be written", "a fault of ours"],
)
def test_what_could_not_be_recorded_is_kept_for_who_looks(record, problem: str) -> None:
    lasting = Lasting(record)
    lasting.started()
    lasting.ended(END)
    assert lasting.problem == problem
