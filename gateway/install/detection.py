"""Which agents there are here, and what of ours stands in their settings. Looks, and changes nothing."""

from __future__ import annotations

import os

from gateway.agents import AGENTS
from gateway.core.errors import GatewayError
from gateway.core.programs import persons_program
from gateway.core.value import Value
from gateway.install import files
from gateway.install.agents import agent_named
from gateway.install.base import Site
from gateway.install.hook_lines import hook_lines
from gateway.install.opencode import line_of
from gateway.install.own_hooks import agent_of, handlers, hook_words
from gateway.install.pieces import TEXT, Entry, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.core.places import Places
    from gateway.install.base import Agent


class Here(Value):
    """An agent: its program on PATH, its user's settings, and the levels at which the gateway is in them."""

    agent: str
    program: str
    settings: str
    levels: tuple[str, ...]


class Hook(Value):
    """A hook as it stands in a settings file. `words`: its command line, () if it has none. `own`: it starts the
    gateway. `data`: the whole of it."""

    level: str
    file: str
    event: str
    words: tuple[str, ...]
    own: bool
    data: object = None


class Broken(Value):
    """A settings file that cannot be read, and why."""

    level: str
    file: str
    why: str


def agents_here(where: Places, root: str, environment: Mapping[str, str]) -> tuple[Here, ...]:
    """Every agent that is known, whether it is here or not."""
    found = []
    for name in AGENTS:
        agent = agent_named(name)
        assert agent is not None
        program = found_program(agent, environment, root)
        folder = agent.folder(Site("user", where.home, root, environment))
        sites = [Site(level, where.home, root, environment) for level in agent.LEVELS]
        levels = [
            each.level for each in sites if any(isinstance(hook, Hook) and hook.own for hook in hooks_in(agent, each))
        ]
        found.append(Here(name, program, folder if os.path.isdir(folder) else "", tuple(levels)))
    return tuple(found)


def found_program(agent: Agent, environment: Mapping[str, str], project: str) -> str:
    """An agent's program as this person starts it, "" where there is none that calls in the project cannot write."""
    return next((path for each in agent.PROGRAMS if (path := persons_program(each, environment, (project,)))), "")


def hooks_in(agent: Agent, site: Site) -> tuple[Hook | Broken, ...]:
    """The hooks in the files of a level that hooks can stand in."""
    found: list[Hook | Broken] = []
    for path in dict.fromkeys(
        (*(each.path for each in agent.hooks(site, hook_lines(agent.NAME))), *others(agent, site))
    ):
        try:
            _real, text = files.read(path)
            if text is not None:
                found += _hooks(site, path, text)
        except GatewayError as error:
            found.append(Broken(site.level, path, str(error)))
    return tuple(found)


def others(agent: Agent, site: Site) -> tuple[str, ...]:
    """Files of a level that hooks can stand in besides the one that ours are put into."""
    folder = agent.folder(site)
    if agent.NAME == "claude":
        if site.level == "managed":
            return tuple(_listed(os.path.join(folder, "managed-settings.d"), ".json"))
        return (os.path.join(folder, "settings.json"),)
    if agent.NAME == "codex" and site.level != "managed":
        return (os.path.join(folder, "config.toml"),)
    if agent.NAME == "copilot" and site.level == "project":
        return tuple(_listed(folder, ".json"))
    return ()


def settings_of(agent: Agent, site: Site) -> dict[str, object]:
    """The settings of a level, by file; files that are broken are left out."""
    found: dict[str, object] = {}
    for path in dict.fromkeys(
        (*(each.path for each in agent.hooks(site, hook_lines(agent.NAME))), *others(agent, site))
    ):
        try:
            _real, text = files.read(path)
            if text is not None and not path.endswith(".js"):
                found[path] = opened(_form(path), text, path).get(())
        except GatewayError:
            continue  # `hooks_in` tells
    return found


def _listed(folder: str, ending: str) -> list[str]:
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(ending))
    except OSError:  # it is not there
        return []


def _form(path: str) -> str:
    return "toml" if path.endswith(".toml") else "json"


def _hooks(site: Site, path: str, text: str) -> list[Hook | Broken]:
    if path.endswith(".js"):
        words = line_of(text)
        return [Hook(site.level, path, event="", words=words, own=bool(words and agent_of(words)), data=text)]
    found: list[Hook | Broken] = []
    events = opened(_form(path), text, path).get(("hooks",))
    for event, entries in events.items() if isinstance(events, dict) else ():
        for entry in entries if isinstance(entries, list) else ():
            for handler in handlers(entry):
                words = hook_words(handler)
                found.append(Hook(site.level, path, event=event, words=words, own=bool(agent_of(words)), data=handler))
    return found


__all__ = ["TEXT", "Broken", "Entry", "Here", "Hook", "agents_here", "hooks_in", "settings_of"]
