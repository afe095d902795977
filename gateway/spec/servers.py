"""The `servers:` setting: MCP servers that are started, or asked where they are, when one of their tools is called."""

from __future__ import annotations

import re

from gateway.policy import variables
from gateway.spec import read
from gateway.spec.tool_effects import template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

SERVER = {
    "command": "the program and its words; it is judged and confined like a command of Bash",
    "env": "variables that it gets: a text, or `env:NAME` for the value of a variable",
    "url": "where it is, instead of a command; the rules for hosts hold for each call",
    "headers": "headers that it is sent: a text, with `{env:NAME}` for the value of a variable",
    "is": "which described server it is: what its tools do is known then, such as `filesystem`",
    "seconds": "how long it may take to answer a call, 60 by default",
    "always_load": "names of its tools, `*` for any part, that a model is shown in full however many tools there are",
}
NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9-]*(_[A-Za-z0-9-]+)*"  # no `__`, which ends a server's name in a tool's
SECONDS, MOST_SECONDS = 60, 3600

# Headers that are not a server's to be told by policy: what they hold follows from the request.
FIXED = frozenset(
    [
        "host",
        "content-length",
        "content-type",
        "transfer-encoding",
        "connection",
        "accept",
        "accept-encoding",
        "origin",
        "cookie",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "last-event-id",
    ]
)

_name = re.compile(NAME_PATTERN)
_header_name = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def read_servers(node: Node, complaints: Complaints) -> dict[str, Any]:
    """The servers by name, checked, as plain data."""
    found: dict[str, Any] = {}
    for name, item in read.mapping(node, "`servers`", complaints).items():
        if not _name.fullmatch(name):
            complaints.at_key(item, f"a server's name must be letters, digits, `-` and single `_` (got `{name}`)")
        given = read.known_keys(item, f"server `{name}`", SERVER, complaints)
        if item.kind == "mapping" and ("command" in given) == ("url" in given):
            complaints.at(item, f"server `{name}` must have the key `command` or the key `url`")
        server: dict[str, Any]
        found[name] = server = {"command": [], "env": {}, "url": "", "headers": {}, "is": "", "seconds": SECONDS}
        server["always_load"] = []
        for key, other in (("env", "url"), ("headers", "command")):
            if key in given and other in given:
                complaints.at_key(given[key], f"`{key}` must not stand beside `{other}`")
        if "url" in given:
            server["url"] = _url(given["url"], complaints)
        if "headers" in given:
            for key, each in read.mapping(given["headers"], "`headers`", complaints).items():
                server["headers"][key] = _header(key, each, complaints)
        if "is" in given:
            server["is"] = read.text(given["is"], "`is`", complaints)
            if not _name.fullmatch(server["is"]):
                complaints.at(given["is"], f"`is` must be the name of a description (got {given['is'].shown})")
        if "command" in given:
            server["command"] = read.texts(given["command"], "`command`", complaints)
        if "always_load" in given:
            server["always_load"] = read.texts(given["always_load"], "`always_load`", complaints)
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


def _url(node: Node, complaints: Complaints) -> str:
    """An address of http or https, in one spelling and without login material."""
    from gateway.tools.paths import UnclearError
    from gateway.tools.urls import parse

    text = read.text(node, "`url`", complaints)
    try:
        found = parse(text)
    except UnclearError as error:
        complaints.at(node, f"`url` {error.must} (got {node.shown})", error.remedy)
        return ""
    if not found.text.startswith(("http://", "https://")) or "@" in found.text.split("/")[2]:
        complaints.at(node, f"`url` must be an address of http or https without a login (got {node.shown})")
    return found.text


def _header(name: str, node: Node, complaints: Complaints) -> list[dict[str, str]]:
    """A header's value as a list of `{"text": …}` and `{"env": NAME}`."""
    if name.lower() in FIXED or not _header_name.fullmatch(name):
        complaints.at_key(node, f"`headers` must not hold `{name}`", "the protocol says what stands there")
    return template(complaints, node, f"`{name}`", None, variables=True)
