"""JSON with comments, changed in place: what is not changed stays to the byte, and what is put in comes out again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import ConfigError
from gateway.install.jsonc import MISSING, JsonDocument

NEW = {"type": "command", "args": ["-I", "x"]}
FILES = {
    "empty": "{}",
    "one-line": '{"a": 1}',
    "two-keys-on-a-line": '{"a": 1, "b": [1, 2]}\n',
    "ordinary": '{\n  "a": 1,\n  "list": [\n    {"b": 2}\n  ]\n}\n',
    "tabs": '{\n\t"a": 1,\n\t"list": [\n\t\t1\n\t]\n}\n',
    "four-blanks": '{\n    "a": {\n        "b": 1\n    }\n}\n',
    "comments": '// top\n{\n  "a": 1, // one\n  /* two */ "b": 2 // last\n  // end\n}\n',
    "trailing-commas": '{\n  "a": 1,\n  "list": [1, 2,],\n}\n',
    "mark-and-returns": '\ufeff{\r\n  "a": 1\r\n}\r\n',
    "closed-at-once": '{"hooks": {"E": [{"m": "x"}]}}',
    "text-with-braces": '{"a": "} // no comment ]", "b": "\\"\\\\"}',
    "no-newline-at-the-end": '{\n  "a": 1\n}',
    "empty-lists": '{\n  "list": [],\n  "more": {}\n}\n',
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_key_that_is_put_in_and_taken_out_leaves_the_file_as_it_was(text: str) -> None:
    document = JsonDocument(text, "f")
    document.set((), "new", NEW)
    assert document.get(("new",)) == NEW
    assert {**document.get(()), "new": NEW} == {**JsonDocument(text, "f").get(()), "new": NEW}
    document.remove_key((), "new")
    assert document.text == text


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_so_does_an_item_of_a_list_with_the_containers_that_were_made_for_it(text: str) -> None:
    document = JsonDocument(text, "f")
    made = document.ensure(("hooks", "E"), [])
    document.extend(("hooks", "E"), [NEW])
    assert document.get(("hooks", "E"))[-1] == NEW
    document.remove_items(("hooks", "E"), [len(document.get(("hooks", "E"))) - 1])
    for path in reversed(made):
        document.remove_key(path[:-1], path[-1])
    assert document.text == text


def test_what_stands_there_keeps_its_place_and_its_comments() -> None:
    document = JsonDocument('{\n  // mine\n  "a": 1, // one\n  "z": 2\n}\n', "f")
    document.set((), "a", [3])
    document.set((), "m", True)
    assert document.text == '{\n  // mine\n  "a": [\n    3\n  ], // one\n  "z": 2,\n  "m": true\n}\n'


def test_a_new_item_is_indented_as_its_neighbours_are() -> None:
    document = JsonDocument('{\n\t"list": [\n\t\t1\n\t]\n}\n', "f")
    document.extend(("list",), [{"a": 1}])
    assert document.text == '{\n\t"list": [\n\t\t1,\n\t\t{\n\t\t\t"a": 1\n\t\t}\n\t]\n}\n'


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_several_items_are_put_in_and_taken_out_as_one_by_one(text: str) -> None:
    together, single = JsonDocument(text, "f"), JsonDocument(text, "f")
    for document in (together, single):
        document.ensure(("list",), [])
    values = ["a", "b", "c", "d"]
    together.extend(("list",), values)
    for value in values:
        single.extend(("list",), [value])
    assert together.text == single.text
    count = len(together.get(("list",)))
    together.remove_items(("list",), [count - 1, count - 3, count - 2])
    for at in (count - 1, count - 2, count - 3):
        single.remove_items(("list",), [at])
    assert together.text == single.text


def test_a_blank_file_counts_as_an_empty_one() -> None:
    document = JsonDocument("\n", "f")
    document.set((), "a", 1)
    assert document.text == '{\n  "a": 1\n}\n'


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": }', "f:1:7"),
        ('{\n  "a": 1\n  "b": 2\n}', "f:3:3"),
        ('{"a": 1', "f:1:8"),
        ('{"a": "x', "f:1:7"),
        ("{a: 1}", "f:1:2"),
        ('{"a": 1} x', "f:1:10"),
        ('{"a": 1, "a": 2}', "f:1:10"),
        ("[]", "f:1:1"),
        ('{"a": 1 /* ', "f:1:9"),
        ('{"a": 01}', "f:1:8"),
        ('{"a": tru}', "f:1:7"),
        ("{" + '"a": {' * 200, "f:"),
    ],
    ids=[
        "no-value", "no-comma", "not-closed", "open-text", "key-without-quotes", "more-behind", "key-twice", "a-list",
        "open-comment", "octal", "half-a-word", "too-deep",
    ],
)  # fmt: skip
def test_a_broken_file_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(ConfigError) as error:
        JsonDocument(text, "f")
    assert str(error.value).startswith(place)


def test_something_else_in_the_place_of_a_list_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"f:1:11: `hooks` must be an object"):
        JsonDocument('{"hooks": []}', "f").ensure(("hooks", "E"), [])
    with pytest.raises(ConfigError, match=r"`hooks.E` must be a list"):
        JsonDocument('{"hooks": {"E": 1}}', "f").ensure(("hooks", "E"), [])


DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=4), DATA, max_size=4)


@given(OBJECTS, DATA, st.sampled_from([None, 1, 4, "\t"]), st.booleans())
def test_any_file_is_read_as_json_reads_it_and_survives_a_key_put_in_and_out(
    data: dict[str, Any], value: Any, indent: Any, ascii_only: bool
) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    document = JsonDocument(text, "f")
    assert document.get(()) == data
    known = document.get(("a new key",))
    document.set((), "a new key", value)
    assert (known, json.loads(document.text)) == (MISSING, {**data, "a new key": value})
    document.remove_key((), "a new key")
    assert document.text == text


@given(st.lists(DATA, max_size=6), st.sampled_from([None, 1, 4, "\t"]), st.booleans(), st.data())
def test_whatever_items_go_the_others_stay(items: list[Any], indent: Any, trailing: bool, drawn: st.DataObject) -> None:
    text = json.dumps({"list": items}, indent=indent)
    if trailing and items:
        text = text[: text.rindex("]")].rstrip() + ", // last\n]}"
    gone = drawn.draw(st.sets(st.integers(0, len(items) - 1))) if items else set()
    document = JsonDocument(text, "f")
    document.remove_items(("list",), gone)
    assert document.get(()) == {"list": [item for at, item in enumerate(items) if at not in gone]}
    if not trailing:
        assert json.loads(document.text) == document.get(())
