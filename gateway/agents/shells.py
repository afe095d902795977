"""By which shell an agent has its commands read, as far as a hook can tell."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

BASH, ZSH, SH = "bash", "zsh", "sh"
# These start bash itself, whatever shell the person has.
_OWN_BASH = ("gemini", "copilot")
_SHELLS = {"bash": BASH, "zsh": ZSH, "sh": SH, "dash": SH, "ash": SH, "ksh": SH}


def shell_of(agent: str, environment: Mapping[str, str]) -> str:
    """`bash`, `zsh`, `sh`, or the name of one that reads texts altogether otherwise. The person's own shell is what
    most agents take; Codex lets the model choose one that no hook is told."""
    if agent in _OWN_BASH:
        return BASH
    if agent == "codex":
        return ZSH
    named = environment.get("CLAUDE_CODE_SHELL", "") if agent == "claude" else ""
    path = named or environment.get("SHELL", "")
    name = path[path.rfind("/") + 1 :]
    if not name:
        return BASH
    found = _SHELLS.get(name)
    if agent in ("claude", "opencode") and found not in (BASH, ZSH):
        return ZSH  # neither takes another one; which of the two it takes instead nobody can tell
    return found or name
