"""`gateway discard`: a person forgets what a call changed in layers of its own."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gateway.config.load import Options
from gateway.core.errors import ConfigError, Problem, StoreError
from gateway.frontends.consent import agreed
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER
from gateway.frontends.session import folder
from gateway.judge.judge import Judge


def discard(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Of the draft in `gateway changes`.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    cwd: Annotated[str | None, typer.Option(metavar="DIR", help="The folder whose project counts."), FOLDER] = None,
) -> int:
    """Drop what a call changed in a layer of its own. The project stays as it is.

    Exit status: 0, 1 if nothing was agreed to, 2 where there is nothing to discard.
    """
    from gateway.api.changes import Changes

    found = Changes(Judge(Options(os.path.realpath(folder(cwd, "--cwd")))))
    try:
        if not yes and not agreed(f"discard {number}?", "this", "run it at a terminal, or give --yes"):
            write("nothing was discarded\n")
            return 1
        found.discard(number)
    except StoreError as error:
        raise ConfigError(Problem(error.reason, remedy=error.remedy)) from error
    write("discarded\n")
    return 0
