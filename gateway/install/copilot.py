"""GitHub Copilot CLI: hooks in its user settings, or a file of its own in a repository. The spelling of an event
selects the dialect; the flat one is used."""

from __future__ import annotations

import os

from gateway.agents.copilot import EVENTS
from gateway.install.base import PROJECT, SECONDS, SERVER, USER, shell_line
from gateway.install.pieces import JSON, Entry, Member, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.install.base import Line, Site

NAME = "copilot"
TITLE = "GitHub Copilot CLI"
PROGRAMS = ("copilot",)
LEVELS = (USER, PROJECT)
LEAST_VERSION = "1.0.102"


def folder(site: Site) -> str:
    if site.level == PROJECT:
        return os.path.join(site.project, ".github", "hooks")
    return site.moved("COPILOT_HOME", ".copilot")


def hooks(site: Site, line: Line) -> tuple[Target, ...]:
    pieces: tuple[Entry | Member, ...] = tuple(
        Entry(("hooks", event), {"type": "command", "bash": shell_line(line(event)), "timeoutSec": SECONDS})
        for event in EVENTS
        if event[0].islower()
    )
    if site.level == USER:
        return (Target(os.path.join(folder(site), "settings.json"), JSON, pieces),)
    return (Target(os.path.join(folder(site), "gateway.json"), JSON, (Member((), "version", 1, form=True), *pieces)),)


def server(site: Site, line: Sequence[str]) -> Target:
    value = {"type": "local", "command": line[0], "args": list(line[1:]), "tools": ["*"]}
    if site.level == PROJECT:
        return Target(os.path.join(site.project, ".mcp.json"), JSON, (Member(("mcpServers",), SERVER, value),))
    return Target(os.path.join(folder(site), "mcp-config.json"), JSON, (Member(("mcpServers",), SERVER, value),))


def remarks(site: Site) -> tuple[str, ...]:
    if site.level == PROJECT:
        return (
            "Copilot skips a repository's hooks without a word until its folder is trusted: use them for yourself, too",
            "the file holds paths of this machine: keep it out of version control",
        )
    return ()
