"""`gateway import`: agents' own permission rules as rules of ours, with what is lost; or what is wrong with them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.config.load import project_root
from gateway.config.shipped import load_tools
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import places
from gateway.core.plain_files import open_plain
from gateway.frontends.consent import agreed
from gateway.frontends.editor_schemas import POLICY, headed, write_schema
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import complain, safe_lines, write
from gateway.frontends.parameter_files import FOLDER, READS, WRITES
from gateway.frontends.pasting import shell_word
from gateway.frontends.session import folder
from gateway.install.base import USER, Site
from gateway.policy.wording import visible
from gateway.render.style import style_for

if TYPE_CHECKING:
    from gateway.core.places import Places
    from gateway.install.translation.engine import Engine
    from gateway.install.translation.importing import Imported

AGENTS = ("claude", "codex", "gemini", "opencode", "vscode", "cursor", "copilot")
ALL = "all"
LAYERS = ("user", "project")
NAME = "imported.yaml"
_BEGINNING = "# Imported by `gateway import`"


def import_(
    agents: Annotated[
        list[str] | None, typer.Argument(metavar="AGENT", help=f"{', '.join(AGENTS)}, or all; all if there is none.")
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="FILE", help="Read this in the place of what stands here; one agent's."),
        READS,
    ] = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Change nothing: say which of the rules do not do what they say.")
    ] = False,
    layer: Annotated[str, typer.Option("--layer", metavar="LAYER", help="The layer to write: user or project.")] = USER,
    output: Annotated[
        str | None, typer.Option("--output", metavar="FILE", help="Write it here, without a question."), WRITES
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace what was imported before.")] = False,
    ask_instead: Annotated[
        bool,
        typer.Option(
            "--ask-instead",
            help="Where a deny rule cannot be expressed, ask about every such call instead of refusing it.",
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of text, and write nothing but --output.")
    ] = False,
    cwd: Annotated[
        str | None, typer.Option("--cwd", metavar="DIR", help="The folder whose project counts."), FOLDER
    ] = None,
) -> int:
    """Turn agents' own permission rules into a layer of policy, and say what is lost.

    An imported allow is never wider than it was, an imported deny never narrower; each difference is shown by a call.
    Exit status: 0, 1 if --audit found something or you declined, 2 for a file that cannot be read.
    """
    from gateway.install.translation.engine import Engine
    from gateway.install.translation.importing import imported

    names = _names(agents or [], files or [])
    if layer not in LAYERS:
        raise ConfigError(Problem(f"--layer must be one of {', '.join(LAYERS)} (got `{safe_lines(layer)}`)"))
    if audit and (output or replace or ask_instead):
        raise ConfigError(Problem("--audit writes nothing: --output, --replace and --ask-instead belong to an import"))
    here = places()
    root = project_root(os.path.realpath(folder(cwd, "--cwd")))
    site = Site(USER, here.home, root, dict(os.environ))
    engine = Engine(load_tools(here), here)
    given = [os.path.abspath(each) for each in files or ()]
    made = imported(names, site, engine, given=given, layer=layer, ask_instead=ask_instead, whole=audit)
    if audit:
        return _audit(made, engine, here, json)
    return _import(made, here, root, layer, output, replace=replace, json=json)


def _names(agents: list[str], files: list[str]) -> list[str]:
    for each in agents:
        if each not in (*AGENTS, ALL):
            raise ConfigError(Problem(f"AGENT must be one of {', '.join(AGENTS)}, all (got `{safe_lines(each)}`)"))
    names = list(AGENTS) if not agents or ALL in agents else list(dict.fromkeys(agents))
    if files and len(names) != 1:
        raise ConfigError(
            Problem("--file must be given with the one agent whose rules they are", remedy="name it first")
        )
    return names


def _audit(made: tuple[Imported, ...], engine: Engine, here: Places, json: bool) -> int:
    from gateway.frontends.import_text import audit_data, audit_text
    from gateway.install.translation.auditing import wrong
    from gateway.install.translation.clients import CLIENTS

    shipped = engine.shipped()
    found = [one for each in made for one in wrong(each, CLIENTS[each.found.agent], engine, shipped)]
    problems = [problem for each in made for problem in each.problems]
    if json:
        write(
            pretty(
                {
                    "rules": sum(len(each.found.rules) for each in made),
                    "wrong": audit_data(found),
                    "problems": [str(each) for each in problems],
                }
            )
            + "\n"
        )
    else:
        write(audit_text(found, sum(len(each.found.rules) for each in made), here.home, style_for(sys.stdout)))
        for problem in problems:
            complain(f"gateway: {safe_lines(str(problem))}\n")
    return 2 if problems else 1 if found else 0


def _import(
    made: tuple[Imported, ...], here: Places, root: str, layer: str, output: str | None, *, replace: bool, json: bool
) -> int:
    from gateway.frontends.import_text import import_data, import_text
    from gateway.install.translation.clients import CLIENTS
    from gateway.install.translation.statements import layer as written

    statements = [one for each in made for one in each.translated.statements]
    titles = {name: client.TITLE for name, client in CLIENTS.items()}
    problems = [problem for each in made for problem in each.problems]
    base = here.config if layer == USER else os.path.join(root, ".gateway")
    path = os.path.abspath(output) if output else os.path.join(base, "policy.d", NAME)
    head = (
        f"{_BEGINNING} from the rules of {', '.join(titles[each.found.agent] for each in made if each.found.files)}.\n"
        "# They hold for every agent that the gateway guards. `gateway import --replace` writes this file anew."
    )
    head += "" if output else "\n" + headed("", path, base, POLICY).rstrip("\n")
    text = written(statements, titles, head=head, extends=_extends(here, layer, path), short=here.home)
    if json:
        write(pretty({"agents": import_data(made), "layer": text}) + "\n")
    else:
        write(import_text(made, here.home, style_for(sys.stdout)))
    if problems:
        raise ConfigError(
            [*problems, Problem("nothing was imported", remedy="mend these files, or name others with --file")]
        )
    if not statements:
        if not json:
            write("there is nothing to import\n")
        return 0
    if json and not output:
        return 0
    _check_free(path, replace)
    if not output and not agreed(
        f"write {len(statements)} rules to {visible(path)}?",
        "an import",
        "run it at a terminal, or name a file with --output",
    ):
        write("nothing was written\n")
        return 1
    if not output:
        write_schema(base, POLICY)
    _write(path, text, make=not output)
    if not json:
        steps = [f"gateway policy lint {shell_word(path)}", "gateway check 'Bash(some command)'"]
        steps += ["gateway policy trust"] if layer == "project" and not output else []
        write("\n".join([f"wrote {visible(path)}", "next:", *(f"  {step}" for step in steps)]) + "\n")
    return 0


def _extends(here: Places, layer: str, path: str) -> str:
    """`daily`, where it holds only as long as the user has no file of their own."""
    from gateway.config.layers import LayerFolder, read_layer

    if layer != USER:
        return ""
    others = [
        each for each in read_layer(LayerFolder("user", here.config, here.config, here.config)) if each.path != path
    ]
    return "" if others else "daily"


def _check_free(path: str, replace: bool) -> None:
    """Raises ConfigError where something else stands there."""
    if not os.path.lexists(path):
        return
    try:
        with open_plain(path) as file:
            is_own = file.read(len(_BEGINNING)) == _BEGINNING.encode()
    except OSError as error:
        raise ConfigError(Problem(f"cannot be read: {error.strerror}", file=path)) from error
    if not is_own:
        raise ConfigError(
            Problem("holds something that was not imported", file=path, remedy="name another with --output")
        )
    if not replace:
        raise ConfigError(Problem("was imported before", file=path, remedy="`--replace` writes it anew"))


def _write(path: str, text: str, *, make: bool) -> None:
    """`make`: the folder, too."""
    from gateway.core.cache import replace_whole

    try:
        if make:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        replace_whole(path, text.encode())
    except OSError as error:
        remedy = "name a file in a folder that is there and that you may write"
        raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=path, remedy=remedy)) from error
