"""`gateway keep`: a person applies to the project what a call changed in layers of its own."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gateway.config.load import Options
from gateway.core.errors import ConfigError, Problem, StoreError
from gateway.core.quantities import counted
from gateway.frontends.consent import agreed
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER
from gateway.frontends.session import folder
from gateway.judge.judge import Judge
from gateway.policy.wording import visible
from gateway.render.changes import show_text

_NUMBER = typer.Argument(metavar="NUMBER", help="Of the draft in `gateway changes`.")
_YES = typer.Option("--yes", help="Do not ask.")
_CWD = typer.Option(metavar="DIR", help="The folder whose project counts.")
_TERMINAL = "run it at a terminal, or give --yes"


def keep(
    number: Annotated[int, _NUMBER],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Keep only these, from the project's root.")
    ] = None,
    rest: Annotated[bool, typer.Option("--rest", help="Keep what does not conflict.")] = False,
    yes: Annotated[bool, _YES] = False,
    cwd: Annotated[str | None, _CWD, FOLDER] = None,
) -> int:
    """Apply to the project what a call changed in a layer of its own.

    Files that somebody else has changed meanwhile conflict: then nothing is kept, unless `--rest` leaves those as they
    are.
    Names that policy protects are never kept. `gateway undo` takes it back.

    Exit status: 0, 1 if something was left as it is or nothing was agreed to, 2 where nothing can be kept.
    """
    from gateway.api.changes import Changes

    found = Changes(Judge(Options(os.path.realpath(folder(cwd, "--cwd")))))
    try:
        if not yes:
            write(show_text(found.show(number)))
            if not agreed(f"keep {number}?", "this", _TERMINAL):
                write("nothing was kept\n")
                return 1
        kept = found.keep(number, names or (), rest=rest)
    except StoreError as error:
        raise ConfigError(Problem(error.reason, remedy=error.remedy)) from error
    write(f"kept: {counted(kept.kept, 'change')}\n")
    for path, reason in kept.stays.items():
        write(f"  left as it is  {visible(os.path.relpath(path, found.root))}: {visible(reason)}\n")
    return 1 if kept.stays else 0
