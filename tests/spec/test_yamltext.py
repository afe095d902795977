"""Strict YAML with positions."""

from __future__ import annotations

import gc
import time
from contextlib import suppress
from unittest.mock import ANY

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import ConfigError
from gateway.spec.yamltext import MAX_BYTES, MAX_DEPTH, MAX_PROBLEMS, Complaints, load

HAS_C_PARSER = yaml.__with_libyaml__
BOTH = pytest.mark.parametrize("pure", [False, True], ids=["c", "pure"])


def complaints_of(text, pure=False):
    with pytest.raises(ConfigError) as caught:
        load(text, "p.yaml", pure=pure)
    assert {problem.file for problem in caught.value.problems} == {"p.yaml"}
    return [(problem.line, problem.column, problem.message, problem.remedy) for problem in caught.value.problems]


@BOTH
@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", None),
        ("# nothing\n", None),
        ("---\n", None),
        ("a: true\nb: false\nc: null\nd:\n", {"a": True, "b": False, "c": None, "d": None}),
        ("[0, -0, 7, -12, 999999999999999999]", [0, "-0", 7, -12, 999999999999999999]),
        (
            "[9999999999999999999, 00, 022, 0x1f, 0o17, 1_000, +5]",
            ["9999999999999999999", "00", "022", "0x1f", "0o17", "1_000", "+5"],
        ),
        ("[yes, No, on, OFF, y, n, True, FALSE]", ["yes", "No", "on", "OFF", "y", "n", "True", "FALSE"]),
        ("[1:30, 1e3, 1.5, .inf, -.INF, .nan]", ["1:30", "1e3", "1.5", ".inf", "-.INF", ".nan"]),
        ("[2024-01-01, 2024-1-1T00:00:00Z, ~, Null, =]", ["2024-01-01", "2024-1-1T00:00:00Z", "~", "Null", "="]),
        ("['true', \"7\", 'null', '']", ["true", "7", "null", ""]),
        ("\ufeffa: b\r\nc: d\r\n", {"a": "b", "c": "d"}),
        ("on: 1\nyes: 2\n'<<': 3\n'5': 6\n", {"on": 1, "yes": 2, "<<": 3, "5": 6}),
        ("a: |\n  x\n  y\nb: >-\n  p\n  q\n", {"a": "x\ny\n", "b": "p q"}),
        ('a: "x\\ty\\u202e"', {"a": "x\ty\u202e"}),
        ("- Bash(npm run test:*)\n- Read(//etc/**)\n", ["Bash(npm run test:*)", "Read(//etc/**)"]),
        ("{a: [b, {c: d}], e: {}, f: []}", {"a": ["b", {"c": "d"}], "e": {}, "f": []}),
    ],
)
def test_only_what_every_reader_reads_alike_is_converted(text, data, pure):
    found = load(text, "p.yaml", pure=pure).plain()
    assert found == data
    assert repr(found) == repr(data)  # True is not 1


@pytest.mark.parametrize(
    ("word", "trap"),
    [
        ("no", "a boolean"), ("On", "a boolean"), ("y", "a boolean"), ("TRUE", "a boolean"), ("~", "nothing"),
        ("022", "a number"), ("0x1F", "a number"), ("1_000", "a number"), ("1e3", "a number"), ("1.5", "a number"),
        (".5", "a number"), ("-.inf", "a number"), (".NaN", "a number"), ("1:30", "a number"), ("+5", "a number"),
        ("2024-01-01", "a date"), ("2024-01-01T10:00:00Z", "a date"),
        ("nope", ""), ("1.2.3", ""), ("origin/2024", ""), ("'no'", ""), ('"1e3"', ""), ("true", ""), ("7", ""),
    ],
)  # fmt: skip
def test_a_plain_text_tells_what_other_readers_make_of_it(word, trap):
    assert load(f"a: {word}", "p.yaml").get("a").trap == trap


@BOTH
def test_every_key_and_value_knows_its_place(pure):
    root = load("a: 1\nbö: ['ü', {c:   d}]\n\n  # x\ne:\n  f: g\n", "p.yaml", pure=pure)
    second = root.get("bö")
    inner = second.value[1]
    nodes = [root, root.get("a"), second, second.value[0], inner, inner.get("c"), root.get("e"), root.get("e").get("f")]
    assert [(n.key_line, n.key_column, n.line, n.column) for n in nodes] == [
        (1, 1, 1, 1), (1, 1, 1, 4), (2, 1, 2, 5), (2, 6, 2, 6), (2, 11, 2, 11), (2, 12, 2, 17), (5, 1, 6, 3),
        (6, 3, 6, 6),
    ]  # fmt: skip
    assert [n.kind for n in nodes] == ["mapping", "integer", "list", "text", "mapping", "text", "mapping", "text"]


NO_TAG = "remove it, or put the value in quotes if it is a text that begins with `!`"


@BOTH
@pytest.mark.parametrize(
    ("text", "line", "column", "message", "remedy"),
    [
        (
            "a: 1\nb: 2\na: 3",
            3,
            1,
            "key must be unique in its mapping (got it again, first on line 1)",
            "remove one of them, or merge them",
        ),
        ("<<: {a: 1}", 1, 1, "merge keys must not be used (got `<<`)", "write the keys out"),
        (
            "a: &x 1",
            1,
            4,
            "anchors must not be used",
            "remove it, or put the value in quotes if it is a text that begins with `&`",
        ),
        ("a: !!str 1", 1, 4, "tags must not be used", NO_TAG),
        ("a: ! 'x'", 1, 4, "tags must not be used", NO_TAG),
        ("- !src/**", 1, 3, "tags must not be used", NO_TAG),
        (
            "- !!python/object/apply:os.system [x]",
            1,
            3,
            "tags must not be used",
            NO_TAG,
        ),
        (
            "- *x",
            1,
            3,
            "aliases must not be used",
            "write the value out, or put it in quotes if it is a text that begins with `*`",
        ),
        ("a\n---\nb", 2, 1, "file must hold one document (got another `---`)", "split it into two files"),
        ("%YAML 1.1\n---\na", 1, 1, "directives must not be used (got `%`)", "remove the line"),
        ("5: a", 1, 1, "key must be text (got an integer)", "put it in quotes"),
        ("true: a", 1, 1, "key must be text (got a boolean)", "put it in quotes"),
        ("null: a", 1, 1, "key must be text (got nothing)", ""),
        ("? [a]\n: b", 1, 3, "key must be text (got a list or a mapping)", "put the key in quotes"),
        ("a:\tb", 1, 3, "file must not contain tab characters", "indent with blanks; inside double quotes write `\\t`"),
        ("a\nb: \0", 2, 4, "file must not contain control or invisible characters (got U+0000)", "remove it"),
        (
            "a\x1b[2J",
            1,
            2,
            "file must not contain control or invisible characters (got U+001B)",
            "remove it; inside double quotes write `\\u001b`",
        ),
        (
            "a\rb",
            1,
            2,
            "file must not contain control or invisible characters (got U+000D)",
            "end lines with a line feed",
        ),
        (
            "x: a\u202eb",
            1,
            5,
            "file must not contain control or invisible characters (got U+202E)",
            "remove it; inside double quotes write `\\u202e`",
        ),
        (
            "x\U000e0041",
            1,
            2,
            "file must not contain control or invisible characters (got U+E0041)",
            "remove it; inside double quotes write `\\U000e0041`",
        ),
        ("a: \udcff", 1, 4, "file must be UTF-8 (got U+DCFF)", "save it as UTF-8"),
        (b"a: b\nc: \xc3\xa4\xff", 2, 5, "file must be UTF-8 (got byte 0xff at offset 10)", "save it as UTF-8"),
        ("a: b".encode("utf-16"), 1, 1, "file must be UTF-8 (got byte 0xff at offset 0)", "save it as UTF-8"),
        ('a: "\\0"', 1, 4, "text must not contain U+0000", ""),
        ("[" * 65, 1, 65, "nesting must be at most 64 levels deep", ""),
        ("[" * 65_000, 1, ANY, "nesting must be at most 64 levels deep", ""),
        (
            b" " * (MAX_BYTES + 1),
            0,
            0,
            "file must be at most 8,000,000 bytes (got 8,000,001)",
            "split it into several files",
        ),
        (
            "ä" * (MAX_BYTES // 2 + 1),
            0,
            0,
            "file must be at most 8,000,000 bytes (got 8,000,002)",
            "split it into several files",
        ),
    ],
)
def test_what_readers_disagree_about_is_one_clear_error(text, line, column, message, remedy, pure):
    assert complaints_of(text, pure) == [(line, column, message, remedy)]


@pytest.mark.skipif(not HAS_C_PARSER, reason="the wording is libyaml's")
@pytest.mark.parametrize(
    ("text", "line", "column", "message", "remedy"),
    [
        (
            "- *.py",
            1,
            4,
            "did not find expected alphabetic or numeric character while scanning an alias",
            "put a text that begins with `*` in quotes",
        ),
        (
            "- @x",
            1,
            3,
            "found character that cannot start any token while scanning for the next token",
            "put a text that begins with `@` in quotes",
        ),
        ("a: b: c", 1, 5, "mapping values are not allowed in this context", "put a text that contains `: ` in quotes"),
        (
            "a: 'x\nb: c\n",
            3,
            1,
            "found unexpected end of stream while scanning a quoted scalar",
            "close the quote that is opened on line 1",
        ),
        (
            "a: [b\nc: d",
            2,
            2,
            "did not find expected ',' or ']' while parsing a flow sequence",
            "close the bracket that is opened on line 1; put a text with `[ ] { } ,` in quotes",
        ),
        (
            "a: [{",
            2,
            1,
            "did not find expected node content while parsing a flow node",
            "close the bracket that is opened before it; put a text with `[ ] { } ,` in quotes",
        ),
        (
            "a: 1\n b: 2",
            2,
            3,
            "mapping values are not allowed in this context",
            "put a text that contains `: ` in quotes",
        ),
        (
            "a:\n  - b\n c: d",
            3,
            2,
            "did not find expected key while parsing a block mapping",
            "check the indentation of this line and of those before it",
        ),
    ],
)
def test_what_is_no_yaml_says_where_and_what_to_look_at(text, line, column, message, remedy):
    assert complaints_of(text) == [(line, column, f"file must be valid YAML ({message})", remedy)]


def test_all_problems_are_told_at_once_and_in_order():
    found = complaints_of("a: &x 1\nb: *x\na: 2\n1: !t y\n")
    assert [(line, column, message) for line, column, message, _remedy in found] == [
        (1, 4, "anchors must not be used"),
        (2, 4, "aliases must not be used"),
        (3, 1, "key must be unique in its mapping (got it again, first on line 1)"),
        (4, 1, "key must be text (got an integer)"),
        (4, 4, "tags must not be used"),
    ]


def test_a_flood_of_problems_is_cut():
    complaints = Complaints("p.yaml")
    for line in range(MAX_PROBLEMS + 2):
        complaints.place(line + 1, 1, "x")
    with pytest.raises(ConfigError) as caught:
        complaints.raise_any()
    assert len(caught.value.problems) == MAX_PROBLEMS + 1
    assert str(caught.value.problems[-1]) == "p.yaml: 2 more problems not shown"


@BOTH
def test_nesting_up_to_the_bound_is_read(pure):
    assert load("[" * MAX_DEPTH + "]" * MAX_DEPTH, "p.yaml", pure=pure).kind == "list"


BOMB = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 8))


@pytest.mark.parametrize(
    "text",
    [
        BOMB, "[" * 1_000_000, "{" * 1_000_000, "- " * 100_000, "? " * 100_000, "&a " * 100_000, "- *a\n" * 100_000,
        "\t" * 1_000_000, "\t\n" * 500_000, "a" * 1_000_000 + ":", "'" + "x\n" * 300_000, "a: &x 1\n" * 100_000,
    ],
)  # fmt: skip
def test_hostile_texts_are_refused_fast(text):
    start = time.perf_counter()
    complaints_of(text)
    assert time.perf_counter() - start < 1


def test_the_garbage_collector_is_left_as_it_was():
    assert gc.isenabled()
    load("a: b", "p.yaml")
    with suppress(ConfigError):
        load("a: *b", "p.yaml")
    assert gc.isenabled()
    gc.disable()
    try:
        load("a: b", "p.yaml")
        assert not gc.isenabled()
    finally:
        gc.enable()


texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)
scalars = texts | st.integers(-(10**17), 10**17) | st.booleans()
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)


class NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, _data):
        return True


@BOTH
@given(data=documents, flow=st.booleans(), seen=st.booleans())
def test_what_yaml_writes_is_read_back(data, flow, seen, pure):
    text = yaml.dump(data, Dumper=NoAliases, default_flow_style=flow, allow_unicode=False if not seen else None)
    assert load(text, "p.yaml", pure=pure).plain() == data == yaml.safe_load(text)


PIECES = (
    "a", "b: ", ": ", "- ", "\n", "  ", "    ", "[", "]", "{", "}", ", ", "'", '"', "|\n", ">\n", "# c\n", "*a", "&a ",
    "!t ", "? ", "---\n", "...\n", "%X\n", "true", "7", "no", "\\", "<<", "é", "\U0001f600", "version: 1\n", "rules:\n",
)  # fmt: skip
pieces = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@given(st.text() | pieces | st.binary())
def test_no_text_ends_in_anything_but_a_document_or_problems(text):
    for pure in (False, True):
        with suppress(ConfigError):
            load(text, "p.yaml", pure=pure)


@given(pieces)
def test_both_parsers_read_the_same(text):
    # The parsers differ in what they refuse (`{a:b}`, for one), never in what they make of what both accept.
    found = []
    for pure in (False, True):
        with suppress(ConfigError):
            found.append(load(text, "p.yaml", pure=pure).plain())
    assert len(found) < 2 or found[0] == found[1]
