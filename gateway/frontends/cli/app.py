"""Every command, with its help, as typer knows them."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command

from gateway.core.errors import EXIT_USAGE, ConfigError, Problem
from gateway.core.places import check_home
from gateway.frontends.arguments import CHECK, EXEC, EXPLAIN, HOOK, RUN, typed
from gateway.frontends.cli.group import Group
from gateway.frontends.output import safe_lines, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.frontends.arguments import Request

# What typer raises for wrong usage; where the class lives differs from version to version.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

_ABOUT = "Says what agents' tool calls may do, and why."
HELP = ("-h", "--help")
_VERSION = "--version"
# In the order in which help names them.
_COMMANDS = (
    "check", "explain", "run", "exec", "hook", "agent", "doctor", "pause", "init", "import", "why", "replay", "changes",
    "keep", "discard", "undo", "console",
)  # fmt: skip
# Commands that cannot be the names of modules and functions.
_ELSEWHERE = {"import": ("importing", "import_")}
_GROUPS = ("policy", "grants", "proposals", "audit", "tools", "commands", "new", "mcp", "cron", "service")


def build(only: str = "") -> typer.Typer:
    """The whole command line, or with the name of a command or group `only` that part, with `--version` none of them:
    what others need is not even imported."""
    app = typer.Typer(
        name="gateway",
        cls=Group,
        help=_ABOUT,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": list(HELP)},
    )
    app.callback()(_options)
    names = {_VERSION: (), "": (*_COMMANDS, *_GROUPS)}.get(only, (only,))
    exact = {
        "check": (CHECK, _check), "explain": (EXPLAIN, _explain), "run": (RUN, _run_call), "exec": (EXEC, _exec),
        "hook": (HOOK, _hook),
    }  # fmt: skip
    for name in names:
        if name in exact:
            app.command(name)(typed(*exact[name]))
        elif name in _COMMANDS:
            module, function = _ELSEWHERE.get(name, (name, name))
            app.command(name)(getattr(import_module(f"gateway.frontends.cli.{module}"), function))
        else:
            app.add_typer(import_module(f"gateway.frontends.cli.{name}").app, name=name, cls=Group)
    return app


def run_typer(words: Sequence[str]) -> int:
    """Runs a command and gives its exit status. Raises ConfigError for wrong usage."""
    if not words:
        run_typer(["--help"])
        return EXIT_USAGE
    try:
        if words[-1] in HELP:
            # Collected, so that it is written like any answer and not by typer, which knows no closed output.
            with redirect_stdout(StringIO()) as text:
                result = _run(words)
            write(text.getvalue())
        else:
            if words[0] != _VERSION:
                check_home()
            result = _run(words)
    except _UsageError as error:
        message = error.format_message()  # type: ignore[attr-defined]
        if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command; the message is its help
            write(message + "\n")
            return EXIT_USAGE
        message = message.rstrip(".")
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "gateway"
        remedy = f"see `{command} --help`"
        if words[0] == "exec" and len(words) > 1 and not words[1].startswith("-") and "--" not in words:
            remedy = f"a command stands behind `--`: `gateway exec -- {safe_lines(' '.join(words[1:]))}`"
        raise ConfigError(Problem(message[:1].lower() + message[1:], remedy=remedy)) from error
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit as error:  # how typer ends when nobody reads any more
        raise BrokenPipeError from error
    except typer.Exit as error:
        return error.exit_code
    return result if isinstance(result, int) else 0


def _run(words: Sequence[str]) -> object:
    only = words[0] if words[0] in (_VERSION, *_COMMANDS, *_GROUPS) else ""
    return _made(only).main(list(words), prog_name="gateway", standalone_mode=False)


@cache
def _made(only: str) -> Any:
    """What typer makes of the functions of a command or group, or of all: whoever calls several in one process has it
    made once."""
    return get_command(build(only))


def _show_version(wanted: bool) -> None:
    if wanted:
        write(f"gateway {_version()}\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option(_VERSION, help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """What stands before a command."""


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("agent-gateway")
    except PackageNotFoundError:
        return f"of a checkout, on Python {sys.version_info.major}.{sys.version_info.minor}"


def _check(request: Request) -> int:
    from gateway.frontends.cli.check import run

    return run(request)


def _explain(request: Request) -> int:
    from gateway.frontends.cli.explain import run

    return run(request)


def _run_call(request: Request) -> int:
    from gateway.frontends.cli.run import run

    return run(request)


def _hook(request: Request) -> int:
    """Never reached: `gateway.frontends.main` takes every hook for itself. Were it, it would refuse."""
    from gateway.frontends.hook_process import refuse

    refuse(f"gateway refused this call: `gateway hook {request.argument}` was not started as a hook.")


def _exec(request: Request) -> int:
    from gateway.frontends.cli.exec import run

    return run(request)
