"""Whether the gateway lies apart from what agents write: a guard in a workspace would be guarded by itself alone."""

from __future__ import annotations

import os

from gateway.core.errors import Problem
from gateway.core.installation import environment_of, holds, names
from gateway.core.places import PACKAGE
from gateway.install.base import PROJECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Working trees that are no workspace: programs that manage versions keep their own history where they install.
_MANAGERS = ("~/.pyenv", "~/.asdf", "/opt/homebrew", "/usr/local/Homebrew", "/home/linuxbrew/.linuxbrew")


def problem(level: str, project: str, home: str, executable: str) -> Problem | None:
    """Why this gateway must not be put into settings, None if it may. A project is not guarded by a gateway that lies
    in it. Hooks of a user and of a machine guard every project: a gateway in a git working tree of the user's home
    lies in what it guards as soon as an agent works there."""
    inside = within(project, home)
    if inside:
        return Problem(
            f"the gateway that would guard this project lies in it, where agents work ({inside[0]})",
            file=project, remedy=remedy(),
        )  # fmt: skip
    place, tree = ("", "") if level == PROJECT else in_working_tree(home, executable)
    if tree and (tree + "/").startswith(home + "/"):
        return Problem(
            f"the gateway lies in a git working tree, and such trees are what agents work in ({place})",
            file=tree, remedy=remedy(),
        )  # fmt: skip
    return None


def in_working_tree(home: str, executable: str) -> tuple[str, str]:
    """A place of the gateway that lies in a git working tree, with the top of that; empty for none."""
    for place in _places(executable):
        tree = working_tree(place, home)
        if tree:
            return place, tree
    return "", ""


def within(project: str, home: str) -> tuple[str, ...]:
    """The names of the running gateway that lie in a project, or that it lies in. A session that starts at home, or
    above it, has no project; the rule `gateway-installation` holds there as everywhere."""
    if (home + "/").startswith(project.rstrip("/") + "/"):
        return ()
    return tuple(each for each in names("", home) if holds((project,), each) or holds((each,), project))


def working_tree(path: str, home: str) -> str:
    """The top of the git working tree that a path lies in, "" for none."""
    managers = [each.replace("~", home) for each in _MANAGERS]
    while path != "/":
        if os.path.lexists(os.path.join(path, ".git")) and path != home and path not in managers:
            return path
        path = os.path.dirname(path)
    return ""


def remedy() -> str:
    """How to have one apart, and start from there."""
    return (
        "run `gateway init AGENT --install-apart`, which copies it to a place of its own and guards from there; or "
        "`uv tool install agent-gateway` or `pipx install agent-gateway`, and run init from there"
    )


def _places(executable: str) -> Iterator[str]:
    """Where the interpreter, its environment and the package lie, as named and as they are."""
    for each in (executable, environment_of(executable), PACKAGE):
        if each.startswith("/"):
            yield each
            yield os.path.join(os.path.realpath(os.path.dirname(each)), os.path.basename(each))
