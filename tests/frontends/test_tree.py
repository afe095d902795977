"""The tree of commands that `gateway explain` shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.render.tree import tree_of


def outline(commands: list[dict[str, Any]]) -> list[Any]:
    return [[each["program"], *outline(each["commands"])] for each in commands]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls", [["ls"]]),
        ("ls | wc -l; cat x", [["ls"], ["wc"], ["cat"]]),
        ("echo $(cat $(ls))", [["echo", ["cat", ["ls"]]]]),
        ("sudo bash -c 'rm x; ls' && ls", [["sudo", ["bash", ["rm"], ["ls"]]], ["ls"]]),
        ("find . -exec rm {} +", [["find", ["rm"]]]),
        ("for f in a b; do cat $f; done", [["cat"], ["cat"]]),
    ],
)
def test_what_another_command_holds_or_runs_is_below_it(judge, text: str, expected: list[Any]) -> None:
    _, verdict = judge(f"Bash({text})")
    assert outline(tree_of(verdict)["commands"]) == expected


def test_every_effect_stands_once_with_its_decision(judge) -> None:
    _, verdict = judge("Bash(cat src/main.py > notes.txt; npm test)")
    tree = tree_of(verdict)

    def effects(node: dict[str, Any]) -> list[tuple[str, str]]:
        below = [effect for child in node["commands"] for effect in effects(child)]
        return [(effect["kind"], effect["decision"]) for effect in node["effects"]] + below

    assert sorted(effects(tree)) == [("code", "allow"), ("read", "allow"), ("write", "ask")]


def test_as_json_it_is_the_same_tree(gateway) -> None:
    done = gateway("explain", "--json", "git -C src push -f; ./x")
    tree = json.loads(done.stdout)
    first = tree["commands"][0]
    assert (
        done.returncode,
        outline(tree["commands"]),
        first["subcommands"],
        first["argv"],
        "--force" in first["options"],
    ) == (
        0,
        [["git"], ["x"]],
        ["push"],
        ["git", "-C", "src", "push", "-f"],
        True,
    )


def test_the_text_may_come_from_standard_input(in_process) -> None:
    given, read = in_process("explain", "ls -la"), in_process("explain", "-", input=b"ls -la\n")
    assert (given.returncode, given.stdout) == (0, read.stdout)


@pytest.mark.parametrize(
    ("words", "input_", "said"),
    [
        ((), None, b"a shell text must be given"),
        (("-",), b"\xff", b"the text must be UTF-8"),
        (("a", "b"), None, b"gateway explain --help"),
        (("ls", "--mode", "x"), None, b"mode must be one of"),
        (("-",), b"a\0b", b"must not contain NUL"),
    ],
)
def test_what_cannot_be_explained_is_one_clear_error(
    in_process, words: tuple[str, ...], input_: bytes | None, said: bytes
) -> None:
    done = in_process("explain", *words, input=input_)
    assert (done.returncode, done.stdout, said in done.stderr, b"Traceback" in done.stderr) == (2, b"", True, False)


def test_five_thousand_commands_make_a_tree_in_no_time(judge) -> None:
    _, verdict = judge(f"Bash({'ls;' * 4000})")
    assert len(tree_of(verdict)["commands"]) == 4000
