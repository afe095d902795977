"""From normal form to the compiled policy: dates."""

from __future__ import annotations

import pytest

from gateway.model.call import RawCall
from gateway.policy.compile import epoch


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0.0),
        ("1970-01-02", 172_800.0),
        ("1970-01-02T00:00Z", 86_400.0),
        ("1970-01-02T02:00+02:00", 86_400.0),
        ("1969-12-31", 1.0),
        ("1969-01-01T00:00Z", 1.0),
        ("0001-01-01", 1.0),
        ("0001-01-01T00:00+14:00", 1.0),
        ("9999-12-31", 253_402_300_800.0),
    ],
)
def test_a_date_holds_until_its_end_and_one_of_long_ago_is_over(text: str, expected: float) -> None:
    assert epoch(text) == expected


@pytest.mark.parametrize(
    ("expires", "expected"),
    [("1969-12-31", "ask"), ("0001-01-01", "ask"), ("2020-01-01T00:00Z", "ask"), ("9999-12-31", "allow")],
)
def test_a_rule_that_is_over_allows_nothing(guard, expires: str, expected: str) -> None:
    rules = [{"allow": "Bash(npm test)", "expires": expires}]
    assert guard({"user": rules}).check(RawCall("Bash", {"command": "npm test"})).decision.word == expected
