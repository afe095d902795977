"""Gemini CLI: `BeforeTool`, `AfterTool` and `BeforeAgent`, a decision at the top of one JSON object.

It reads standard output before it looks at the exit status, and waits for ever where it is told to ask and nobody is
there, which no hook can see; tools of servers that its settings trust run whatever it is told to ask. When a prompt
reaches a hook, the files that it names have been read, but no model has seen them: a refusal throws both away.
"""

from __future__ import annotations

from gateway.agents.base import (
    AFTER,
    ALLOW,
    ASK,
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

NAME = "gemini"
EVENTS = {"BeforeTool": BEFORE, "AfterTool": AFTER, "BeforeAgent": PROMPT}
REWRITES = ("run_shell_command",)
UNSEEN_INPUT = False
_OF_A_SERVER = "mcp_"


def read(given: Mapping[str, Any], environment: Mapping[str, str], servers: tuple[str, ...] = ()) -> Event:
    """What Gemini CLI says. Raises Misfit."""
    unlike(given, "Gemini CLI", "turn_id", "prompt_id", "cursor_version", "toolName", "sessionId", "tool_use_id")
    name = event_name(given, EVENTS)
    kind = EVENTS[name]
    event = Event(
        NAME,
        name,
        kind,
        cwd=text(given, "cwd", needed=True),
        roots=(environment.get("GEMINI_PROJECT_DIR", ""),),
        session=text(given, "session_id", needed=True),
    )
    if kind == PROMPT:
        from gateway.agents.prompts import pulled_in

        return event.replace(reads=pulled_in(text(given, "prompt")))
    tool = text(given, "tool_name", needed=True)
    names, server = _names(given, tool, servers)
    return event.replace(
        tool=tool,
        input=fields(given, "tool_input"),
        names=names,
        server=server,
        became=_became(given) if kind == AFTER else None,
    )


def _names(given: Mapping[str, Any], tool: str, servers: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The canonical names of a tool, and its server."""
    context = given.get("mcp_context")
    if context is not None:
        if context.__class__ is not dict:
            raise Misfit("`mcp_context` must be an object")
        server = text(context, "server_name", needed=True)
        return (f"mcp__{server}__{text(context, 'tool_name', needed=True)}",), server
    if tool.startswith(_OF_A_SERVER):
        return joined(tool[len(_OF_A_SERVER) :], "_", servers) or (tool,), ""
    return (tool,), ""


def _became(given: Mapping[str, Any]) -> Became:
    response = given.get("tool_response")
    if response.__class__ is not dict:
        return Became(size=size(response))
    failed = bool(response.get("error"))
    return Became(failed, int(failed), size(response.get("llmContent")))


def render(event: Event, answer: Answer) -> Reply:
    """The answer in the exact form of the event."""
    decision = answer.decision
    if event.kind == AFTER or decision == SILENCE:
        return NOTHING
    if decision == ALLOW:
        if answer.changed is None or event.kind == PROMPT:
            return said({"decision": "allow"})
        changed = {name: value for name, value in answer.changed.items() if event.input.get(name) != value}
        return said({"decision": "allow", "hookSpecificOutput": {"hookEventName": event.name, "tool_input": changed}})
    return said(
        {"decision": "ask" if decision == ASK and event.kind == BEFORE else "deny", "reason": reason(answer.reason)}
    )


def refuse(event: str, why: str) -> Reply:
    """A refusal of an event that may not have been read. Nothing can be refused after a call."""
    if EVENTS.get(event) == AFTER:
        return Reply(b"", (reason(why) + "\n").encode(), 0)
    return universal_refusal(why)
