"""GitHub Copilot CLI: how an event is spelled in its settings chooses the form of what comes.

`preToolUse` sends `toolName` and does not name itself; `PreToolUse`, which VS Code's agent has as well, sends
`tool_name` and `hook_event_name`. Both take the same flat answer. A question is safe: where nobody is there it is a
refusal. A tool of a server is called `SERVER-TOOL`, which leaves open where the one ends. What a prompt names with `@`
is told to the model by its name alone, pictures whole.
"""

from __future__ import annotations

from gateway.agents.base import (
    AFTER,
    ALLOW,
    ASK,
    BEFORE,
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

NAME = "copilot"
EVENTS = {
    "preToolUse": BEFORE,
    "PreToolUse": BEFORE,
    "permissionRequest": PERMISSION,
    "PermissionRequest": PERMISSION,
    "postToolUse": AFTER,
    "PostToolUse": AFTER,
    "postToolUseFailure": AFTER,
    "PostToolUseFailure": AFTER,
    "userPromptSubmitted": PROMPT,
}
REWRITES = ("bash", "Bash")
UNSEEN_INPUT = False  # what is typed into a command is a call of its own, `write_bash`


def read(given: Mapping[str, Any], environment: Mapping[str, str], servers: tuple[str, ...] = ()) -> Event:
    """What Copilot CLI says. Raises Misfit."""
    unlike(given, "Copilot CLI", "turn_id", "prompt_id", "cursor_version", "conversation_id", "mcp_context")
    if "toolName" in given or "sessionId" in given:
        name = _own_name(given)
        tool, arguments = "toolName", "toolInput" if EVENTS[name] == PERMISSION else "toolArgs"
        session, result = "sessionId", "toolResult"
    else:
        name = event_name(given, EVENTS)
        # Claude Code says the same but for this.
        if EVENTS[name] != PERMISSION and "timestamp" not in given:
            raise Misfit("`timestamp` must be there")
        tool, arguments, session, result = "tool_name", "tool_input", "session_id", "tool_result"
    kind = EVENTS[name]
    event = Event(
        NAME,
        name,
        kind,
        cwd=text(given, "cwd", needed=True),
        roots=(environment.get("COPILOT_PROJECT_DIR", ""), environment.get("CLAUDE_PROJECT_DIR", "")),
        session=text(given, session, needed=True),
    )
    if kind == PROMPT:
        from gateway.agents.prompts import mentions

        return event.replace(reads=mentions(text(given, "prompt")))
    called = text(given, tool, needed=True)
    mark = "/" if "/" in called else "-"
    return event.replace(
        tool=called,
        input=fields(given, arguments),
        names=joined(called, mark, servers) or (called,),
        id=text(given, "tool_use_id"),
        became=_became(given, result) if kind == AFTER else None,
    )


def _own_name(given: Mapping[str, Any]) -> str:
    """The event, which the form in camel case tells by its fields alone."""
    name = text(given, "hookName") or text(given, "hookEventName")
    if name:
        if EVENTS.get(name) is None:
            raise Misfit(f"event `{name[:80]}` is not one that the gateway answers")
        return name
    if "prompt" in given and "toolName" not in given:
        return "userPromptSubmitted"
    if "toolInput" in given:
        return "permissionRequest"
    if "toolResult" in given:
        return "postToolUse"
    return "postToolUseFailure" if "error" in given else "preToolUse"


def _became(given: Mapping[str, Any], result: str) -> Became:
    if "error" in given:
        return Became(True, 1, size(given["error"]))
    found = given.get(result, given.get("tool_response"))
    kind = found.get("resultType", found.get("result_type", "success")) if found.__class__ is dict else "success"
    return Became(kind != "success", int(kind != "success"), size(found))


def render(event: Event, answer: Answer) -> Reply:
    """The answer in the exact form of the event."""
    decision = answer.decision
    if event.kind == AFTER or decision == SILENCE:
        return NOTHING
    if event.kind == PERMISSION:
        if decision == ALLOW:
            return said({"behavior": "allow"})
        return said({"behavior": "deny", "message": reason(answer.reason)})
    if event.kind == PROMPT:
        return NOTHING if decision == ALLOW else _refused_prompt(answer.reason)
    found: dict[str, Any] = {"permissionDecision": decision if decision in (ALLOW, ASK) else DENY}
    if decision != ALLOW:
        found["permissionDecisionReason"] = reason(answer.reason)
    elif answer.changed is not None:
        found["modifiedArgs"] = dict(answer.changed)
    return said(found)


def refuse(event: str, why: str) -> Reply:
    """A refusal of an event that may not have been read. Nothing can be refused after a call."""
    kind = EVENTS.get(event, BEFORE)
    if kind == AFTER:
        return Reply(b"", (reason(why) + "\n").encode(), 0)
    if kind == PERMISSION:
        return said({"behavior": "deny", "message": reason(why)})
    return _refused_prompt(why) if kind == PROMPT else universal_refusal(why)


def _refused_prompt(why: str) -> Reply:
    """The one form that is obeyed: with another exit status, Copilot CLI takes the hook for one that failed, and the
    prompt."""
    return said({"decision": "block", "reason": reason(why)})
