"""Replacements: where they stand, what they leave alone, and the diff that shows them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.calls.output import Failure, Output, Text
from gateway.files.diff import unified
from gateway.handlers.files_match import Edit, MissError, nearest, replaced

WORDS = st.lists(st.sampled_from(["a", "b", "ab", " ", "\n", "x'y", '"q"']), max_size=12).map("".join)


def applied(before: str, diff: str) -> str:
    """A text with a unified diff applied to it."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", before)
    out: list[str] = []
    at = 0
    body = re.sub(r"\n\\ No newline at end of file\n", "\0", diff)
    for line in re.findall(r"[^\n\0]*[\n\0]", body)[2:]:
        header = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
        if header:
            start = int(header[1]) - (header[2] != "0")
            out += lines[at:start]
            at = start
            assert len(out) == int(header[3]) - (header[4] != "0")
            continue
        text = line[1:].replace("\0", "")
        if line[0] in " -":
            assert lines[at] == text
            at += 1
        if line[0] in " +":
            out.append(text)
    return "".join(out + lines[at:])


@given(WORDS, WORDS)
def test_a_diff_applied_to_the_old_text_gives_the_new_one(before: str, after: str) -> None:
    diff = unified(before, after, "a")
    assert (diff == "") == (before == after)
    assert applied(before, diff) == after


def test_a_very_large_change_still_gives_a_diff_that_applies() -> None:
    before = "".join(f"line {number}\n" for number in range(20_000))
    for after in (before.replace("7\n", "seven\n"), before.replace("7\n", "seven\n") + "more\n"):
        assert applied(before, unified(before, after, "a")) == after


@given(WORDS, WORDS.filter(bool), WORDS)
def test_an_exact_text_is_replaced_as_a_language_would(text: str, old: str, new: str) -> None:
    count = text.count(old)
    if old == new or count == 0:
        return
    if count > 1:
        with pytest.raises(MissError, match=f"stands there {count} times"):
            replaced(text, Edit(old, new, False))
    assert replaced(text, Edit(old, new, True)).text == text.replace(old, new)


@given(WORDS, WORDS.filter(bool), WORDS)
def test_windows_line_endings_change_nothing_but_line_endings(text: str, old: str, new: str) -> None:
    def outcome(given: str) -> object:
        try:
            return replaced(given, Edit(old, new, True)).text
        except MissError as miss:
            return miss.what

    windows = outcome(text.replace("\n", "\r\n"))
    plain = outcome(text)
    if "\n" in text:
        assert windows == (plain.replace("\n", "\r\n") if isinstance(plain, str) and "`" not in plain else plain)
    else:
        assert windows == plain


def test_what_is_most_like_a_missing_text_is_found_in_a_long_file() -> None:
    lines = [f"def function_{number}(value):\n    return value + {number}\n" for number in range(20_000)]
    found = nearest("".join(lines), "def function_12345(valu):\n    return valu + 12345\n")
    assert found[0][:2] == (24_691, 24_692)
    assert found[0][2] == " 24691\tdef function_12345(value):\n 24692\t    return value + 12345"


def test_several_replacements_are_made_in_one_version_and_shown_together(bench: Any) -> None:
    path = bench.write("a.py", "".join(f"line {number}\n" for number in range(1, 41)))
    bench("Read", file_path="a.py")
    output = bench(
        "Edit",
        file_path="a.py",
        edits=[{"old_string": "line 3\n", "new_string": "three\n"}, {"old_string": "line 33\n", "new_string": ""}],
    )
    shown = [*range(1, 3), "three", *range(4, 8)], [*range(29, 33), *range(34, 39)]
    first = [f"{at:6}\t{line if line == 'three' else f'line {line}'}" for at, line in enumerate(shown[0], 1)]
    second = [f"{at:6}\tline {line}" for at, line in enumerate(shown[1], 29)]
    assert output == Output(
        (Text(f"Changed {path}: 2 replacements."), Text("\n".join([*first, "   ...", *second]))),
        changed=(path,),
        diff=(
            f"--- {path}\n+++ {path}\n@@ -1,6 +1,6 @@\n line 1\n line 2\n-line 3\n+three\n line 4\n line 5\n line 6\n"
            "@@ -30,7 +30,6 @@\n line 30\n line 31\n line 32\n-line 33\n line 34\n line 35\n line 36\n"
        ),
    )


def test_one_edit_after_the_other_needs_no_read_in_between(bench: Any) -> None:
    path = bench.write("a", "one two three\n")
    bench("Read", file_path="a")
    for old, new in (("one", "1"), ("two", "2"), ("three", "3")):
        bench("Edit", file_path="a", old_string=old, new_string=new)
    assert Path(path).read_text(encoding="utf-8") == "1 2 3\n"


def test_none_of_several_replacements_is_made_when_one_cannot_be(bench: Any) -> None:
    path = bench.write("a", "one two\n")
    bench("Read", file_path="a")
    before = bench.everything()
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "six", "new_string": "6"}]
    with pytest.raises(Failure, match="replacement 2 of 2"):
        bench("Edit", file_path="a", edits=edits)
    assert bench.everything() == before
    bench("Edit", file_path="a", edits=edits[:1])
    assert Path(path).read_bytes() == b"1 two\n"
