"""Gemini CLI: `policies/*.toml` and what its settings say of tools. The rule of the highest priority that matches
decides, whatever it says; rules of the machine's owner stand above the user's, those above the workspace's.

`commandPrefix` is compared with the text of a command and has to end where a word ends; `commandRegex` is a regular
expression from its start. A redirection makes an allow a question, unless `allowRedirection` is set. A file that its
schema does not take is skipped whole, an unknown key is dropped; both without a word at the start.
"""

from __future__ import annotations

import os
import re
import tomllib

from gateway.core.errors import ConfigError, Problem
from gateway.install.gemini import NAME, TITLE
from gateway.install.jsonc import MISSING, JsonDocument
from gateway.install.translation.common_call import FETCH, MCP, READ, SHELL, WRITE
from gateway.install.translation.deciding import FIRST
from gateway.install.translation.matching import Command, Everything
from gateway.install.translation.matching_expressions import Expression
from gateway.install.translation.matching_targets import Server, everything
from gateway.install.translation.places import Place, json_line, managed, user_and_project
from gateway.install.translation.rules import ALLOW, ASK, DENY, Remark, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.install.base import Site
    from gateway.install.translation.common_call import Where
    from gateway.install.translation.matching import Test

WAY = FIRST
PATH_PROGRAMS: frozenset[str] = frozenset()
_LANES = {"allow": ALLOW, "ask_user": ASK, "deny": DENY}
_TIERS = {"project": 3, "user": 4, "managed": 5}
_TOOLS = {
    "run_shell_command": SHELL, "ShellTool": SHELL, "read_file": READ, "read_many_files": READ, "list_directory": READ,
    "glob": READ, "grep_search": READ, "search_file_content": READ, "write_file": WRITE, "replace": WRITE,
    "web_fetch": FETCH,
}  # fmt: skip
_KEYS = frozenset(
    [
        "toolName",
        "subagent",
        "mcpName",
        "argsPattern",
        "commandPrefix",
        "commandRegex",
        "decision",
        "priority",
        "modes",
        "interactive",
        "toolAnnotations",
        "allowRedirection",
        "allow_redirection",
        "denyMessage",
        "deny_message",
    ]
)
_EXCLUDED, _CONFIRMED, _ALLOWED, _TRUSTED, _SERVERS = 4.4, 4.35, 4.3, 4.2, 4.1
_COMMAND = '"command":"'


def places(site: Site) -> tuple[Place, ...]:
    """Where Gemini CLI takes its policies and settings from on this machine."""
    from gateway.install import gemini

    user, project = user_and_project(gemini, site)
    return (
        Place(os.path.join(managed(gemini, site), "policies"), "managed", ".toml"),
        Place(os.path.join(user, "policies"), "user", ".toml"),
        Place(os.path.join(user, "settings.json"), "user"),
        Place(os.path.join(project, "settings.json"), "project"),
    )


def read(text: str, file: str, level: str, where: Where) -> tuple[list[Rule], list[Remark]]:
    """Raises ConfigError for a file that Gemini CLI skips, too, or that cannot be read."""
    found, remarks = _policies(text, file, level, where) if file.endswith(".toml") else _settings(text, file, where)
    return [rule for _priority, rule in found], remarks


def ranked(text: str, file: str, level: str, where: Where) -> list[tuple[float, Rule]]:
    """The rules of a file with their priorities."""
    return (_policies(text, file, level, where) if file.endswith(".toml") else _settings(text, file, where))[0]


def _policies(text: str, file: str, level: str, where: Where) -> tuple[list[tuple[float, Rule]], list[Remark]]:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            Problem(f"must be TOML: {error}", file=file, remedy="Gemini CLI skips the file, too")
        ) from error
    entries = found.get("rule", [])
    lines = [text.count("\n", 0, each.start()) + 1 for each in re.finditer(r"(?m)^\s*\[\[\s*rule\s*\]\]", text)]
    rules: list[tuple[float, Rule]] = []
    remarks: list[Remark] = []
    if not isinstance(entries, list):
        raise ConfigError(Problem("`rule` must be a list of tables", file=file, remedy="write `[[rule]]`"))
    for place, entry in enumerate(entries):
        line = lines[place] if place < len(lines) else 1
        _check(entry, file, line)
        unknown = [key for key in entry if key not in _KEYS]
        remarks += [
            Remark(NAME, file, line, text=key, why="is a key that Gemini CLI does not know", ignored=True)
            for key in unknown
        ]
        tests, idle, partly = _tests(entry, _LANES[entry["decision"]], where)
        shown = _shown(entry)
        lane = _LANES[entry["decision"]]
        because = str(entry.get("denyMessage") or entry.get("deny_message") or "")
        rule = Rule(NAME, file, line, text=shown, lane=lane, tests=tests, idle=idle, partly=partly, because=because)
        rules.append((_TIERS[level] + entry["priority"] / 1000, rule))
    remarks += [
        Remark(
            NAME,
            file,
            1,
            text=f"safety_checker {checker.get('toolName', '')}",
            why="runs a program of Gemini CLI's own",
        )
        for checker in found.get("safety_checker", ())
    ]
    return rules, remarks


def _check(entry: dict[str, Any], file: str, line: int) -> None:
    names = entry.get("toolName")
    wrong = ""
    if not (isinstance(names, str) or (isinstance(names, list) and all(isinstance(each, str) for each in names))):
        wrong = "`toolName` must be there"
    elif entry.get("decision") not in _LANES:
        wrong = "`decision` must be allow, deny or ask_user"
    elif not isinstance(entry.get("priority"), int) or not 0 <= entry["priority"] <= 999:
        wrong = "`priority` must be a whole number from 0 to 999"
    if wrong:
        raise ConfigError(Problem(f"{wrong}; Gemini CLI skips the whole file for it", file=file, line=line))


def _shown(entry: dict[str, Any]) -> str:
    said = [
        f"{key} = {entry[key]!r}"
        for key in ("mcpName", "toolName", "commandPrefix", "commandRegex", "argsPattern")
        if key in entry
    ]
    return f"{', '.join(said)}: {entry['decision']} at {entry['priority']}"


def _tests(entry: dict[str, Any], lane: str, where: Where) -> tuple[tuple[Test, ...], str, str]:
    partly = [
        f"{key} {entry[key]}"
        for key in ("modes", "subagent", "interactive", "toolAnnotations")
        if entry.get(key) not in (None, [])
    ]
    names = entry["toolName"] if isinstance(entry["toolName"], list) else [entry["toolName"]]
    server = entry.get("mcpName")
    made: list[Test] = []
    for name in names:
        if server:
            made.append(Server(server, name))
        else:
            tests, what = _of_tool(name, lane, where)
            made += tests
            partly += [what] if what else []
    prefixes = entry.get("commandPrefix")
    if prefixes:
        given = [prefixes] if isinstance(prefixes, str) else prefixes
        return tuple(Command((each,), more=True) for each in given), "", ", ".join(partly)
    if entry.get("commandRegex"):
        return (Expression(entry["commandRegex"], start=True, quoted=True),), "", ", ".join(partly)
    pattern = entry.get("argsPattern")
    if pattern:
        bare = pattern.replace('\\"', '"')
        if made == [Everything(SHELL)] and bare.startswith(_COMMAND):
            return (Expression(bare[len(_COMMAND) :], start=True, quoted=True),), "", ", ".join(partly)
        partly.append(f"argsPattern {pattern}")
    return tuple(made), "", ", ".join(partly)


def _of_tool(name: str, lane: str, where: Where) -> tuple[list[Test], str]:
    """The tests for a name of a tool, and what of it cannot be said."""
    if name == "*":
        return [everything(kind, lane, where) for kind in (SHELL, READ, WRITE, FETCH, MCP)], ""
    if name in _TOOLS:
        several = [each for each, kind in _TOOLS.items() if kind == _TOOLS[name]]
        return [everything(_TOOLS[name], lane, where)], f"the tool {name} among {', '.join(several)}" if len(
            several
        ) > 2 else ""
    if name.startswith("mcp_"):
        server, _, tool = name[4:].partition("_")
        return [Server(server, tool or "*")], ""
    return [], f"the tool {name}"


def _settings(text: str, file: str, where: Where) -> tuple[list[tuple[float, Rule]], list[Remark]]:
    document = JsonDocument(text, file)
    rules: list[tuple[float, Rule]] = []
    remarks: list[Remark] = []

    def add(priority: float, lane: str, shown: str, tests: list[Test], line: int, partly: str = "") -> None:
        rules.append((priority, Rule(NAME, file, line, text=shown, lane=lane, tests=tuple(tests), partly=partly)))

    for key, lane, priority in (
        ("exclude", DENY, _EXCLUDED),
        ("confirmationRequired", ASK, _CONFIRMED),
        ("allowed", ALLOW, _ALLOWED),
    ):
        for name in _texts(document.get(("tools", key))):
            line = json_line(document, text, name)
            narrowed = re.fullmatch(r"([a-zA-Z0-9_-]+)\((.*)\)", name)
            if narrowed and narrowed[1] in ("run_shell_command", "ShellTool") and key == "allowed":
                add(priority, lane, f"tools.allowed {name}", [Command((narrowed[2],), more=True)], line)
            elif narrowed and key != "allowed":
                remarks.append(
                    Remark(
                        NAME,
                        file,
                        line,
                        text=f"tools.{key} {name}",
                        why="names no tool: Gemini CLI compares the whole text",
                        ignored=True,
                    )
                )
            else:
                tests, what = _of_tool(narrowed[1] if narrowed else name, lane, where)
                add(priority, lane, f"tools.{key} {name}", tests, line, what)
    if any("(" in name for name in _texts(document.get(("tools", "allowed")))):
        add(
            _ALLOWED - 0.01,
            DENY,
            "tools.allowed: whatever else of the shell",
            [Everything(SHELL)],
            json_line(document, text, "allowed"),
        )
    servers = document.get(("mcpServers",))
    for name, server in servers.items() if isinstance(servers, dict) else ():
        if isinstance(server, dict) and server.get("trust") is True:
            add(_TRUSTED, ALLOW, f"mcpServers.{name}.trust", [Server(name)], json_line(document, text, name))
    for key, lane, priority in (("excluded", DENY, 4.9), ("allowed", ALLOW, _SERVERS)):
        for name in _texts(document.get(("mcp", key))):
            add(priority, lane, f"mcp.{key} {name}", [Server(name)], json_line(document, text, name))
    if _texts(document.get(("tools", "core"))):
        remarks.append(
            Remark(
                NAME, file, json_line(document, text, "core"), text="tools.core", why="chooses the tools that there are"
            )
        )
    return rules, remarks


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if value is not MISSING and isinstance(value, list) else []


__all__ = ["NAME", "PATH_PROGRAMS", "TITLE", "WAY", "places", "ranked", "read"]
