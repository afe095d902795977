"""Codex CLI: `hooks.json` or `[hooks]`, Claude Code's shape with a strict schema of its own.

Of allow, ask and unknown keys it only knows that the hook failed, and runs the call: so an allow is silence, a refusal
has exactly one shape, and nothing else is ever said. A question can be answered where Codex is about to ask itself
(PermissionRequest).
"""

from __future__ import annotations

from gateway.agents.base import (
    AFTER,
    ALLOW,
    BEFORE,
    NOTHING,
    PERMISSION,
    SILENCE,
    Became,
    Event,
    Reply,
    event_name,
    fields,
    reason,
    said,
    server_name,
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

NAME = "codex"
EVENTS = {"PreToolUse": BEFORE, "PermissionRequest": PERMISSION, "PostToolUse": AFTER}
REWRITES = ("Bash",)
UNSEEN_INPUT = True  # `write_stdin` fires no hook
_MODES = {"plan": "plan", "dontAsk": "dont_ask", "acceptEdits": "accept_edits", "bypassPermissions": "bypass"}


def read(given: Mapping[str, Any], _environment: Mapping[str, str], _servers: tuple[str, ...] = ()) -> Event:
    """What Codex says. Raises Misfit."""
    unlike(given, "Codex", "prompt_id", "cursor_version", "conversation_id", "timestamp", "toolName", "sessionId")
    name = event_name(given, EVENTS)
    kind = EVENTS[name]
    text(given, "turn_id", needed=True)
    tool = text(given, "tool_name", needed=True)
    mode = text(given, "permission_mode", needed=True)
    return Event(
        NAME,
        name,
        kind,
        tool=tool,
        input=fields(given, "tool_input"),
        names=(tool,),
        server=server_name(tool)[0],
        cwd=text(given, "cwd", needed=True),
        session=text(given, "session_id", needed=True),
        id=text(given, "tool_use_id", needed=kind == BEFORE),
        mode=_MODES.get(mode, ""),
        own_mode=mode,
        subagent=text(given, "agent_type") or ("sub-agent" if given.get("agent_id") else ""),
        became=Became(size=size(given.get("tool_response"))) if kind == AFTER else None,
    )


def render(event: Event, answer: Answer) -> Reply:
    """The answer in the exact form of the event."""
    decision = answer.decision
    if event.kind == AFTER or decision == SILENCE:
        return NOTHING
    if event.kind == PERMISSION:
        if decision == ALLOW:
            return _own(event.name, {"decision": {"behavior": "allow"}})
        return _own(event.name, {"decision": {"behavior": "deny", "message": reason(answer.reason)}})
    if decision == ALLOW:
        if answer.changed is None:
            return NOTHING
        changed = {"command": answer.changed["command"]}
        return _own(event.name, {"permissionDecision": "allow", "updatedInput": changed})
    return _own(event.name, {"permissionDecision": "deny", "permissionDecisionReason": reason(answer.reason)})


def _own(name: str, found: dict[str, Any]) -> Reply:
    return said({"hookSpecificOutput": {"hookEventName": name, **found}})


def refuse(event: str, why: str) -> Reply:
    """A refusal of an event that may not have been read. Nothing can be refused after a call."""
    kind = EVENTS.get(event, BEFORE)
    if kind == AFTER:
        return Reply(b"", (reason(why) + "\n").encode(), 0)
    if kind == PERMISSION:
        return _own(event, {"decision": {"behavior": "deny", "message": reason(why)}})
    return universal_refusal(why)
