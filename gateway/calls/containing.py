"""Whether calls can be contained on this machine: mounts hold them, and changes are told of before they are made, so
that they can be taken back.

The path of a decision asks this only where a contained call would run without a question, so nothing of the sandbox is
loaded before.
"""

from __future__ import annotations

import os

HOLDING = ("namespaces",)
"""Backends whose mounts hold the contained plan, and that tell of changes."""


FIRST = (
    "The sandbox holds this call, so it ran without a question, and so will others: they can change nothing but the "
    "workspace, which can be taken back, and reach no host but the registry that an install reads from. "
    "`settings: {contained: ask}` asks before."
)
_TOLD = "contained-told"


def is_first(state: str) -> bool:
    """Whether this is the first contained call of a user; told once. Where that cannot be kept, it is not."""
    try:
        os.makedirs(state, mode=0o700, exist_ok=True)
        os.close(os.open(f"{state}/{_TOLD}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return False
    return True


def cannot_contain() -> str:
    """Why calls cannot be contained here, "" if they can."""
    from gateway.sandbox.backends.choose import why_none  # lazy: few calls need to know

    return why_none(only=HOLDING)
