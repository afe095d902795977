"""What somebody will start or obey later."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sandbox.changes.runs_later import (
    _ENDS,
    BUILD,
    CHECKS,
    EXECUTABLE,
    GIT,
    INSTRUCTIONS,
    PIPELINE,
    PROGRAM,
    runs_later,
)


@pytest.mark.parametrize(
    ("path", "mode", "why"),
    [
        ("Makefile", 0, BUILD), ("sub/package.json", 0, BUILD), ("tests/conftest.py", 0, BUILD), ("build.rs", 0, BUILD),
        ("app/build.gradle.kts", 0, BUILD), ("cmake/x.cmake", 0, BUILD), (".github/workflows/ci.yml", 0, PIPELINE),
        ("AGENTS.md", 0, INSTRUCTIONS), (".claude/agents/x.md", 0, INSTRUCTIONS), ("eslint.config.mjs", 0, CHECKS),
        ("pytest.ini", 0, CHECKS), (".venv/bin/python", 0, PROGRAM), ("a/.venv/lib/x.pth", 0, PROGRAM),
        ("node_modules/.bin/vite", 0, PROGRAM), (".gitattributes", 0, GIT), ("tool", 0o755, EXECUTABLE),
        ("src/main.py", 0, ""), ("README.md", 0o644, ""), ("bin/x", 0, ""), ("package.json.md", 0, ""),
    ],
)  # fmt: skip
def test_it_is_known_by_its_name_or_by_having_been_a_program(path: str, mode: int, why: str) -> None:
    assert runs_later(path, mode) == why


PARTS = sorted(
    {
        part.replace("*", stars)
        for _why, ends in _ENDS
        for end in ends
        for part in end.split("/")
        for stars in ("", "x.y")
    }
)


@given(st.lists(st.sampled_from([*PARTS, "src", "x\n", "main.py"]), min_size=1, max_size=4))
def test_a_pattern_says_of_each_part_of_the_end_what_the_shell_would(parts: list[str]) -> None:
    assert all(end.count("*") <= 1 for _why, ends in _ENDS for full in ends for end in full.split("/"))
    patterns = [(why, end.split("/")) for why, ends in _ENDS for end in ends]
    named = [why for why, end in patterns if end == parts[-1:] and "*" not in end[0]]
    like = [why for why, end in patterns if len(parts) >= len(end) and all(map(fnmatchcase, parts[-len(end) :], end))]
    assert runs_later("/".join(parts)) == (*named, *like, "")[0]
