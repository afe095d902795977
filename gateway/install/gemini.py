"""Gemini CLI: `hooks` in its settings, with times in milliseconds."""

from __future__ import annotations

import os

from gateway.agents.gemini import EVENTS
from gateway.install.base import MANAGED, PROJECT, SECONDS, SERVER, USER, shell_line, system
from gateway.install.pieces import JSON, Entry, Member, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.install.base import Line, Site

NAME = "gemini"
TITLE = "Gemini CLI"
PROGRAMS = ("gemini",)
LEVELS = (USER, PROJECT, MANAGED)
LEAST_VERSION = "0.61.0"


def folder(site: Site) -> str:
    if site.level == MANAGED:
        return system("/etc/gemini-cli", "/Library/Application Support/GeminiCli")
    if site.level == PROJECT:
        return os.path.join(site.project, ".gemini")
    return site.moved("GEMINI_CLI_HOME", ".gemini")


def hooks(site: Site, line: Line) -> tuple[Target, ...]:
    pieces = []
    for event in EVENTS:
        command = shell_line(line(event))
        handler = {"name": "gateway", "type": "command", "command": command, "timeout": SECONDS * 1000}
        pieces.append(Entry(("hooks", event), {"matcher": ".*", "hooks": [handler]}))
    return (Target(os.path.join(folder(site), "settings.json"), JSON, tuple(pieces)),)


def server(site: Site, line: Sequence[str]) -> Target:
    entry = Member(("mcpServers",), SERVER, {"command": line[0], "args": list(line[1:])})
    return Target(os.path.join(folder(site), "settings.json"), JSON, (entry,))


def remarks(site: Site) -> tuple[str, ...]:
    if site.level == PROJECT:
        return (
            "Gemini CLI warns of a project's new hooks, and runs them only in a trusted folder",
            "the file holds paths of this machine: keep it out of version control",
        )
    return ()
