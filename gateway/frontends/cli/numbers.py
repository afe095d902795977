"""Numbers that options take, refused in words of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Callable


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
