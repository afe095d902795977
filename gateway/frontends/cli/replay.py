"""`gateway replay`: recorded decisions, judged anew."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.audit.log import FOLDER
from gateway.config.load import project_root
from gateway.core.errors import ConfigError, GatewayError, Problem
from gateway.core.places import places
from gateway.frontends.cli.numbers import at_least
from gateway.frontends.durations import seconds_of
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import complain, write
from gateway.frontends.parameter_files import FOLDER as OPENS_FOLDER
from gateway.frontends.parameter_files import POLICY_SOURCE, RECORD, WRITES
from gateway.frontends.session import folder as folder_of
from gateway.render.style import Style, is_terminal, style_for
from gateway.replay.compare import compared, is_slow
from gateway.replay.judging import RECORDED
from gateway.replay.parts import POOL, WAYS
from gateway.replay.symbolic import NARROWER, WIDER
from gateway.replay.tally import EQUAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.replay.judging import Side
    from gateway.replay.symbolic import Unlogged
    from gateway.replay.tally import Comparison

EXITS = {EQUAL: 0, NARROWER: 5, WIDER: 6}
FAIL_ON = ("any", WIDER, "never")
FORMATS = ("text", "json", "junit", "sarif", "markdown")
SLOW = "with DuckDB (pip install 'agent-gateway[replay]') what was read once is kept"

Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="From then: 30d, 12h, or 2026-01-31.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before then.")]
Format = Annotated[str, typer.Option("--format", metavar="FORMAT", help=f"One of {', '.join(FORMATS)}.")]
Json = Annotated[bool, typer.Option("--json", help="The same as `--format json`.")]
Output = Annotated[
    str | None, typer.Option("--output", metavar="FILE", help="Write there instead of standard output."), WRITES
]
FailOn = Annotated[
    str, typer.Option("--fail-on", metavar="WHAT", help="Which changes end with another status: any, wider, never.")
]
Record = Annotated[
    str | None, typer.Option("--folder", metavar="DIR", help="The record in this folder instead of your own."), RECORD
]
Cwd = Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="The folder whose project counts."), OPENS_FOLDER]
How = Annotated[str, typer.Option("--workers-by", metavar="WAY", help=f"One of {', '.join(WAYS)}.")]
Workers = Annotated[
    int,
    typer.Option(
        "--workers", metavar="N", parser=at_least(0), help="The number of workers; 0: one for each processor."
    ),
]
Layer = Annotated[
    str, typer.Option("--layer", metavar="LAYER", help="What a file, or a folder with policy.yaml, stands for.")
]


def replay(
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="POLICY", help="Judge by this: a folder, a file, a revision, or `present`."),
        POLICY_SOURCE,
    ] = None,
    since: Since = None,
    until: Until = None,
    format: Format = "text",  # noqa: A002 - as the option is called
    json: Json = False,
    output: Output = None,
    fail_on: FailOn = "any",
    folder: Record = None,
    cwd: Cwd = None,
    layer: Layer = "project",
    how: How = POOL,
    workers: Workers = 0,
) -> int:
    """Judge recorded decisions anew, with the facts that were found when they were made. Nothing runs.

    Without --policy, by the policy that decided each: all must come out as they are recorded, and what does not is a
    finding. With --policy, by that one: what would have come out otherwise. Facts come from the record, whatever has
    become of the files since.

    Exit status: 0 if nothing comes out otherwise, 5 if some come out stricter, 6 if some come out milder, 2 for wrong
    usage, a broken policy or a record that cannot be read.
    """
    from gateway.replay.sources import side_of

    root = project_root(os.path.realpath(folder_of(cwd, "--cwd")))
    new = RECORDED if policy is None else side_of(policy, root, layer)
    return run(
        RECORDED, new, root, since=since, until=until, shape="json" if json else format, output=output, fail_on=fail_on,
        folder=folder, how=how, workers=workers,
    )  # fmt: skip


def run(
    old: Side,
    new: Side,
    root: str,
    *,
    since: str | None,
    until: str | None,
    shape: str,
    output: str | None,
    fail_on: str,
    folder: str | None,
    how: str,
    workers: int,
    unlogged: Callable[[], Unlogged] | None = None,
) -> int:
    """Compares two policies on the record and says what differs. `unlogged`: looks for what no record shows."""
    for name, value, known in (("format", shape, FORMATS), ("fail-on", fail_on, FAIL_ON), ("workers-by", how, WAYS)):
        if value not in known:
            raise ConfigError(Problem(f"--{name} must be one of {', '.join(known)} (got `{value}`)"))
    place = place_of(folder)
    if is_slow(place):
        complain(f"note: this record is read line by line each time; {SLOW}\n")
    shown = Progress()
    try:
        span = moment_of(since, "--since"), moment_of(until, "--until")
        found = compared(place, old, new, *span, how=how, workers=workers, reading=shown.reading, judging=shown.judging)
    except OSError as error:
        raise GatewayError(f"the record in {place} cannot be read: {error.strerror or error}") from error
    finally:
        shown.end()
    if unlogged is not None:
        found = found.replace(unlogged=unlogged())
    text = rendered(found, shape, root, is_replay=old.recorded and new.recorded, to_file=output is not None)
    if output is None:
        write(text)
    else:
        _write_file(output, text)
    status = EXITS[found.outcome]
    return status if fail_on == "any" or (fail_on == WIDER and found.outcome == WIDER) else 0


def place_of(folder: str | None) -> str:
    """The folder of the record that is meant."""
    return os.path.join(places().state, FOLDER) if folder is None else folder_of(folder, "--folder")


def rendered(found: Comparison, shape: str, root: str, *, is_replay: bool, to_file: bool) -> str:
    """A comparison in one of `FORMATS`."""
    if shape == "text":
        from gateway.frontends.replay_text import comparison_text

        return comparison_text(found, Style() if to_file else style_for(sys.stdout), is_replay=is_replay)
    if shape == "markdown":
        from gateway.frontends.replay_text import comparison_markdown

        return comparison_markdown(found, is_replay=is_replay)
    from gateway.frontends.replay_files import comparison_data, comparison_junit, comparison_sarif

    if shape == "json":
        return pretty(comparison_data(found)) + "\n"
    return comparison_junit(found) if shape == "junit" else comparison_sarif(found, root)


def _write_file(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    except OSError as error:
        remedy = "name a file in a folder that is there and that you may write"
        raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=path, remedy=remedy)) from error


def moment_of(text: str | None, name: str) -> str:
    """A moment as records write it, "" for none. Raises ConfigError."""
    if text is None:
        return ""
    seconds = seconds_of(text)
    try:
        found = datetime.fromisoformat(text) if seconds is None else datetime.now(UTC) - timedelta(seconds=seconds)
        return found.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError) as error:
        remedy = "write a length such as 30d or 12h, or a date such as 2026-01-31 or 2026-01-31T12:00"
        raise ConfigError(Problem(f"{name} must be a time (got `{text}`)", remedy=remedy)) from error


class Progress:
    """What is told at a terminal while it lasts."""

    def __init__(self) -> None:
        self._shown = is_terminal(sys.stderr)
        self._last = -1

    def reading(self, done: int, of: int) -> None:
        """So many of so many are done."""
        self._tell("reading", done, of)

    def judging(self, done: int, of: int) -> None:
        """So many of so many are done."""
        self._tell("judging", done, of)

    def _tell(self, what: str, done: int, of: int) -> None:
        share = 100 * done // max(of, 1)
        if self._shown and share != self._last:
            self._last = share
            filled = share * 30 // 100
            complain(f"\r{what}  [{'#' * filled}{' ' * (30 - filled)}] {share:3} %")

    def end(self) -> None:
        """Takes it away."""
        if self._shown and self._last >= 0:
            complain("\r\x1b[K")
