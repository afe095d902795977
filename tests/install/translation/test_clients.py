"""What each agent's rules mean, as its documentation and its own matcher say it: one row a rule and a call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.core.errors import ConfigError
from gateway.install.translation.clients import CLIENTS
from gateway.install.translation.common_call import FETCH, MCP, READ, SHELL, WRITE, Asked
from gateway.install.translation.comparing import theirs_of
from gateway.install.translation.importing import ordered

if TYPE_CHECKING:
    from gateway.install.translation.engine import Engine

PROJECT = "/home/dev/project"


def _claude(*, allow: Any = (), ask: Any = (), deny: Any = ()) -> tuple[str, str]:
    lanes = {"allow": list(allow), "ask": list(ask), "deny": list(deny)}
    return json.dumps({"permissions": lanes}), f"{PROJECT}/.claude/settings.json"


def _codex(text: str) -> tuple[str, str]:
    return text, "/home/dev/.codex/rules/x.rules"


def _gemini(*rules: str) -> tuple[str, str]:
    return "\n".join(f"[[rule]]\n{rule}" for rule in rules), "/home/dev/.gemini/policies/x.toml"


def _shell(match: str, decision: str, priority: int) -> str:
    return f'toolName = "run_shell_command"\n{match}\ndecision = "{decision}"\npriority = {priority}\n'


def _opencode(permission: Any) -> tuple[str, str]:
    return json.dumps({"permission": permission}), f"{PROJECT}/opencode.json"


def _vscode(rules: Any) -> tuple[str, str]:
    return json.dumps({"chat.tools.terminal.autoApprove": rules}), f"{PROJECT}/.vscode/settings.json"


def _cursor(*, allow: Any = (), deny: Any = ()) -> tuple[str, str]:
    return json.dumps({"permissions": {"allow": list(allow), "deny": list(deny)}}), f"{PROJECT}/.cursor/cli.json"


def _copilot(line: str) -> tuple[str, str]:
    return f"copilot {line}\n", "/home/dev/bin/agent.sh"


NOTHING = ""
PUSH = _shell('commandPrefix = "git push"', "deny", 100)
ROWS = [
    ("claude", _claude(allow=["Bash(npm run test:*)"]), "npm run test", "allow"),
    ("claude", _claude(allow=["Bash(npm run test:*)"]), "npm run test -u", "allow"),
    ("claude", _claude(allow=["Bash(npm run test:*)"]), "npm run tests", NOTHING),
    ("claude", _claude(allow=["Bash(ls*)"]), "lsof", "allow"),
    ("claude", _claude(allow=["Bash(ls *)"]), "ls", "allow"),
    ("claude", _claude(allow=["Bash(git * main *)"]), "git push main", NOTHING),
    ("claude", _claude(allow=["Bash(git * main *)"]), "git push main x", "allow"),
    ("claude", _claude(allow=["Bash(npm test)"]), "npm test && rm x", NOTHING),
    ("claude", _claude(allow=["Bash(npm test)", "Bash(rm *)"]), "npm test && rm x", "allow"),
    ("claude", _claude(allow=["Bash"], deny=["Bash(rm:*)"]), "npm test && rm x", "deny"),
    ("claude", _claude(allow=["Bash"], ask=["Bash(git push:*)"]), "git push origin", "ask"),
    ("claude", _claude(deny=["Read(secrets/**)"]), Asked(READ, f"{PROJECT}/a/secrets/k"), "deny"),
    ("claude", _claude(allow=["Read(secrets/**)"]), Asked(READ, f"{PROJECT}/a/secrets/k"), NOTHING),
    ("claude", _claude(allow=["Read(//etc/**)"]), Asked(READ, "/etc/hosts"), "allow"),
    ("claude", _claude(allow=["Read(/src/**)"]), Asked(READ, f"{PROJECT}/src/a"), "allow"),
    ("claude", _claude(allow=["Write(src/**)"]), Asked(WRITE, f"{PROJECT}/src/a"), NOTHING),
    ("claude", _claude(allow=["WebFetch(domain:x.org)"]), Asked(FETCH, "https://x.org/a"), "allow"),
    ("claude", _claude(allow=["WebFetch(domain:x.org)"]), Asked(FETCH, "https://x.org@evil.example/"), NOTHING),
    ("claude", _claude(deny=["mcp__github"]), Asked(MCP, "github/get"), "deny"),
    ("claude", _claude(allow=["mcp__*"]), Asked(MCP, "github/get"), NOTHING),
    ("codex", _codex('prefix_rule(pattern=["git", ["push", "fetch"]], decision="prompt")'), "git fetch x", "ask"),
    ("codex", _codex('prefix_rule(pattern=["git", "push"])'), "git pull", NOTHING),
    ("codex", _codex('prefix_rule(["ls"])\nprefix_rule(["ls", "-l"], decision="forbidden")'), "ls -l", "deny"),
    ("codex", _codex('prefix_rule(pattern=["ls"])'), "'ls' x", "allow"),
    ("codex", _codex('prefix_rule(pattern=["ls"])'), "/bin/ls", NOTHING),
    ("gemini", _gemini(PUSH), "git push x", "deny"),
    ("gemini", _gemini(PUSH), "git pushx", NOTHING),
    ("gemini", _gemini(PUSH, _shell('commandPrefix = "git"', "allow", 200)), "git push x", "allow"),
    ("gemini", _gemini(_shell('commandRegex = "git (log|show)"', "allow", 1)), "git show x", "allow"),
    ("gemini", _gemini(_shell('commandRegex = "git (log|show)"', "allow", 1)), "x git show", NOTHING),
    ("gemini", _gemini('mcpName = "a"\ntoolName = "*"\ndecision = "deny"\npriority = 1'), Asked(MCP, "a/b"), "deny"),
    ("opencode", _opencode({"bash": {"*": "ask", "git *": "allow", "git push *": "deny"}}), "git push", "deny"),
    ("opencode", _opencode({"bash": {"git push *": "deny", "git *": "allow"}}), "git push", "allow"),
    ("opencode", _opencode({"bash": {"git *": "allow"}}), "git", "allow"),
    ("opencode", _opencode({"bash": {"l? *": "deny"}}), "ls x", "deny"),
    ("opencode", _opencode({"edit": {"src/*": "allow"}}), Asked(WRITE, f"{PROJECT}/src/a/b"), "allow"),
    ("opencode", _opencode({"read": {"*.env": "deny"}}), Asked(READ, f"{PROJECT}/a/x.env"), "deny"),
    ("opencode", _opencode("deny"), Asked(FETCH, "https://x.org/"), "deny"),
    ("vscode", _vscode({"git status": True}), "git status -s", "allow"),
    ("vscode", _vscode({"/^git (status|diff)\\b/": True}), "git diff", "allow"),
    ("vscode", _vscode({"/^GIT\\b/i": True}), "git diff", "allow"),
    ("vscode", _vscode({"rm": False, "/.*/": True}), "rm x", "ask"),
    ("vscode", _vscode({"rm": None}), "rm x", NOTHING),
    ("cursor", _cursor(allow=["Shell(git)"]), "git push", "allow"),
    ("cursor", _cursor(allow=["Shell(curl:https://x.org/*)"]), "curl https://x.org/a", "allow"),
    ("cursor", _cursor(allow=["Shell(curl:https://x.org/*)"]), "curl https://y.org/a", NOTHING),
    ("cursor", _cursor(allow=["Shell(*)"], deny=["Shell(rm)"]), "ls; rm x", "deny"),
    ("cursor", _cursor(deny=["Read(.env*)"]), Asked(READ, f"{PROJECT}/a/.env.local"), "deny"),
    ("copilot", _copilot("--allow-tool 'shell(git:*)' --deny-tool 'shell(git push)'"), "git push x", "deny"),
    ("copilot", _copilot("--allow-tool 'shell(git:*)'"), "gitea x", NOTHING),
    ("copilot", _copilot("--deny-tool 'write(.env)'"), Asked(WRITE, f"{PROJECT}/a/.env"), "deny"),
    ("copilot", _copilot("--allow-url x.org"), Asked(FETCH, "http://x.org/"), NOTHING),
]


@pytest.mark.parametrize(
    ("agent", "file", "call", "lane"), ROWS, ids=[f"{row[0]}-{place}" for place, row in enumerate(ROWS)]
)
def test_a_rule_means_what_its_agent_means_by_it(
    agent: str, file: tuple[str, str], call: Asked | str, lane: str, engine: Engine
) -> None:
    asked = Asked(SHELL, call) if isinstance(call, str) else call
    level = "project" if file[1].startswith(PROJECT) else "user"
    rules, _remarks = ordered(CLIENTS[agent], [(*file, level)], engine.where)
    assert theirs_of(rules, CLIENTS[agent].WAY, engine, asked).lane == lane


@pytest.mark.parametrize(
    ("agent", "file", "says"),
    [
        ("claude", ("{", "/x.json"), "x.json"),
        ("codex", _codex("for x in []:\n  pass"), "calls alone"),
        ("codex", _codex('prefix_rule(pattern=["a"], decision=x)'), "literal"),
        ("codex", _codex('prefix_rule(pattern=["a"], decision="maybe")'), "forbidden"),
        ("codex", _codex('prefix_rule(pattern="a")'), "list of words"),
        ("gemini", _gemini('decision = "deny"\npriority = 1'), "toolName"),
        ("gemini", _gemini('toolName = "x"\ndecision = "deny"\npriority = 1000'), "999"),
        ("copilot", _copilot("--allow-tool 'shell(git"), "command lines"),
    ],
)
def test_a_file_of_which_no_rule_can_be_told_is_an_error_with_its_place(
    agent: str, file: tuple[str, str], says: str, engine: Engine
) -> None:
    with pytest.raises(ConfigError, match=says) as error:
        CLIENTS[agent].read(*file, "user", engine.where)
    assert error.value.problems[0].file == file[1]
