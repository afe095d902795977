"""The command lines that are put into settings."""

from __future__ import annotations

import sys

from gateway.core.line import client_line, hook_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def hook_lines(agent: str, options: Sequence[str] = ()) -> Callable[[str], list[str]]:
    """The command line of an agent's hook by its event, which it is told so that failures are answered in its form."""

    def line(event: str) -> list[str]:
        return hook_line(agent, (*(("--event", event) if event else ()), *options))

    return line


def is_of_here(words: Sequence[str]) -> bool:
    """Whether a command line starts the hook of this very installation."""
    start = client_line("hook")
    return list(words[: len(start)]) == start


def server_line() -> list[str]:
    """The command line of the MCP server: this Python, which looks at no variable and no folder it is started in."""
    return [sys.executable, "-I", "-m", "gateway", "mcp", "serve"]
