"""The policy in programs on claude-agent-sdk.

    from claude_agent_sdk import ClaudeAgentOptions, query
    from gateway.adapters.claude_agent import guarded

    options = guarded(ClaudeAgentOptions(cwd="."), ask=my_dialog)

Every call of a tool is judged before it runs, also those of sub-agents, by the policy of the project that the session
works in, and recorded with what became of it: what `gateway init claude` does by a process for each event is done here
by hooks of the SDK. With `guarded: true` in the policy, shell commands that may run do so in the sandbox. Where policy
asks, `ask` is called as the SDK asks (`can_use_tool`).
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import os
from typing import TYPE_CHECKING, Any

from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny

from gateway.frontends.deciding import decide

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from claude_agent_sdk import ClaudeAgentOptions

    Ask = Callable[[str, Mapping[str, Any], str], bool | Awaitable[bool]]

__all__ = ["guarded"]

_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "ConfigChange")
_SECONDS = 60.0
_NOBODY = "Nobody is there to be asked, so it is refused."


def guarded(options: ClaudeAgentOptions, ask: Ask | None = None) -> ClaudeAgentOptions:
    """The options with the policy in front of every tool. `ask` is given the tool, its input and why policy asks, and
    says whether it may run; without it what policy asks about is refused. Hooks that the options have already stay;
    what another one of them rewrites is not shown to the policy, so have none that does."""
    folder = os.path.abspath(str(options.cwd)) if options.cwd else os.getcwd()
    environment = {**os.environ, **options.env, "CLAUDE_PROJECT_DIR": folder}

    wish = "deny" if ask is None else "ask"

    async def hook(event: Any, _use_id: str | None, _context: Any) -> Any:
        decided = await asyncio.to_thread(
            decide, "claude", event, environment=environment, unattended=wish, folder=folder
        )
        return dict(decided.answer)

    async def asked(tool: str, given: dict[str, Any], context: Any) -> PermissionResultAllow | PermissionResultDeny:
        if ask is None:
            return PermissionResultDeny(message=_NOBODY)
        try:
            answer = ask(tool, given, getattr(context, "decision_reason", None) or "")
            answer = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            return PermissionResultDeny(message=f"Asking failed: {type(error).__name__}.")
        return PermissionResultAllow() if answer is True else PermissionResultDeny(message="The person said no.")

    # A hook that fails is no consent.
    mine = HookMatcher(hooks=[hook], timeout=_SECONDS, on_failure="block")
    theirs: dict[Any, Any] = dict(options.hooks or {})
    hooks = theirs | {event: [mine, *theirs.get(event, ())] for event in _EVENTS if event in _known()}
    return dataclasses.replace(options, hooks=hooks, can_use_tool=asked)


def _known() -> frozenset[str]:
    """The events that this version of the SDK has hooks for."""
    from typing import get_args

    from claude_agent_sdk.types import HookEvent

    return frozenset(name for part in get_args(HookEvent) for name in (get_args(part) or (part,)))
