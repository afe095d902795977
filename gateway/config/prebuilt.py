"""What a wheel carries compiled, so that an installed gateway starts without reading YAML, even where it can keep
nothing: the tools, the descriptions of programs, and the shipped policies as read.

`setup.py` writes it into the built package. A checkout has none of it and reads its own files.
"""

from __future__ import annotations

import os

from gateway.core.cache import digest
from gateway.core.packed import Installed, Named, OnDisk, pack_rows, unpack_rows
from gateway.core.places import DATA
from gateway.core.plainjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TOOLS = "tools.packed"
COMMANDS = "commands.packed"
FOREIGN = "foreign.packed"
POLICIES = "policies.json"


def pack_tools(stamp: str, compiled: Mapping[str, Any]) -> bytes:
    """What `unpack_tools` reads."""
    entries = compiled["tools"]
    rest = {name: value for name, value in compiled.items() if name != "tools"}
    return pack_rows({"stamp": stamp, "rest": rest, "names": list(entries)}, list(entries.values()))


def unpack_tools(data: bytes) -> dict[str, Any]:
    """The compiled tools as `{"stamp", "tools"}`, each read when it is first asked for. Raises ValueError for what
    `pack_tools` did not make."""
    head, (lines,) = unpack_rows(data)
    return {"stamp": head["stamp"], "tools": {**head["rest"], "tools": Named(head["names"], lines)}}


def tools() -> dict[str, Any] | None:
    """What a wheel carries of them, as `unpack_tools` has it, None in a checkout. `stamp` is new whenever anything is
    that compiled forms are made of or by."""
    if TOOLS not in _loaded:
        try:
            _loaded[TOOLS] = unpack_tools(_read(TOOLS))
        except FileNotFoundError:
            _loaded[TOOLS] = None
    found: dict[str, Any] | None = _loaded[TOOLS]
    return found


def commands() -> OnDisk:
    """The packed descriptions of programs."""
    return OnDisk(Installed(os.path.join(DATA, COMMANDS)).read)


def foreign() -> OnDisk:
    """The packed tools of foreign agents."""
    return OnDisk(Installed(os.path.join(DATA, FOREIGN)).read)


def policy(content: bytes) -> dict[str, Any] | None:
    """A shipped policy as `parse_policy` gives it, without examples and tests; None for any other content."""
    if POLICIES not in _loaded:
        try:
            _loaded[POLICIES] = loads(_read(POLICIES))
        except FileNotFoundError:
            _loaded[POLICIES] = {}
    found: dict[str, Any] | None = _loaded[POLICIES].get(digest([content]))
    return found


_loaded: dict[str, Any] = {}


def _read(name: str) -> bytes:
    with open(os.path.join(DATA, name), "rb") as file:
        return file.read()
