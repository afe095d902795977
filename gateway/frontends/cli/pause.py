"""`gateway pause`: a person pauses the hooks of agents for a while."""

from __future__ import annotations

import os
import time
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.agents import pausing
from gateway.config.load import Options, project_root
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import places
from gateway.frontends.consent import agreed
from gateway.frontends.durations import seconds_of
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.session import folder
from gateway.judge.judge import Judge
from gateway.policy.wording import visible

if TYPE_CHECKING:
    from gateway.agents.pausing import Pause

_ABOUT = (
    "Meanwhile the organisation's rules and those that protect the system, secrets and the gateway itself still hold; "
    "everything else is left to the agent's own rules."
)


def pause(
    length: Annotated[
        str | None, typer.Argument(metavar="TIME", help="How long, such as 10m or 1h; what is paused if missing.")
    ] = None,
    everywhere: Annotated[bool, typer.Option("--all", help="In every project, not in this one alone.")] = False,
    end: Annotated[bool, typer.Option("--end", help="End the pause now.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> int:
    """Pause the hooks of agents for a while.

    In this project, by a person at a terminal, if policy lets it. Meanwhile the organisation's rules and those that
    protect the system, secrets and the gateway itself still hold, and everything is recorded. What they say nothing of
    is left to the agent's own rules. Commands of the gateway itself (exec, run, agent, mcp) are not paused.

    Exit status: 0, 1 if it was not agreed to, 2 where there must be none.
    """
    here = places()
    if end:  # whatever has become of the policy meanwhile
        ended = pausing.end(here.state, None if everywhere else project_root(os.path.realpath(folder(None, ""))))
        _show(ended, json, "ended", "nothing is paused\n")
        return 0
    gateway = Judge(Options(folder(None, "")), where=here)
    root, now = gateway.options.root, time.time()
    if length is None:
        held = pausing.pause_of(here.state, root, gateway.loaded.settings, now)
        _show(() if held is None else (held,), json, "paused", "nothing is paused here\n")
        return 0
    seconds = _seconds(length)
    if why := _forbidden(gateway):
        raise ConfigError(Problem(f"policy must allow a pause ({why})", remedy="see `gateway policy show`"))
    wanted = pausing.Pause(now, now + seconds, "" if everywhere else root)
    if not json:
        write(f"{_ABOUT}\n")
    if not agreed(f"pause hooks in {_where(wanted)} until {_until(wanted)}?", "a pause", "run it at a terminal"):
        write("not paused\n")
        return 1
    pausing.begin(here.state, wanted)
    _show((wanted,), json, "paused", "")
    return 0


def _seconds(text: str) -> float:
    seconds = float(seconds_of(text) or 0)
    if not 0 < seconds <= pausing.LONGEST:
        remedy = "write 90s, 10m or 2h, and 24 hours at most"
        raise ConfigError(Problem(f"TIME must be a length of time (got `{visible(text)}`)", remedy=remedy))
    return seconds


def _forbidden(gateway: Judge) -> str:
    """Why there must be no pause, "" if there may be one."""
    if not pausing.is_open(gateway.loaded.settings):
        return "setting `pause` is false"
    if why := gateway.refuses_mode("bypass"):
        return why
    return ""


def _show(found: tuple[Pause, ...], as_json: bool, what: str, none: str) -> None:
    if as_json:
        write(pretty({what: [each.as_dict() for each in found]}) + "\n")
        return
    until = [f", until {_until(each)}" if what == "paused" else "" for each in found]
    write("".join(f"{what}: hooks in {_where(each)}{rest}\n" for each, rest in zip(found, until, strict=True)) or none)


def _where(found: Pause) -> str:
    return visible(found.root) or "every project"


def _until(found: Pause) -> str:
    return datetime.fromtimestamp(found.until).astimezone().strftime("%Y-%m-%d %H:%M:%S")
