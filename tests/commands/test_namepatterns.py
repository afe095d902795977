"""Which names a search looks at: never fewer than it does."""

from __future__ import annotations

import pytest

from gateway.commands.special.namepatterns import patterns
from gateway.model.effect import HOLE


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("*.py", ("*.py",)),
        ("**/*.py", ("*.py",)),
        ("src/**/test_*.py", ("test_*.py",)),
        ("*.{ts,tsx}", ("*.ts", "*.tsx")),
        ("a.{,b}c", ("a.c", "a.bc")),
        ("{x}", ("x",)),
        ("src/*", ("*",)),
    ],
)
def test_the_last_part_of_a_pattern_tells_the_names(written: str, names: tuple[str, ...]) -> None:
    assert patterns(written) == names


@pytest.mark.parametrize(
    "written",
    ["", "src/", "[.]env", "\\.env", "{a,{b,c}}", "{a,b", "a}", "{src,.e*}/x", f"*.{HOLE}", "{a,b}{c,d}"],
)
def test_a_pattern_that_is_not_plain_tells_nothing(written: str) -> None:
    assert patterns(written) is None
