"""`gateway policy lsp`: the language server for policy files."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gateway.core.errors import ConfigError, Problem
from gateway.frontends.parameter_files import FOLDER
from gateway.frontends.session import folder
from gateway.render.style import is_terminal


def lsp(
    cwd: Annotated[
        str | None, typer.Option("--cwd", metavar="DIR", help="The folder whose project counts."), FOLDER
    ] = None,
) -> int:
    """Run the language server for policy files on standard input and output: diagnostics, hover, completion, and on
    saving what of this week's calls would have been decided differently.

    It reads only. It needs `agent-gateway[editor]`. The editor starts and ends it (docs/policies.md).
    """
    from importlib.util import find_spec

    where = folder(cwd, "--cwd")
    if find_spec("pygls") is None:
        remedy = "install `agent-gateway[editor]`, in a checkout `.[editor]`"
        raise ConfigError(Problem("the language server needs pygls", remedy=remedy))
    if is_terminal(sys.stdin):
        remedy = "tell your editor to start it: docs/policies.md"
        raise ConfigError(Problem("the language server talks to an editor (got a terminal)", remedy=remedy))
    from gateway.frontends.editor.server import serve  # lazy: an extra

    serve(where)
    return 0
