"""Tests that share one collection: each runs once, and what becomes of it is told as if it had run alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workers import Shares

CONFTEST = """
import pytest
from workers import run

@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    run(session, 2)
    return True
"""
TESTS = """
import os, sys
import pytest

@pytest.mark.parametrize("number", range(10))
def test_passes(number): pass

def test_fails():
    print("said before")
    assert 1 == 2

def test_is_skipped(): pytest.skip("for a reason")

def test_has_a_place_of_its_own(tmp_path): (tmp_path / "x").touch(exist_ok=False)
"""


@given(st.lists(st.integers(0, 9), max_size=60), st.lists(st.integers(0, 4), max_size=200))
def test_every_test_is_run_once_whoever_asks_when(files: list[int], asking: list[int]) -> None:
    shares = Shares(sorted(files), 5)
    found = [shares.next(worker) for worker in asking]
    while (more := [shares.next(worker) for worker in range(5)]) != [None] * 5:
        found += more
    assert sorted(each for each in found if each is not None) == list(range(len(files)))


@pytest.mark.parametrize(
    ("files", "numbers"),
    [
        ("aaaaaaaaaaaa", [0, 1, 2, 3, 6, 7]),
        ("abcdefghijkl", [0, 1, 2, 3, 6, 7]),
        ("aaaaabcccccc", [0, 1, 2, 3, 4, 9]),  # another one begins at `b`, and one at the first `c`
        ("aaaaaaaaaaab", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_who_is_done_takes_half_of_what_the_slowest_has_left_by_whole_files(files: str, numbers: list[int]) -> None:
    shares = Shares(files, 3)
    assert [shares.next(0) for _ in range(6)] == numbers


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        ("", 1, ["assert 1 == 2", "said before", "for a reason", "1 failed, 11 passed, 1 skipped"]),
        (
            "\ndef test_ends_it_all(): os._exit(3)\n",
            1,
            ["test_ends_it_all", "the worker that was to run it has ended with status 3"],
        ),
    ],
    ids=["as alone", "one ends its worker"],
)
def test_what_becomes_of_each_is_told(tmp_path: Path, more: str, status: int, said: list[str]) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_x.py").write_text(TESTS + more)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rsf", "-p", "no:cacheprovider", "--basetemp=t", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parent)},
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    assert [each for each in said if each not in done.stdout] == [], done.stdout
