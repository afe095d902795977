"""Cursor: `hooks.json`. Without `failClosed` it runs what a failing hook was asked about."""

from __future__ import annotations

import os

from gateway.agents.cursor import EVENTS
from gateway.install.base import MANAGED, PROJECT, SECONDS, SERVER, USER, shell_line, system
from gateway.install.pieces import JSON, Entry, Member, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.install.base import Line, Site

NAME = "cursor"
TITLE = "Cursor"
PROGRAMS = ("cursor-agent", "cursor")
LEVELS = (USER, PROJECT, MANAGED)
LEAST_VERSION = ""
# What `postToolUse` tells as well.
_TOLD_TWICE = ("afterShellExecution", "afterMCPExecution", "afterFileEdit")


def folder(site: Site) -> str:
    if site.level == MANAGED:
        return system("/etc/cursor", "/Library/Application Support/Cursor")
    return os.path.join(site.project if site.level == PROJECT else site.home, ".cursor")


def hooks(site: Site, line: Line) -> tuple[Target, ...]:
    pieces: list[Entry | Member] = [Member((), "version", 1, form=True)]
    pieces += [
        Entry(("hooks", event), {"command": shell_line(line(event)), "timeout": SECONDS, "failClosed": True})
        for event in EVENTS
        if event not in _TOLD_TWICE
    ]
    return (Target(os.path.join(folder(site), "hooks.json"), JSON, tuple(pieces)),)


def server(site: Site, line: Sequence[str]) -> Target:
    entry = Member(("mcpServers",), SERVER, {"command": line[0], "args": list(line[1:])})
    return Target(os.path.join(folder(site), "mcp.json"), JSON, (entry,))


def remarks(site: Site) -> tuple[str, ...]:
    found = ["Cursor itself was not run with these hooks: its contract is taken from its documentation"]
    if site.level == PROJECT:
        found.append("the file holds paths of this machine: keep it out of version control")
    return tuple(found)
