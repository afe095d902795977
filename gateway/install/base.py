"""What every agent's settings have in common. An agent is a module with these names; all of it is pure.

NAME        the word behind `gateway init`
TITLE       what people call it
PROGRAMS    the names of its program
LEVELS      the levels at which hooks can be put in
folder      (site) -> the folder that holds its settings at a level
hooks       (site, command line of each event) -> the files with what has to be in them
server      (site, command line) -> the file with the entry of the MCP server
remarks     (site) -> what a person should know about it
"""

from __future__ import annotations

import os
import shlex
import sys

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from gateway.install.pieces import Target

    # The command line of the hook of an event; "" for one that stands for all.
    Line = Callable[[str], Sequence[str]]

    class Agent(Protocol):
        """One agent's settings."""

        NAME: str
        TITLE: str
        PROGRAMS: tuple[str, ...]
        LEVELS: tuple[str, ...]

        def folder(self, site: Site) -> str: ...
        def hooks(self, site: Site, line: Line) -> tuple[Target, ...]: ...
        def server(self, site: Site, line: Sequence[str]) -> Target: ...
        def remarks(self, site: Site) -> tuple[str, ...]: ...


USER, PROJECT, MANAGED = "user", "project", "managed"
LEVELS = (USER, PROJECT, MANAGED)

# How long an agent waits for a hook, which the hook's own words say as well: one that stops waiting runs the call. The
# gateway decides within 10 s; the rest is for a person who is asked on the console's page (`settings: agents`), and
# ends before it. All agents take it; where nothing is set some wait less.
SECONDS = 600
SERVER = "gateway"


class Site(Value):
    """Where something is put in. `home` and `project`: real paths; `environment`: what moves agents' settings."""

    level: str
    home: str
    project: str
    environment: Mapping[str, str]

    @property
    def place(self) -> str:
        """What tells this site from others of its level."""
        return {USER: self.home, PROJECT: self.project, MANAGED: "/"}[self.level]

    def moved(self, variable: str, *usual: str) -> str:
        """A folder of the user's that a variable can move; a relative one counts from home, as nobody can say from
        where the agent will be started."""
        own = self.environment.get(variable, "")
        return os.path.join(self.home, own) if own else os.path.join(self.home, *usual)


def system(linux: str, mac: str) -> str:
    """A folder of the whole machine."""
    return mac if sys.platform == "darwin" else linux


def shell_line(words: Sequence[str]) -> str:
    """A command line for a shell."""
    return shlex.join(words)
