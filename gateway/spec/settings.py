"""The `settings:` section of a policy file: single values, of which the lowest layer's wins within its bounds."""

from __future__ import annotations

from gateway.model.decision import LEVELS, MODES
from gateway.spec import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

DECISIONS = ("allow", "ask", "deny")
NETWORKS = ("off", "listed", "open")
APPROVERS = ("console", "remote", "auto", "refuse")

SETTINGS = {
    "mode": "what decides where no rule speaks",
    "levels": "the verdict for calls without effects, by the tool's level",
    "sandbox": "what a call that runs confined by a rule may do beyond what was predicted",
    "limits": "bounds on every call",
    "approvers": "who is asked, in this order",
    "workspace": "folders that count as the workspace besides the project root",
    "trust": "digests of project policies that count as trusted; only the enterprise layer's are used",
    "lock": "settings that no lower layer may set",
    "bounds": "values that lower layers may choose from",
    "pause": "whether a person at a terminal may pause the gateway",
}
SANDBOX = {
    "read": "path patterns that may be read",
    "write": "path patterns that may be written",
    "hide": "path patterns that do not exist inside",
    "hosts": "hosts that may be reached",
    "network": "off: none; listed: only `hosts`; open: any",
    "sockets": "paths of local sockets that may be connected to",
    "env": "globs over names of environment variables that are passed on",
    "set": "environment variables that are set",
    "weaker": "names of the weaker forms of confinement that may stand in where the full one cannot be built",
}
LIMITS = {
    "seconds": "wall time of one call",
    "cpu_seconds": "processor time of one call",
    "memory_mb": "memory of one call's processes together",
    "processes": "processes of one call at a time",
    "files": "open files of one process",
    "disk_mb": "what one call may write",
    "output_characters": "what a model is shown of one result",
    "concurrent_calls": "calls that run at the same time",
}
_MOST = 10**9


def read_settings(node: Node, complaints: Complaints) -> dict[str, Any]:
    """The settings that the file sets, checked, as plain data."""
    found: dict[str, Any] = {}
    for name, value in read.known_keys(node, "`settings`", SETTINGS, complaints).items():
        what = f"`{name}`"
        if name == "mode":
            found[name] = read.choice(value, what, MODES, complaints)
        elif name == "levels":
            levels = read.known_keys(value, what, LEVELS, complaints)
            found[name] = {
                level: read.choice(item, f"`{level}`", DECISIONS, complaints) for level, item in levels.items()
            }
        elif name == "sandbox":
            found[name] = _sandbox(value, complaints)
        elif name == "limits":
            limits = read.known_keys(value, what, LIMITS, complaints)
            found[name] = {
                limit: read.integer(item, f"`{limit}`", complaints, 1, _MOST) for limit, item in limits.items()
            }
        elif name == "approvers":
            found[name] = read.choices(value, what, APPROVERS, complaints)
        elif name in ("workspace", "trust"):
            found[name] = read.texts(value, what, complaints, empty=True)
        elif name == "lock":
            found[name] = read.choices(value, what, lockable(), complaints)
        elif name == "bounds":
            bounds = read.known_keys(value, what, ("mode",), complaints)
            found[name] = {key: read.choices(item, f"`{key}`", MODES, complaints) for key, item in bounds.items()}
        else:
            found[name] = read.boolean(value, what, complaints)
    return found


def lockable() -> tuple[str, ...]:
    """Names that `lock:` may hold: whole settings, and single keys of those that are sections."""
    whole = tuple(name for name in SETTINGS if name not in ("trust", "lock", "bounds"))
    sections = {"levels": LEVELS, "sandbox": SANDBOX, "limits": LIMITS}
    return (*whole, *(f"{section}.{key}" for section, keys in sections.items() for key in keys))


def _sandbox(node: Node, complaints: Complaints) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in read.known_keys(node, "`sandbox`", SANDBOX, complaints).items():
        if name == "network":
            found[name] = read.choice(value, "`network`", NETWORKS, complaints)
        elif name == "set":
            variables = read.mapping(value, "`set`", complaints)
            found[name] = {key: read.text(item, f"`{key}`", complaints, empty=True) for key, item in variables.items()}
        else:
            found[name] = read.texts(value, f"`{name}`", complaints, empty=True)
    return found
