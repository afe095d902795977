"""`gateway doctor --live`: the agent itself is run once, with a call that its hook must refuse."""

from __future__ import annotations

from gateway.frontends.finding import BETTER, BROKEN, OK, Finding
from gateway.install.base import MANAGED, PROJECT
from gateway.install.hook_lines import is_of_here
from gateway.install.live import RAN, REFUSED, can_be_tried, lived
from gateway.install.own_hooks import agent_of, handlers, hook_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.frontends.doctor_looked import Looked

# What of an agent's settings turns hooks off.
_SWITCHES = ("disableAllHooks", "hooksConfig", "features")


def live_findings(looked: Looked, environment: Mapping[str, str]) -> tuple[Finding, ...]:
    """What became of a call that must be refused, in the agent itself."""
    agent, name = looked.agent, looked.agent.NAME
    if not looked.program:
        return (
            Finding(name, BETTER, f"{agent.TITLE} is not on PATH, so it was not run", f"install {agent.PROGRAMS[0]}"),
        )
    if not can_be_tried(name):
        text = f"{agent.TITLE} was not run: it cannot be pointed at a model that follows a script"
        return (Finding(name, BETTER, text, "try a call yourself that policy denies, such as `cat ~/.ssh/id_rsa`"),)
    hooks, switches = _taken_along(looked)
    if not hooks and not any(each.level == MANAGED for each in looked.own):
        return (
            Finding(name, BROKEN, f"{agent.TITLE} has no hook of the gateway's to be tried", f"gateway init {name}"),
        )
    found = lived(name, looked.program, hooks, switches, environment)
    if found.became == REFUSED:
        return (Finding(name, OK, f"{agent.TITLE} was run once: a call that must be refused was refused"),)
    if found.became == RAN:
        text = f"{agent.TITLE} was run once, and ran a call that must be refused"
        return (Finding(name, BROKEN, text, f"gateway init {name}; then look at what else its settings say of hooks"),)
    text = f"{agent.TITLE} was run once, and did not come to call a tool, so nobody can tell whether its hook is asked"
    return (
        Finding(
            name, BETTER, text=text, remedy="see what it says below", details=(found.said.strip() or "it said nothing",)
        ),
    )


def _taken_along(looked: Looked) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The gateway's own hooks as they stand in the settings of the user and of the project, and the switches. Of those
    of a project only what starts this gateway: whoever wrote the project chose the rest."""
    hooks: dict[str, list[Any]] = {}
    switches: dict[str, Any] = {}
    for level, _path, data in looked.settings:
        if level == MANAGED or not isinstance(data, dict):
            continue
        switches |= {key: data[key] for key in _SWITCHES if key in data}
        groups = data.get("hooks")
        for event, entries in groups.items() if isinstance(groups, dict) else ():
            for entry in entries if isinstance(entries, list) else ():
                lines = [hook_words(each) for each in handlers(entry)]
                own = lines and all(agent_of(each) == looked.agent.NAME for each in lines)
                if own and (level != PROJECT or all(is_of_here(looked.agent.NAME, event, each) for each in lines)):
                    hooks.setdefault(event, []).append(entry)
    return hooks, switches
