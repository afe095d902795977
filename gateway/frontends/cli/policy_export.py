"""`gateway policy export`: what of the policy an agent's own rules can say."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gateway.config.load import Options, project_root, tool_files
from gateway.config.shipped import load_tools
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import places
from gateway.frontends.cli.importing import AGENTS
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import complain, safe_lines, write
from gateway.frontends.parameter_files import FOLDER, POLICY_FOLDER, WRITES
from gateway.frontends.session import folder
from gateway.policy.wording import visible

_MOST_SHOWN = 20


def export(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help=f"{', '.join(AGENTS)}.")],
    output: Annotated[
        str | None, typer.Option("--output", metavar="FILE", help="Write it here, and not to standard output."), WRITES
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON: the text, and what is not said.")] = False,
    policies: Annotated[
        str | None,
        typer.Option("--policies", metavar="DIR", help="Use the layers in DIR and `builtin` only."),
        POLICY_FOLDER,
    ] = None,
    cwd: Annotated[
        str | None, typer.Option("--cwd", metavar="DIR", help="The folder whose project counts."), FOLDER
    ] = None,
) -> int:
    """Translate the policy that holds here into an agent's own rules, as far as they can express it.

    What is allowed there is never more than policy allows. What is refused or asked about may be less: a second net for
    when no hook is there. What they cannot express is named on standard error. Exit status: 0, or 2 for a broken
    policy.
    """
    from gateway.install.translation.clients import CLIENTS
    from gateway.install.translation.engine import Engine
    from gateway.install.translation.exporting import exported
    from gateway.judge.effective_policy import ACTIVE, effective

    if agent not in AGENTS:
        raise ConfigError(Problem(f"AGENT must be one of {', '.join(AGENTS)} (got `{safe_lines(agent)}`)"))
    here = places()
    root = os.path.realpath(folder(cwd, "--cwd"))
    options = Options(
        root, policies="" if policies is None else folder(policies, "--policies"), root=project_root(root)
    )
    brought = tool_files(here, options)
    registry = load_tools(here, brought)
    found = effective(here, options, registry, brought)
    if found.problems:
        raise ConfigError(found.problems)
    engine = Engine(registry, here)
    rules = [each.rule for each in found.rules if each.state == ACTIVE]
    made = exported(rules, CLIENTS[agent], engine, engine.policy_of(found.bound, here.home))
    if json:
        write(pretty({"text": made.text, "left": [{"rule": rule, "why": why} for rule, why in made.left]}) + "\n")
    elif output is None:
        write(made.text)
    if output is not None:
        try:
            with open(output, "w", encoding="utf-8") as file:
                file.write(made.text)
        except OSError as error:
            remedy = "name a file in a folder that is there and that you may write"
            raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=output, remedy=remedy)) from error
    if not json:
        _tell(made.left, len(made.said))
    return 0


def _tell(left: tuple[tuple[str, str], ...], said: int) -> None:
    """What is not said, on standard error, where it does not get into the file."""
    lines = [f"{said} rules are said, {len(left)} are left to the gateway's hook"]
    lines += [f"  {visible(rule)}: {visible(why)}" for rule, why in left[:_MOST_SHOWN]]
    lines += [f"  and {len(left) - _MOST_SHOWN} others; `--json` has all of them"] if len(left) > _MOST_SHOWN else []
    complain("\n".join(lines) + "\n")
