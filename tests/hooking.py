"""What the tests of foreign agents' hooks share: what each agent says, and the hook as the process that it starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import starting
from warmed import warm

from gateway.agents import AGENTS

SESSION = "00000000-0000-4000-8000-000000000000"
# What each agent calls the tool that runs a shell command, and the event before it.
SHELLS = {
    "claude": "Bash",
    "codex": "Bash",
    "gemini": "run_shell_command",
    "copilot": "bash",
    "cursor": "Shell",
    "opencode": "bash",
}
assert tuple(SHELLS) == AGENTS


def before(agent: str, cwd: str, tool: str = "", given: dict[str, Any] | None = None) -> dict[str, Any]:
    """What an agent says before a call: of its shell tool with `ls` if nothing else is given."""
    tool, given = tool or SHELLS[agent], {"command": "ls"} if given is None else given
    if agent == "claude":
        return {
            "session_id": SESSION, "transcript_path": f"{cwd}/t.jsonl", "cwd": cwd, "prompt_id": SESSION,
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given,
            "tool_use_id": "toolu_1",
        }  # fmt: skip
    if agent == "codex":
        return {
            "session_id": SESSION, "turn_id": SESSION, "transcript_path": None, "cwd": cwd,
            "hook_event_name": "PreToolUse", "model": "gpt-x", "permission_mode": "bypassPermissions",
            "tool_name": tool, "tool_input": given, "tool_use_id": "exec-0",
        }  # fmt: skip
    if agent == "gemini":
        return {
            "session_id": SESSION, "transcript_path": f"{cwd}/t.json", "cwd": cwd, "hook_event_name": "BeforeTool",
            "timestamp": "2026-11-20T15:45:03.149Z", "tool_name": tool, "tool_input": given,
        }  # fmt: skip
    if agent == "copilot":
        return {"sessionId": SESSION, "timestamp": 1795189639657, "cwd": cwd, "toolName": tool, "toolArgs": given}
    if agent == "cursor":
        return {
            "conversation_id": SESSION, "generation_id": SESSION, "model": "x", "hook_event_name": "preToolUse",
            "cursor_version": "3.1", "workspace_roots": [cwd], "user_email": None, "tool_name": tool,
            "tool_input": given, "tool_use_id": "call_1", "cwd": cwd,
        }  # fmt: skip
    return {
        "event": "tool.execute.before", "tool": tool, "sessionID": "ses_1", "callID": "call_1", "args": given,
        "directory": cwd, "worktree": cwd,
    }  # fmt: skip


def lets_run(agent: str, out: bytes, err: bytes, status: int) -> bool:
    """Whether an agent lets a call run that it asked about with its before-tool hook and was answered so, where nothing
    else would stop it: what the clients were seen to do, the worst of it."""
    text = out.decode("utf-8", "replace").strip()
    try:
        said = json.loads(text) if text else None
    except ValueError:
        said = "broken"
    if agent == "opencode":  # the gateway's own plugin
        return status == 0 and isinstance(said, dict) and said.get("decision") == "allow"
    if agent == "gemini":  # reads what was written before it looks at the status
        if isinstance(said, dict) and "decision" in said:
            return said["decision"] not in ("deny", "block")
        return not (text or err.strip()) or status in (0, 1)
    if agent == "copilot":
        if status != 0:
            return False
        return not (isinstance(said, dict) and said.get("permissionDecision") in ("deny", "ask"))
    if agent == "cursor":
        if status == 2:
            return False
        return not (status == 0 and isinstance(said, dict) and said.get("permission") == "deny")
    if status == 2:
        return agent == "codex" and not err.strip()
    if status != 0 or not isinstance(said, dict):
        return True
    own = said.get("hookSpecificOutput")
    if not isinstance(own, dict) or own.get("hookEventName") != "PreToolUse":
        return True
    decision = own.get("permissionDecision")
    if agent == "codex":
        return not (decision == "deny" and own.get("permissionDecisionReason") and set(said) == {"hookSpecificOutput"})
    return decision not in ("deny", "ask", "defer")


def reason_in(out: bytes, err: bytes) -> str:
    """All that whoever reads a refusal may see of it."""
    return out.decode("utf-8", "replace") + err.decode("utf-8", "replace")


class World:
    """A home and a project of its own, with a user policy, in which hooks run as processes."""

    def __init__(self, folder: Path, policy: str = "", *, extends: str = "") -> None:
        self.home, self.project = folder / "home", folder / "home" / "project"
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (self.project / "sub").mkdir()
        self.config = self.home / ".config" / "gateway"
        self.config.mkdir(parents=True)
        self.state = self.home / ".local" / "state" / "gateway"
        self.policy = self.config / "policy.yaml"
        self.policy.write_text(f"version: 1\n{extends}{policy}" if extends or policy else "version: 1\nrules: []\n")
        self.folder = folder
        warm(self.home / ".cache" / "gateway")

    def environment(self, **more: str) -> dict[str, str]:
        """What hooks are started with."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {
            **kept, "HOME": str(self.home), "SHELL": "/bin/bash", "PYTHONPATH": str(Path(__file__).parents[1]), **more,
        }  # fmt: skip

    def line(self, agent: str, *options: str) -> list[str]:
        """The command line of a hook."""
        return [sys.executable, "-m", "gateway", "hook", agent, *options]

    def start(
        self, line: list[str], *, environment: dict[str, str] | None = None, **how: Any
    ) -> subprocess.Popen[bytes]:
        """A hook that runs."""
        given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
        return starting.Popen(
            line, cwd=self.project, env=environment or self.environment(), start_new_session=True, **given
        )

    def run(
        self, agent: str, said: Any, *options: str, environment: dict[str, str] | None = None, **how: Any
    ) -> tuple[bytes, bytes, int]:
        """What a hook answers: standard output, standard error and status."""
        data = said if isinstance(said, bytes) else json.dumps(said).encode()
        process = self.start(self.line(agent, *options), environment=environment, **how)
        try:
            out, err = process.communicate(data, 60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return out or b"", err or b"", process.returncode
