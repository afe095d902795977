"""What the usual run leaves to `scripts/thorough` is run there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fuzzing
import pytest

ROOT = Path(__file__).parents[1]
CASES = "abcdefg"


def test_a_thorough_run_has_every_case_and_more_examples() -> None:
    said = (ROOT / "scripts/thorough").read_text("utf-8").splitlines()
    assert said.index("export GATEWAY_THOROUGH=1") < said.index('sh scripts/test "$@"')
    asked = f"import fuzzing; print(fuzzing.THOROUGH, fuzzing.EXAMPLES, *fuzzing.share({CASES!r}, 3, 'a name'))"
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=ROOT / "tests", env={**os.environ, "GATEWAY_THOROUGH": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["True", "500", *CASES]


@pytest.mark.skipif(fuzzing.THOROUGH, reason="there is no share in a thorough run")
@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_shares_with_numbers_one_after_the_other_are_all_cases_each_once(of: int) -> None:
    found = [case for number in range(of) for case in fuzzing.share(CASES, of, number)]
    assert sorted(found) == list(CASES)


@pytest.mark.skipif(fuzzing.THOROUGH, reason="there is no share in a thorough run")
def test_a_name_stands_for_the_same_share_in_every_run_and_names_for_different_ones() -> None:
    assert fuzzing.share(CASES, 3, "it ends at once, well") == ["c", "f"]
    assert {tuple(fuzzing.share(CASES, 3, f"case {number}")) for number in range(20)} == {
        ("a", "d", "g"), ("b", "e"), ("c", "f"),
    }  # fmt: skip
