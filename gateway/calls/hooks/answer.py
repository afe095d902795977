"""What a hook is told and what it may answer. Pure."""

from __future__ import annotations

from gateway.core.plainjson import unambiguous
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.model.call import Call
    from gateway.model.context import Context

KEYS = ("refuse", "input", "note")
MOST_TEXT = 10_000


class Said(Value):
    """A hook's answer. `refuse`: why the call must not run, "" if it may. `input`: what to call the tool with instead,
    None for no change. `note`: for the model, "" for none."""

    refuse: str = ""
    input: Mapping[str, Any] | None = None
    note: str = ""


class HookError(Exception):
    """A hook gave no answer; the message says why."""


class Nonsense(Exception):
    """An answer that is none; the message says what was answered, as the end of a sentence."""


def told(event: str, call: Call, context: Context, session: str) -> dict[str, Any]:
    """What every hook gets."""
    return {
        "event": event,
        "tool": call.tool,
        "input": dict(call.input),
        "shown": call.shown,
        "server": call.server,
        "cwd": context.cwd,
        "root": context.root,
        "mode": context.mode,
        "agent": context.agent,
        "session": session,
    }


def read(data: bytes) -> Said:
    """The answer in a program's or server's output; nothing at all is nothing to say. Raises Nonsense."""
    if not data.strip():
        return Said()
    try:
        found = unambiguous(data)
    except (ValueError, RecursionError) as error:
        raise Nonsense(f"answered with what is no JSON ({error})") from error
    return checked(found)


def checked(found: object) -> Said:
    """The answer as a value; None is nothing to say. Raises Nonsense for anything that is no answer."""
    if found is None:
        return Said()
    if not isinstance(found, dict):
        raise Nonsense("answered with what is no object")
    unknown = [str(name) for name in found if name not in KEYS]
    if unknown:
        raise Nonsense(f"answered with the key `{unknown[0][:40]}`; known are {', '.join(KEYS)}")
    for name in ("refuse", "note"):
        text = found.get(name, "")
        if not isinstance(text, str) or len(text) > MOST_TEXT:
            raise Nonsense(f"answered with a `{name}` that is no text of at most {MOST_TEXT:,} characters")
    if "refuse" in found and not found["refuse"]:
        raise Nonsense("answered with a `refuse` that says no reason")
    given = found.get("input")
    if given is not None and not isinstance(given, dict):
        raise Nonsense("answered with an `input` that is no object")
    return Said(found.get("refuse", ""), given, found.get("note", ""))
