"""Claude Code: `hooks` in its settings. The exec form is used (`args`): no shell reads the command line."""

from __future__ import annotations

import os

from gateway.agents.claude import EVENTS
from gateway.install.base import MANAGED, PROJECT, SECONDS, SERVER, USER, system
from gateway.install.pieces import JSON, Entry, Member, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.install.base import Line, Site

NAME = "claude"
TITLE = "Claude Code"
PROGRAMS = ("claude",)
LEVELS = (USER, PROJECT, MANAGED)
# The first release known to keep managed hooks under --bare.
LEAST_VERSION = "2.1.329"
# Events that name a tool, and so take a matcher.
_UNMATCHED = ("ConfigChange", "UserPromptSubmit")


def folder(site: Site) -> str:
    if site.level == MANAGED:
        return system("/etc/claude-code", "/Library/Application Support/ClaudeCode")
    if site.level == PROJECT:
        return os.path.join(site.project, ".claude")
    return site.moved("CLAUDE_CONFIG_DIR", ".claude")


def settings(site: Site) -> str:
    """The file that hooks are put into. That of a project is the one that is not shared: the command line holds paths
    of this machine."""
    if site.level == MANAGED:
        return os.path.join(folder(site), "managed-settings.json")
    return os.path.join(folder(site), "settings.local.json" if site.level == PROJECT else "settings.json")


def hooks(site: Site, line: Line) -> tuple[Target, ...]:
    pieces: list[Entry | Member] = []
    for event in EVENTS:
        program, *words = line(event)
        handler = {"type": "command", "command": program, "args": words, "timeout": SECONDS}
        group = {"hooks": [handler]} if event in _UNMATCHED else {"matcher": "*", "hooks": [handler]}
        pieces.append(Entry(("hooks", event), group))
    if site.level == MANAGED:
        pieces.append(Member((), "allowManagedHooksOnly", True))
        pieces.append(Member((), "requiredMinimumVersion", LEAST_VERSION))
    return (Target(settings(site), JSON, tuple(pieces)),)


def server(site: Site, line: Sequence[str]) -> Target:
    entry = Member(("mcpServers",), SERVER, {"type": "stdio", "command": line[0], "args": list(line[1:])})
    if site.level == MANAGED:
        return Target(os.path.join(folder(site), "managed-mcp.json"), JSON, (entry,))
    if site.level == PROJECT:
        return Target(os.path.join(site.project, ".mcp.json"), JSON, (entry,))
    moved = site.environment.get("CLAUDE_CONFIG_DIR", "")
    return Target(os.path.join(folder(site) if moved else site.home, ".claude.json"), JSON, (entry,))


def remarks(site: Site) -> tuple[str, ...]:
    if site.level == MANAGED:
        return ("only managed hooks run from now on: those of users, projects and plugins are skipped",)
    return (
        "`claude --bare` and `--safe-mode` start without these hooks; only --managed ones stay",
        "keep `disableAllHooks` out of every settings file",
    )
