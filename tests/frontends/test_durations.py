"""Lengths of time as people write them."""

from __future__ import annotations

import pytest

from gateway.frontends.durations import seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90), ("30m", 1_800), ("2h", 7_200), ("3d", 259_200), ("1w", 604_800), ("0s", 0), ("007m", 420),
        ("", None), ("s", None), ("5", None), ("-5m", None), ("1.5h", None), ("5 m", None), ("5M", None), ("5y", None),
        ("٣m", None), ("²m", None), ("1" * 10 + "s", None),
    ],
)  # fmt: skip
def test_a_length_is_a_number_and_a_unit(text: str, seconds: int | None) -> None:
    assert seconds_of(text) == seconds
