"""`gateway new`: the first lines of what people write: descriptions of programs, tools, rules."""

from __future__ import annotations

import os
import re
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.config.descriptions import FOLDER
from gateway.config.layers import LayerFolder, read_file, read_layer
from gateway.config.load import Options, project_root, tool_files
from gateway.config.shipped import load_descriptions, load_tools
from gateway.core.errors import CallError, ConfigError, Problem
from gateway.core.places import places
from gateway.frontends.editor_schemas import COMMAND, POLICY, TOOLS, headed, write_schema
from gateway.frontends.new_command import as_word, skeleton
from gateway.frontends.output import write
from gateway.frontends.parameter_files import INTO, READS
from gateway.frontends.pasting import shell_word
from gateway.frontends.session import folder, read_input
from gateway.policy.wording import visible

if TYPE_CHECKING:
    from gateway.core.places import Places
    from gateway.spec.helptext import HelpOptions

app = typer.Typer(
    name="new",
    help="Write the skeletons of new parts.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

LAYERS = ("user", "project", "enterprise")
MAX_HELP = 1_000_000
MAX_ID = 100


_Layer = Annotated[
    str | None, typer.Option("--layer", metavar="LAYER", help="The layer to add it to: user, project, enterprise.")
]
_Into = Annotated[str | None, typer.Option("--into", metavar="DIR", help="The folder to write it to."), INTO]


@app.command()
def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The program's name.")],
    from_help: Annotated[
        str | None,
        typer.Option("--from-help", metavar="FILE", help="List the options of this output of --help; - reads it."),
        READS,
    ] = None,
    layer: _Layer = None,
    into: _Into = None,
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
    _write_new(path, text, "" if shipped or into is not None else os.path.dirname(target), COMMAND)
    lines = [f"wrote {visible(path)}"]
    if described and not shipped:
        lines.append(
            f"note: {visible(name)} is described already; "
            + ("this stands in its place" if layer == "enterprise" else "this can only add to it")
        )
    word = as_word(name)
    call = f"'{word}'" if quote(word) == word else quote(word)
    lines += ["next:", f"  gateway explain {call}", f"  gateway commands test {shell_word(path)}"]
    write("\n".join(lines) + "\n")
    return 0


@app.command()
def tool(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool's name.")],
    layer: _Layer = None,
    into: _Into = None,
) -> int:
    """Write a tool of your own, a program with fixed words, for you to fill in. Nothing runs.

    It goes to the user layer's tools.yaml, and in a checkout of gateway to the shipped one; behind the tools that stand
    there already. It works as it is: it counts the lines of a file.
    """
    from gateway.config.tool_files import FILE
    from gateway.frontends import new_tool

    _check_tool_name(name)
    here = places()
    base, shipped = _base(here, layer, into)
    path = os.path.join(base, FILE)
    _check_free_tool(here, name, path)
    if os.path.lexists(path):
        content = read_file(path)
        kind = "builtin" if shipped else "user" if into is not None else layer or "user"
        added = new_tool.behind(name, content, path, kind)
        write(f"adds to {visible(path)}:\n{added.decode().replace(chr(13), '')}\n")
        _append(path, content, added)
    else:
        _write_new(path, new_tool.whole(name), "" if shipped or into is not None else base, TOOLS)
        write(f"wrote {visible(path)}\n")
    steps = [f"gateway tools show {name}", f"gateway check '{name}(notes.txt)'", f"gateway run '{name}(notes.txt)'"]
    if layer == "project":
        steps.insert(0, "gateway policy trust")
    write("\n".join(["next:", *(f"  {step}" for step in steps)]) + "\n")
    return 0


@app.command()
def rule(
    name: Annotated[str, typer.Argument(metavar="ID", help="The rule's id.")],
    layer: _Layer = None,
    into: _Into = None,
) -> int:
    """Write a policy rule with its examples, for you to fill in.

    It goes to a file of its own in policy.d of the user layer. Until it is filled in, it asks about a program that
    nobody has.
    """
    from gateway.frontends.new_rule import skeleton as rule_skeleton

    _check_id(name)
    here = places()
    base = _base(here, layer or (None if into is not None else "user"), into)[0]
    folder_of_rules = base if into is not None else os.path.join(base, "policy.d")
    path = os.path.join(folder_of_rules, f"{name}.yaml")
    if os.path.lexists(path):
        raise ConfigError(Problem("the file must not be there yet", file=path, remedy="edit it"))
    _check_free_id(here, name)
    is_first = _is_users(here, path) and not _user_files(here)
    _write_new(path, rule_skeleton(name, with_daily=is_first), "" if into is not None else base, POLICY)
    lines = [f"wrote {visible(path)}"]
    if is_first:
        lines.append("note: it is your first policy file, so it extends `daily`, which held for you without one")
    steps = [f"gateway policy {each} {shell_word(path)}" for each in ("test", "lint")]
    write("\n".join([*lines, "next:", *(f"  {step}" for step in steps)]) + "\n")
    return 0


def _check_tool_name(name: str) -> None:
    from gateway.spec.tools import NAME_PATTERN

    if not re.fullmatch(NAME_PATTERN, name) or name.startswith("mcp__"):
        rule = (
            "start with a letter and be at most 64 letters, digits, `_` or `-`; `mcp__` begins names of servers' tools"
        )
        raise ConfigError(Problem(f"NAME must {rule} (got `{name}`)"))


def _check_id(name: str) -> None:
    from gateway.spec.rules import ID_PATTERN

    if not re.fullmatch(ID_PATTERN, name) or len(name) > MAX_ID:
        near = re.sub("[^a-z0-9]+", "-", name.casefold()).strip("-")[:MAX_ID]
        rule = f"lower-case letters, digits and dashes, with a letter or digit first, at most {MAX_ID}"
        raise ConfigError(Problem(f"ID must be {rule} (got `{name}`)", remedy=f"write `{near}`" if near else ""))


def _check_free_tool(here: Places, name: str, path: str) -> None:
    """Raises ConfigError where a tool, or an alias, has the name already, whatever layer declares it."""
    root = project_root(os.path.realpath(folder(None, "")))
    files = tool_files(here, Options(root, root=root))
    registry = load_tools(here, files)
    if name not in registry.names():
        return
    found = registry.canonical_name(name)
    layer = registry.entry(found).get("layer", "")
    file = next((each.path for each in files if each.layer == layer), "")
    where = f"{file}:{registry.entry(found)['line']}" if file else "it is shipped with the gateway"
    message = (
        f"NAME must be the name of no tool yet (got `{name}`{f', an alias of `{found}`' if found != name else ''})"
    )
    remedy = f"edit it in {where}" if file else f"give it another name: {where}"
    raise ConfigError(Problem(message, file=path, remedy=remedy))


def _check_free_id(here: Places, name: str) -> None:
    """Raises ConfigError where a rule of a policy that holds here has the id already."""
    from gateway.judge.effective_policy import effective

    cwd = os.path.realpath(folder(None, ""))
    options = Options(cwd, root=project_root(cwd))
    brought = tool_files(here, options)
    for each in effective(here, options, load_tools(here, brought), brought).rules:
        if each.rule["id"] == name:
            message = f"ID must be the id of no rule yet (got `{name}`, of the {each.layer} layer)"
            remedy = f"give it another id; this one stands at {each.file}:{each.rule['line']}"
            raise ConfigError(Problem(message, remedy=remedy))


def _is_users(here: Places, path: str) -> bool:
    """Whether a file there would be one of the user's policy."""
    real, own = os.path.realpath(path), os.path.realpath(here.config)
    return real == os.path.join(own, "policy.yaml") or os.path.dirname(real) == os.path.join(own, "policy.d")


def _user_files(here: Places) -> bool:
    """Whether the user has a policy of their own."""
    return bool(read_layer(LayerFolder("user", here.config, here.config, here.config)))


def _append(path: str, content: bytes, added: bytes) -> None:
    """Adds to a file that is still what was read; all or nothing. Raises ConfigError where that cannot be."""
    try:
        with open(path, "r+b", buffering=0) as file:
            if file.read(len(content) + 1) != content:
                raise ConfigError(Problem("was changed meanwhile", file=path, remedy="try again"))
            try:
                left = added
                while left:
                    left = left[file.write(left) :]
            except OSError:
                file.truncate(len(content))
                raise
    except OSError as error:
        remedy = "name a folder that you may write, or make this one writable"
        raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=path, remedy=remedy)) from error


def _check_name(name: str) -> None:
    bad = not name or name[0] in "-." or "/" in name or " " in name or not name.isprintable()
    if bad or len(name) > 100:
        raise ConfigError(Problem(f"NAME must be the name of a program, without its folder (got `{name}`)"))


def _target(here: Places, layer: str | None, into: str | None) -> tuple[str, bool]:
    """The folder to write to, and whether it holds the shipped descriptions of a checkout."""
    base, shipped = _base(here, layer, into)
    if into is not None:
        return base, False
    return os.path.join(base, "gateway", FOLDER) if shipped else os.path.join(base, FOLDER), shipped


def _base(here: Places, layer: str | None, into: str | None) -> tuple[str, bool]:
    """The folder that was asked for, of a layer if none was; and whether it is a checkout of gateway, as it is where
    neither was given inside of one."""
    if layer is not None and into is not None:
        raise ConfigError(Problem("either --layer or --into must be given, not both"))
    if into is not None:
        return folder(into, "--into"), False
    root = project_root(os.path.realpath(folder(None, "")))
    if layer is None:
        analysis = os.path.join(root, "gateway", FOLDER, "analyse.py")
        if os.path.isfile(analysis) and os.path.isfile(os.path.join(root, "tools.yaml")):
            return root, True
    if layer not in (None, *LAYERS):
        raise ConfigError(Problem(f"--layer must be one of {', '.join(LAYERS)} (got `{layer}`)"))
    base = {"project": os.path.join(root, ".gateway"), "enterprise": here.enterprise}.get(layer or "", here.config)
    return base, False


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


def _write_new(path: str, text: str, base: str, kind: str) -> None:
    """A new file, whole or not at all; of the layer in `base` with what editors know its keys by. Raises ConfigError
    where that cannot be."""
    if base:
        write_schema(base, kind)
        text = headed(text, path, base, kind)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb", buffering=0) as file:
            try:
                left = text.encode()
                while left:
                    left = left[file.write(left) :]
            except OSError:
                os.unlink(path)
                raise
    except FileExistsError as error:
        raise ConfigError(Problem("the file must not be there yet", file=path, remedy="edit it")) from error
    except OSError as error:
        remedy = "name a folder that you may write, or make this one writable"
        raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=path, remedy=remedy)) from error
