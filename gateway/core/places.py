"""Where everything lies: packaged data, the layers' folders, state and cache.

Data is found the same way from a wheel, an editable install and a checkout: beside the package (wheels carry it
in `gateway/data`), else at the top of the checkout.
"""

from __future__ import annotations

import os
import sys

from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CHECKOUT = os.path.dirname(PACKAGE)
COMMANDS = os.path.join(PACKAGE, "commands")
AGENTS = os.path.join(PACKAGE, "agents", "tools")
SERVERS = os.path.join(PACKAGE, "mcp", "servers")
DATA = os.path.join(PACKAGE, "data")
DESK_FOLDER, DESK = "console", "desk"  # below the state folder: where a console listens


# What variables move, and where it lies without them, as rules write it.
_MOVABLE = {
    "CLAUDE_CONFIG_DIR": "~/.claude",
    "CODEX_HOME": "~/.codex",
    "GEMINI_CLI_HOME": "~/.gemini",
    "COPILOT_HOME": "~/.copilot",
    "OPENCODE_CONFIG_DIR": "~/.config/opencode",
    "XDG_RUNTIME_DIR": "//run/user/*",
}


class Places(Value):
    """Folders for one user."""

    enterprise: str
    config: str
    state: str
    cache: str
    home: str
    data: str = ""
    others: tuple[tuple[str, str], ...] = ()

    def moved(self) -> tuple[tuple[str, str], ...]:
        """The folders that this user keeps elsewhere (`CODEX_HOME`), as rules write them, and where they lie."""
        usual = (
            ("~/.config", self.config),
            ("~/.local/state", self.state),
            ("~/.cache", self.cache),
            ("~/.local/share", self.data),
        )
        own = tuple(
            (written, os.path.dirname(place))
            for written, place in usual
            if place and os.path.dirname(place) != self.home + written[1:]
        )
        return own + self.others


def check_home() -> None:
    """Raises ConfigError where HOME is empty or no absolute path: files of that name would be found, or made, at the
    top of the system or in any folder, and not the user's. Where it is not set the system's list of users says it."""
    if os.environ.get("HOME") == "" or not os.path.expanduser("~").startswith("/"):
        raise ConfigError(Problem("HOME must be set to an absolute path", remedy="run with HOME=/your/home"))


def places() -> Places:
    """The platform's folders for this user, from the environment as it is now."""
    home = os.path.realpath(os.path.expanduser("~"))
    if sys.platform == "darwin":
        enterprise = "/Library/Application Support/gateway"
    else:
        enterprise = "/etc/gateway"
    return Places(
        enterprise,
        os.path.join(_xdg("XDG_CONFIG_HOME", home, ".config"), "gateway"),
        state=os.path.join(_xdg("XDG_STATE_HOME", home, ".local/state"), "gateway"),
        cache=os.path.join(_xdg("XDG_CACHE_HOME", home, ".cache"), "gateway"),
        home=home,
        data=os.path.join(_xdg("XDG_DATA_HOME", home, ".local/share"), "gateway"),
        others=_others(home),
    )


def _others(home: str) -> tuple[tuple[str, str], ...]:
    """Where agents' settings and what is there for a session lie, if variables say another place than the usual."""
    found = []
    for name, usual in _MOVABLE.items():
        value = os.environ.get(name, "")
        place = os.path.normpath(os.path.join(home, value)) if value else ""
        if place and place != usual.replace("~", home):
            found.append((usual, place))
    return tuple(found)


def _xdg(name: str, home: str, fallback: str) -> str:
    """A base folder; the standard says to ignore relative values."""
    value = os.environ.get(name, "")
    return value if value.startswith("/") else os.path.join(home, fallback)


def packaged(name: str) -> str:
    """The path of a packaged file or folder: `tools.yaml`, `policies`."""
    inside = os.path.join(DATA, name)
    return inside if os.path.exists(inside) else os.path.join(CHECKOUT, name)
