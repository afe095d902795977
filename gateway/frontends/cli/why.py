"""`gateway why`: the last call that was refused, and what to do about it."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.audit.index import Index
from gateway.audit.log import FOLDER
from gateway.audit.reading import Moment
from gateway.audit.refusals import Refusal, kind_of, last_refusal
from gateway.config.load import Options, project_root
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import places
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.parameter_files import RECORD
from gateway.frontends.rejudging import judged_again, on_one_line
from gateway.frontends.session import folder as folder_of
from gateway.frontends.why_text import as_data, as_text, nothing_text
from gateway.render.style import style_for

if TYPE_CHECKING:
    from typing import Any


def why(
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="A record's number, or its id or the start of it.")
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--all", help="The last one of any folder, not just of this project.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    folder: Annotated[
        str | None,
        typer.Option("--folder", metavar="DIR", help="The record in this folder instead of your own."),
        RECORD,
    ] = None,
) -> int:
    """Show the last refusal, and what to do about it.

    It is the last call of this project that was refused, with what refused it and why. Refused is what policy denies,
    what was asked about and not agreed to, what hooks refuse, what is no valid call, and of calls that ran what the
    sandbox stopped. The call is judged anew as it stands in the record: whether policy would decide otherwise by now,
    and the smallest change that would make it. Nothing runs.

    Exit status: 0, or 2 for wrong usage or a record that cannot be read.
    """
    here = folder_of(None, "")
    place = _record(folder)
    if name is not None:
        if everywhere:
            raise ConfigError(Problem("either an id or --all must be given, not both"))
        return _show(_named(place, name), place, here, json)
    root = "" if everywhere else project_root(os.path.realpath(here))
    looked = last_refusal(place, root)
    if looked.last is not None:
        return _show(looked.last, place, here, json)
    problem = _problem(here)
    if json:
        other = looked.elsewhere.decision.get("n") if looked.elsewhere is not None else None
        data: dict[str, Any] = {"refused": None, "record": None, "within": root or None, "elsewhere": other}
        write(pretty({**data, "whole": looked.is_whole, "problem": problem or None}) + "\n")
    else:
        write(nothing_text(looked, root, place, problem))
    return 0


def _record(given: str | None) -> str:
    if given is None:
        return os.path.join(places().state, FOLDER)
    return folder_of(given, "--folder")


def _named(place: str, name: str) -> Refusal:
    """The call of a number or id, refused or not."""
    with Index(place) as index:
        found = index.show(name.removeprefix("#"))
    if len(found) != 1 or found[0].decision is None:
        remedy = "see `gateway audit tail` and `gateway audit grep`"
        raise ConfigError(Problem(f"id must be that of one call (got `{name}`)", remedy=remedy))
    decision, outcome = found[0].decision, found[0].outcome
    return Refusal(kind_of(decision, outcome), decision, outcome)


def _show(found: Refusal, place: str, here: str, as_json: bool) -> int:
    with Moment(place) as moment:
        key = moment.key
    again = judged_again(found.decision, key, here)
    data = as_data(found, again)
    write(pretty(data) + "\n" if as_json else as_text(found, data, again, datetime.now(UTC), style_for(sys.stdout)))
    return 0


def _problem(here: str) -> str:
    """Why every call is refused at present without standing in the record, "" where that is not so."""
    from gateway.judge.judge import Judge

    try:
        Judge(Options(cwd=here, binding=True))
    except ConfigError as error:
        return f"every call is refused now, as the policy cannot be read: {on_one_line(error)}"
    return ""
