"""Descriptions in their one form: what they mean and what is remarked in them stays, and formatting again changes
nothing."""

# ruff: noqa: E501  one form a line

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import gateway.commands
from gateway.core.errors import ConfigError
from gateway.spec import commandformat
from gateway.spec.commandcomments import comments_of
from gateway.spec.commandformat import WIDTH, format_description, meaning
from gateway.spec.yamltext import load

FILES = sorted(Path(gateway.commands.__file__).parent.glob("*.yaml"))
LONG = " ".join(f"--option-{letter}" for letter in "qwertyuiop")
LETTERS = "names: [x]\nflags: >-\n  --option-e --option-i --option-o --option-p --option-q --option-r --option-t --option-u --option-w\n  --option-y\n"
MANY = [f"program{number}" for number in range(14)]
SEVERAL = f"programs:\n  [{', '.join(MANY[:9])},\n   {', '.join(MANY[9:])}]\n"
SUBS = " ".join(["sub"] * 29)
SUBCOMMANDS = f"names: [x]\nsubcommands:\n  ? >-\n    {SUBS[:95]}\n    {SUBS[96:]}\n  : {{flags: -a -b}}\n"
FULL = "code " + "long " * 10
EFFECTS = f"names: [x]\neffects:\n  - {FULL}a\n  - {FULL}b\n"


def formatted(text: str) -> str:
    return format_description(text, "x.yaml")


def test_every_shipped_description_is_formatted() -> None:
    texts = {file.name: file.read_text("utf-8") for file in FILES}
    other = [name for name, text in texts.items() if format_description(text, name) != text]
    assert other == [], "run: gateway commands format gateway/commands/*.yaml"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{names: [x], flags: -b -a}", "names: [x]\nflags: -a -b\n"),
        ("names: [x]\nflags: [-b, -A, -a]", "names: [x]\nflags: -a -A -b\n"),
        (f"names: [x]\nflags: {LONG}", LETTERS),
        ("names: [x]\noptions: {-b: {}, -a: {}}", "names: [x]\noptions: {-b: {}, -a: {}}\n"),
        ("names: [x]\noptions:\n    '-b': {}\n    -a:\n      {}", "names: [x]\noptions:\n  -b: {}\n  -a: {}\n"),
        ("names: [x]\noperands:\n- kind: path\n", "names: [x]\noperands:\n  - {kind: path}\n"),
        ('names: [x]\nexamples: {x a: ["read a"]}', 'names: [x]\nexamples: {"x a": [read a]}\n'),
        (
            'names: [x]\nexamples: {\'x "a"\': [], "x \'a\' \\"b\\"": []}',
            'names: [x]\nexamples: {\'x "a"\': [], "x \'a\' \\"b\\"": []}\n',
        ),
        ("names: [x]\nvalues: -3", 'names: [x]\nvalues: "-3"\n'),
        ("names: ['no', '3', \"a: b\"]", 'names: ["no", "3", "a: b"]\n'),
        (f"names: [x]\neffects: [{FULL}a, {FULL}b]", EFFECTS),
        (f"programs: [{', '.join(MANY)}]", SEVERAL),
        (f"names: [x]\nsubcommands: {{{SUBS}: {{flags: -b -a}}}}", SUBCOMMANDS),
        (
            "names: [x]\nsubcommands: {flags: {flags: -b -a}, values: -b -a}",
            "names: [x]\nsubcommands: {flags: {flags: -a -b}, values: -b -a}\n",
        ),
    ],
)
def test_a_description_is_written_in_its_one_form(text: str, wanted: str) -> None:
    assert (formatted(text), formatted(wanted)) == (wanted, wanted)


REMARKS = """\
# Of the file.

# Of the names.
names: [x]  # and beside



flags: -b # of the flags
options: # of all
    # of one
    -a: {}
    -c: {value: '#', # within
      does: read}
    # the last of them

# The end.
"""
KEPT = """\
# Of the file.

# Of the names.
names: [x]  # and beside

flags: -b  # of the flags
options:  # of all
  # of one
  -a: {}
  -c: {value: "#", does: read}  # within
# the last of them

# The end.
"""


def test_remarks_and_blank_lines_stay_where_they_are() -> None:
    assert (formatted(REMARKS), formatted(KEPT)) == (KEPT, KEPT)


@pytest.mark.parametrize("text", ["secret: [x]", "[names]", "names: [x]\nsecret: y", "flags: -a"])
def test_what_is_no_description_is_not_formatted_and_not_quoted(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        formatted(text)
    assert "secret" not in str(raised.value)


@given(st.from_regex(commandformat._SURELY_PLAIN, fullmatch=True))
def test_what_is_taken_for_plain_at_once_is_plain(text: str) -> None:
    assert commandformat._is_plain(text)


PIECES = st.sampled_from(
    ["a", "-b", "--c|d", "#", " #", ": ", ":", "'", '"', "\\", "é", "[", "{", ",", "?", "no", "-3", "*", "%", "\n"]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)
VALUES = st.recursive(
    TEXTS | st.integers(-9, 9) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
WORDS = st.lists(st.text("-abc|d", min_size=1, max_size=30), max_size=12).map(" ".join)
LEVELS = st.fixed_dictionaries(
    {"names": st.lists(TEXTS, max_size=30)},
    optional={
        "flags": WORDS | st.lists(WORDS, max_size=3),
        "values": WORDS,
        "options": st.dictionaries(TEXTS, VALUES, max_size=4),
        "operands": st.lists(VALUES, max_size=3),
        "subcommands": st.dictionaries(TEXTS | WORDS, VALUES | st.fixed_dictionaries({"flags": WORDS}), max_size=3),
        "examples": st.dictionaries(TEXTS, st.lists(TEXTS, max_size=3), max_size=3),
        "about": TEXTS,
    },
)


@given(LEVELS, st.sampled_from([None, True, False]), st.sampled_from([40, 1000]))
def test_what_is_written_means_the_same_and_is_in_its_form_already(value, flow: bool | None, width: int) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, width=width, sort_keys=False, allow_unicode=True)
    try:
        before = load(text, "x.yaml")
    except ConfigError:
        return  # not in the language that descriptions are written in
    after = formatted(text)
    assert (meaning(load(after, "x.yaml")), formatted(after)) == (meaning(before), after)


@given(st.sampled_from(FILES), st.data())
def test_a_remark_on_any_line_stays(file: Path, data: st.DataObject) -> None:
    lines = file.read_text("utf-8").split("\n")
    for number in data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=3)):
        kind = data.draw(st.sampled_from(["above", "beside", "blank"]))
        if kind == "beside":
            lines[number] += "  # remark"
        else:
            lines[number] = f"{'# remark' if kind == 'above' else ''}\n{lines[number]}"
    text = "\n".join(lines)
    try:
        before = load(text, file.name)
    except ConfigError:
        return  # a remark within a folded text ends it
    after = format_description(text, file.name)
    assert meaning(load(after, file.name)) == meaning(before)
    assert [each.text for each in comments_of(after)] == [each.text for each in comments_of(text)]
    assert format_description(after, file.name) == after


def test_lines_end_where_they_can() -> None:
    text = "\n".join(file.read_text("utf-8") for file in FILES)
    beyond = [line for line in text.split("\n") if len(line) > WIDTH and not line.lstrip().startswith("#")]
    assert [line for line in beyond if " " in line.strip().strip("\"'").partition(": ")[2]] == []


def test_each_of_several_descriptions_is_formatted_and_stays_apart() -> None:
    text = "names: [x]\nflags: -b -a\n---\n# the other\nnames: [z]\nvalues: -d -c\n"
    formatted = "names: [x]\nflags: -a -b\n---\n# the other\nnames: [z]\nvalues: -c -d\n"
    assert format_description(text, "t.yaml") == formatted
    assert format_description(formatted, "t.yaml") == formatted
