"""`gateway console`: opens a page where a person sees, answers and takes back."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from gateway.approval.page_wire import KEPT, process_words
from gateway.core.errors import ConfigError, Problem
from gateway.frontends.cli.numbers import at_least
from gateway.frontends.opened import FOLDER
from gateway.frontends.session import folder

_NEEDED = ("starlette", "uvicorn")


def console(
    port: Annotated[
        int, typer.Option("--port", metavar="N", parser=at_least(0), help="Listen there; 0: wherever is room.")
    ] = 0,
    print_: Annotated[bool, typer.Option("--print", help="Show the address instead of opening a browser.")] = False,
    reader: Annotated[
        bool, typer.Option("--reader", help="Show a line for `curl` too, with a token that only reads.")
    ] = False,
    cwd: Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="The project to show."), FOLDER] = None,
) -> int:
    """Open a page on this machine where you see what agents do and why, answer what waits, and take back what calls
    changed.

    It listens on this machine alone, and opens with a token that is worth something once. Where the gateway asks at a
    terminal while the page is open, the question stands on both, and the first answer counts. It needs
    `agent-gateway[console]`. It runs until Ctrl-C.
    """
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        remedy = "install `agent-gateway[console]`, in a checkout `.[console]`"
        raise ConfigError(Problem(f"the console needs {' and '.join(missing)}", remedy=remedy))
    where = folder(cwd, "--cwd")
    if port > 65_535:
        raise ConfigError(Problem(f"--port must be from 0 to 65535 (got `{port}`)"))
    words = [*process_words(), str(port), str(int(print_)), str(int(reader)), where]
    sys.stdout.flush()
    os.execve(sys.executable, words, {name: value for name, value in os.environ.items() if name in KEPT})
