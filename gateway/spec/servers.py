"""The `servers:` setting: MCP servers that are started when one of their tools is called."""

from __future__ import annotations

import re

from gateway.policy import variables
from gateway.spec import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

SERVER = {
    "command": "the program and its words; it is judged and confined like a command of Bash",
    "env": "variables that it gets: a text, or `env:NAME` for the value of a variable",
    "seconds": "how long it may take to answer a call, 60 by default",
}
NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9-]*(_[A-Za-z0-9-]+)*"  # no `__`, which ends a server's name in a tool's
SECONDS, MOST_SECONDS = 60, 3600

_name = re.compile(NAME_PATTERN)


def read_servers(node: Node, complaints: Complaints) -> dict[str, Any]:
    """The servers by name, checked, as plain data."""
    found: dict[str, Any] = {}
    for name, item in read.mapping(node, "`servers`", complaints).items():
        if not _name.fullmatch(name):
            complaints.at_key(item, f"a server's name must be letters, digits, `-` and single `_` (got `{name}`)")
        given = read.known_keys(item, f"server `{name}`", SERVER, complaints)
        if item.kind == "mapping" and "command" not in given:
            complaints.at(item, f"server `{name}` must have the key `command`")
        found[name] = server = {"command": [], "env": {}, "seconds": SECONDS}
        if "command" in given:
            server["command"] = read.texts(given["command"], "`command`", complaints)
        if "seconds" in given:
            server["seconds"] = read.integer(given["seconds"], "`seconds`", complaints, 1, MOST_SECONDS)
        if "env" in given:
            values = read.mapping(given["env"], "`env`", complaints)
            server["env"] = {key: read.text(each, f"`{key}`", complaints, empty=True) for key, each in values.items()}
            for key, each in values.items():
                if not variables.is_settable(key):
                    complaints.at_key(
                        each, f"`env` must not hold `{key}`", "the sandbox makes it, or nobody may set it"
                    )
    return found
