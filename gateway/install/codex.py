"""Codex: `hooks.json` beside its configuration. A hook runs only once a person has trusted this very command line."""

from __future__ import annotations

import os

from gateway.agents.codex import EVENTS
from gateway.install.base import MANAGED, PROJECT, SECONDS, SERVER, USER, shell_line
from gateway.install.pieces import JSON, TOML, Entry, Member, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.install.base import Line, Site

NAME = "codex"
TITLE = "Codex"
PROGRAMS = ("codex",)
LEVELS = (USER, PROJECT, MANAGED)
LEAST_VERSION = "0.169.0"


def folder(site: Site) -> str:
    if site.level == MANAGED:
        return "/etc/codex"
    return os.path.join(site.project, ".codex") if site.level == PROJECT else site.moved("CODEX_HOME", ".codex")


def config(site: Site) -> str:
    """Its configuration file, which also says what is trusted."""
    return os.path.join(folder(site), "config.toml")


def hooks(site: Site, line: Line) -> tuple[Target, ...]:
    pieces: tuple[Entry | Member, ...] = tuple(
        Entry(
            ("hooks", event), {"hooks": [{"type": "command", "command": shell_line(line(event)), "timeout": SECONDS}]}
        )
        for event in EVENTS
    )
    if site.level != MANAGED:
        return (Target(os.path.join(folder(site), "hooks.json"), JSON, pieces),)
    # Whatever requirements name is trusted. `managed_dir` is where the programs of managed hooks lie.
    where = Member(("hooks",), "managed_dir", os.path.dirname(_program(line(""))))
    only = Member((), "allow_managed_hooks_only", True)
    return (Target(os.path.join(folder(site), "requirements.toml"), TOML, (only, where, *pieces)),)


def server(site: Site, line: Sequence[str]) -> Target:
    entry = Member(("mcp_servers",), SERVER, {"command": line[0], "args": list(line[1:])})
    return Target(config(site), TOML, (entry,))


def remarks(site: Site) -> tuple[str, ...]:
    if site.level == MANAGED:
        return ("only managed hooks run from now on: those of users, projects and plugins are skipped",)
    found = [
        "when the command line changes (an upgrade, another Python), Codex skips the hook without a word: init again"
    ]
    if site.level == PROJECT:
        found.append("hooks of a project run only where Codex trusts the project")
        found.append("the file holds paths of this machine: keep it out of version control")
    return tuple(found)


def _program(line: Sequence[str]) -> str:
    """The file that runs: a script that an interpreter is given, else the program."""
    return next((word for word in line[1:] if word.startswith("/")), line[0])
