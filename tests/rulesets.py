"""Files of rules as people write them, and calls to judge by them, drawn at random from a few words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gateway.install.translation.common_call import FETCH, MCP, READ, SHELL, WRITE, Asked

if TYPE_CHECKING:
    import random

PROGRAMS = ("git", "npm", "rm", "ls", "cat", "make", "curl", "docker")
WORDS = (
    "push",
    "status",
    "run",
    "test",
    "build",
    "-rf",
    "--force",
    "main",
    "origin",
    "src",
    "-m",
    "a b",
    "x",
    "https://x.org/",
)
PATHS = ("src/a.py", "src/deep/b.py", ".env", "docs/x.md", "secrets/k.pem", "README.md", "a/.env/x", "build")
HOSTS = ("x.org", "api.x.org", "docs.python.org", "evil.example")
TOOLS = ("github/get_issue", "github/create", "jira/get", "my_srv/do_it")


def command(pick: random.Random) -> str:
    return " ".join([pick.choice(PROGRAMS), *(pick.choice(WORDS) for _ in range(pick.randrange(4)))])


def call(pick: random.Random) -> Asked:
    kind = pick.choice((SHELL,) * 6 + (READ, WRITE, FETCH, MCP))
    if kind == SHELL:
        text = command(pick)
        form = pick.choice(
            ("{}",) * 8
            + (
                "{} && {}",
                "{}; {}",
                "{} | {}",
                "FOO=1 {}",
                "sudo {}",
                "env {}",
                "bash -c '{}'",
                "/usr/bin/{}",
                "$({})",
                "{} > out",
                "{} 2>&1",
                "  {}",
                "{} &",
                "if {}; then {}; fi",
                "xargs {}",
                "{} $X",
                "{}\n{}",
                "timeout 5 {}",
                "'{}'",
                "{} 'q r'",
                "{}  x",
                "cd src && {}",
                "{} > /dev/null",
                "\\{}",
                "{} # {}",
                "({})",
                "! {}",
                "{} || {}",
            )
        )
        return Asked(SHELL, form.replace("{}", text, 1).replace("{}", command(pick)))
    if kind in (READ, WRITE):
        base = pick.choice(("/home/dev/project/",) * 3 + ("/home/dev/", "/", "/home/dev/project/sub/"))
        return Asked(kind, base + pick.choice(PATHS))
    if kind == FETCH:
        return Asked(
            FETCH,
            f"{pick.choice(('https', 'https', 'http'))}://{pick.choice(HOSTS)}{pick.choice(('/', '/p', ':8080/', ''))}",
        )
    return Asked(MCP, pick.choice(TOOLS))


def text_of(agent: str, pick: random.Random) -> tuple[str, str]:
    """A file for an agent: its text and its name."""
    return _FILES[agent](pick)


def _pattern(pick: random.Random) -> str:
    text = command(pick)
    return pick.choice(
        (
            text,
            text + " *",
            text + ":*",
            text + "*",
            text.split()[0] + " *",
            text.split()[0] + ":*",
            text.split()[0] + " * " + pick.choice(WORDS),
            "* " + pick.choice(WORDS),
            "* " + pick.choice(WORDS) + " *",
            text.split()[0] + " * " + pick.choice(WORDS) + " *",
            "*",
        )
    )


def _path(pick: random.Random) -> str:
    return pick.choice(
        (
            "src/**",
            "./.env",
            "**/.env",
            "*.md",
            "*.py",
            "docs/*",
            "~/notes/**",
            "//etc/**",
            "secrets/**",
            "/src/**",
            "README.md",
            ".env",
            "src/*/b.py",
            "*secret*",
            "build",
            "**/*.pem",
            "*",
            "src/a.py",
        )
    )


def _claude(pick: random.Random) -> tuple[str, str]:
    def rule() -> str:
        return pick.choice(
            (f"Bash({_pattern(pick)})",) * 5
            + (
                f"Read({_path(pick)})",
                f"Edit({_path(pick)})",
                f"WebFetch(domain:{pick.choice((*HOSTS, '*.x.org'))})",
                "mcp__github",
                "mcp__github__get_*",
                "Bash",
                "Read",
                "Edit",
                "WebFetch",
                f"Write({_path(pick)})",
                "mcp__my_srv__do_it",
                "mcp__*",
            )
        )

    lanes = {lane: [rule() for _ in range(pick.randrange(4))] for lane in ("allow", "ask", "deny")}
    return json.dumps({"permissions": lanes}), "/home/dev/project/.claude/settings.json"


def _codex(pick: random.Random) -> tuple[str, str]:
    lines = []
    for _ in range(pick.randrange(1, 7)):
        words: list[Any] = list(command(pick).replace("a b", "c").split(" "))
        at = pick.randrange(len(words))
        if pick.random() < 0.3:
            words[at] = [words[at], pick.choice(WORDS)]
        decision = pick.choice(("", ', decision="allow"', ', decision="prompt"', ', decision="forbidden"'))
        lines.append(f"prefix_rule(pattern={json.dumps(words)}{decision})")
    return "\n".join(lines) + "\n", "/home/dev/.codex/rules/x.rules"


def _gemini(pick: random.Random) -> tuple[str, str]:
    made = []
    for _ in range(pick.randrange(1, 7)):
        lines = ["[[rule]]"]
        form = pick.randrange(9)
        text = command(pick)
        if form < 4:
            lines += ['toolName = "run_shell_command"', f"commandPrefix = {json.dumps(text)}"]
        elif form < 6:
            expression = pick.choice(
                (
                    f"{text}( |$)",
                    f"{text.split()[0]} (push|status)\\b",
                    ".*--force",
                    f"{text.split()[0]} .*",
                    text,
                    f"{text}$",
                    f"{text.split()[0]}\\s+x",
                )
            )
            lines += ['toolName = "run_shell_command"', f"commandRegex = {json.dumps(expression)}"]
        elif form == 6:
            lines += ['mcpName = "github"', f"toolName = {json.dumps(pick.choice(('*', 'get_issue')))}"]
        else:
            name = pick.choice(("run_shell_command", "write_file", "read_file", "web_fetch", "*", "mcp_jira_get"))
            lines += [f"toolName = {json.dumps(name)}"]
        lines += [
            f'decision = "{pick.choice(("allow", "deny", "ask_user"))}"',
            f"priority = {pick.randrange(0, 1000, 50)}",
        ]
        if pick.random() < 0.1:
            lines.append('modes = ["yolo"]')
        made.append("\n".join(lines))
    return "\n\n".join(made) + "\n", "/home/dev/.gemini/policies/x.toml"


def _opencode(pick: random.Random) -> tuple[str, str]:
    def action() -> str:
        return pick.choice(("allow", "ask", "deny"))

    given: dict[str, Any] = {}
    for name in pick.sample(
        ("bash", "edit", "read", "webfetch", "*", "github_get_issue", "github_*", "task"), pick.randrange(1, 5)
    ):
        if name == "bash" and pick.random() < 0.9:
            keys = ["*"] * (pick.random() < 0.5) + [
                _pattern(pick).replace(":*", " *") for _ in range(pick.randrange(1, 5))
            ]
            given[name] = {key: action() for key in dict.fromkeys(keys)}
        elif name in ("edit", "read") and pick.random() < 0.7:
            keys = ["*"] * (pick.random() < 0.5) + [_path(pick) for _ in range(pick.randrange(1, 4))]
            given[name] = {key: action() for key in dict.fromkeys(keys)}
        else:
            given[name] = action()
    return json.dumps({"permission": given}), "/home/dev/.config/opencode/opencode.json"


def _vscode(pick: random.Random) -> tuple[str, str]:
    given: dict[str, Any] = {}
    for _ in range(pick.randrange(1, 7)):
        text = command(pick)
        key = pick.choice(
            (
                text,
                text.split()[0],
                f"/^{text.split()[0]} (status|build)\\b/",
                f"/^{text.split()[0]}\\b/",
                f"/{pick.choice(WORDS[:8])}/",
                f"/^{text.split()[0]}\\s+x$/i",
            )
        )
        given[key] = pick.choice(
            (True, True, False, {"approve": True, "matchCommandLine": True}, {"approve": False}, None)
        )
    edits = {_path(pick).lstrip("/"): pick.choice((True, False)) for _ in range(pick.randrange(3))}
    urls = {f"https://{pick.choice(HOSTS)}": pick.choice((True, False)) for _ in range(pick.randrange(2))}
    found = {
        "chat.tools.terminal.autoApprove": given,
        "chat.tools.edits.autoApprove": edits,
        "chat.tools.urls.autoApprove": urls,
    }
    return json.dumps(found), "/home/dev/project/.vscode/settings.json"


def _cursor(pick: random.Random) -> tuple[str, str]:
    def rule() -> str:
        program = pick.choice(PROGRAMS)
        return pick.choice(
            (
                f"Shell({program})",
                f"Shell({program}:*)",
                f"Shell({program}:{pick.choice(WORDS)} *)",
                f"Read({_path(pick)})",
                f"Write({_path(pick)})",
                f"WebFetch({pick.choice((*HOSTS, '*.x.org', '*'))})",
                "Mcp(github:*)",
                "Mcp(jira:get)",
                "Shell(*)",
            )
        )

    lanes = {lane: [rule() for _ in range(pick.randrange(5))] for lane in ("allow", "deny")}
    return json.dumps({"permissions": lanes}), "/home/dev/project/.cursor/cli.json"


def _copilot(pick: random.Random) -> tuple[str, str]:
    words = []
    for _ in range(pick.randrange(1, 6)):
        text = command(pick).replace("a b", "c")
        rule = pick.choice(
            (
                f"shell({text})",
                f"shell({text.split()[0]}:*)",
                f"shell({text.split()[0]})",
                f"write({_path(pick).replace('*', 'x')})",
                "write",
                "github(get_issue)",
                "jira",
                f"url({pick.choice(HOSTS)})",
                "shell",
            )
        )
        words.append(f"{pick.choice(('--allow-tool', '--deny-tool'))} '{rule}'")
    return "copilot " + " ".join(words) + "\n", "/home/dev/bin/agent.sh"


_FILES = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "vscode": _vscode,
    "cursor": _cursor,
    "copilot": _copilot,
}
