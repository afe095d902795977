"""Text of files: kept without loss, told from what is none, and always fit to be sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.files.kinds import kind_of
from gateway.files.text import LATIN1, MIXED, UTF8, decoded, encoded, encoding_of, showable


@given(st.binary(max_size=300))
def test_whatever_counts_as_text_is_written_back_as_it_was(data: bytes) -> None:
    encoding = encoding_of(data)
    if encoding is None:
        return
    try:
        text = decoded(data, encoding)
    except UnicodeDecodeError:
        assert encoding.is_wide or encoding.mark  # half of something that says what it is
        return
    assert encoded(text, encoding) == data


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=80),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
def test_a_text_is_read_as_what_was_written(text: str, codec: str) -> None:
    data = text.encode(codec)
    encoding = encoding_of(data)
    assert encoding is not None
    assert decoded(data, encoding).removeprefix("\ufeff") == text.removeprefix("\ufeff")


@given(st.text(st.characters(), max_size=50))
def test_what_is_shown_can_be_sent_and_what_was_fit_is_untouched(text: str) -> None:
    shown = showable(text)
    shown.encode()
    json.dumps(shown, ensure_ascii=False).encode()
    if not any("\ud800" <= sign <= "\udfff" for sign in text):
        assert shown == text


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", UTF8),
        (b"plain", UTF8),
        ("é".encode(), UTF8),
        (b"caf\xe9", LATIN1),
        ("ééé".encode() + b"\xff", MIXED),
        (b"\x00\x00\x00\x00", None),
        (b"a\x00b", None),
        (bytes(range(1, 32)), None),
    ],
    ids=["empty", "ASCII", "UTF-8", "Latin-1", "broken UTF-8", "NUL", "NUL in text", "controls"],
)
def test_an_encoding_is_found_by_the_bytes(data: bytes, expected: object) -> None:
    assert encoding_of(data) == expected


def test_a_head_that_ends_within_a_character_is_utf8() -> None:
    data = "é".encode() * 10
    assert [encoding_of(data[:-1], whole=whole) for whole in (False, True)] == [UTF8, MIXED]


@given(st.binary(max_size=64))
def test_no_bytes_are_too_strange_to_be_looked_at(data: bytes) -> None:
    assert isinstance(kind_of(data), str)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "WAV audio"),
        (b"\0\0\0\x18ftypheic", "a HEIC image"),
        (b"\0\0\0\x18ftypisom", "MPEG-4 audio or video"),
        (b"x" * 257 + b"ustar\x0000", "a tar archive"),
        (b"MZ\x90\0\x03", "an executable (Windows)"),
        (b"\xa7\r\r\n\0\0\0\0\0", "compiled Python"),
        (b"Rarely", ""),
        (b"BMW is a car", ""),
    ],
)
def test_a_kind_is_found_by_the_first_bytes(head: bytes, kind: str) -> None:
    assert kind_of(head) == kind
