"""`gateway commands`: descriptions of programs, listed, tested and formatted."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.config.load import project_root
from gateway.config.shipped import load_descriptions
from gateway.core.places import places
from gateway.frontends.jsontext import dumps
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER, POLICY_FOLDER, READS, REWRITES
from gateway.frontends.session import folder
from gateway.policy.wording import visible
from gateway.render.style import style_for

if TYPE_CHECKING:
    from gateway.commands.description import Description
    from gateway.config.layers import PolicyFile
    from gateway.core.errors import Problem
    from gateway.core.packed import Descriptions

app = typer.Typer(
    name="commands",
    help="Show, test and format descriptions of programs.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


UNCHECKED = "not checked"


@app.command("list")
def list_all(
    unchecked: Annotated[bool, typer.Option("--unchecked", help="Only those that were never compared.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> int:
    """List the shipped descriptions, with the program and version that each was compared with."""
    found = [each for each in _each(load_descriptions(places())) if not (unchecked and each.get("checked"))]
    if json:
        write(dumps([_summary(each) for each in found]) + "\n")
        return 0
    width = max((len(each["name"]) for each in found), default=0)
    write("".join(f"{each['name']:{width}}  {_checked(each)}\n" for each in found))
    return 0


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The program's name.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> int:
    """Show what a description covers: names, classes, subcommands, what it was compared with, and its file.

    Shipped descriptions, and those of the layers that hold here. Exit status: 0, 2 if nobody describes it.
    """
    from gateway.core.errors import ConfigError, Problem
    from gateway.spec.suggest import did_you_mean

    shipped = load_descriptions(places())
    files, found = _of_layers(name, shipped)
    whole: Description | None = shipped(name)
    if whole is not None:
        files.append("shipped")
        found.append(whole)
    if not found:
        remedy = did_you_mean(name, shipped.names(), "see `gateway commands list`")
        raise ConfigError(Problem(f"program must be a described one (got `{visible(name)}`)", remedy=remedy))
    if json:
        write(dumps({**_summary(found[-1]), "files": files}) + "\n")
        return 0
    blocks = []
    for file, description in zip(files, found, strict=True):
        summary = _summary(description)
        rows = {
            "names": ", ".join(summary["names"]),
            "classes": ", ".join(summary["classes"]) or "none",
            "checked": _checked(description),
            "subcommands": ", ".join(summary["subcommands"]) or "none",
            "file": visible(file),
        }
        blocks.append("".join(f"{key:11}  {value}\n" for key, value in rows.items()))
    write("\n".join(blocks))
    return 0


def _of_layers(name: str, shipped: Descriptions) -> tuple[list[str], list[Description]]:
    """The files of the layers that describe a program, or add to what is known of it, and what each says."""
    from gateway.config.descriptions import compile_one, find_descriptions, with_parts
    from gateway.core.errors import ConfigError

    problems: list[Problem] = []
    wholes = with_parts(find_descriptions(places(), project_root(os.path.realpath(folder(None, "--cwd")))), problems)
    if problems:
        raise ConfigError(problems)
    described = [(file.path, compile_one(file, shipped, parts)[0]) for file, parts in wholes]
    of_it = [(path, each) for path, each in described if name in each["names"]]
    return [path for path, _ in of_it], [each for _, each in of_it]


def _each(shipped: Descriptions) -> list[Description]:
    """Every description once, by the name of its first program."""
    found: dict[str, Description] = {}
    for name in shipped.names():
        description: Description | None = shipped(name)
        if description is not None:
            found.setdefault(description["name"], description)
    return [found[name] for name in sorted(found)]


def _summary(description: Description) -> dict[str, Any]:
    return {
        "name": description["name"],
        "names": description["names"],
        "classes": description.get("classes", []),
        "checked": description.get("checked", []),
        "subcommands": list(description.get("subcommands", ())),
    }


def _checked(description: Description) -> str:
    return ", ".join(description.get("checked", ())) or UNCHECKED


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
    """Run the examples of descriptions, in a fixed example project, /home/dev/project.

    Without FILE, those of the layers that hold here. Exit status: 0, 1 if an example does not hold, 2 for a
    broken file.
    """
    from gateway.commands.examples import failing
    from gateway.config.descriptions import compile_one, find_descriptions, with_parts
    from gateway.core.errors import ConfigError

    here = places()
    shipped = load_descriptions(here)
    found: list[PolicyFile]
    if files:
        found = [_file(path) for path in _beside(files)]
    else:
        root = project_root(os.path.realpath(folder(cwd, "--cwd")))
        chosen = "" if policies is None else folder(policies, "--policies")
        found = find_descriptions(here, root, policies=chosen)
    examples = 0
    failures = []
    problems: list[Problem] = []
    wholes = with_parts(found, problems)
    if problems:
        raise ConfigError(problems)
    for file, parts in wholes:
        description, lookup = compile_one(file, shipped, parts)
        examples += len(description["examples"])
        failures += failing(description, lookup)
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


@app.command("format")
def format_files(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Descriptions of programs."), REWRITES],
    check: Annotated[bool, typer.Option("--check", help="Write nothing; say which files are not formatted.")] = False,
) -> int:
    """Format descriptions: sorted words, lines of at most 100 columns.

    What a description means stays the same, and its comments stay. A project's changed file is to be trusted again.
    Exit status: 0, 1 if --check finds a file that is not formatted, 2 for a broken file; then nothing is written.
    """
    from gateway.config.layers import read_file
    from gateway.spec.commandformat import format_description

    texts = {path: read_file(path) for path in dict.fromkeys(os.path.abspath(file) for file in files)}
    formatted = {path: format_description(text, path).encode() for path, text in texts.items()}
    changed = [path for path, text in texts.items() if formatted[path] != text]
    for path in () if check else changed:
        with open(path, "wb") as file:
            file.write(formatted[path])
    style = style_for(sys.stdout)
    word = style.paint("unformatted", "deny") if check else "formatted"
    said = f"{len(changed)} of {len(texts)} file{'' if len(texts) == 1 else 's'} {'to format' if check else 'changed'}"
    write("\n".join([*(f"{word} {visible(path)}" for path in changed), said]) + "\n")
    return 1 if check and changed else 0


def _beside(files: list[str]) -> list[str]:
    """The files, and those that they are a description with: the one that a part goes on with, and its other parts."""
    from glob import escape, glob

    from gateway.config.layers import read_file
    from gateway.spec.commandparts import part_of

    found: dict[str, None] = {}
    for path in map(os.path.abspath, files):
        whole = part_of(path, read_file(path)) or path
        stem = whole.removesuffix(".yaml")
        parts = [each for each in sorted(glob(f"{escape(stem)}.*.yaml")) if part_of(each, read_file(each)) == whole]
        found |= dict.fromkeys((whole, *parts))
    return list(found)


def _file(path: str) -> PolicyFile:
    """A file by itself. Where it lies decides whether it may do as shipped ones do."""
    from gateway.config.layers import PolicyFile, read_file
    from gateway.core.places import COMMANDS

    layer = "" if os.path.dirname(os.path.realpath(path)) == os.path.realpath(COMMANDS) else "user"
    layer = "enterprise" if path.startswith(places().enterprise + "/") else layer
    return PolicyFile(layer, path, content=read_file(path), base="", root="")
