"""Calls that try a hook as an agent would: what each agent writes, and what it takes for a refusal. Pure."""

from __future__ import annotations

import json

from gateway.model.record import CANARY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Refused by the built-in policy, which nothing leaves out.
DENIED = "cat ~/.ssh/id_rsa"
ALLOWED = "true"
GARBAGE = b"not what an agent writes"
BEFORE = {
    "claude": "PreToolUse",
    "codex": "PreToolUse",
    "gemini": "BeforeTool",
    "copilot": "preToolUse",
    "cursor": "preToolUse",
    "opencode": "tool.execute.before",
}
_REFUSALS = ("deny", "block")


def call_of(agent: str, command: str, folder: str) -> bytes:
    """What an agent writes when it is about to run a shell command in a folder."""
    return json.dumps(_CALLS[agent](command, folder)).encode()


def is_refused(status: int, stdout: bytes, stderr: bytes) -> bool:
    """Whether every agent would take this for a refusal of the call: said in so many words, or by exit status 2 with a
    reason."""
    try:
        answer = json.loads(stdout) if stdout.strip() else None
    except ValueError:
        return False
    if isinstance(answer, dict):
        own = answer.get("hookSpecificOutput")
        said = [answer.get("decision"), answer.get("permission"), answer.get("permissionDecision")]
        said.append(own.get("permissionDecision") if isinstance(own, dict) else None)
        return any(each in _REFUSALS for each in said)
    return status == 2 and bool(stderr.strip())


def is_let_run(agent: str, status: int, stdout: bytes, stderr: bytes) -> bool:
    """Whether the agent would run the call, or ask about it."""
    if status != 0 or is_refused(status, stdout, stderr):
        return False
    if agent != "opencode":
        return True
    try:
        return bool(json.loads(stdout).get("decision") == "allow")
    except (ValueError, AttributeError):
        return False


def _claude(command: str, folder: str) -> dict[str, Any]:
    return {
        "session_id": CANARY, "transcript_path": "", "cwd": folder, "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command},
        "tool_use_id": CANARY,
    }  # fmt: skip


def _codex(command: str, folder: str) -> dict[str, Any]:
    more = {"turn_id": CANARY, "transcript_path": None, "model": "none", "permission_mode": "bypassPermissions"}
    return _claude(command, folder) | more


def _gemini(command: str, folder: str) -> dict[str, Any]:
    return {
        "session_id": CANARY, "transcript_path": "", "cwd": folder, "hook_event_name": "BeforeTool",
        "timestamp": "2026-01-01T00:00:00.000Z", "tool_name": "run_shell_command", "tool_input": {"command": command},
    }  # fmt: skip


def _copilot(command: str, folder: str) -> dict[str, Any]:
    return {
        "sessionId": CANARY, "timestamp": 1767225600000, "cwd": folder, "toolName": "bash",
        "toolArgs": {"command": command},
    }  # fmt: skip


def _cursor(command: str, folder: str) -> dict[str, Any]:
    return {
        "conversation_id": CANARY, "generation_id": CANARY, "model": "none", "hook_event_name": "preToolUse",
        "cursor_version": "0", "workspace_roots": [folder], "user_email": None, "transcript_path": None,
        "tool_name": "Shell", "tool_input": {"command": command, "working_directory": folder}, "tool_use_id": CANARY,
        "cwd": folder,
    }  # fmt: skip


def _opencode(command: str, folder: str) -> dict[str, Any]:
    return {
        "event": "tool.execute.before", "tool": "bash", "sessionID": CANARY, "callID": CANARY,
        "args": {"command": command}, "servers": [], "directory": folder, "worktree": folder,
    }  # fmt: skip


_CALLS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "copilot": _copilot,
    "cursor": _cursor,
    "opencode": _opencode,
}
