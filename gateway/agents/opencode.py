"""opencode: it has plugins and no hooks that are commands, so what speaks here is a plugin of ours.

    {"event": "tool.execute.before", "tool": ..., "sessionID": ..., "callID": ..., "args": {...}, "directory": ...}
    {"decision": "allow", "args": {...}}     or     {"decision": "deny", "reason": "..."}

The plugin lets nothing run that it was not told `allow` for in exactly this form with exit status 0. It cannot ask. A
tool of a server is called `SERVER_TOOL`, which leaves open where the one ends.

    {"event": "chat.message", "sessionID": ..., "files": [...], "directory": ...}
    {"event": "config.command", "command": ..., "template": ..., "directory": ...}

The first has the files that a prompt has pulled in, which no model has seen by then. The second is the text of a slash
command, as opencode starts: its shell runs before any hook, so that it is looked at as early as that.
"""

from __future__ import annotations

from gateway.agents.base import (
    AFTER,
    ALLOW,
    BEFORE,
    NOTHING,
    PROMPT,
    SILENCE,
    Became,
    Event,
    Misfit,
    Reply,
    event_name,
    fields,
    joined,
    reason,
    said,
    size,
    text,
    universal_refusal,
    unlike,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.agents.base import Answer

NAME = "opencode"
_MESSAGE, _COMMAND = "chat.message", "config.command"
EVENTS = {"tool.execute.before": BEFORE, "tool.execute.after": AFTER, _MESSAGE: PROMPT, _COMMAND: PROMPT}
REWRITES = ("bash",)
UNSEEN_INPUT = False


def read(given: Mapping[str, Any], _environment: Mapping[str, str], servers: tuple[str, ...] = ()) -> Event:
    """What the plugin says. Raises Misfit."""
    unlike(given, "the gateway's plugin", "hook_event_name", "toolName", "session_id")
    name = event_name(given, EVENTS, "event")
    kind = EVENTS[name]
    told = given.get("servers", [])
    if told.__class__ is not list or any(each.__class__ is not str for each in told):
        raise Misfit("`servers` must be a list of texts")
    cwd = text(given, "directory", needed=True)
    event = Event(NAME, name, kind, cwd=cwd, roots=(cwd,))
    if name == _COMMAND:
        from gateway.agents.prompts import shell_texts

        template = text(given, "template")
        runs = shell_texts(template, "")
        return event.replace(runs=runs, prompt=template if runs else "")
    event = event.replace(session=text(given, "sessionID", needed=True))
    if name == _MESSAGE:
        files = given.get("files")
        if files.__class__ is not list or any(each.__class__ is not str for each in files):
            raise Misfit("`files` must be a list of texts")
        return event.replace(reads=tuple(files))
    tool = text(given, "tool", needed=True)
    arguments = given.get("args")
    return event.replace(
        tool=tool,
        input={} if kind == AFTER and arguments is None else fields(given, "args"),
        names=joined(tool, "_", (*told, *servers)) or (tool,),
        id=text(given, "callID", needed=True),
        became=_became(given) if kind == AFTER else None,
    )


def _became(given: Mapping[str, Any]) -> Became:
    metadata = given.get("metadata")
    status = metadata.get("exit") if metadata.__class__ is dict else None
    status = status if status.__class__ is int and 0 <= status < 256 else 0
    return Became(status != 0, status, size(given.get("output")))


def render(event: Event, answer: Answer) -> Reply:
    """The answer in the form that the plugin reads. It takes nothing for an allow but the word, silence neither."""
    if event.kind == AFTER:
        return NOTHING
    if answer.decision in (ALLOW, SILENCE):
        changed = answer.changed
        return said({"decision": "allow"} if changed is None else {"decision": "allow", "args": dict(changed)})
    return said({"decision": "deny", "reason": reason(answer.reason)})


def refuse(event: str, why: str) -> Reply:
    """A refusal of an event that may not have been read. Nothing can be refused after a call."""
    if EVENTS.get(event) == AFTER:
        return Reply(b"", (reason(why) + "\n").encode(), 0)
    return universal_refusal(why)
