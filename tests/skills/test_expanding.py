"""What a command is told goes where its author said, and adds nothing that runs or is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.skills.expanding import expanded, filled

FILLED = {
    "everything": ("Fix $ARGUMENTS.", "a b", "Fix a b."),
    "words": ("$2 then $1, no $3", "'a b' c", "c then a b, no "),
    "words that are no shell's": ("$1", "it's fine", "it's"),
    "what only looks like a place": ("$10 $0 $ARGUMENTSX $HOME", "a", "$10 $0 $ARGUMENTSX $HOME"),
    "nothing": ("Look at $ARGUMENTS", "", "Look at "),
}


@pytest.mark.parametrize(("text", "args", "expected"), FILLED.values(), ids=FILLED)
def test_places_are_filled(text: str, args: str, expected: str) -> None:
    assert filled(text, args) == expected


def test_lines_and_files_are_asked_for_once_each_with_what_the_command_was_told() -> None:
    asked: list[str] = []

    def run(line: str) -> str:
        asked.append(f"run {line}")
        return "OUT"

    def read(path: str) -> str | None:
        asked.append(f"read {path}")
        return "FILE" if path.endswith(".py") else None

    text = "Log: !`git log $1` !`git log $1` @src/$1.py @nobody me@x.org `@no` $1"
    assert expanded(text, "main", run, read) == "Log: OUT OUT FILE @nobody me@x.org `@no` main"
    assert asked == ["run git log main", "read src/main.py", "read nobody"]


@given(st.text(alphabet="!`@$1a/ .'\"", max_size=30))
def test_nothing_that_a_command_is_told_runs_or_is_read(args: str) -> None:
    def never(_what: str) -> str:
        raise AssertionError

    expanded("Do $ARGUMENTS and $1 and `$2`", args, never, never)
