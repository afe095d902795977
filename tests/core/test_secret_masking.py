"""Secrets are taken out of what is said back, in whatever spelling a program gives them."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.secret_masking import HIDDEN, LEAST, hidden, hidden_bytes, hidden_in

SECRET = 'p"a\\s+s /w&\u00e9d'
SPELLINGS = {
    "as it is": str,
    "as JSON": lambda text: json.dumps(text)[1:-1],
    "as JSON with its own characters": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "as JSON in JSON": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "with slashes escaped": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "as a repr": lambda text: repr(text)[1:-1],
    "as a repr of bytes": lambda text: repr(text.encode())[2:-1],
    "as HTML": escape,
    "with percent signs": lambda text: quote(text, safe=""),
    "with percent signs and slashes": quote,
    "as a field of a form": quote_plus,
    "with small percent signs": lambda text: "".join(
        each if each.isascii() and each.isalnum() else "".join(f"%{byte:02x}" for byte in each.encode())
        for each in text
    ),
}


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
def test_a_secret_is_hidden_in_each_spelling(spelled: Any) -> None:
    said = spelled(SECRET)
    assert hidden(f"<{said}>", (SECRET,)) == f"<{HIDDEN}>"
    assert hidden(f"<{said}>", ("another one",)) == f"<{said}>"


@given(st.binary(max_size=5), st.binary(max_size=5), st.sampled_from([b64encode, urlsafe_b64encode]))
def test_a_secret_is_hidden_in_base64_whatever_stands_around_it(before: bytes, behind: bytes, spell: Any) -> None:
    secret = "s3cr3t?>value~~"
    found = hidden(spell(before + secret.encode() + behind).decode(), (secret,))
    assert HIDDEN in found
    assert hidden(spell(before + b"0" * 15 + behind).decode(), (secret,)).count(HIDDEN) == 0


def test_names_texts_and_numbers_of_data_are_hidden() -> None:
    data = {"a": ["x 123456", 123456, True, None, 1.5], "123456": {"b": (7,)}}
    assert hidden_in(data, ("123456",)) == {"a": ["x [secret]", HIDDEN, True, None, 1.5], HIDDEN: {"b": [7]}}
    assert hidden_in(data, ()) == data


def test_bytes_that_are_no_text_stay_what_they_are() -> None:
    assert hidden_bytes(b"\xff\x00token-1\xfe", ("token-1",)) == b"\xff\x00[secret]\xfe"
    assert hidden_bytes(b"\xff\x00\xfe", ("token-1",)) == b"\xff\x00\xfe"


def test_the_shortest_that_is_hidden() -> None:
    assert hidden("abcd abc", ("abcd"[:LEAST], "abc")) == f"{HIDDEN} abc"


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert hidden("token-and-more token", ("token", "token-and-more")) == f"{HIDDEN} {HIDDEN}"


def test_each_long_line_of_a_secret_is_hidden() -> None:
    secret = "-----BEGIN KEY-----\nMIIBVgIBADANBg\nab\n-----END KEY-----\n"
    assert hidden("said MIIBVgIBADANBg, ab", (secret,)) == f"said {HIDDEN}, ab"
