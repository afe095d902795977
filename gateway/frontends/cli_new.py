"""`gateway new`: the first lines of what a contributor writes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.descriptions import FOLDER
from gateway.errors import CallError, ConfigError, Problem
from gateway.frontends.new_command import skeleton
from gateway.frontends.output import write
from gateway.frontends.session import folder, read_input
from gateway.load import load_descriptions, project_root
from gateway.places import places
from gateway.policy.wording import visible

if TYPE_CHECKING:
    from gateway.places import Places
    from gateway.spec.helptext import HelpOptions

app = typer.Typer(
    name="new",
    help="Writes the skeletons of new parts.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

LAYERS = ("user", "project", "enterprise")
MAX_HELP = 1_000_000


@app.callback()
def _group() -> None:
    """Keeps `new` a group while it has one command."""


@app.command()
def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The program's name.")],
    from_help: Annotated[
        str | None,
        typer.Option("--from-help", metavar="FILE", help="List the options of this output of --help; - reads it."),
    ] = None,
    layer: Annotated[
        str | None, typer.Option("--layer", metavar="LAYER", help="The layer to add it to: user, project, enterprise.")
    ] = None,
    into: Annotated[str | None, typer.Option("--into", metavar="DIR", help="The folder to write it to.")] = None,
) -> int:
    """Write a description of a program, for you to fill in. Nothing of the program runs.

    It goes to the user layer, and in a checkout of gateway to the shipped descriptions. Until it is filled in, it says
    that every call of the program is code.
    """
    _check_name(name)
    here = places()
    target, shipped = _target(here, layer, into)
    described = load_descriptions(here)(name) is not None
    path = os.path.join(target, f"{name}.yaml")
    _check_free(name, target, path, described and shipped)
    text = skeleton(name, None if from_help is None else _read_help(from_help))
    _write_new(path, text)
    lines = [f"wrote {visible(path)}"]
    if described and not shipped:
        lines.append(
            f"note: {visible(name)} is described already; "
            + ("this stands in its place" if layer == "enterprise" else "this can only add to it")
        )
    call = f"'{visible(name)}'"
    lines += ["next:", f"  gateway explain {call}", f"  gateway commands test {visible(path)}"]
    write("\n".join(lines) + "\n")
    return 0


def _check_name(name: str) -> None:
    bad = not name or name[0] in "-." or "/" in name or " " in name or not name.isprintable()
    if bad or len(name) > 100:
        raise ConfigError(Problem(f"NAME must be the name of a program, without its folder (got `{name}`)"))


def _target(here: Places, layer: str | None, into: str | None) -> tuple[str, bool]:
    """The folder to write to, and whether it holds the shipped descriptions of a checkout."""
    if layer is not None and into is not None:
        raise ConfigError(Problem("either --layer or --into must be given, not both"))
    if into is not None:
        return folder(into, "--into"), False
    root = project_root(os.path.realpath(folder(None, "")))
    if layer is None:
        commands = os.path.join(root, "gateway", FOLDER)
        if os.path.isfile(os.path.join(commands, "analyse.py")) and os.path.isfile(os.path.join(root, "tools.yaml")):
            return commands, True
    if layer not in (None, *LAYERS):
        raise ConfigError(Problem(f"--layer must be one of {', '.join(LAYERS)} (got `{layer}`)"))
    base = {"project": os.path.join(root, ".gateway"), "enterprise": here.enterprise}.get(layer or "", here.config)
    return os.path.join(base, FOLDER), False


def _check_free(name: str, target: str, path: str, shipped: bool) -> None:
    """Raises ConfigError where the folder describes the program already."""
    if os.path.lexists(path):
        raise ConfigError(Problem("the file must not be there yet", file=path, remedy="edit it"))
    found = _describing(name, target)
    if found or shipped:
        message = f"`{name}` must be described once in a folder (got it again)"
        raise ConfigError(Problem(message, file=path, remedy=f"it stands in {found or 'another file'} already"))


def _describing(name: str, target: str) -> str:
    """The file of a folder that speaks of a program, "" if none does."""
    from gateway.layers import read_file
    from gateway.spec.yamltext import load

    try:
        files = sorted(os.listdir(target))
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(Problem(f"cannot be listed: {error.strerror}", file=target)) from error
    for file in files:
        path = os.path.join(target, file)
        if file.endswith(".yaml"):
            document = load(read_file(path), path)
            names = [node.value for key in ("names", "programs") for node in document.get(key) or ()]
            if name in names:
                return path
    return ""


def _read_help(path: str) -> HelpOptions:
    from gateway.spec.helptext import read_help

    if path == "-":
        try:
            data = read_input(MAX_HELP, "the help")
        except CallError as error:
            raise ConfigError(error.problems) from error
    else:
        try:
            with open(path, "rb") as file:
                data = file.read(MAX_HELP + 1)
        except OSError as error:
            raise ConfigError(Problem(f"cannot be read: {error.strerror}", file=path)) from error
        if len(data) > MAX_HELP:
            raise ConfigError(Problem(f"the help must be at most {MAX_HELP:,} bytes", file=path))
    return read_help(data.decode("utf-8", "replace"))


def _write_new(path: str, text: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigError(Problem("the file must not be there yet", file=path, remedy="edit it")) from error
    except OSError as error:
        raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=path)) from error
