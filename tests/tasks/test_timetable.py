"""When something is due, also where the clocks are changed."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tasks.timetable import TimetableError, check, due_between, next_after


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def said(moments: tuple[float, ...]) -> list[str]:
    return [datetime.fromtimestamp(each, UTC).strftime("%m-%d %H:%M") for each in moments]


BERLIN = "Europe/Berlin"
# In Berlin 02:00 becomes 03:00 on 29 March 2026 (01:00 UTC), and 03:00 becomes 02:00 on 25 October (01:00 UTC).
DUE = {
    "every weekday morning": ("0 9 * * 1-5", "UTC", "2026-01-02T10:00", 2, ["01-05 09:00", "01-06 09:00"]),
    "in the zone that was said": ("0 9 * * *", "America/New_York", "2026-01-02T00:00", 1, ["01-02 14:00"]),
    "by a name": ("@daily", "UTC", "2026-01-02T10:00", 1, ["01-03 00:00"]),
    "not at the moment itself": ("0 * * * *", "UTC", "2026-01-02T10:00", 1, ["01-02 11:00"]),
    "on the last day of the month": ("0 0 L * *", "UTC", "2026-01-02T10:00", 2, ["01-31 00:00", "02-28 00:00"]),
    "in an hour that is left out, right after it": (
        "30 2 * * *", BERLIN, "2026-03-28T02:00", 2, ["03-29 01:00", "03-30 00:30"]),
    "in an hour that comes twice, once": ("30 2 * * *", BERLIN, "2026-10-24T02:00", 2, ["10-25 00:30", "10-26 01:30"]),
    "every half hour, in even steps when clocks are put forward": (
        "*/30 * * * *", BERLIN, "2026-03-29T00:00", 4, ["03-29 00:30", "03-29 01:00", "03-29 01:30", "03-29 02:00"]),
    "every half hour, in even steps when clocks are put back": (
        "*/30 * * * *", BERLIN, "2026-10-25T00:00", 4, ["10-25 00:30", "10-25 01:00", "10-25 01:30", "10-25 02:00"]),
}  # fmt: skip


@pytest.mark.parametrize(("schedule", "zone", "after", "most", "expected"), DUE.values(), ids=DUE)
def test_it_is_due(schedule: str, zone: str, after: str, most: int, expected: list[str]) -> None:
    if zone != "UTC":
        pytest.importorskip("zoneinfo").ZoneInfo("UTC")  # without any data about time zones there is nothing to test
    found = due_between(schedule, zone, at(after), at(after) + 10**7, most)
    assert said(found) == expected
    assert next_after(schedule, zone, at(after)) == found[0]


REFUSED = {
    "four fields": ("* * * *", "UTC", "must have five fields"),
    "seconds": ("0 * * * * *", "UTC", "must have five fields"),
    "nothing": ("", "UTC", "must have five fields"),
    "a minute too many": ("60 * * * *", "UTC", "must be one of cron"),
    "words": ("every day at nine please", "UTC", "must be one of cron"),
    "a day that never comes": ("0 0 31 2 *", "UTC", "must be"),
    "a zone that is none": ("* * * * *", "Mars/Olympus", "there is no time zone `Mars/Olympus`"),
    "a zone that is a path": ("* * * * *", "../../etc/passwd", "there is no time zone"),
    "no zone": ("* * * * *", "", "there is no time zone"),
}


@pytest.mark.parametrize(("schedule", "zone", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_schedule_is_refused(schedule: str, zone: str, why: str) -> None:
    with pytest.raises(TimetableError, match=why):
        check(schedule, zone)


@given(
    st.sampled_from(["*/20 * * * *", "*/7 3 * * *", "15 4 1 * *", "30 2 * * *", "0 0 * * 0"]),
    st.sampled_from(["UTC", BERLIN, "America/St_Johns"]),
    st.floats(1.5e9, 1.9e9),
    st.floats(0, 2e5),
    st.floats(0, 2e5),
)
def test_nothing_is_due_twice_or_left_out_however_time_is_cut(
    schedule: str, zone: str, start: float, first: float, second: float
) -> None:
    middle, end = start + first, start + first + second
    whole = due_between(schedule, zone, start, end, 10**6)
    parts = due_between(schedule, zone, start, middle, 10**6) + due_between(schedule, zone, middle, end, 10**6)
    assert parts == whole
    assert all(one < other for one, other in itertools.pairwise(whole))
