"""`gateway service`: shows and ends the local service that answers hooks from memory."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gateway.core.errors import ConfigError, Problem
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.service.running import Running, found, stop
from gateway.policy.wording import visible

app = typer.Typer(
    name="service",
    help="Show and stop the service that answers hooks from memory. Hooks start it again when they need it.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

END_SECONDS = 5.0
_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@app.command()
def status(json: _Json = False) -> int:
    """Show the services that run for you: one for each home folder, installation and Python that hooks come from."""
    running = _running()
    if json:
        write(pretty({"services": [each.as_dict() for each in running]}) + "\n")
        return 0
    told = [
        f"{'running' if each.is_ours else 'running for another installation or place'}"
        f"{f', process {each.pid}' if each.pid else ''}\n  {visible(each.socket)}\n"
        for each in running
    ]
    write("".join(told) or "no service runs; the next hook starts one\n")
    return 0


@app.command(name="stop")
def stop_all(json: _Json = False) -> int:
    """Stop them all. What they have begun to answer is answered; hooks decide by themselves until the next one runs.

    Exit status: 0, also where none ran; 1 if one may still run.
    """
    ended = {each: _ended(each) for each in _running()}
    if json:
        write(pretty({"services": [{**each.as_dict(), "ended": is_so} for each, is_so in ended.items()]}) + "\n")
    else:
        told = [
            f"{'ended' if is_so else 'told to end'}{f' process {each.pid}' if each.pid else ''}\n"
            for each, is_so in ended.items()
        ]
        write("".join(told) or "no service runs\n")
    return 0 if all(ended.values()) else 1


def _ended(one: Running) -> bool:
    try:
        return stop(one, END_SECONDS)
    except OSError as error:
        remedy = f"end process {one.pid} yourself" if one.pid else "end it yourself"
        raise ConfigError(
            Problem(f"the service cannot be ended ({error.strerror})", file=one.socket, remedy=remedy)
        ) from error


def _running() -> tuple[Running, ...]:
    try:
        return found(os.environb)
    except OSError as error:
        raise ConfigError(
            Problem(f"the folder of services cannot be read ({error.strerror})", remedy="look at its permissions")
        ) from error
