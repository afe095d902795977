"""`gateway console`: opens a page where a person sees, answers and takes back."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from gateway.approval.page_wire import KEPT, process_words
from gateway.core.errors import ConfigError, Problem
from gateway.frontends.cli.numbers import at_least
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER
from gateway.frontends.session import folder
from gateway.render.style import is_terminal

_NEEDED = ("starlette", "uvicorn")


def console(
    port: Annotated[
        int, typer.Option("--port", metavar="N", parser=at_least(0), help="The port to listen on; 0: any free one.")
    ] = 0,
    print_: Annotated[bool, typer.Option("--print", help="Show the address instead of opening a browser.")] = False,
    reader: Annotated[
        bool, typer.Option("--reader", help="Show a line for `curl` too, with a token that only reads.")
    ] = False,
    secret: Annotated[
        str | None,
        typer.Option("--secret", metavar="NAME", help="Ask for a secret of the setting `remote`, store it, and exit."),
    ] = None,
    cwd: Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="The project to show."), FOLDER] = None,
) -> int:
    """Open a page on this machine where you see what agents do and why, answer what waits, and take back what calls
    changed.

    It listens on this machine alone, and opens with a token that works once. Where the gateway asks at a
    terminal while the page is open, the question is shown in both places, and the first answer counts. It needs
    `agent-gateway[console]`. It runs until Ctrl-C.
    """
    if secret is not None:
        return _keep(secret)
    return _become(port, print_, reader, cwd)


def is_installed() -> bool:
    """Whether what the console needs is there."""
    return not _missing()


def _missing() -> list[str]:
    from importlib.util import find_spec

    return [name for name in _NEEDED if find_spec(name) is None]


def _become(port: int, print_: bool, reader: bool, cwd: str | None) -> NoReturn:
    """The process that serves takes the place of this one."""
    missing = _missing()
    if missing:
        remedy = "install `agent-gateway[console]`, in a checkout `.[console]`"
        raise ConfigError(Problem(f"the console needs {' and '.join(missing)}", remedy=remedy))
    where = folder(cwd, "--cwd")
    if port > 65_535:
        raise ConfigError(Problem(f"--port must be from 0 to 65535 (got `{port}`)"))
    words = [*process_words(), str(port), str(int(print_)), str(int(reader)), where]
    sys.stdout.flush()
    os.execve(sys.executable, words, {name: value for name, value in os.environ.items() if name in KEPT})


def _keep(name: str) -> int:
    """Keeps a secret that is typed at a terminal, where nobody sees it, or that standard input holds."""
    from getpass import getpass

    from gateway.core.places import DESK_FOLDER, places
    from gateway.frontends.console.remote import secrets

    kept = os.path.join(places().state, DESK_FOLDER)
    secrets.path_of(kept, name)
    is_typed = is_terminal(sys.stdin)
    try:
        given = getpass(f"secret `{name}`: ") if is_typed else sys.stdin.readline(secrets.LONGEST + 2).strip()
    except (EOFError, KeyboardInterrupt):
        given = ""
    os.makedirs(kept, mode=0o700, exist_ok=True)
    secrets.keep(kept, name, given)
    write(f"kept `{name}`\n")
    return 0
