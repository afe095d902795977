"""One rule as each agent's own file spells it, for all that write such files: the second net of `gateway init --native`
and `gateway policy export`. What is in a rule comes from policies, and stays what it is in every notation. Pure."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def in_quotes(text: str) -> str:
    """A text as TOML and Starlark take it: neither knows the pairs of escapes that JSON writes for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def for_a_shell(text: str) -> str:
    """One word of a line that a person may copy."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def plain_path(pattern: str) -> str:
    """A path of ours as patterns of files usually are."""
    return pattern[1:] if pattern.startswith("//") else pattern


def claude_command(words: str) -> str:
    """Commands of Claude Code that begin so."""
    return f"Bash({words}:*)"


def claude_tool(server: str, tool: str) -> str:
    """A tool of a server, `*` for all."""
    return f"mcp__{server}" if tool == "*" else f"mcp__{server}__{tool}"


def codex_rule(words: Sequence[str], decision: str, why: str = "") -> str:
    """Commands of Codex that begin so: a line of a `.rules` file."""
    said = f", justification={in_quotes(why)}" if why else ""
    return f'prefix_rule(pattern=[{", ".join(map(in_quotes, words))}], decision="{decision}"{said})\n'


def gemini_rule(decision: str, priority: int, *, tools: str, server: str = "", prefix: str = "") -> str:
    """A rule of Gemini CLI: tools by name, of a server, or commands that begin so. `tools`: as TOML has it; without it
    its loader drops the whole file."""
    lines = [f"mcpName = {in_quotes(server)}"] if server else []
    lines.append(f"toolName = {tools}")
    lines += [f"commandPrefix = {in_quotes(prefix)}"] if prefix else []
    return "\n".join(["[[rule]]", *lines, f'decision = "{decision}"', f"priority = {priority}"]) + "\n"


def cursor_tool(server: str, tool: str) -> str:
    """A tool of a server, for Cursor."""
    return f"Mcp({server}:{tool})"


def copilot_command(words: str) -> str:
    """Commands of Copilot CLI that begin so."""
    return f"shell({words}:*)"


def copilot_tool(server: str, tool: str) -> str:
    """A tool of a server, `*` for all."""
    return server if tool == "*" else f"{server}({tool})"
