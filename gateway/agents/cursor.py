"""Cursor: `.cursor/hooks.json`, one event for each kind of thing that may be refused.

Written from its documentation, as it runs nowhere without an account. `preToolUse` takes a question and lets the call
run; `beforeShellExecution` and `beforeMCPExecution` are said to ask, but not in which modes: so policy's question is a
refusal. Its hooks must be set up with `failClosed`.
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
    reason,
    said,
    size,
    text,
    universal_refusal,
    unlike,
)
from gateway.core.plainjson import unambiguous

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.agents.base import Answer

NAME = "cursor"
EVENTS = {
    "preToolUse": BEFORE,
    "beforeShellExecution": BEFORE,
    "beforeMCPExecution": BEFORE,
    "beforeReadFile": BEFORE,
    "subagentStart": BEFORE,
    "beforeSubmitPrompt": PROMPT,
    "postToolUse": AFTER,
    "postToolUseFailure": AFTER,
    "afterShellExecution": AFTER,
    "afterMCPExecution": AFTER,
    "afterFileEdit": AFTER,
}
REWRITES = ("Shell",)
UNSEEN_INPUT = False
_OF_A_SERVER = "MCP:"


def read(given: Mapping[str, Any], environment: Mapping[str, str], servers: tuple[str, ...] = ()) -> Event:
    """What Cursor says. Raises Misfit."""
    unlike(given, "Cursor", "turn_id", "prompt_id", "permission_mode", "toolName", "sessionId", "mcp_context")
    name = event_name(given, EVENTS)
    kind = EVENTS[name]
    session = text(given, "conversation_id", needed=True)
    roots = given.get("workspace_roots")
    if roots is None:
        roots = []
    if roots.__class__ is not list or any(each.__class__ is not str for each in roots):
        raise Misfit("`workspace_roots` must be a list of texts")
    named = (environment.get("CURSOR_PROJECT_DIR", ""), environment.get("CLAUDE_PROJECT_DIR", ""))
    event = Event(
        NAME,
        name,
        kind,
        cwd=text(given, "cwd") or next(iter(roots), ""),
        roots=(*roots[:1], *named),
        session=session,
    )
    if kind == PROMPT:
        return event.replace(reads=_attached(given))
    tool, arguments = _call(given, name)
    return event.replace(
        tool=tool,
        input=arguments,
        names=_names(tool, servers),
        server=(text(given, "url") or text(given, "command")) if "MCP" in name else "",
        id=text(given, "tool_use_id"),
        became=_became(given, name) if kind == AFTER else None,
    )


def _attached(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that a prompt brings along. Raises Misfit."""
    told = given.get("attachments", [])
    if told.__class__ is not list or any(each.__class__ is not dict for each in told):
        raise Misfit("`attachments` must be a list of objects")
    return tuple([text(each, "filePath") or text(each, "file_path", needed=True) for each in told])


def _call(given: Mapping[str, Any], name: str) -> tuple[str, Mapping[str, Any]]:
    """The tool that an event speaks of, and its input."""
    if name in ("beforeShellExecution", "afterShellExecution"):
        return "Shell", {"command": text(given, "command", needed=True)}
    if name == "beforeReadFile":
        return "Read", {"file_path": text(given, "file_path", needed=True)}
    if name == "afterFileEdit":
        return "Write", {"file_path": text(given, "file_path", needed=True)}
    if name == "subagentStart":
        return "Task", {key: text(given, key) for key in ("subagent_type", "task")}
    tool = text(given, "tool_name", needed=True)
    if name in ("beforeMCPExecution", "afterMCPExecution"):
        tool = tool if tool.startswith(_OF_A_SERVER) else _OF_A_SERVER + tool
        if given.get("tool_input").__class__ is str:
            return tool, _parsed(given["tool_input"])
    return tool, fields(given, "tool_input")


def _parsed(data: str) -> Mapping[str, Any]:
    """The input of a server's tool, which Cursor sends as JSON in a text."""
    if not data.strip():
        return {}
    try:
        found = unambiguous(data)
    except (ValueError, RecursionError):
        raise Misfit("`tool_input` must be JSON") from None
    return fields({"tool_input": found}, "tool_input")


def _names(tool: str, servers: tuple[str, ...]) -> tuple[str, ...]:
    """A tool of a server does not say which one it is of: it is judged as that of each."""
    if not tool.startswith(_OF_A_SERVER):
        return (tool,)
    return tuple([f"mcp__{server}__{tool[len(_OF_A_SERVER) :]}" for server in servers]) or (tool,)


def _became(given: Mapping[str, Any], name: str) -> Became:
    spent = given.get("duration")
    seconds = spent / 1000 if spent.__class__ in (int, float) and 0 <= spent < 1e12 else 0.0
    failed = name == "postToolUseFailure"
    found = next((given[key] for key in ("output", "result_json", "tool_output", "error_message") if key in given), "")
    return Became(failed, int(failed), size(found), seconds)


def render(event: Event, answer: Answer) -> Reply:
    """The answer in the exact form of the event."""
    decision = answer.decision
    if event.kind == PROMPT:
        return said({"continue": True}) if decision in (ALLOW, SILENCE) else _refused_prompt(answer.reason)
    if event.kind == AFTER or decision == SILENCE:
        return NOTHING
    if decision == ALLOW:
        found: dict[str, Any] = {"permission": "allow"}
        if answer.changed is not None and event.name == "preToolUse":
            found["updated_input"] = dict(answer.changed)
        return said(found)
    why = reason(answer.reason)
    return said({"permission": "deny", "user_message": why, "agent_message": why})


def refuse(event: str, why: str) -> Reply:
    """A refusal of an event that may not have been read. Nothing can be refused after a call."""
    if EVENTS.get(event) == AFTER:
        return Reply(b"", (reason(why) + "\n").encode(), 0)
    return _refused_prompt(why) if EVENTS.get(event) == PROMPT else universal_refusal(why)


def _refused_prompt(why: str) -> Reply:
    return said({"continue": False, "user_message": reason(why)})
