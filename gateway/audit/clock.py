"""Moments as the record writes them: UTC, microseconds, always of the same length, so that texts sort as times do."""

from __future__ import annotations

import time

_last: tuple[int, str] = (-1, "")


def now() -> str:
    """This moment, as `2026-01-31T10:00:00.000000Z`."""
    return text_of(time.time_ns())


def text_of(nanoseconds: int) -> str:
    """A moment since the epoch as text."""
    global _last
    second, rest = divmod(nanoseconds, 1_000_000_000)
    known, prefix = _last
    if second != known:
        prefix = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        _last = (second, prefix)  # one value, so that another thread sees the old pair or the new one
    return f"{prefix}.{rest // 1000:06d}Z"
