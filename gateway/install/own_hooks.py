"""Recognises our own hooks by their command lines, among those of others. Pure."""

from __future__ import annotations

import os
import shlex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# The fields in which agents keep a command line.
_FIELDS = ("command", "bash")
# The second is where it lay before the package was laid out anew.
_CLIENTS = ("gateway/frontends/service/client.py", "gateway/service/client.py")


def hook_words(handler: Any) -> tuple[str, ...]:
    """The words of a hook's command line as it stands in settings, () if it has none that can be read."""
    if not isinstance(handler, dict):
        return ()
    for field in _FIELDS:
        text = handler.get(field)
        if isinstance(text, str):
            if isinstance(handler.get("args"), list):
                return (text, *map(str, handler["args"]))
            try:
                return tuple(shlex.split(text))
            except ValueError:
                return ()
        if isinstance(text, list):
            return tuple(map(str, text))
    return ()


def handlers(entry: Any) -> tuple[Any, ...]:
    """The hooks of an entry of a list of hooks: those of its group, or the entry itself."""
    if isinstance(entry, dict) and isinstance(entry.get("hooks"), list):
        return tuple(entry["hooks"])
    return (entry,)


def is_own(entry: Any) -> bool:
    """Whether an entry of a list of hooks starts the gateway, and nothing else."""
    found = handlers(entry)
    return bool(found) and all(agent_of(hook_words(each)) for each in found)


def agent_of(words: Sequence[str]) -> str:
    """The agent that a hook's command line is for: `… gateway hook AGENT …`; "" if it is not one of ours."""
    for at, word in enumerate(words[:-1]):
        if word == "hook" and at and not words[at + 1].startswith("-"):
            program = words[at - 1]
            if os.path.basename(program) == "gateway" or program.endswith(_CLIENTS):
                return words[at + 1]
    return ""
