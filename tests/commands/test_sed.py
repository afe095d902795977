"""sed's scripts tell which files they touch and what they run."""

from __future__ import annotations

import pytest

from gateway.commands.special.sed import SedError, scan


@pytest.mark.parametrize(
    "script",
    [
        "p", "1,20p", "$d", "/a/,/b/d", "s/a/b/g", "s|a|b|", "s/\\//x/2gI", "y/abc/xyz/", "2q", "1~3p", "/x/I!d",
        "a\\\ntext", "i text; rm x", "/a/{s/b/c/;p}", ":a;N;$!ba;s/\\n/ /g", "=", "n;d", "\\,x,p", "# e rm\np", "",
        "s/[abc]/x/", "/e/p", "s/e/w/",
    ],
)  # fmt: skip
def test_a_script_that_only_edits_does_nothing_else(script: str) -> None:
    assert scan(script) == []


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("w out", [("write", "out")]),
        ("s/a/b/gw out", [("write", "out")]),
        ("/x/r in", [("read", "in")]),
        ("1e rm x", [("run", "rm x")]),
        ("s/a/b/e", [("run", "")]),
        ("s/a/b/;e", [("run", "")]),
        ("/a/{w x\n}", [("write", "x")]),
        ("$!W x;y", [("write", "x;y")]),
    ],
)
def test_a_script_that_does_more_says_so(script: str, found: list[tuple[str, str]]) -> None:
    assert scan(script) == found


@pytest.mark.parametrize(
    "script", ["s/a/b", "s/[/]/x/", "k", "s/a/b/q", "y/a", "/a", "px", "s/[[:alpha:]/]/x/", "vw x"]
)
def test_a_script_that_is_not_understood_is_refused(script: str) -> None:
    with pytest.raises(SedError):
        scan(script)
