"""Numbers that options take, refused in words of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Callable


_MOST_DOLLARS = 1e9


def at_least(least: int) -> Callable[[str | int], int]:
    """The parser of an option that is a whole number not below this one."""

    def number(given: str | int) -> int:
        try:
            found = int(given)
        except ValueError:
            found = least - 1
        if found < least:
            raise typer.BadParameter(f"must be a whole number from {least} on (got `{given}`)")
        return found

    return number


def dollars(given: str | float) -> float:
    """The parser of an option that is an amount of dollars."""
    try:
        found = float(given)
    except ValueError:
        found = -1.0
    if not 0 <= found < _MOST_DOLLARS:
        raise typer.BadParameter(f"must be a number of dollars from 0 on (got `{given}`)")
    return found
