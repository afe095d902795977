"""Bytes of a text file as text and back, without loss: what was not touched is written as it was read."""

from __future__ import annotations

import codecs

from gateway.core.value import Value

_UTF8_BOM = b"\xef\xbb\xbf"
# The longer ones first: UTF-32's begins with UTF-16's.
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le", "UTF-32 (little-endian) with a byte order mark"),
    (b"\0\0\xfe\xff", "utf-32-be", "UTF-32 (big-endian) with a byte order mark"),
    (_UTF8_BOM, "utf-8", "UTF-8 with a byte order mark"),
    (b"\xff\xfe", "utf-16-le", "UTF-16 (little-endian) with a byte order mark"),
    (b"\xfe\xff", "utf-16-be", "UTF-16 (big-endian) with a byte order mark"),
)
# What stands in text files: tab, line ends, form feed, backspace (man pages) and escape (coloured output).
_TEXT_CONTROLS = bytes((7, 8, 9, 10, 12, 13, 27))
_CONTROLS = bytes(sorted(set(range(32)) - set(_TEXT_CONTROLS))) + b"\x7f"
_MOST_CONTROLS = 0.02


class Encoding(Value):
    """How a text file stores its text. `mark`: the bytes before it; `errors`: what becomes of bytes that are no text
    in `codec` (they are kept); `said`: the name for a sentence, "" for plain UTF-8."""

    codec: str
    mark: bytes = b""
    errors: str = "strict"
    said: str = ""

    @property
    def is_wide(self) -> bool:
        """Whether one character takes at least two bytes, so that lines cannot be found by bytes."""
        return self.codec.startswith(("utf-16", "utf-32"))


UTF8 = Encoding("utf-8")
LATIN1 = Encoding("latin-1", said="Latin-1 (it is not valid UTF-8)")
MIXED = Encoding("utf-8", errors="surrogateescape", said=r"UTF-8 with bytes that are no text, written \xNN")


def encoding_of(data: bytes, *, whole: bool = True) -> Encoding | None:
    """The encoding of a text file, None if it does not look like text. `data`: all of it, or (not `whole`) its head."""
    for mark, codec, said in _MARKS:
        if data.startswith(mark):
            return Encoding(codec, mark, "strict" if codec == "utf-8" else "surrogatepass", said)
    if b"\0" in data:
        return _unmarked_wide(data, whole)
    if len(data.translate(None, _CONTROLS)) < len(data) * (1 - _MOST_CONTROLS):
        return None
    if data.isascii():
        return UTF8
    try:
        codecs.utf_8_decode(data, "strict", whole)
    except UnicodeDecodeError:
        return eight_bit(data)
    return UTF8


def eight_bit(data: bytes) -> Encoding:
    """UTF-8 with a few broken bytes or Latin-1, whichever explains more of what is not ASCII."""
    broken = sum(1 for sign in data.decode("utf-8", "surrogateescape") if "\udc80" <= sign <= "\udcff")
    sound = sum(1 for sign in data.decode("utf-8", "ignore") if sign > "\x7f")
    return MIXED if sound > broken else LATIN1


def _unmarked_wide(data: bytes, whole: bool) -> Encoding | None:
    """UTF-16 without a mark: mostly ASCII, so that every second byte is NUL."""
    if len(data) < 2 or (whole and len(data) % 2):
        return None
    data = data[: len(data) // 2 * 2]
    even, odd = data[::2].count(0), data[1::2].count(0)
    half = len(data) // 2
    for codec, said, zeros, other in (
        ("utf-16-le", "UTF-16 (little-endian) without a mark", odd, even),
        ("utf-16-be", "UTF-16 (big-endian) without a mark", even, odd),
    ):
        if zeros * 10 >= half * 7 and other * 100 <= half:
            text = data.decode(codec, "surrogatepass")
            if not any(sign < " " and ord(sign) not in _TEXT_CONTROLS for sign in text[:4096]):
                return Encoding(codec, b"", "surrogatepass", said)
    return None


def decoded(data: bytes, encoding: Encoding) -> str:
    """The text of a whole file, its mark left out. Raises UnicodeDecodeError (a ValueError)."""
    return data[len(encoding.mark) :].decode(encoding.codec, encoding.errors)


def encoded(text: str, encoding: Encoding) -> bytes:
    """The bytes of a text with its mark. Raises UnicodeEncodeError (a ValueError)."""
    return encoding.mark + text.encode(encoding.codec, encoding.errors)


def showable(text: str) -> str:
    """The text with what is no character written out, so that it can be sent and stored anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join([_written_out(sign) if "\ud800" <= sign <= "\udfff" else sign for sign in text])
    return text


def _written_out(sign: str) -> str:
    return f"\\x{ord(sign) - 0xDC00:02x}" if "\udc80" <= sign <= "\udcff" else f"\\u{ord(sign):04x}"


def ending_of(text: str) -> str:
    """The line ending that most lines of a text have; `\\n` where there is none."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
