"""The escapes of `$'…'`."""

from __future__ import annotations

_SIMPLE = {"a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34,
           "?": 63}  # fmt: skip
_OCTAL = "01234567"
_HEX = "0123456789abcdefABCDEF"


def decode(text: str) -> str | None:
    """What bash makes of the inside of `$'…'`; None when that depends on the locale or is no text."""
    if "\\" not in text:
        return text
    out = bytearray()
    at = 0
    while at < len(text):
        letter = text[at]
        if letter != "\\":
            out += letter.encode("utf-8", "surrogatepass")
            at += 1
            continue
        code = text[at + 1 : at + 2]
        at += 2
        if code in _SIMPLE and code:
            out.append(_SIMPLE[code])
            continue
        if code and code in _OCTAL:
            digits = _run(text, at - 1, _OCTAL, 3)
            out.append(int(digits, 8) & 0xFF)
            at += len(digits) - 1
        elif code == "x":
            if text[at : at + 1] == "{":
                return None
            digits = _run(text, at, _HEX, 2)
            if not digits:
                out += b"\\x"
                continue
            out.append(int(digits, 16))
            at += len(digits)
        elif code in ("u", "U"):
            digits = _run(text, at, _HEX, 4 if code == "u" else 8)
            if not digits:
                out += b"\\" + code.encode()
                continue
            number = int(digits, 16)
            if number > 0x7F:
                return None
            out.append(number)
            at += len(digits)
        elif code == "c":
            return None
        else:
            out += b"\\" + code.encode("utf-8", "surrogatepass")
    if 0 in out:
        return None
    try:
        return out.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _run(text: str, at: int, digits: str, most: int) -> str:
    end = at
    while end < len(text) and end - at < most and text[end] in digits:
        end += 1
    return text[at:end]
