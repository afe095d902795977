"""`gateway grants`: what was answered with "always" in this project, or agreed to for all, and how to take it back."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.approval.saved_rules import SavedRules
from gateway.config.load import project_root, tool_names
from gateway.config.shipped import load_tools
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import places
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER
from gateway.frontends.session import folder
from gateway.policy.wording import visible
from gateway.render.style import style_for, wrapped

if TYPE_CHECKING:
    from gateway.approval.saved_rules import SavedRule
    from gateway.render.style import Style

app = typer.Typer(
    name="grants",
    help='Show and take back what was answered with "always".',
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
_Cwd = Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="The folder whose project counts."), FOLDER]


_Everywhere = Annotated[
    bool, typer.Option("--everywhere", help="What was agreed to for all projects, in your own policy.")
]


def _saved(cwd: str | None, everywhere: bool) -> SavedRules:
    here = places()
    root = project_root(os.path.realpath(folder(cwd, "--cwd")))
    return SavedRules(here, root, tool_names(load_tools(here)), everywhere=everywhere)


@app.command("list")
def list_grants(json: _Json = False, everywhere: _Everywhere = False, cwd: _Cwd = None) -> int:
    """List the rules that were saved for this project, with who agreed to them and when."""
    saved = _saved(cwd, everywhere)
    rules = saved.list()
    if json:
        data = {"file": saved.path, "grants": [rule.as_dict() for rule in rules]}
        write(pretty(data) + "\n")
    elif not rules:
        write(f"nothing was allowed for good in {'all projects' if everywhere else 'this project'}\n")
    else:
        style = style_for(sys.stdout)
        write("\n".join(_text(rule, style) for rule in rules) + f"\n{visible(saved.path)}\n")
    return 0


def _text(rule: SavedRule, style: Style) -> str:
    lines = [rule.text, rule.because, f"until {rule.expires}" if rule.expires else ""]
    shown = [part for line in lines if line for part in wrapped(visible(line), style.width - 2)]
    return "\n".join([style.paint(rule.id, "strong"), *(f"  {line}" for line in shown)]) + "\n"


@app.command()
def revoke(
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="What `gateway grants list` calls it.")],
    json: _Json = False,
    everywhere: _Everywhere = False,
    cwd: _Cwd = None,
) -> int:
    """Take saved rules back: what they allowed is asked about again, from the next call on.

    Exit status: 0, or 2 if one of them is not there; the others are gone all the same.
    """
    saved = _saved(cwd, everywhere)
    found = {name: saved.revoke(name) for name in dict.fromkeys(ids)}
    if json:
        write(pretty({"file": saved.path, "revoked": [name for name, was_there in found.items() if was_there]}) + "\n")
    else:
        write("".join(f"revoked {visible(name)}\n" for name, was_there in found.items() if was_there))
    missing = [name for name, was_there in found.items() if not was_there]
    if missing:
        remedy = f"see `gateway grants list{' --everywhere' if everywhere else ''}`"
        raise ConfigError(
            [Problem(f"id must be one of a saved rule (got `{name}`)", remedy=remedy) for name in missing]
        )
    return 0
