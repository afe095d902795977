"""What a repository brings that agents start or obey by themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gateway.agents import AGENTS
from gateway.frontends.doctor_project import project_findings
from gateway.frontends.finding import BETTER, OK
from gateway.install.agents import agent_named
from gateway.install.base import PROJECT, Site
from gateway.install.hook_lines import hook_lines
from gateway.install.pieces import TEXT, Made, put
from gateway.install.repository import LOADS, OBEYED, STARTS, TABLE, brought

if TYPE_CHECKING:
    from pathlib import Path

SERVER = '{"mcpServers": {"db": {"command": "./serve"}}}'
HOOK = '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "./x"}]}]}}'
# agent, file, its text, kind, and what the line says
CASES = [
    ("claude", ".claude/settings.json", HOOK, STARTS, "settings.json: hooks (PreToolUse)"),
    ("claude", ".claude/settings.local.json", '{"apiKeyHelper": "./key"}', STARTS, "apiKeyHelper"),
    ("claude", ".claude/settings.json", '{"statusLine": {"type": "command"}}', STARTS, "statusLine"),
    ("claude", ".claude/settings.json", '{"env": {"LD_PRELOAD": "./x.so"}}', STARTS, "env (LD_PRELOAD)"),
    ("claude", ".claude/settings.json", '{"permissions": {"allow": ["Bash"]}}', OBEYED, "permissions"),
    ("claude", ".claude/settings.json", "{broken", STARTS, "settings.json"),
    ("claude", ".mcp.json", SERVER, STARTS, ".mcp.json: mcpServers (db)"),
    ("claude", ".claude/skills/x/SKILL.md", "x", LOADS, "SKILL.md"),
    ("claude", ".claude/commands/a/b.md", "x", LOADS, "b.md"),
    ("claude", ".claude/scheduled_tasks.json", '{"tasks": [{"prompt": "x"}]}', STARTS, "tasks"),
    ("claude", "CLAUDE.local.md", "x", OBEYED, "CLAUDE.local.md"),
    ("codex", ".codex/config.toml", '[mcp_servers.db]\ncommand = "x"\n', STARTS, "mcp_servers (db)"),
    ("codex", ".codex/config.toml", 'notify = ["./x"]\n', STARTS, "notify"),
    ("codex", ".codex/hooks.json", HOOK, STARTS, "hooks.json: hooks"),
    ("codex", "AGENTS.md", "x", OBEYED, "AGENTS.md"),
    ("gemini", ".gemini/settings.json", SERVER, STARTS, "mcpServers (db)"),
    ("gemini", ".gemini/settings.json", '{"tools": {"discoveryCommand": "./x"}}', STARTS, "tools.discoveryCommand"),
    ("gemini", ".gemini/extensions/e/gemini-extension.json", "{}", STARTS, "gemini-extension.json"),
    ("gemini", ".gemini/commands/x.toml", "x", LOADS, "x.toml"),
    ("copilot", ".github/hooks/x.json", HOOK, STARTS, "x.json: hooks"),
    ("copilot", ".github/copilot-instructions.md", "x", OBEYED, "copilot-instructions.md"),
    ("cursor", ".cursor/mcp.json", SERVER, STARTS, "mcpServers (db)"),
    ("cursor", ".cursor/rules/x.mdc", "x", OBEYED, "x.mdc"),
    ("opencode", "opencode.json", '{"plugin": ["x"]}', STARTS, "opencode.json: plugin"),
    ("opencode", ".opencode/plugin/x.js", "x", STARTS, "x.js"),
    ("opencode", ".opencode/command/x.md", "x", LOADS, "x.md"),
    ("opencode", ".opencode/tools/x.ts", "x", STARTS, "x.ts"),
]


def put_there(project: Path, name: str, text: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("agent", "name", "text", "kind", "says"), CASES, ids=[f"{c[0]} {c[4]}" for c in CASES])
def test_what_a_repository_brings_is_named(
    agent: str, name: str, text: str, kind: str, says: str, tmp_path: Path
) -> None:
    assert brought(agent, str(tmp_path)) == ()
    put_there(tmp_path, name, text)
    (found,) = brought(agent, str(tmp_path))
    assert found.kind == kind
    assert says in found.path
    (finding,) = project_findings(agent, "X", str(tmp_path))
    assert finding.state == (OK if kind == OBEYED or found.judged else BETTER)
    assert says in finding.details[0]


HEADS = {
    "---\nname: x\nhooks:\n  PreToolUse: []\n---\nx": ["hooks"],
    "---\n{name: x, 'hooks': {}, \"mcpServers\" : []}\n---\n": ["hooks", "mcpServers"],
    "---\nname: x\n---\nhooks: none\n": [],
    "hooks: none": [],
}


@pytest.mark.parametrize("text", HEADS)
def test_what_a_sub_agent_or_a_skill_starts_is_named(text: str, tmp_path: Path) -> None:
    put_there(tmp_path, ".claude/agents/x.md", text)
    put_there(tmp_path, ".claude/skills/x/SKILL.md", text)
    found = [each.path.rpartition("/")[2] for each in brought("claude", str(tmp_path)) if each.kind == STARTS]
    skills = [f"SKILL.md: {each}" for each in HEADS[text] if each == "hooks"]
    assert sorted(found) == sorted([f"x.md: {each}" for each in HEADS[text]] + skills)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_gateways_own_hooks_are_not_among_it(agent: str, tmp_path: Path) -> None:
    module = agent_named(agent)
    assert module is not None
    for each in module.hooks(Site(PROJECT, "/home/dev", str(tmp_path), {}), hook_lines(agent)):
        text = each.content if each.form == TEXT else put(each, "", Made())[0]
        put_there(tmp_path, each.path.removeprefix(f"{tmp_path}/"), text)
    assert [each for each in brought(agent, str(tmp_path)) if each.kind == STARTS] == []


def test_hooks_beside_ours_are_named(tmp_path: Path) -> None:
    module = agent_named("claude")
    assert module is not None
    (target,) = module.hooks(Site(PROJECT, "/home/dev", str(tmp_path), {}), hook_lines("claude"))
    settings = json.loads(put(target, "", Made())[0])
    settings["hooks"]["SessionStart"] = [{"hooks": [{"type": "command", "command": "./x"}]}]
    put_there(tmp_path, ".claude/settings.local.json", json.dumps(settings))
    assert ["hooks (SessionStart)" in each.path for each in brought("claude", str(tmp_path))] == [True]


@pytest.mark.parametrize(
    "words",
    [["/bin/sh", "-c", "./x", "gateway", "hook", "claude"], ["./gateway", "hook", "claude"]],
    ids=["another shell", "another program"],
)
def test_a_hook_that_only_looks_like_ours_is_named(words: list[str], tmp_path: Path) -> None:
    handler = {"type": "command", "command": words[0], "args": words[1:]}
    put_there(tmp_path, ".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"hooks": [handler]}]}}))
    (found,) = brought("claude", str(tmp_path))
    assert (found.kind, "hooks (PreToolUse)" in found.path) == (STARTS, True)


def test_every_agent_has_a_table() -> None:
    assert tuple(TABLE) == AGENTS
