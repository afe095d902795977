"""Sizes, ages and counts as a sentence has them. Pure."""

from __future__ import annotations

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SPANS = ((365 * 86_400, "year"), (30 * 86_400, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


def size_said(size: int) -> str:
    """A number of bytes: `17 bytes`, `3.2 MiB`."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return counted(size, "byte")


def age_said(nanoseconds: int) -> str:
    """How long ago: `3 days ago`, `just now`."""
    seconds = nanoseconds // 10**9
    if seconds < 0:
        return "in the future, by the clock of this machine"
    for span, name in _SPANS:
        if seconds >= span:
            return counted(seconds // span, name) + " ago"
    return "just now"


def lines_said(text: str) -> str:
    """How many lines a text has: `1 line`, `2,000 lines`."""
    return counted(text.count("\n") + (1 if text and not text.endswith("\n") else 0), "line")


def counted(number: int, name: str) -> str:
    """A number with its noun: `1 cell`, `2 cells`."""
    return f"{number:,} {name}" + ("" if number == 1 else "s")
