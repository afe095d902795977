"""Texts that are read without the walk come out as the walk would have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.shell import builtins, walk
from gateway.shell.guards import ACTING
from gateway.shell.plain import plain_script
from gateway.shell.plainlist import MOST_COMMANDS, plain_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.shell.script import Script

TESTS = Path(__file__).resolve().parents[1]
HERE = ("/w",)
HOME = "/home/dev"


def walked(text: str) -> Script:
    return walk.read(text, cwds=HERE, home=HOME, variables={"HOME": HOME, "PWD": HERE[0]})


def same(text: str) -> bool:
    """Whether a text is read without the walk; then it comes out the same, where the walk understands all of it."""
    found = plain_script(text, HERE, HOME)
    if found is None:
        return False
    expected = walked(text)
    assert expected.unknowns or found == expected
    return True


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


def test_every_text_of_the_corpora_comes_out_the_same() -> None:
    files = [*(TESTS / "corpus").glob("*.jsonl"), *(TESTS / "agents").glob("*.jsonl")]
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    texts = dict.fromkeys(text for row in rows for text in texts_in(row))
    read = sum(same(text) for text in texts)
    assert read > len(texts) // 4  # it is what most texts take


PIECES = st.sampled_from(
    (
        *(
            " ",
            "  ",
            "\t",
            "\n",
            "\n\n",
            ";\n",
            "|",
            "||",
            "&&",
            ";",
            ";;",
            "&",
            "|&",
            " 2>&1",
            " >x",
            "< y",
            "2>",
            ">>",
        ),
        *(
            ">&-",
            "1>&2-",
            "&>z",
            " &>>z",
            "<<<",
            "<>",
            ">|",
            "(",
            ")",
            "'a b'",
            '"c;d"',
            "'*'",
            '"~"',
            "'",
            '"',
            "=",
            "a=b",
        ),
        *(
            "2to3",
            "cd",
            "ls",
            "echo a",
            "exec",
            "time",
            "!",
            "[",
            "{}",
            "{",
            "-",
            "--",
            "~",
            "~/a",
            "~a",
            "a:~",
            "*",
            "a*",
        ),
        *("*.py", "?", "\\;", "\\(", "\\*", "\\\n", "\\", "#", "$x", "$(ls)", "`ls`", "é", "\x00", "%", "^", "@", "+="),
        "e{1,2}",
    )
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_any_text_comes_out_the_same(text: str) -> None:
    same(text)


@pytest.mark.parametrize(
    "text",
    [
        "git status | head -3",
        "npm run build 2>&1 | tail -20",
        "make && ./run 'a b' \"c d\" > out.txt; wc -l < in.txt",
        "find . -name '*.py' -exec grep -l x {} \\; | sort",
        "cat ~/.ssh/config\nls *.py docs/*",
        "ls;",
    ],
)
def test_an_ordinary_text_is_read_without_the_walk(text: str) -> None:
    assert same(text)


@pytest.mark.parametrize(
    "text",
    ["cd src && ls", "exec < file; cat", "a=1 env", "time ls", "ls ~root", "ls ~2>&1", "if x", "ls $HOME", "ls &", "",
     "ls | | wc", "ls &&", "> file", "cat < /dev/tcp/host/80", "ls | " * MOST_COMMANDS + "wc"],
)  # fmt: skip
def test_what_depends_on_more_is_left_to_the_walk(text: str) -> None:
    assert plain_script(text, HERE, HOME) is None


def test_the_names_that_are_left_to_the_walk_are_those_that_it_acts_on() -> None:
    assert set(builtins._ACTIONS) | {"command", "builtin"} == ACTING


@pytest.mark.parametrize("home", [None, "", "/", "home", "/home/a*b"])
def test_a_home_folder_that_is_not_plain_is_left_to_the_walk(home: object) -> None:
    assert plain_list("ls ~/x", HERE, home) is None


@pytest.mark.parametrize("text", ["$" + " " * 90_000 + "(", "a" * 90_000 + "$", "1" * 90_000 + "$", "'" * 90_001])
def test_a_long_text_that_is_left_to_the_walk_takes_no_longer_than_it_is(text: str) -> None:
    assert plain_script(text, HERE, HOME) is None  # would take minutes if the time grew faster than the text
