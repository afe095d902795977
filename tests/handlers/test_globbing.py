"""Patterns of paths: what they match, and that no pattern makes matching slow."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.handlers import ripgrep
from gateway.handlers.globbing import MOST_ALTERNATIVES, MOST_LENGTH, alternatives, matcher

if TYPE_CHECKING:
    from pathlib import Path

PATHS = [
    "a.py",
    ".hidden.py",
    "src/a.py",
    "src/deep/b.py",
    "src/deep/c.txt",
    "docs/x.md",
    "x{1}.txt",
    "a,b",
    "deep/a.py",
]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["a.py", ".hidden.py"]),
        ("**/*.py", ["a.py", ".hidden.py", "src/a.py", "src/deep/b.py", "deep/a.py"]),
        ("**", PATHS),
        ("src/**", ["src/a.py", "src/deep/b.py", "src/deep/c.txt"]),
        ("src/*", ["src/a.py"]),
        ("src/**/b.py", ["src/deep/b.py"]),
        ("**/deep/**", ["src/deep/b.py", "src/deep/c.txt", "deep/a.py"]),
        ("**/deep/*.py", ["src/deep/b.py", "deep/a.py"]),
        ("./src/*.{py,txt}", ["src/a.py"]),
        ("{src,docs}/**/*.{md,txt}", ["src/deep/c.txt", "docs/x.md"]),
        ("{a,src/{a,deep/b}}.py", ["a.py", "src/a.py", "src/deep/b.py"]),
        ("[!a-z.]*", []),
        ("?.py", ["a.py"]),
        ("x{1}.txt", ["x{1}.txt"]),
        ("a\\,b", ["a,b"]),
        ("x\\{1\\}.*", ["x{1}.txt"]),
        ("a[,]b", ["a,b"]),
        ("{a[,]b,c}", ["a,b"]),
    ],
    ids=str,
)
def test_a_pattern_matches_what_people_mean_by_it(pattern: str, expected: list[str]) -> None:
    wanted = matcher(pattern)
    assert [path for path in PATHS if wanted(path)] == expected


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("[a", "class must be closed"),
        ("a\\", "backslash"),
        ("{a,b}" * 9, f"at most {MOST_ALTERNATIVES} patterns"),
        ("a" * (MOST_LENGTH + 1), f"at most {MOST_LENGTH} characters"),
    ],
    ids=["an open class", "a backslash at the end", "too many alternatives", "too long"],
)
def test_a_pattern_that_cannot_be_read_says_why(pattern: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        matcher(pattern)


def test_as_many_alternatives_as_are_allowed_work() -> None:
    assert len(alternatives("{a,b}" * 8)) == MOST_ALTERNATIVES
    assert matcher("{a,b}" * 8)("abababab")


def test_patterns_that_make_others_try_for_ever_are_quick() -> None:
    assert not matcher("*a" * 300 + "b")("a" * 3_000)
    assert not matcher("**/a/" * 60 + "b")("a/" * 1_000 + "c")
    assert matcher("**/a/" * 60 + "c")("a/" * 1_000 + "c")


NAMES = st.text("ab.", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))
SEGMENTS = st.one_of(st.just("**"), st.text("ab*?.", min_size=1, max_size=4).filter(lambda s: "**" not in s))


def reference(segments: list[str], names: list[str]) -> bool:
    """The definition, without a thought for how long it takes."""
    if not segments:
        return not names
    if segments[0] == "**":
        if len(segments) == 1:
            return bool(names)
        return reference(segments[1:], names) or (bool(names) and reference(segments, names[1:]))
    return bool(names) and one(segments[0], names[0]) and reference(segments[1:], names[1:])


def one(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return one(pattern[1:], name) or (bool(name) and one(pattern, name[1:]))
    return bool(name) and pattern[0] in ("?", name[0]) and one(pattern[1:], name[1:])


@given(st.lists(SEGMENTS, min_size=1, max_size=5), st.lists(NAMES, min_size=1, max_size=5))
def test_it_matches_exactly_what_its_definition_says(segments: list[str], names: list[str]) -> None:
    segments = [each for each in segments if each != "."] or ["*"]
    assert matcher("/".join(segments))("/".join(names)) == reference(segments, names)


@pytest.mark.parametrize("pattern", ["*.py", "**/*.py", "src/**", "src/*", "**/deep/*.py", "{src,docs}/**/*.{md,txt}"])
def test_ripgrep_understands_it_the_same_way(tmp_path: Path, pattern: str) -> None:
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    said = subprocess.run(
        [ripgrep.find(), "--no-config", "--hidden", "--files", f"--glob=/{pattern}"],
        cwd=tmp_path, capture_output=True, text=True, check=True, env={},
    ).stdout  # fmt: skip
    wanted = matcher(pattern)
    assert sorted(said.split()) == sorted(path for path in PATHS if wanted(path))
