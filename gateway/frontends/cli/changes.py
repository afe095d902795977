"""`gateway changes`: what calls of this project changed."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gateway.config.load import Options
from gateway.core.errors import ConfigError, Problem, StoreError
from gateway.frontends.jsontext import pretty
from gateway.frontends.opened import FOLDER
from gateway.frontends.output import write
from gateway.frontends.session import folder
from gateway.judge.judge import Judge
from gateway.render.changes import list_data, list_text, show_text

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
    from gateway.api.changes import Changes

    number = _number(words or [])
    found = Changes(Judge(Options(os.path.realpath(folder(cwd, "--cwd")))))
    try:
        if number is None:
            each = found.list()
            write(pretty({"changes": list_data(each)}) + "\n" if json else list_text(each))
        else:
            one = found.show(number)
            write(pretty(list_data([one])[0]) + "\n" if json else show_text(one))
    except StoreError as error:
        raise ConfigError(Problem(error.reason, remedy=error.remedy)) from error
    return 0


def _number(words: list[str]) -> int | None:
    """The call that is meant, None for all."""
    if words and words[0] == _SHOW:
        words = words[1:] or ["?"]
    if not words:
        return None
    if len(words) == 1 and words[0].isdecimal() and len(words[0]) < 10:
        return int(words[0])
    raise ConfigError(Problem("N must be the number of a call", remedy="write `gateway changes show 3`"))
