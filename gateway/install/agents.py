"""The agents whose settings can be written."""

from __future__ import annotations

from gateway.agents import AGENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.install.base import Agent


def agent_named(name: str) -> Agent | None:
    """An agent by the word behind `gateway init`, None if there is no such one."""
    if name not in AGENTS:
        return None
    from importlib import import_module

    return import_module(f"gateway.install.{name}")
