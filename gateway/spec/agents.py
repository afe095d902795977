"""The `agents:` setting: how the hooks of foreign agents answer."""

from __future__ import annotations

from gateway.spec import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

AGENTS = {
    "modes": "whether the agent's own mode holds where it is stricter than policy's, always, or never",
    "allow": "whether an allow is said, or left to the agent's own rules by silence",
    "page": "seconds that a question waits on the console's page, or elsewhere, before the agent itself asks; 0: none",
}
WORDS = {"modes": ("stricter", "follow", "ignore"), "allow": ("said", "silence")}
MOST_PAGE_SECONDS = 540  # less than agents wait for their hooks (`gateway.install.base`)


def read_agents(node: Node, complaints: Complaints) -> dict[str, Any]:
    """The setting, checked, as plain data."""
    return {
        name: read.choice(value, f"`{name}`", WORDS[name], complaints)
        if name in WORDS
        else read.integer(value, f"`{name}`", complaints, 0, MOST_PAGE_SECONDS)
        for name, value in read.known_keys(node, "`agents`", AGENTS, complaints).items()
    }


def agents_schema() -> dict[str, Any]:
    """What an editor is told of each key."""
    words: dict[str, Any] = {name: {"enum": list(found)} for name, found in WORDS.items()}
    return {**words, "page": {"type": "integer", "minimum": 0, "maximum": MOST_PAGE_SECONDS}}
