"""What a repository brings that an agent starts or obeys by itself, before or beside any call of a tool. Looks, and
changes nothing.

One table for all agents: where it lies, what the agent does with it, and what the gateway sees of that.
"""

from __future__ import annotations

import glob
import os
import re

from gateway.agents import AGENTS
from gateway.core.errors import GatewayError
from gateway.core.value import Value
from gateway.install import files
from gateway.install.hook_lines import is_of_here
from gateway.install.own_hooks import agent_of, handlers, hook_words
from gateway.install.pieces import JSON, TOML, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Programs that start without any call; texts that start commands when they are loaded; texts that are obeyed.
STARTS, LOADS, OBEYED = "starts", "loads", "obeyed"
_MOST = 2_000
_SHOWN = 6


class Brought(Value):
    """One thing. `kind`: starts, loads or obeyed; `judged`: whether a hook of the gateway decides about it."""

    kind: str
    path: str
    what: str
    judged: bool = False


class Keys(Value):
    """Keys of a settings file, as `a.b`, each with what the agent does with it."""

    pattern: str
    form: str
    keys: tuple[tuple[str, str], ...]


class Texts(Value):
    """Files that count by being there. `starting`: keys at their heads that name programs."""

    pattern: str
    kind: str
    what: str
    judged: bool = False
    starting: tuple[str, ...] = ()


_SERVERS = "servers of MCP, whose programs start with the session"
_HOOKS = "hooks, which run beside ours"
_HEADS = {"hooks": _HOOKS, "mcpServers": _SERVERS}
_AGENTS_MD = Texts("AGENTS.md", OBEYED, "instructions")

TABLE: dict[str, tuple[Keys | Texts, ...]] = {
    "claude": (
        Keys(".claude/settings*.json", JSON, (
            ("hooks", _HOOKS), ("apiKeyHelper", "a program that gives the key"),
            ("awsAuthRefresh", "a program that logs in"),
            ("awsCredentialExport", "a program that gives credentials"),
            ("gcpAuthRefresh", "a program that logs in"), ("otelHeadersHelper", "a program that gives headers"),
            ("statusLine", "a program that draws the status"),
            ("subagentStatusLine", "a program that draws the status"),
            ("fileSuggestion", "a program that lists files"), ("env", "variables of all that is started"),
            ("enabledPlugins", "plugins, with hooks, servers and skills of their own"),
            ("extraKnownMarketplaces", "places that plugins come from"),
            ("enableAllProjectMcpServers", "starts the servers of `.mcp.json` without asking"),
            ("enabledMcpjsonServers", "starts servers of `.mcp.json` without asking"),
            ("permissions", "what the agent may do without asking its person"),
        )),
        Keys(".mcp.json", JSON, (("mcpServers", _SERVERS),)),
        Texts(".claude/commands/**/*.md", LOADS, "slash commands, whose text may run commands", True),
        Texts(
            ".claude/skills/**/SKILL.md", LOADS, "skills, whose text may run commands", judged=True, starting=("hooks",)
        ),
        Texts(".claude/agents/**/*.md", OBEYED, "sub-agents", starting=("hooks", "mcpServers")),
        Keys(".claude/scheduled_tasks.json", JSON, (("tasks", "prompts that run at set times"),)),
        Texts(".claude/plugins/**/plugin.json", STARTS, "plugins, with hooks, servers and skills of their own"),
        Texts(".claude/workflows/**/*", STARTS, "workflows, which are programs"),
        Texts(".claude/output-styles/*.md", OBEYED, "instructions"),
        Texts(".claude/rules/**/*.md", OBEYED, "instructions"),
        Texts("CLAUDE*.md", OBEYED, "instructions, with the files that they import by `@path`"),
        Texts(".claude/CLAUDE.md", OBEYED, "instructions, with the files that they import by `@path`"),
    ),
    "codex": (
        Keys(".codex/config.toml", TOML, (
            ("hooks", _HOOKS), ("mcp_servers", _SERVERS), ("notify", "a program that is told of each turn"),
            ("model_providers", "places that the session is sent to"),
            ("shell_environment_policy", "variables of commands"),
            ("sandbox_mode", "what commands may do"), ("approval_policy", "what the agent asks its person about"),
            ("model_instructions_file", "instructions"),
        )),
        Keys(".codex/hooks.json", JSON, (("hooks", _HOOKS),)),
        Texts(".codex/rules/*.rules", OBEYED, "rules of commands that run outside of its sandbox"),
        Texts(".codex/skills/**/SKILL.md", OBEYED, "skills"),
        Texts(".agents/skills/**/SKILL.md", OBEYED, "skills"),
        Texts("AGENTS.override.md", OBEYED, "instructions"), _AGENTS_MD,
    ),
    "gemini": (
        Keys(".gemini/settings.json", JSON, (
            ("hooks", _HOOKS), ("mcpServers", _SERVERS), ("tools.discoveryCommand", "a program that lists tools"),
            ("tools.callCommand", "a program that runs tools"), ("toolDiscoveryCommand", "a program that lists tools"),
            ("toolCallCommand", "a program that runs tools"), ("tools.sandbox", "the sandbox of commands"),
            ("context.fileName", "the names of instruction files"),
        )),
        Texts(".gemini/commands/**/*.toml", LOADS, "slash commands, whose text may run commands"),
        Texts(".gemini/extensions/*/gemini-extension.json", STARTS, "extensions, with servers and commands"),
        Texts(".gemini/skills/**/SKILL.md", OBEYED, "skills"),
        Texts(".gemini/agents/*.md", OBEYED, "sub-agents"),
        Texts(".gemini/.env", STARTS, "variables of all that is started"),
        Texts(".gemini/sandbox*", STARTS, "the sandbox that the agent starts in"),
        Texts(".gemini/system.md", OBEYED, "instructions"), Texts("GEMINI.md", OBEYED, "instructions"), _AGENTS_MD,
    ),
    "copilot": (
        Keys(".github/hooks/*.json", JSON, (("hooks", _HOOKS),)),
        Keys(".github/copilot/settings*.json", JSON, (
            ("hooks", _HOOKS), ("enabledPlugins", "plugins, with hooks, servers and skills of their own"),
            ("extraKnownMarketplaces", "places that plugins come from"),
        )),
        Keys(".claude/settings*.json", JSON, (("hooks", _HOOKS),)),
        Keys(".mcp.json", JSON, (("mcpServers", _SERVERS),)),
        Keys(".vscode/mcp.json", JSON, (("servers", _SERVERS),)),
        Texts(".github/skills/**/SKILL.md", OBEYED, "skills"), Texts(".claude/skills/**/SKILL.md", OBEYED, "skills"),
        Texts(".github/agents/*.md", OBEYED, "sub-agents, with tools and servers of their own"),
        Texts(".github/prompts/*.md", OBEYED, "instructions"),
        Texts(".github/instructions/**/*.md", OBEYED, "instructions"),
        Texts(".github/copilot-instructions.md", OBEYED, "instructions"), Texts("CLAUDE.md", OBEYED, "instructions"),
        Texts("GEMINI.md", OBEYED, "instructions"), _AGENTS_MD,
    ),
    "cursor": (
        Keys(".cursor/hooks.json", JSON, (("hooks", _HOOKS),)),
        Keys(".cursor/mcp.json", JSON, (("mcpServers", _SERVERS),)),
        Keys(".cursor/environment.json", JSON, (
            ("install", "commands that set a cloud agent up"), ("start", "commands that start with a cloud agent"),
            ("terminals", "commands that start with a cloud agent"),
        )),
        Keys(".cursor/cli.json", JSON, (("permissions", "what the agent may do without asking its person"),)),
        Texts(".cursor/commands/*.md", OBEYED, "slash commands"), Texts(".cursor/skills/**/SKILL.md", OBEYED, "skills"),
        Texts(".cursor/agents/*.md", OBEYED, "sub-agents"), Texts(".cursor/rules/**/*.mdc", OBEYED, "instructions"),
        Texts(".cursorrules", OBEYED, "instructions"), _AGENTS_MD,
    ),
    "opencode": (
        *(
            Keys(name, JSON, (
                ("plugin", "plugins, which are programs"), ("mcp", _SERVERS),
                ("formatter", "programs that run after edits"),
                ("lsp", "language servers"), ("command", "slash commands, whose text may run commands"),
                ("instructions", "instructions"), ("provider", "places that the session is sent to"),
                ("permission", "what the agent may do without asking its person"),
            ))
            for name in ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")
        ),
        Texts(".opencode/plugin*/*.[jt]s", STARTS, "plugins, which are programs"),
        Texts(".opencode/tool*/*.[jt]s", STARTS, "tools, which are programs"),
        Texts(".opencode/command*/**/*.md", LOADS, "slash commands, whose text may run commands", True),
        Texts(".opencode/agent*/**/*.md", OBEYED, "sub-agents"),
        Texts(".opencode/skill*/**/SKILL.md", OBEYED, "skills"),
        Texts(".opencode/package.json", STARTS, "packages that are installed for plugins"), _AGENTS_MD,
    ),
}  # fmt: skip
# Which keys start nothing by themselves.
_MILD = (
    "permissions", "permission", "sandbox_mode", "approval_policy", "instructions", "context.fileName",
    "model_instructions_file",
)  # fmt: skip


def brought(agent: str, project: str) -> tuple[Brought, ...]:
    """All that a project brings for an agent, but for the gateway's own hooks."""
    found: list[Brought] = []
    for each in TABLE[agent]:
        paths = _paths(project, each.pattern)
        if isinstance(each, Keys):
            for path in paths:
                found += _keys(each, path)
        elif paths:
            shown = f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else paths[0]
            own = each.kind == STARTS and all(_is_own_file(agent, path) for path in paths)
            if not own:
                found.append(Brought(each.kind, shown, each.what, each.judged))
            found += [
                Brought(STARTS, f"{path}: {key}", _HEADS[key])
                for path in paths
                for key in each.starting
                if _has_at_its_head(path, key)
            ]
    return tuple(dict.fromkeys(found))


def _paths(project: str, pattern: str) -> list[str]:
    found = glob.iglob(os.path.join(glob.escape(project), pattern), recursive=True, include_hidden=True)
    return sorted(path for path, _ in zip(found, range(_MOST), strict=False) if os.path.isfile(path))


def _has_at_its_head(path: str, key: str) -> bool:
    """Whether a Markdown file names something under this key in its front matter, in whatever spelling of YAML."""
    try:
        text = files.read(path)[1] or ""
    except GatewayError:
        return True
    head = text[3:].partition("\n---")[0] if text.startswith("---") else ""
    return re.search(rf"(?:^|[{{,\s\"']){key}[\"']?\s*:", head) is not None


def _is_own_file(agent: str, path: str) -> bool:
    """Whether it is the plugin of this very installation, to the letter."""
    from gateway.install.opencode import content, line_of

    try:
        text = files.read(path)[1] or ""
    except GatewayError:
        return False
    line = line_of(text)
    return is_of_here(agent, "", line) and text == content(line)


def _others(hooks: object) -> list[str]:
    """The events for which anything but the hook of this very installation stands."""
    if not isinstance(hooks, dict):
        return ["hooks"]
    return [
        str(event)
        for event, entries in hooks.items()
        if not isinstance(entries, list)
        or not all(_is_own(event, hook_words(each)) for entry in entries for each in handlers(entry))
    ]


def _is_own(event: str, words: tuple[str, ...]) -> bool:
    agent = agent_of(words)
    return agent in AGENTS and is_of_here(agent, event, words)


def _keys(table: Keys, path: str) -> Iterator[Brought]:
    try:
        document = opened(table.form, files.read(path)[1] or "", path)
    except GatewayError:
        yield Brought(STARTS, path, "settings that cannot be read, so that nobody can tell what they start")
        return
    for key, what in table.keys:
        value = document.get(tuple(key.split(".")))
        names = _others(value) if key == "hooks" and value else list(value) if isinstance(value, dict) else []
        if value.__class__ in (dict, list, str, bool) and value and (names or key != "hooks"):
            shown = f" ({', '.join(map(str, names[:_SHOWN]))})" if names else ""
            yield Brought(OBEYED if key in _MILD else STARTS, f"{path}: {key}{shown}", what)
