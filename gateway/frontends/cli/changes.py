"""`gateway changes`: what calls of this project changed."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gateway.calls.session_changes import PLACE
from gateway.config.load import Options
from gateway.core.errors import ConfigError, Problem, StoreError
from gateway.core.plainjson import loads
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER
from gateway.frontends.session import folder
from gateway.judge.judge import Judge
from gateway.render.changes import list_data, list_text, show_text
from gateway.sandbox.changes.listing import unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.changes.listing import Listed

_SHOW = "show"


def changes(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]", help="`show N` for one call, with the diff of each file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    cwd: Annotated[str | None, typer.Option(metavar="DIR", help="The folder whose project counts."), FOLDER] = None,
) -> int:
    """Show what each call of this project changed, and with `show N` how.

    Changes of confined commands and of tools that write files are kept for a week, and can be taken back: see `gateway
    undo`.
    """
    number = _number(words or [])
    try:
        found, one = _inside(number) or _outside(number, cwd)
    except StoreError as error:
        raise ConfigError(Problem(error.reason, remedy=error.remedy)) from error
    if one is not None:
        write(pretty(list_data([one])[0]) + "\n" if json else show_text(one))
    else:
        write(pretty({"changes": list_data(found)}) + "\n" if json else list_text(found))
    return 0


def _outside(number: int | None, cwd: str | None) -> tuple[list[Listed], Listed | None]:
    """All calls, or one. Raises StoreError."""
    from gateway.api.changes import Changes

    found = Changes(Judge(Options(os.path.realpath(folder(cwd, "--cwd")))))
    return ([], found.show(number)) if number is not None else (found.list(), None)


def _inside(number: int | None) -> tuple[list[Listed], Listed | None] | None:
    """The same as a command in the sandbox may know it: what its own session has changed. None outside of one. Raises
    StoreError."""
    try:
        with open(PLACE, encoding="utf-8") as file:
            found = unpacked(loads(file.read()))
    except OSError:
        return None
    one = next((each for each in found if each.of.number == number), None)
    if number is not None and one is None:
        raise StoreError(f"this session has no changes {number}", "see `gateway changes`")
    return found, one


def _number(words: list[str]) -> int | None:
    """The call that is meant, None for all."""
    if words and words[0] == _SHOW:
        words = words[1:] or ["?"]
    if not words:
        return None
    if len(words) == 1 and words[0].isdecimal() and len(words[0]) < 10:
        return int(words[0])
    raise ConfigError(Problem("N must be the number of a call", remedy="write `gateway changes show 3`"))
