"""The parameters of every command, and what follows from what they open: the part of `gateway/commands/gateway.yaml`
that says which files a call of `gateway` reads and writes.

There is no third kind beside a mark (`gateway.frontends.parameter_files`) and a known metavariable, so that a new
parameter cannot be forgotten.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, get_type_hints

from gateway.core.value import Value
from gateway.frontends.parameter_files import Opens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BEGIN, END = "# generated: begin\n", "# generated: end\n"
# What stands for values that name no file: words of ours, patterns, addresses, texts that the caller writes himself.
NO_FILE = frozenset((
    "AGENT", "ANSWER", "CALL", "CMD", "COLUMNS", "DIGEST", "DOLLARS", "FORMAT", "HEAD", "HOST", "HOST:PORT", "ID",
    "JSON", "LAYER", "MODE", "N", "NAME", "NAME: VALUE", "NUMBER", "PATTERN", "SECONDS", "TASK", "TEXT", "TIME", "TOOL",
    "URL", "VAR", "WAY", "WHAT", "WORD", "[TEXT]", "policy|tools|command|explain",
))  # fmt: skip


class Parameter(Value):
    """A parameter as a user gives it. `names`: the spellings of an option, () for an argument. `opens`: its mark, None
    where it names no file. `metavar`: what help puts in place of its value."""

    names: tuple[str, ...]
    metavar: str
    opens: Opens | None
    repeats: bool = False
    required: bool = False
    is_flag: bool = False


def commands() -> Iterator[tuple[tuple[str, ...], tuple[Parameter, ...]]]:
    """Every command of the command line by its words, with its parameters in order."""
    from typer.main import get_command

    from gateway.frontends.cli.app import build

    yield from _below(get_command(build()), ())


def _below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[Parameter, ...]]]:
    if not hasattr(command, "commands"):
        yield words, tuple(_parameters(command))
        return
    for name, each in command.commands.items():
        yield from _below(each, (*words, name))


def _parameters(command: Any) -> Iterator[Parameter]:
    hints = get_type_hints(inspect.unwrap(command.callback), include_extras=True)
    for each in command.params:
        marks = [mark for mark in getattr(hints[each.name], "__metadata__", ()) if isinstance(mark, Opens)]
        is_option = each.param_type_name == "option"
        names = (*each.opts, *each.secondary_opts) if is_option else ()
        if is_option and each.is_flag:
            yield Parameter(names, "", None, is_flag=True)
        else:
            yield Parameter(
                names,
                "NUMBER" if each.type.name.startswith(("int", "float")) else each.metavar or "",
                opens=marks[0] if marks else None,
                repeats=each.multiple if is_option else each.nargs < 0,
                required=each.required,
            )


def described() -> str:
    """The generated part: the parameters of each command as a group that its subcommand uses."""
    lines = ["groups:"]
    for words, parameters in commands():
        lines.append(f"  {' '.join(words)}: {json.dumps(_group(parameters))}")
    return "\n".join(lines) + "\n"


def _group(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    flags, values, options, operands = ["-h", "--help"], [], {}, []
    special: dict[str, None] = {}
    for each in parameters:
        opens = each.opens
        if opens is not None and opens.special:
            special[opens.special] = None
        if not each.names:
            operands.append(_slot(each))
        elif each.is_flag:
            flags += each.names
        elif opens is None:
            values.append("|".join(each.names))
        else:
            options["|".join(each.names)] = {"value": "path", "does": list(opens.does)} | _tree(opens)
    found: dict[str, Any] = {"flags": " ".join(flags)}
    if values:
        found["values"] = " ".join(values)
    if options:
        found["options"] = options
    if special:
        found["special"] = list(special)
    return {**found, "operands": operands}


def _tree(opens: Opens) -> dict[str, Any]:
    return {"tree": True} if opens.tree else {}


def _slot(parameter: Parameter) -> dict[str, Any]:
    opens = parameter.opens
    found: dict[str, Any] = {"kind": "text"}
    if opens is not None:
        found = {"kind": "path", "does": list(opens.does)} | _tree(opens)
    if parameter.repeats:
        found["rest"] = True
    if not parameter.required:
        found["optional"] = True
    return found
