"""How long a text may be for an expression to be searched in it, and that it then really is fast."""

from __future__ import annotations

import re
import time

import pytest

from gateway.core.backtracking import longest_text


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("password|token", 10_000),
        (r"rm\s+-rf\s+/", 10_000),
        ("rm .*-rf", 10_000),
        (r"(?:\d{1,3}\.){3}\d{1,3}", 10_000),
        (".*foo.*bar", 464),
        ("a*a*b", 464),
        ("(?i)A*ab*", 464),
        ("(?:x|.*y).*z", 464),
        ("[^/]+/[^/]+", 10_000),
        ("a{0,50}a{0,50}b", 464),
        (".*a.*b.*c", 100),
    ],
)
def test_repetitions_whose_end_is_open_shorten_the_text(expression: str, expected: int) -> None:
    assert longest_text(expression) == expected


@pytest.mark.parametrize("expression", ["a*a*a*a*a*b", ".*.*.*.*.*=x", "(?:.*a){1}.*b.*c.*d.*e"])
def test_too_many_of_them_are_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="at most 4 repetitions in a row"):
        longest_text(expression)


@pytest.mark.parametrize(
    "expression", ["a+b", "a*a*b", "a*a*a*b", ".*.*.*.*=x", r"\s+-rf\s+/", r"(?i)[a-z]+x", "a?a?a?a?b"]
)
@pytest.mark.parametrize("letter", ["a", " ", "X"])
def test_the_longest_text_is_searched_within_two_seconds(expression: str, letter: str) -> None:
    started = time.process_time()
    assert re.search(expression, letter * longest_text(expression)) is None or letter == "X"
    assert time.process_time() - started < 2
