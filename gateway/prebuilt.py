"""What a wheel carries compiled, so that an installed gateway starts without reading YAML, even where it can keep
nothing: the tools, the descriptions of programs, and the shipped policies as read.

`setup.py` writes it into the built package. A checkout has none of it and reads its own files.
"""

from __future__ import annotations

import json
import os

from gateway.cache import digest
from gateway.places import DATA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TOOLS = "tools.json"
COMMANDS = "commands.packed"
FOREIGN = "foreign.packed"
POLICIES = "policies.json"


def tools() -> dict[str, Any] | None:
    """The compiled tools as `{"stamp", "tools"}`, None in a checkout. `stamp` is new whenever anything is that compiled
    forms are made of or by."""
    found: dict[str, Any] | None = _load(TOOLS)
    return found


def commands() -> bytes:
    """The packed descriptions of programs."""
    return _read(COMMANDS)


def foreign() -> bytes:
    """The packed tools of foreign agents."""
    return _read(FOREIGN)


def policy(content: bytes) -> dict[str, Any] | None:
    """A shipped policy as `parse_policy` gives it, without examples and tests; None for any other content."""
    known = _load(POLICIES)
    return None if known is None else known.get(digest([content]))


_loaded: dict[str, Any] = {}


def _load(name: str) -> Any:
    if name not in _loaded:
        try:
            _loaded[name] = json.loads(_read(name))
        except FileNotFoundError:
            _loaded[name] = None
    return _loaded[name]


def _read(name: str) -> bytes:
    with open(os.path.join(DATA, name), "rb") as file:
        return file.read()
