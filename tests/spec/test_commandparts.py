"""A description in several files is what it would be in one, and what is wrong in a part is said with its place."""

from __future__ import annotations

import pytest

from gateway.core.errors import ConfigError
from gateway.spec.commandparts import Source, sources
from gateway.spec.commands import compile_description

WHOLE = """\
names: [x]
inherit: true
flags: -v
groups: {shown: {flags: -q}, changed: {flags: -f}}
subcommands:
  a: {use: shown}
  b|c: {use: changed, effects: [write . tree]}
  "d*": {}
examples: {"x a -q": [], "x c": [write . tree]}
"""
MAIN = """\
names: [x]
inherit: true
flags: -v
groups: {shown: {flags: -q}}
subcommands: {a: {use: shown}}
examples: {"x a -q": []}
"""
PART = """\
of: x
groups: {changed: {flags: -f}}
subcommands:
  b|c: {use: changed, effects: [write . tree]}
  "d*": {}
examples: {"x c": [write . tree]}
"""


def told(text: str, *parts: tuple[str, str]) -> str:
    with pytest.raises(ConfigError) as raised:
        compile_description(text, "x.yaml", parts=parts)
    return str(raised.value)


def test_a_description_in_two_files_is_the_one_that_it_would_be_in_one() -> None:
    one, two = compile_description(WHOLE, "x.yaml"), compile_description(MAIN, "x.yaml", parts=[("x.b.yaml", PART)])
    lines = {"x a -q": (6, 12, "x.yaml"), "x c": (6, 12, "x.b.yaml")}
    assert {call: tuple(place) for call, place in two["lines"].items()} == lines
    assert {**one, "lines": {}} == {**two, "lines": {}}


@pytest.mark.parametrize(
    ("own", "part", "checked"),
    [
        ("checked: x 1.0\n", "checked: [y 2.0, x 1.0]\n", ["x 1.0", "y 2.0"]),
        ("checked: x 1.0\n", "", ["x 1.0"]),
        ("", "checked: x 1.0\n", None),
    ],
    ids=["both", "the program's own file", "a part alone"],
)
def test_a_description_was_compared_if_its_own_file_was_with_all_that_its_parts_were(
    own: str, part: str, checked: list[str] | None
) -> None:
    assert compile_description(own + MAIN, "x.yaml", parts=[("x.b.yaml", part + PART)]).get("checked") == checked


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ("of: x\nsubcommands: {a: {}}", "x.b.yaml:2:15: subcommand must be unique (got `a` again)"),
        ("of: x\ngroups: {shown: {}}", "x.b.yaml:2:10: group must be unique (got `shown` again)"),
        ('of: x\nexamples: {"x a -q": []}', "x.b.yaml:2:12: example must be unique (got it again)"),
        ("of: x\nsubcommands: {b: {flag: -a}}", "x.b.yaml:2:19: subcommand must have known keys only (got `flag`)"),
        ("of: x\nchecked: x", "x.b.yaml:2:10: checked must name a program and its version (got `x`)"),
        ("of: x\nflags: -a", "x.b.yaml:2:1: part of a description must have known keys only"),
        ("subcommands: {}", "x.b.yaml:1:1: part of a description must have the key `of`"),
    ],
)
def test_what_is_wrong_in_a_part_is_said_with_its_place(part: str, problem: str) -> None:
    assert told(MAIN, ("x.b.yaml", part)).splitlines()[0] == problem


def test_what_is_wrong_in_a_group_is_said_of_the_file_that_it_stands_in() -> None:
    broken = MAIN.replace("shown: {flags: -q}", "shown: {flag: -q}").replace("use: shown", "flags: -q")
    assert told(broken, ("x.b.yaml", "of: x\nsubcommands: {b: {use: shown}}")).startswith("x.yaml:4:18: group must")


def test_parts_are_found_by_what_they_are_of_and_go_with_it() -> None:
    files = [("d/x.b.yaml", b"# why\nof: x\n"), ("d/x.yaml", b"names: [x]"), ("d/x.so.yaml", b"names: [x.so]")]
    assert sources(files) == [Source("d/x.yaml", b"names: [x]", (files[0],)), Source("d/x.so.yaml", b"names: [x.so]")]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("d/y.b.yaml", "d/y.b.yaml:1:1: part must have a name that begins with what it is `of`"),
        ("e/x.b.yaml", "e/x.b.yaml: part must stand beside x.yaml"),
    ],
)
def test_a_part_without_what_it_goes_on_with_is_an_error(path: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        sources([("d/x.yaml", b"names: [x]"), (path, b"of: x")])
    assert str(raised.value).splitlines()[0] == problem


SEVERAL = """\
names: [x]
operands: []
examples: {"x": []}
---
names: [y]
operands: [{kind: path, does: read}]
examples: {"y a": [read a]}
"""


def test_a_file_of_several_descriptions_is_each_of_them_in_its_own_lines() -> None:
    found = sources([("t.yaml", SEVERAL.encode())])
    compiled = [compile_description(each.content, each.path, parts=each.parts) for each in found]
    assert [(each["names"], tuple(each["place"]), each["lines"]) for each in compiled] == [
        (["x"], (1, 8), {"x": [3, 12, "t.yaml"]}),
        (["y"], (5, 8), {"y a": [7, 12, "t.yaml"]}),
    ]


def test_a_mistake_in_one_of_several_has_its_line() -> None:
    broken = sources([("t.yaml", SEVERAL.replace("operands: []", "flag: -a", 1).encode())])[0]
    with pytest.raises(ConfigError, match=r"t\.yaml:2:1: description must have known keys only"):
        compile_description(broken.content, broken.path)


def test_nothing_goes_on_with_a_file_of_several() -> None:
    with pytest.raises(ConfigError, match="part must go on with a file of one description"):
        sources([("x.yaml", SEVERAL.encode()), ("x.b.yaml", PART.encode())])


def test_a_line_before_the_first_and_behind_the_last_description_is_no_other() -> None:
    assert len(sources([("t.yaml", f"---\n{SEVERAL}---\n".encode())])) == 2
