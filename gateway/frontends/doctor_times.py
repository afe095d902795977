"""What `gateway doctor` says of how long agents wait for their hooks."""

from __future__ import annotations

import math

from gateway.frontends.finding import BETTER, BROKEN, Finding
from gateway.install.hook_lines import waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.install.base import Agent
    from gateway.install.detection import Hook

# Less than this, and the agent may stop waiting before the gateway's own deadline.
LEAST_SECONDS = 12
# How long agents wait where their settings do not say. opencode's plugin is ours, and Cursor is told not to run a call
# whose hook was late.
USUAL = {"claude": 600.0, "codex": 600.0, "gemini": 60.0, "copilot": 30.0}


def times(agent: Agent, own: Sequence[Hook], remedy: str) -> list[Finding]:
    """Whether the agent waits as long for its hooks as they believe, and long enough for a person to be asked."""
    file = own[0].file
    wanted = [max(LEAST_SECONDS, waits(each.words)) for each in own]
    short = [least for each, least in zip(own, wanted, strict=True) if _seconds(agent.NAME, each.data) < least]
    if short:
        text = f"{agent.TITLE} waits less than {max(short):.0f} s for the hook in {file}, and then runs the call"
        return [Finding(agent.NAME, BROKEN, text, remedy)]
    if not all(waits(each.words) for each in own):
        text = f"{agent.TITLE} does not wait long enough for the hook in {file} to ask on the console's page"
        return [Finding(agent.NAME, BETTER, text, f"{remedy}, if you want to be asked there (docs/console.md)")]
    return []


def _seconds(name: str, data: object) -> float:
    """How long an agent waits for a hook, by its settings."""
    given = data.get("timeoutSec" if name == "copilot" else "timeout") if isinstance(data, dict) else None
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return USUAL.get(name, math.inf)
    return given / (1000 if name == "gemini" else 1)
