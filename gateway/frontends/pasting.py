"""Words as people can paste them into their shell."""

from __future__ import annotations


def shell_word(text: str) -> str:
    """The text as one word of a shell, on one line; what stands for a byte that is no UTF-8, as that byte."""
    from shlex import quote

    if text.isprintable():
        return quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return {"\n": "\\n", "\t": "\\t"}.get(character) or (f"\\x{code:02x}" if code < 0x80 else f"\\U{code:08x}")
