"""What the hook of a foreign agent decides, for programs that run such an agent themselves.

    from gateway.hooks import decide

    decided = decide("claude", {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {...}, ...})
    decided.answer      # what this agent is to be told, in its own form; {} for nothing

It is what `gateway hook AGENT` does with one event, without a process of its own: judged by the project's policy as its
files are now, and recorded.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from gateway.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Decided", "decide"]


class Decided(Value):
    """`answer`: the object that the agent reads, {} where it is told nothing; `said`: the refusal for agents that read
    standard error, "" for none; `status`: the exit status of a hook that says this."""

    answer: Mapping[str, Any]
    said: str = ""
    status: int = 0


def decide(
    agent: str,
    event: Mapping[str, Any],
    *,
    environment: Mapping[str, str] | None = None,
    servers: tuple[str, ...] = (),
    unattended: str = "",
    folder: str = "",
) -> Decided:
    """What `agent` (claude, codex, gemini, copilot, cursor, opencode) is answered to one event, an object as the agent
    gives it to its hooks. Never raises: any doubt is the agent's own refusal.

    `environment`: the agent's, by default this process's; `servers`: names of its MCP servers, where its names of tools
    leave them open; `unattended`: what is answered where policy asks and nobody is known to be there (ask, deny or
    defer), "" for what is safe for this agent; `folder`: where the session started, by default the working folder.
    """
    from gateway.frontends.arguments import Request
    from gateway.frontends.hook import Asked, answer
    from gateway.frontends.hook_process import Cold

    try:
        given = json.dumps(event).encode()
    except (TypeError, ValueError, RecursionError):
        given = b"null"  # which is refused in the agent's own words
    environment = dict(os.environ) if environment is None else environment
    asked = Asked("", unattended, servers=tuple(servers), folder=os.path.abspath(folder or os.getcwd()))
    reply = answer(agent, given, environment, gateways=Cold(Request()), asked=asked)
    found = json.loads(reply.stdout) if reply.stdout.strip() else {}
    return Decided(found, reply.stderr.decode("utf-8", "replace"), reply.status)
