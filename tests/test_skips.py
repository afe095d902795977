"""What is skipped where it must not be is no success; what is a thorough run's alone is no skip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SKIPPED = """
import fuzzing
import pytest

@fuzzing.thorough
def test_in_a_thorough_run():
    pass

@pytest.mark.skipif(True, reason="git is not installed")
def test_by_a_mark():
    pass

def test_inside():
    pytest.skip("namespaces do not hold here: no")

def test_for_a_good_reason():
    pytest.skip("root may write everywhere")
"""


@pytest.mark.parametrize(
    ("ci", "thorough", "counts"),
    [("true", "", "1 failed, 1 skipped, 1 deselected, 1 error"), ("", "1", "1 passed, 3 skipped")],
)
def test_in_ci_a_test_that_needs_what_ci_has_fails_instead_of_being_skipped(
    tmp_path: Path, ci: str, thorough: str, counts: str
):
    (tmp_path / "test_one.py").write_text(SKIPPED)
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=t", "--import-mode=importlib",
         "test_one.py"],
        cwd=tmp_path,
        env={
            **os.environ, "CI": ci, "GATEWAY_THOROUGH": thorough,
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)]),
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert counts in done.stdout, done.stdout
