"""Lengths of time as people write them."""

from __future__ import annotations

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_MOST_DIGITS = 9


def seconds_of(text: str) -> int | None:
    """The seconds of a length such as 90s, 30m, 2h, 3d or 1w; None for what is none."""
    number, unit = text[:-1], _UNITS.get(text[-1:])
    if unit is None or not (number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS):
        return None
    return int(number) * unit
