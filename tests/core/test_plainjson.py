"""JSON without `json` is the same JSON: values, texts and errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core import plainjson

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
TEXTS = [
    "", " ", "{", "[1,", '{"a":1,}', '{"a" 1}', "{'a':1}", '"a', '"\\x"', '"\t"', "nul", "01", "-", "1 2", "[1] x",
    "\ufeff1", "[" * 200_000, "NaN", "-Infinity", "1e999", " \t\r\n [ 1 , 2 ] \n", "\u00a01", '"\ud800"',
]  # fmt: skip


def outcome(read: Any, text: Any) -> tuple[str, str]:
    """The value as text, or which error it was and what it said."""
    try:
        return "value", repr(read(text))
    except Exception as error:
        return type(error).__name__, "" if isinstance(error, RecursionError) else str(error)


@given(VALUES)
def test_texts_are_those_that_json_writes_and_values_those_that_it_reads(value: Any) -> None:
    assert plainjson.dumps(value) == json.dumps(value, separators=(",", ":"))
    assert plainjson.spaced(value) == json.dumps(value)
    text = json.dumps(value, indent=1, ensure_ascii=False)
    assert plainjson.loads(text) == plainjson.loads(text.encode("utf-8", "surrogatepass")) == json.loads(text)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
def test_what_is_none_is_told_as_json_tells_it(text: str) -> None:
    assert outcome(plainjson.loads, text) == outcome(json.JSONDecoder().decode, text)


@given(st.text(alphabet='{}[]:,"\\ \n01-.eEnulltrueéNaI', max_size=12))
def test_garbage_is_told_as_json_tells_it(text: str) -> None:
    assert outcome(plainjson.loads, text) == outcome(json.JSONDecoder().decode, text)


@pytest.mark.parametrize("text", ['{"a" 1}', "", "[1,", '"\\x"', "1 2"])
def test_errors_are_the_same_where_json_was_never_loaded(text: str) -> None:
    program = (
        "import sys; from gateway.core.plainjson import loads; before = 'json' in sys.modules\n"
        f"try: loads({text!r})\n"
        "except ValueError as error: print(before, type(error).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({ROOT!r})\n{program}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    kind, said = outcome(json.loads, text)
    assert done.stdout == f"False {kind} {said}\n"


ROOT = plainjson.__file__.rpartition("/gateway/")[0]


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "[NaN]", "1.5", "[1e999]"])
def test_hooks_are_called_as_json_calls_them(text: str) -> None:
    hooks: dict[str, Any] = {"object_pairs_hook": tuple, "parse_constant": str.lower, "parse_float": "<{}>".format}
    assert plainjson.decoder(**hooks)(text) == json.JSONDecoder(**hooks).decode(text)


def test_keys_in_order_and_no_numbers_that_json_does_not_have() -> None:
    write = plainjson.encoder(sort_keys=True, allow_nan=False)
    assert write({"b": 1, "a": [True, None]}) == '{"a":[true,null],"b":1}'
    for value, error in ((float("nan"), ValueError), ({1, 2}, TypeError)):
        with pytest.raises(error):
            write(value)


def test_a_value_that_holds_itself_is_no_json() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(RecursionError):
        plainjson.dumps(value)


def test_a_python_without_the_functions_in_c_reads_and_writes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plainjson, "make_scanner", None)
    monkeypatch.setattr(plainjson, "make_encoder", None)
    assert plainjson.decoder(object_pairs_hook=tuple)(' {"a": [1, 2.5]} ') == (("a", [1, 2.5]),)
    assert plainjson.encoder(sort_keys=True)({"b": 1, "a": "é"}) == '{"a":"\\u00e9","b":1}'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, "a": 1}', "a key is given twice"),
        ('[{"b": {"a": 1, "a": 2}}]', "a key is given twice"),
        ("[NaN]", "`NaN` is no JSON number"),
        ("-Infinity", "`-Infinity` is no JSON number"),
        ("[-1e999]", "a number is too large"),
    ],
)
def test_what_readers_could_take_for_different_values_is_told_apart_from_what_is_no_json(text: str, why: str) -> None:
    with pytest.raises(plainjson.AmbiguousError, match=f"^{re.escape(why)}$"):
        plainjson.unambiguous(text.encode())
    assert [outcome(plainjson.unambiguous, none)[0] for none in (b"{", b'"\xff"')] == [
        "JSONDecodeError", "UnicodeDecodeError"
    ]  # fmt: skip


@given(VALUES)
def test_whatever_is_unambiguous_is_what_json_reads(value: Any) -> None:
    text = json.dumps(value)
    if "Infinity" not in text:
        assert repr(plainjson.unambiguous(text)) == repr(json.loads(text))
