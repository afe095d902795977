"""Claude Code: `hooks` in its settings, one JSON object each way.

It takes an answer with an invalid value anywhere for none, and runs the call: nothing is ever said for other clients'
sake. A question is shown by an attended session, handed to the host of an SDK session, and refused by a headless one,
but not in every mode (`gateway.agents.questions`).
"""

from __future__ import annotations

from gateway.agents.base import (
    AFTER,
    ALLOW,
    ASK,
    BEFORE,
    CONFIG,
    DENY,
    NOTHING,
    PERMISSION,
    PROMPT,
    SILENCE,
    Became,
    Event,
    Misfit,
    Reply,
    event_name,
    fields,
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

NAME = "claude"
EVENTS = {
    "PreToolUse": BEFORE,
    "PermissionRequest": PERMISSION,
    "PostToolUse": AFTER,
    "PostToolUseFailure": AFTER,
    "ConfigChange": CONFIG,
    "UserPromptSubmit": PROMPT,
}
REWRITES = ("Bash", "Monitor")
UNSEEN_INPUT = False
_MODES = {"plan": "plan", "dontAsk": "dont_ask", "acceptEdits": "accept_edits", "bypassPermissions": "bypass"}
_STATUS = "Exit code "


def read(given: Mapping[str, Any], environment: Mapping[str, str], _servers: tuple[str, ...] = ()) -> Event:
    """What Claude Code says. Raises Misfit."""
    unlike(given, "Claude Code", "turn_id", "cursor_version", "conversation_id", "toolName", "sessionId")
    name = event_name(given, EVENTS)
    kind = EVENTS[name]
    session = text(given, "session_id", needed=True)
    cwd = text(given, "cwd", needed=True)
    attended = environment.get("CLAUDE_CODE_SESSION_ATTENDED", "")
    own_mode = text(given, "permission_mode")
    event = Event(
        NAME, name, kind, session=session, cwd=cwd, roots=(environment.get("CLAUDE_PROJECT_DIR", ""),),
        mode=_MODES.get(own_mode, ""), own_mode=own_mode, attended={"0": False, "1": True}.get(attended),
        subagent=text(given, "agent_type") or ("sub-agent" if given.get("agent_id") else ""),
    )  # fmt: skip
    if kind == CONFIG:
        return event.replace(path=text(given, "file_path"))
    if kind == PROMPT:
        from gateway.agents.prompts import mentions

        prompt = text(given, "prompt")
        return event.replace(prompt=prompt, reads=mentions(prompt))
    tool = text(given, "tool_name", needed=True)
    server = given.get("mcp_server")
    if server is not None and server.__class__ is not dict:
        raise Misfit("`mcp_server` must be an object")
    return event.replace(
        tool=tool,
        input=fields(given, "tool_input"),
        names=(tool,),
        server=text(server, "name") if server else "",
        id=text(given, "tool_use_id", needed=kind == BEFORE),
        became=_became(given, name) if kind == AFTER else None,
    )


def _became(given: Mapping[str, Any], name: str) -> Became:
    spent = given.get("duration_ms")
    seconds = spent / 1000 if spent.__class__ in (int, float) and 0 <= spent < 1e12 else 0.0
    if name == "PostToolUse":
        return Became(size=size(given.get("tool_response")), seconds=seconds)
    said_of_it = text(given, "error")
    digits = said_of_it[len(_STATUS) :].split("\n", 1)[0].strip() if said_of_it.startswith(_STATUS) else ""
    status = int(digits) if digits.isdecimal() and len(digits) < 4 else 1
    return Became(True, status, len(said_of_it), seconds)


def render(event: Event, answer: Answer) -> Reply:
    """The answer in the exact form of the event."""
    decision = answer.decision
    if event.kind == CONFIG and decision != SILENCE and decision != ALLOW:
        return Reply(b"", (reason(answer.reason) + "\n").encode(), 2)
    if decision == SILENCE or event.kind in (AFTER, CONFIG):
        return NOTHING
    if event.kind == PROMPT:
        return NOTHING if decision == ALLOW else said({"decision": "block", "reason": reason(answer.reason)})
    if event.kind == PERMISSION:
        # Claude Code asks where a rule of its own wants it: only a refusal may come before the person's answer.
        if decision != DENY:
            return NOTHING
        return said(_own(event.name, {"decision": {"behavior": "deny", "message": reason(answer.reason)}}))
    found: dict[str, Any] = {"permissionDecision": decision}
    if decision != ALLOW:
        found["permissionDecisionReason"] = reason(answer.reason)
    if answer.changed is not None and decision in (ALLOW, ASK):
        found["updatedInput"] = dict(answer.changed)
    return said(_own(event.name, found))


def _own(name: str, found: dict[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": name, **found}}


def refuse(event: str, why: str) -> Reply:
    """A refusal of an event that may not have been read. Nothing can be refused after a call."""
    kind = EVENTS.get(event, BEFORE)
    if kind == AFTER:
        return Reply(b"", (reason(why) + "\n").encode(), 0)
    if kind == PERMISSION:
        return said(_own(event, {"decision": {"behavior": "deny", "message": reason(why)}}))
    return universal_refusal(why)
