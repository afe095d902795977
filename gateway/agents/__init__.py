"""The hook protocols of foreign agents ("dialects"), one module each; `gateway.agents.base` says what each offers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.agents.base import Dialect

AGENTS = ("claude", "codex", "gemini", "copilot", "cursor", "opencode")


def dialect_of(agent: str) -> Dialect | None:
    """An agent's dialect, imported when it is asked for; None if there is no such agent."""
    if agent not in AGENTS:
        return None
    found: Dialect = __import__(f"gateway.agents.{agent}", fromlist=["NAME"])
    return found
