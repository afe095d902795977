"""What only a person may accept: asked at a terminal, or accepted beforehand by the digest of what was shown."""

from __future__ import annotations

import sys

from gateway.core.errors import ConfigError, Problem
from gateway.frontends.output import write
from gateway.policy.wording import visible
from gateway.render.style import is_terminal

BEFOREHAND = "run it at a terminal, or give --yes DIGEST after looking at it"


def agreed(question: str, given: str, remedy: str = BEFOREHAND) -> bool:
    """A person's answer at a terminal. `given`: what is given so, as in "trust"; `remedy`: what to do where there is
    no terminal. Raises ConfigError there: nobody else may agree."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise ConfigError(Problem(f"{given} must be given by a person at a terminal", remedy=remedy))
    write(f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def require_digest(given: str, digest: str, of_what: str) -> None:
    """Raises ConfigError where what was accepted beforehand, `given`, is not what is there."""
    if given != digest:
        raise ConfigError(
            Problem(
                f"--yes must be the digest of {of_what} (got `{visible(given)}`, it is `{digest}`)",
                remedy="look at it again: it is not what was accepted",
            )
        )
