"""`gateway commands`: descriptions of programs, tested."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.config.load import load_descriptions, project_root
from gateway.core.places import places
from gateway.frontends.jsontext import dumps
from gateway.frontends.opened import FOLDER, POLICY_FOLDER, READS
from gateway.frontends.output import write
from gateway.frontends.session import folder
from gateway.policy.wording import visible
from gateway.render.style import style_for

if TYPE_CHECKING:
    from gateway.config.layers import PolicyFile

app = typer.Typer(
    name="commands",
    help="Test descriptions of programs.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


@app.callback()
def _group() -> None:
    """Keeps `commands` a group while it has one command."""


@app.command("test")
def run_examples(
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="Descriptions of programs."), READS] = None,
    policies: Annotated[
        str | None, typer.Option("--policies", metavar="DIR", help="Those of the layers in DIR."), POLICY_FOLDER
    ] = None,
    cwd: Annotated[
        str | None, typer.Option("--cwd", metavar="DIR", help="The folder whose project counts."), FOLDER
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> int:
    """Run the examples of descriptions, in one fixed place: the folder /home/dev/project.

    Without FILE, those of the layers that hold here. Exit status: 0, 1 if an example does not hold, 2 for a
    broken file.
    """
    from gateway.commands.examples import failing
    from gateway.config.descriptions import compile_one, find_descriptions

    here = places()
    shipped = load_descriptions(here)
    found: list[PolicyFile]
    if files:
        found = [_file(os.path.abspath(path)) for path in dict.fromkeys(files)]
    else:
        root = project_root(os.path.realpath(folder(cwd, "--cwd")))
        chosen = "" if policies is None else folder(policies, "--policies")
        found = find_descriptions(here, root, policies=chosen)
    examples = 0
    failures = []
    for file in found:
        description, lookup = compile_one(file, shipped)
        examples += len(description["examples"])
        failures += [(file.path, line, column, message) for line, column, message in failing(description, lookup)]
    passed = examples - len(failures)
    if json:
        fields = ("file", "line", "column", "message")
        listed = [dict(zip(fields, failure, strict=True)) for failure in failures]
        write(dumps({"files": len(found), "passed": passed, "failed": len(failures), "failures": listed}) + "\n")
    else:
        style = style_for(sys.stdout)
        lines = [
            f"{style.paint('FAIL', 'deny')} {visible(path)}:{line}:{column}: {visible(message)}"
            for path, line, column, message in failures
        ]
        said = f"{passed} passed, {len(failures)} failed; {len(found)} file{'' if len(found) == 1 else 's'}"
        write("\n".join([*lines, style.paint(said, "deny" if failures else "allow")]) + "\n")
    return 1 if failures else 0


def _file(path: str) -> PolicyFile:
    """A file by itself. Where it lies decides whether it may do as shipped ones do."""
    from gateway.config.layers import PolicyFile, read_file
    from gateway.core.places import COMMANDS

    layer = "" if os.path.dirname(os.path.realpath(path)) == os.path.realpath(COMMANDS) else "user"
    layer = "enterprise" if path.startswith(places().enterprise + "/") else layer
    return PolicyFile(layer, path, read_file(path), "", "")
