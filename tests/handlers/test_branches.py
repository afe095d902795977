"""Names of branches are taken for good exactly where git takes them."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.handlers.branches import problem

GOOD = ("main", "fix/parser", "a", "x.y", "a-b", "ümlaut", "a@b", "release/1.2", "-" * 0 + "a--", "locked", "x.lock.y")
BAD = (
    "", "-x", "HEAD", "@", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "a\nb", "a\x7f", "a..b", "a@{1}", "a.",
    "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "x" * 201,
)  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_good_name_is_taken(name: str) -> None:
    assert problem(name) == ""


@pytest.mark.parametrize("name", BAD, ids=repr)
def test_a_bad_name_is_refused_with_the_reason(name: str) -> None:
    assert problem(name).startswith(("it must", "no part of it"))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not there to be asked")
@given(st.text(alphabet="ab/.-@{~^: lock\\*", min_size=1, max_size=8))
def test_git_says_the_same(name: str) -> None:
    done = subprocess.run(["git", "check-ref-format", f"refs/heads/{name}"], check=False)
    git_takes_it = done.returncode == 0 and not name.startswith("-") and name != "@"
    assert (problem(name) == "") == git_takes_it
