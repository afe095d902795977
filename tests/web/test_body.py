"""Bytes as text: what a server says of them is believed only as far as they agree."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.calls.outgoing import CHARSETS
from gateway.web.body import HTML, OTHER, PDF, TEXT, Decoded, decoded, kind_of, shown

CHARSET_CASES = [
    ("text/plain; charset=utf-8", "é€中".encode(), Decoded("é€中", "utf-8")),
    ("text/plain", "é€中".encode(), Decoded("é€中", "utf-8")),
    ("text/plain", "é€".encode("cp1252"), Decoded("é€", "cp1252")),
    ("text/plain; charset=iso-8859-1", "é€".encode("cp1252"), Decoded("é€", "cp1252")),
    ("text/plain; charset=iso-8859-1", "é".encode(), Decoded("é", "utf-8")),
    ("text/plain; charset=us-ascii", "é".encode(), Decoded("é", "utf-8")),
    ("text/plain; charset=utf-8", "é!".encode("latin-1"), Decoded("\ufffd!", "utf-8", True)),
    ("text/plain; charset=\"Shift_JIS\"; x=y", "日本".encode("shift-jis"), Decoded("日本", "shift-jis")),
    ("text/plain; charset=shift_jis", b"\xff\xfea\0b\0", Decoded("ab", "utf-16-le")),
    ("text/plain; charset=latin-1", codecs.BOM_UTF8 + "é".encode(), Decoded("é", "utf-8")),
    ("text/plain; charset=latin-1", codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), Decoded("é", "utf-16-be")),
    ("text/plain; charset=utf-7", b"+AGE-", Decoded("+AGE-", "utf-8")),
    ("text/plain; charset=unicode_escape", b"\\u0041", Decoded("\\u0041", "utf-8")),
    ("text/plain; charset=nonsense", "é".encode(), Decoded("é", "utf-8")),
    ("text/html; charset=utf-16", b"<p>ascii", Decoded("<p>ascii", "utf-8")),
    ("text/html", b"<meta charset=koi8-r>\xd0", Decoded("<meta charset=koi8-r>п", "koi8-r")),
    ("text/html", b"<META http-equiv=x content='text/html; charset = \"GBK\"'>\xd6\xd0",
     Decoded("<META http-equiv=x content='text/html; charset = \"GBK\"'>中", "gbk")),
    ("text/html", b"<p>charset=koi8-r</p>\xe9", Decoded("<p>charset=koi8-r</p>é", "cp1252")),
    ("text/html; charset=utf-8", "<meta charset=koi8-r>é".encode(), Decoded("<meta charset=koi8-r>é", "utf-8")),
    ("text/html", b"<meta charset=utf-16>x", Decoded("<meta charset=utf-16>x", "utf-8")),
    ("text/plain", "hé".encode()[:-1], Decoded("hÃ", "cp1252")),
    ("text/plain; charset=utf-8", "hé".encode()[:-1], Decoded("h\ufffd", "utf-8", True)),
]  # fmt: skip


@pytest.mark.parametrize(("said", "data", "found"), CHARSET_CASES)
def test_a_body_is_read_in_the_encoding_that_it_is_in(said: str, data: bytes, found: Decoded) -> None:
    assert decoded(data, said, html=said.startswith("text/html")) == found


def test_a_body_that_was_cut_within_a_character_is_in_its_encoding_all_the_same() -> None:
    data = "hé".encode()[:-1]
    for said in ("text/plain", "text/plain; charset=utf-8", "text/plain; charset=latin-1"):
        assert decoded(data, said, cut=True) == Decoded("h\ufffd", "utf-8")


@given(st.binary(max_size=200), st.sampled_from(["", *sorted(CHARSETS), "x", "utf-7"]), st.booleans())
def test_any_bytes_are_read_somehow(data: bytes, name: str, html: bool) -> None:
    found = decoded(data, f"text/html; charset={name}" if name else "text/html", html=html)
    assert isinstance(found.text, str)


KINDS = [
    ("text/html", b"<p>", HTML), ("Text/HTML; charset=utf-8", b"<p>", HTML), ("application/xhtml+xml", b"<p/>", HTML),
    ("text/html, text/plain", b"<p>", HTML), ("text/plain", b"<html>", TEXT), ("text/markdown", b"# a", TEXT),
    ("application/json", b"{}", TEXT), ("application/problem+json", b"{}", TEXT), ("image/svg+xml", b"<svg/>", TEXT),
    ("application/atom+xml", b"<a/>", TEXT), ("application/pdf", b"%PDF-1.4", PDF), ("", b"%PDF-1.4", PDF),
    ("application/octet-stream", b"%PDF-1.4", PDF), ("application/octet-stream", b"plain", TEXT),
    ("application/octet-stream", b"<!doctype html>", TEXT), ("", b" <!DOCTYPE html><p>", HTML), ("", b"plain", TEXT),
    ("", b"\x89PNG\r\n\x1a\n\0", OTHER), ("application/octet-stream", b"\x7fELF\0", OTHER),
    ("", b"\xff\xd8\xff", OTHER),
    ("text/html", b"<p>\0", OTHER), ("text/plain", b"a\0b", OTHER), ("text/plain; charset=utf-16", b"a\0b\0", TEXT),
    ("text/plain", b"\xff\xfea\0", TEXT), ("image/png", b"\x89PNG", OTHER), ("video/mp4", b"x", OTHER),
    ("application/zip", b"PK", OTHER), ("application/x-sh", b"#!/bin/sh", TEXT), ("nonsense", b"x", OTHER),
]  # fmt: skip


@pytest.mark.parametrize(("said", "data", "kind"), KINDS)
def test_what_a_body_is(said: str, data: bytes, kind: str) -> None:
    assert kind_of(said, data) == kind


SHOWN = [
    ("plain\ttext\nof lines", "plain\ttext\nof lines"),
    ("a\r\nb\rc", "a\nb\nc"),
    ("one\u00a0two\u2003three\u3000four", "one two three four"),
    ("soft\u00adhyphen\u200bbreak\ufeff", "softhyphenbreak"),
    ("pay\u202e001\u202c", "pay\\u202e001\\u202c"),
    ("\u2066isolated\u2069", "\\u2066isolated\\u2069"),
    ("bell\x07 esc\x1b[31m", "bell\\a esc\\e[31m"),
    ("tag\U000e0041", "tag\\U000e0041"),
    ("caf\u00e9 \u4e2d \U0001f600", "caf\u00e9 \u4e2d \U0001f600"),
    ("line\u2028end", "line end"),
    ("\x85x", " x"),
]


@pytest.mark.parametrize(("text", "seen"), SHOWN)
def test_what_hides_or_reorders_is_shown(text: str, seen: str) -> None:
    if "\\a" in seen or "\\e" in seen:
        assert shown(text).replace("\\x07", "\\a").replace("\\x1b", "\\e") == seen
    else:
        assert shown(text) == seen


@given(st.text())
def test_shown_text_stays_as_it_is(text: str) -> None:
    assert shown(shown(text)) == shown(text)
