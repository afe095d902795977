from __future__ import annotations

import resource
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from frames import in_one_piece

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = 300


def faults_at(depth: int) -> int:
    """How many pages the system gives while so many calls are made from a place so deep."""
    if depth:
        return faults_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        abs_of(-1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def abs_of(number: int) -> int:
    return abs(number)


def most_faults() -> int:
    return max(faults_at(depth) for depth in range(400))


def in_a_thread(run: Callable[[], int]) -> int:
    """What `run` gives below no other frames: a thread has pieces of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def test_a_loop_pays_for_no_frames_however_deep_it_stands() -> None:
    assert in_a_thread(most_faults) >= CALLS  # somewhere a piece ends
    assert in_a_thread(lambda: in_one_piece(most_faults)) < CALLS


def test_what_is_run_in_one_piece_gives_and_raises_as_usual() -> None:
    assert in_one_piece(lambda: 3) == 3
