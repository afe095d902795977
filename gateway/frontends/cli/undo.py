"""`gateway undo`: a person takes back what a call changed."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gateway.config.load import Options
from gateway.core.errors import ConfigError, Problem, StoreError
from gateway.frontends.consent import agreed
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER
from gateway.frontends.session import folder
from gateway.judge.judge import Judge
from gateway.render.changes import plan_data, plan_text


def undo(
    number: Annotated[
        int | None, typer.Argument(metavar="NUMBER", help="Of the call in `gateway changes`; the last one if missing.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do, and do nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    cwd: Annotated[str | None, typer.Option(metavar="DIR", help="The folder whose project counts."), FOLDER] = None,
) -> int:
    """Take back what a call changed in this project.

    Files, folders, links and modes are what they were before the call. What has changed since stays as it is and is
    named; a repository's own folder is taken back whole or not at all. What the call did elsewhere stays done.

    Exit status: 0, 1 if something was left as it is or nothing was agreed to, 2 where nothing can be undone.
    """
    from gateway.api.changes import Changes

    found = Changes(Judge(Options(os.path.realpath(folder(cwd, "--cwd")))))
    try:
        which = found.last() if number is None else number
        plan = found.plan(which)
        if not json and (dry_run or not yes):
            write(f"undo {which}: {plan_text(0, plan, found.root)}")
        if not dry_run:
            if not yes and not agreed(f"undo {which}?", "this", "run it at a terminal, or give --yes"):
                write("nothing was undone\n")
                return 1
            plan = found.undo(which)
            if not json:
                write(f"undone: {plan_text(0, plan, found.root)}")
        if json:
            write(pretty({"number": which, "done": not dry_run, **plan_data(plan)}) + "\n")
    except StoreError as error:
        raise ConfigError(Problem(error.reason, remedy=error.remedy)) from error
    return 1 if plan.stays else 0
