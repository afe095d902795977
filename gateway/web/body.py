"""Bytes that a server sent, as text: what kind they are and in which encoding. Pure.

What a server says of its own body is believed only as far as the bytes agree.
"""

from __future__ import annotations

from gateway.calls.outgoing import CHARSETS
from gateway.core.value import Value
from gateway.policy.wording import visible_character

HTML, TEXT, PDF, OTHER = "html", "text", "pdf", "other"
_UTF_8 = "utf-8"
_WESTERN = "cp1252"  # what pages mean by these names, as browsers read them
_SAID_WESTERN = frozenset(
    ("us-ascii", "ascii", "latin-1", "latin1", "iso-8859-1", "iso8859-1", "windows-1252", "cp1252")
)
_MARKS = ((b"\xef\xbb\xbf", _UTF_8), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_TEXT_TYPES = frozenset(
    f"application/{name}"
    for name in (
        "json", "xml", "yaml", "x-yaml", "javascript", "x-javascript", "ecmascript", "toml", "x-sh", "sql", "graphql",
        "ld+json", "x-ndjson", "rtf", "x-httpd-php",
    )
)  # fmt: skip
_UNSAID = frozenset(("", "application/octet-stream", "binary/octet-stream", "application/unknown", "unknown/unknown"))
_LOOK = 4096
# Characters that show nothing and are no sign of anything in a page's text: soft hyphens, places to break a line.
_NOTHING = dict.fromkeys((0x00AD, 0x200B, 0x2060, 0xFEFF), "")
_PLAIN = frozenset("\n\t")


class Decoded(Value):
    """A body as text. `charset`: how it was read; `doubtful`: parts of it are not in that encoding."""

    text: str
    charset: str
    doubtful: bool = False


def media_type(content_type: str) -> str:
    """The type without its parameters; the first where a server says several."""
    return content_type.split(",")[0].split(";")[0].strip().lower()


def kind_of(content_type: str, data: bytes) -> str:
    """html, text, pdf, or other for what is not shown. A body that calls itself text and holds zeros is none."""
    said = media_type(content_type)
    if said == "application/pdf" or (said in _UNSAID and data.startswith(b"%PDF-")):
        return PDF
    if said in _HTML_TYPES:
        return HTML if _is_text(content_type, data) else OTHER
    if said.startswith("text/") or said in _TEXT_TYPES or said.endswith(("+json", "+xml", "+yaml")):
        return TEXT if _is_text(content_type, data) else OTHER
    if said in _UNSAID and _is_text(content_type, data) and decoded(data, "").charset != _WESTERN:
        return HTML if not said and _looks_like_html(data) else TEXT
    return OTHER


def decoded(data: bytes, content_type: str, *, html: bool = False, cut: bool = False) -> Decoded:
    """The text: as a mark at its beginning says, else as the server says, else as the page says, else UTF-8. What is
    valid UTF-8 is never read as a Western encoding, which any bytes are valid in. `cut`: there was more."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _read(data[len(mark) :], name, cut)
    named = _charset(content_type.lower().partition("charset=")[2].split(";")[0])
    if not named and html:
        named = _named_in(data)
    if named.startswith("utf-16") and b"\0" not in data[:_LOOK]:
        named = ""  # a page that can be read so far is not in it
    if not named or named in _SAID_WESTERN:
        try:
            return Decoded(data.decode(_UTF_8), _UTF_8)
        except UnicodeDecodeError:
            if cut and _is_cut_utf_8(data):
                named = _UTF_8
            named = named or _WESTERN
    return _read(data, _WESTERN if named in _SAID_WESTERN else named, cut)


def shown(text: str) -> str:
    """The text with every character that hides or reorders others as an escape; blanks of all kinds are blanks."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = text.translate(_NOTHING)
    return "".join([each if each in _PLAIN else " " if each.isspace() else visible_character(each) for each in text])


def _read(data: bytes, name: str, cut: bool) -> Decoded:
    try:
        return Decoded(data.decode(name), name)
    except UnicodeDecodeError:
        return Decoded(data.decode(name, "replace"), name, not (cut and name == _UTF_8 and _is_cut_utf_8(data)))


def _is_cut_utf_8(data: bytes) -> bool:
    """Whether bytes are UTF-8 but for a character at their end that is not complete."""
    try:
        data.decode(_UTF_8)
    except UnicodeDecodeError as error:
        return error.start >= len(data) - 3 and error.end == len(data)
    return True


def _charset(said: str) -> str:
    """The name of an encoding that may be used, "" for any other."""
    name = said.strip(" \"'").replace("_", "-")
    return name if name in CHARSETS else ""


def _named_in(data: bytes) -> str:
    """The encoding that a page names at its beginning."""
    head = data[:_LOOK].lower()
    at = head.find(b"charset")
    while at >= 0:
        rest = head[at + 7 : at + 60].lstrip()
        if rest.startswith(b"=") and b"<meta" in head[max(0, at - 200) : at]:
            value = rest[1:].lstrip(b" \"'")
            end = min((value.find(mark) for mark in b"\"'> ;/" if value.find(mark) >= 0), default=len(value))
            return _charset(value[:end].decode("ascii", "replace"))
        at = head.find(b"charset", at + 7)
    return ""


def _is_text(content_type: str, data: bytes) -> bool:
    said = _charset(content_type.lower().partition("charset=")[2].split(";")[0])
    wide = said.startswith("utf-16") or data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return wide or b"\0" not in data


def _looks_like_html(data: bytes) -> bool:
    head = data[:_LOOK].lstrip().lower()
    return head.startswith((b"<!doctype html", b"<html", b"<head", b"<body")) or b"<html" in head[:1024]
