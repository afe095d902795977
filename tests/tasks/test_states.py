"""What may become of a task, and that tasks never wait for each other in a circle."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tasks.states import LEGAL, STATUSES, circle, is_legal

STEPS = {
    "pending": ("in_progress", "failed"),
    "in_progress": ("completed", "failed", "pending"),
    "completed": (),
    "failed": ("pending",),
}


@pytest.mark.parametrize("old", STATUSES)
def test_a_task_goes_only_where_its_status_lets_it(old: str) -> None:
    assert tuple(new for new in LEGAL[old] if is_legal(old, new)) == STEPS[old]
    assert [new for new in STATUSES if is_legal(old, new) and new not in STEPS[old]] == []


@pytest.mark.parametrize(("old", "new"), [("pending", "done"), ("done", "pending"), ("", "")])
def test_what_is_no_status_leads_nowhere(old: str, new: str) -> None:
    assert not is_legal(old, new)


def reaches(needs: dict[int, set[int]], start: int, end: int) -> bool:
    seen, pending = set(), [start]
    while pending:
        current = pending.pop()
        if current == end:
            return True
        if current not in seen:
            seen.add(current)
            pending += needs.get(current, ())
    return False


@given(st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), max_size=40))
def test_a_link_is_refused_exactly_when_it_would_close_a_circle(links: list[tuple[int, int]]) -> None:
    needs: dict[int, set[int]] = {}
    for task, on in links:
        way = circle(needs, task, on)
        assert bool(way) == reaches(needs, on, task)
        if way:
            assert (way[0], way[1], way[-1]) == (task, on, task)
            assert all(later in needs.get(each, ()) for each, later in itertools.pairwise(way[1:]))
        else:
            needs.setdefault(task, set()).add(on)
    assert not any(reaches(needs, on, task) for task, all_of in needs.items() for on in all_of)
