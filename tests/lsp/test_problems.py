"""What servers say is wrong, and what of it is new."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lsp.positions import UTF16
from gateway.lsp.problems import (
    ERROR,
    MOST_CHARACTERS,
    MOST_KEPT,
    MOST_MESSAGE,
    WARNING,
    Problem,
    kept_of,
    new_ones,
    problems_of,
)

LINES = ["a😀b", "c"]


def at(line: Any, character: Any) -> dict[str, Any]:
    return {"start": {"line": line, "character": character}, "end": {"line": 0, "character": 0}}


READ = {
    "all that there is": (
        {"range": at(0, 3), "severity": 2, "source": "s", "code": 7, "message": "m", "relatedInformation": [1]},
        Problem(1, 3, 2, "s", "7", "m", LINES[0], (1,)),
    ),
    "nothing but a message": ({"message": "m"}, Problem(0, 0, 1, "", "", "m")),
    "a place that the file does not have": ({"range": at(9, 0), "message": "m"}, Problem(0, 0, 1, "", "", "m")),
    "a place behind the line": ({"range": at(1, 99), "message": "m"}, Problem(2, 2, 1, "", "", "m", "c")),
    "nonsense in every field": (
        {"range": [], "severity": True, "source": {}, "code": [], "message": "m", "relatedInformation": "x"},
        Problem(0, 0, 1, "", "", "m"),
    ),
    "a list in the place of a number": ({"severity": [1], "message": "m"}, Problem(0, 0, 1, "", "", "m")),
    "a fraction in its place": ({"severity": 2.0, "message": "m"}, Problem(0, 0, 1, "", "", "m")),
}


@pytest.mark.parametrize(("item", "problem"), READ.values(), ids=READ)
def test_a_problem_is_read(item: Any, problem: Problem) -> None:
    assert problems_of([item], LINES, UTF16) == (problem,)


@pytest.mark.parametrize("items", [None, {}, "x", [None], [{}], [{"message": 3}]], ids=str)
def test_what_is_no_problem_is_left_out(items: Any) -> None:
    assert problems_of(items, LINES, UTF16) == ()


def same(text: str) -> str:
    return text


@pytest.mark.parametrize(
    "item", [each for name, (each, _) in READ.items() if name != "all that there is"], ids=[*list(READ)[1:]]
)
def test_what_is_kept_of_a_problem_says_the_same(item: Any) -> None:
    assert problems_of(kept_of([item], same), LINES, UTF16) == problems_of([item], LINES, UTF16)


def test_what_a_problem_points_to_is_kept_as_far_as_it_is_read() -> None:
    there = {"uri": "file:///a", "range": at(1, 0)}
    kept = {"uri": "file:///a", "range": {"start": {"line": 1, "character": 0}}}
    related = [{"location": there, "message": "see", "more": 1}, {"location": there}, 3]
    assert kept_of([{"message": "m", "relatedInformation": related, "data": "x"}], same) == [
        {"message": "m", "range": None, "source": "", "severity": ERROR,
         "relatedInformation": [{"location": kept, "message": "see"}]},
    ]  # fmt: skip


HUGE = "x" * 3_000_000
LARGE: dict[str, Any] = {
    "one message": [{"message": HUGE}],
    "each of many": [{"message": "x" * 10_000}] * 5_000,
    "what nobody reads": [{"message": "m", "data": HUGE, "tags": [HUGE], "codeDescription": {"href": HUGE}}],
    "its source and code": [{"message": "m", "source": HUGE, "code": HUGE}],
    "what it points to": [
        {"message": "m", "relatedInformation": [{"location": {"uri": "file:///" + HUGE}, "message": "m"}] * 9}
    ],
    "its range": [{"message": "m", "range": {"start": {"line": 0, "character": 10**4_000, "x": HUGE}, "y": HUGE}}],
}


@pytest.mark.parametrize("items", LARGE.values(), ids=LARGE)
def test_what_is_kept_of_a_file_is_bounded(items: list[Any]) -> None:
    kept = kept_of(items, same)
    assert 1 <= len(kept) <= MOST_KEPT
    assert len(json.dumps(kept)) < MOST_CHARACTERS + 200 * len(kept)


def test_a_secret_is_hidden_before_a_message_is_cut() -> None:
    (kept,) = kept_of(
        [{"message": "x" * (MOST_MESSAGE - 3) + "s3cr3t"}], lambda text: text.replace("s3cr3t", "[secret]")
    )
    assert kept["message"] == "x" * (MOST_MESSAGE - 3) + "[se"


def problem(line: int = 1, message: str = "m", text: str = "x = y", severity: int = ERROR) -> Problem:
    return Problem(line, 1, severity, "s", "c", message, text)


NEW = {
    "nothing was there": ((), (problem(),), (problem(),)),
    "it was there": ((problem(),), (problem(),), ()),
    "it has moved": ((problem(1),), (problem(9),), ()),
    "its line was indented": ((problem(),), (problem(text="    x = y"),), ()),
    "its line was changed": ((problem(),), (problem(text="x = z"),), ()),
    "one more of the same": ((problem(1),), (problem(1), problem(2, text="z")), (problem(2, text="z"),)),
    "one less of the same": ((problem(1), problem(2)), (problem(1),), ()),
    "another message": ((problem(),), (problem(message="n"),), (problem(message="n"),)),
    "a warning has become an error": ((problem(severity=WARNING),), (problem(),), (problem(),)),
    "a hint": ((), (problem(severity=4),), ()),
}


@pytest.mark.parametrize(("before", "after", "new"), NEW.values(), ids=NEW)
def test_what_is_new_is_told(before: Any, after: Any, new: Any) -> None:
    assert new_ones(before, after) == new


PROBLEMS = st.lists(
    st.builds(
        problem, st.integers(1, 3), st.sampled_from("ab"), st.sampled_from(["x", "y"]), st.sampled_from([1, 2, 3])
    ),
    max_size=8,
)


@given(PROBLEMS, PROBLEMS)
def test_the_algebra_of_what_is_new(before: list[Problem], after: list[Problem]) -> None:
    loud = [each for each in after if each.severity <= WARNING]
    assert new_ones(after, after) == ()
    assert new_ones((), after) == tuple(loud)
    found = new_ones(before, after)
    kinds = {(each.severity, each.message) for each in loud}
    for kind in kinds:
        count = [sum((each.severity, each.message) == kind for each in side) for side in (before, loud, found)]
        assert count[2] == max(count[1] - count[0], 0)
