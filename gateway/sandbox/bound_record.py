"""The record of a bound that a call broke."""

from __future__ import annotations

from gateway.model.result import Violation


def breach(limit: str, bound: str, instead: str) -> Violation:
    """The record of a broken bound."""
    return Violation(
        "limit", limit, rule="", source="limit", hint=f"the call used more than {bound} and was ended; {instead}"
    )


def size(count: int) -> str:
    """Bytes, for people."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:g} {unit}" if count % factor == 0 else f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
