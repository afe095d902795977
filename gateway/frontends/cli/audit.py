"""`gateway audit`: what was decided and what became of it, and whether the record of it is intact."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.audit import chain
from gateway.audit.index import Index, Query
from gateway.audit.log import FOLDER
from gateway.audit.reading import Moment, added_since
from gateway.audit.verify import verify as verify_record
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import places
from gateway.frontends.audit_text import call_text, record_line, stats_text, verified_text
from gateway.frontends.cli.numbers import at_least
from gateway.frontends.durations import seconds_of
from gateway.frontends.jsontext import dumps, pretty
from gateway.frontends.output import write
from gateway.frontends.parameter_files import RECORD
from gateway.policy.wording import visible
from gateway.render.style import style_for

if TYPE_CHECKING:
    from typing import Any

    from gateway.audit.index import Found

app = typer.Typer(
    name="audit",
    help="Show the record of calls, and check that it is intact.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

EXIT_BROKEN = 1
_PAUSE = 0.2  # between two looks, in seconds

_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text; of lists one object a line.")]
_Folder = Annotated[
    str | None, typer.Option("--folder", metavar="DIR", help="The record in this folder instead of your own."), RECORD
]


def _folder(given: str | None) -> str:
    if given is None:
        return os.path.join(places().state, FOLDER)
    if not os.path.isdir(given):
        raise ConfigError(Problem(f"--folder must be a folder that exists (got `{given}`)"))
    return os.path.abspath(given)


@app.command()
def tail(
    number: Annotated[
        int, typer.Option("-n", "--number", metavar="N", parser=at_least(0), help="How many records.")
    ] = 20,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Wait for new records and show them, too.")] = False,
    json: _Json = False,
    folder: _Folder = None,
) -> int:
    """Show the last records, decisions and outcomes as they were written."""
    place = _folder(folder)
    with Moment(place) as moment:
        records = moment.last(number)
        at = (moment.parts[-1].segment, moment.parts[-1].size) if moment.parts else (0, 0)
    if not records and not follow:
        write("" if json else f"nothing is recorded in {visible(place)}\n")
        return 0
    _print(records, json)
    while follow:
        time.sleep(_PAUSE)
        records, at = added_since(place, at)
        _print(records, json)
    return 0


def _print(records: list[dict[str, Any]], as_json: bool) -> None:
    style = style_for(sys.stdout)
    write("".join(f"{dumps(each) if as_json else record_line(each, style)}\n" for each in records))


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="A record's number, or its id or the start of it.")],
    json: _Json = False,
    folder: _Folder = None,
) -> int:
    """Show all that is kept of one call: the decision and the outcome."""
    with Index(_folder(folder)) as index:
        found = index.show(name.removeprefix("#"))
    if len(found) != 1:
        remedy = "see `gateway audit tail` and `gateway audit grep`"
        if found:
            ids = [str((each.decision or each.outcome or {}).get("id")) for each in found]
            remedy = f"several begin like that: {', '.join(ids)}"
        raise ConfigError(Problem(f"id must be that of one call (got `{name}`)", remedy=remedy))
    write(pretty(_data(found[0])) + "\n" if json else call_text(found[0], style_for(sys.stdout)))
    return 0


def _data(found: Found) -> dict[str, Any]:
    return {"decision": found.decision, "outcome": found.outcome}


@app.command()
def stats(json: _Json = False, folder: _Folder = None) -> int:
    """Show how many calls were decided how, by which rules, and what became of them."""
    place = _folder(folder)
    with Index(place) as index:
        numbers = index.stats()
    write(pretty(numbers) + "\n" if json else stats_text(numbers, place, style_for(sys.stdout)))
    return 0


@app.command()
def verify(
    holds: Annotated[
        str | None,
        typer.Option(
            "--holds",
            metavar="HEAD",
            help="The digest of a line, shown by an earlier run, that must still be in the record.",
        ),
    ] = None,
    anchor: Annotated[
        bool,
        typer.Option(
            "--anchor", help="Check against digests that the system's journal, or a file of root's, has kept."
        ),
    ] = False,
    json: _Json = False,
    folder: _Folder = None,
) -> int:
    """Check that every record is as it was written, and name the first broken link of the chain.

    Exit status: 0 intact, 1 broken, 2 wrong usage or a record that cannot be read.
    """
    place = _folder(folder)
    found = verify_record(place, _head(holds) if holds is not None else None, anchored=anchor)
    if json:
        broken = None if found.broken is None else found.broken.as_dict()
        write(pretty({**found.as_dict(), "broken": broken, "notes": list(found.notes)}) + "\n")
    else:
        write(verified_text(found, place, style_for(sys.stdout)))
    return EXIT_BROKEN if found.broken is not None else 0


def _head(text: str) -> tuple[int, str]:
    number, _, digest = text.partition(":")
    if not (number.isdecimal() and len(digest) == len(chain.START)):
        remedy = "give what `gateway audit verify` showed behind `head`"
        raise ConfigError(Problem(f"--holds must be a number, a colon and a digest (got `{text}`)", remedy=remedy))
    return int(number), digest


@app.command()
def grep(
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="What stands in the call or its outcome.")] = "",
    tool: Annotated[str, typer.Option("--tool", metavar="NAME", help="The tool; * for any part.")] = "",
    decision: Annotated[str, typer.Option("--decision", metavar="WORD", help="allow, ask or deny.")] = "",
    rule: Annotated[str, typer.Option("--rule", metavar="ID", help="The rule that decided; * for any part.")] = "",
    path: Annotated[
        str, typer.Option("--path", metavar="PATTERN", help="A touched file or folder, or one below it; or a pattern.")
    ] = "",
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="A host that was, or would be, reached.")] = "",
    ended: Annotated[str, typer.Option("--ended", metavar="WORD", help="What became of it: exited, timeout, …")] = "",
    session: Annotated[str, typer.Option("--session", metavar="NAME", help="The session.")] = "",
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="From then on: 2h, 3d, 2026-01-31 or 2026-01-31T10:00, UTC.")
    ] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Up to then.")] = "",
    number: Annotated[
        int, typer.Option("-n", "--number", metavar="N", parser=at_least(0), help="The last N only; 0: all.")
    ] = 0,
    json: _Json = False,
    folder: _Folder = None,
) -> int:
    """Find calls in the record.

    Exit status: 0 if there are any, 1 if not.
    """
    if decision not in ("", "allow", "ask", "deny"):
        raise ConfigError(Problem(f"--decision must be allow, ask or deny (got `{decision}`)"))
    at_path = path and (path if path.startswith(("*", "?")) else os.path.abspath(os.path.expanduser(path)))
    query = Query(
        text=text, tool=tool, decision=decision, rule=rule, path=at_path, host=host, ended=ended, session=session,
        since=_moment(since, "--since"), until=_moment(until, "--until"),
    )  # fmt: skip
    with Index(_folder(folder)) as index:
        found = index.find(query, number)
    for call in found:
        if json:
            write(dumps(_data(call)) + "\n")
        else:
            _print([each for each in (call.decision, call.outcome) if each is not None], False)
    return 0 if found else 1


def _moment(text: str, what: str) -> str:
    """A moment as records write them: one that is given, or so long before now."""
    if not text:
        return ""
    try:
        ago = seconds_of(text)
        if ago is not None:
            moment = datetime.now(UTC) - timedelta(seconds=ago)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except (ValueError, OverflowError) as error:
        remedy = "write 90s, 30m, 2h, 3d or 1w for so long ago, or a date and time in UTC"
        raise ConfigError(Problem(f"{what} must be a moment (got `{text}`)", remedy=remedy)) from error
