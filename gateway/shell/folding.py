"""The value of `${name…}` where the value and everything in the operator are known."""

from __future__ import annotations

import re

_OPERAND = re.compile(r"[A-Za-z0-9_./,@+=:\-]*")
_PATTERN = re.compile(r"[A-Za-z0-9_./,@+=:\-*?]+")
_REPLACE = re.compile(r"//?([A-Za-z0-9_.,@+=:\-]+)(?:/([A-Za-z0-9_./,@+=:\-]*))?")
_PART = re.compile(r":([0-9]+)(?::([0-9]+))?")
MAX_FOLDED = 1024


def folded(rest: str, value: str) -> str | None:
    """What bash makes of a known value, `rest` standing behind the name; None where that is not followed."""
    if not value.isascii() or len(value) > MAX_FOLDED:
        return None
    if rest[0] == ":" and rest[1:2] in ("-", "=", "?", "+"):
        return _alternative(rest[1], rest[2:], value, not value)
    if rest[0] in "-=?+":
        return _alternative(rest[0], rest[1:], value, False) if value else None
    if rest[0] in "%#":
        return _stripped(rest, value)
    if found := _PART.fullmatch(rest):
        start = int(found[1])
        return value[start:] if found[2] is None else value[start : start + int(found[2])]
    if found := _REPLACE.fullmatch(rest):
        return value.replace(found[1], found[2] or "", -1 if rest[1] == "/" else 1)
    changed = {",,": value.lower(), "^^": value.upper(), ",": value[:1].lower() + value[1:]}
    return changed.get(rest, value[:1].upper() + value[1:] if rest == "^" else None)


def _alternative(operator: str, operand: str, value: str, empty: bool) -> str | None:
    plain = operand if _OPERAND.fullmatch(operand) else None
    if operator == "+":
        return "" if empty else plain
    if not empty:
        return value
    return plain if operator in "-=" else None


def _stripped(rest: str, value: str) -> str | None:
    """Without the shortest or, for a doubled sign, the longest end or start that a pattern matches."""
    sign = rest[0]
    longest = rest[1:2] == sign
    pattern = rest[2 if longest else 1 :]
    if not _PATTERN.fullmatch(pattern):
        return None
    matches = re.compile("".join([{"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern]), re.DOTALL).fullmatch
    size = len(value)
    cuts = range(size + 1) if (sign == "#") is not longest else range(size, -1, -1)
    for cut in cuts:
        if matches(value, 0, cut) if sign == "#" else matches(value, cut):
            return value[cut:] if sign == "#" else value[:cut]
    return value
