"""The command lines that other programs' settings hold: absolute paths, no shell, no start-up files of Python."""

from __future__ import annotations

import os
import sys

from gateway.core.places import PACKAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CLIENT = os.path.join(PACKAGE, "frontends", "service", "client.py")


def starts() -> list[str]:
    """The interpreter and the thin client of this very installation."""
    return [sys.executable, CLIENT]


def client_line(*words: str) -> list[str]:
    """The words that start the thin client of this very installation with these words."""
    return [sys.executable, "-I", "-S", CLIENT, *words]


def hook_line(agent: str, options: Sequence[str] = ()) -> list[str]:
    """The words that an agent's settings name as its hook. They hold from a wheel, an editable install and a checkout,
    whatever the folder and the environment that the agent starts them in."""
    return client_line("hook", agent, *options)
