"""The `hooks:` section of a policy file: what is told of calls, and may refuse or change them.

hooks:
- {id: no-keys, event: before_call, tools: [Bash, Write], command: [./no-keys.sh], seconds: 5}
- {id: notify, event: [after_call, after_failure], http: {url: "https://hooks.example.com/x"}}
- {id: house-rules, event: before_call, python: "house.rules:look"}
"""

from __future__ import annotations

import re

from gateway.spec import read
from gateway.spec.rules import ID_PATTERN
from gateway.spec.tool_effects import template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

BEFORE = "before_call"
EVENTS = (BEFORE, "after_call", "after_failure")
HOOK = {
    "id": "names the hook in refusals and in the record",
    "event": "when it is told: before a call, after one that worked, after one that failed",
    "tools": "globs over names of the tools whose calls it is told of; all of them by default",
    "command": "a program and its words, which gets JSON on standard input and answers with JSON",
    "http": "an address that JSON is posted to, which answers with JSON",
    "python": "a function as `module:name`, which gets a dict and answers with one or with None",
    "seconds": "how long it may take, at most 60; 5 by default",
    "guards": "whether a call is refused that it refuses, or that it cannot answer for; true before a call by default",
}
HTTP = {
    "url": "the address",
    "headers": "headers to send; `{env:NAME}` stands for the value of a variable, which is never shown or recorded",
}
KINDS = ("command", "http", "python")
SECONDS, MOST_SECONDS = 5, 60
PYTHON_PATTERN = r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*"
URL_PATTERN = r"https?://[^\s/?#@]+([/?#]\S*)?"

_id = re.compile(ID_PATTERN)
_python = re.compile(PYTHON_PATTERN)
_url = re.compile(URL_PATTERN)


def read_hooks(node: Node, complaints: Complaints) -> list[dict[str, Any]]:
    """The hooks that the file declares, checked, as plain data in the order of the file."""
    found = [_hook(item, complaints) for item in read.sequence(node, "`hooks`", complaints)]
    seen: dict[str, int] = {}
    for item, hook in zip(node, found, strict=False):
        name = hook.get("id", "")
        if name and name in seen:
            complaints.at(item, f"`id` must be unique among hooks (got `{name}`, first on line {seen[name]})")
        seen.setdefault(name, item.line)
    return found


def _hook(node: Node, complaints: Complaints) -> dict[str, Any]:
    keys = read.known_keys(node, "hook", HOOK, complaints)
    for name in ("id", "event"):
        if node.kind == "mapping" and name not in keys:
            complaints.at(node, f"hook must have the key `{name}`")
    kinds = [kind for kind in KINDS if kind in keys]
    if node.kind == "mapping" and len(kinds) != 1:
        complaints.at(node, f"hook must have exactly one of {', '.join(KINDS)} (got {len(kinds)} of them)")
    found: dict[str, Any] = {"line": node.line, "tools": [], "seconds": SECONDS}
    for name, value in keys.items():
        what = f"`{name}`"
        if name == "id":
            found[name] = read.text(value, what, complaints)
            if found[name] and not _id.fullmatch(found[name]):
                complaints.at(value, f"`id` must be lower-case letters, digits and `-` (got {value.shown})")
        elif name == "event":
            found[name] = read.choices(value, what, EVENTS, complaints)
        elif name in ("tools", "command"):
            found[name] = read.texts(value, what, complaints)
        elif name == "seconds":
            found[name] = read.integer(value, what, complaints, 1, MOST_SECONDS)
        elif name == "guards":
            found[name] = read.boolean(value, what, complaints)
        elif name == "http":
            found[name] = _http(value, complaints)
        else:
            found[name] = read.text(value, what, complaints)
            if found[name] and not _python.fullmatch(found[name]):
                complaints.at(value, f"`python` must be a function as `module:name` (got {value.shown})")
    events = found.get("event", [])
    if found.get("guards") and events and BEFORE not in events:
        complaints.at(keys["guards"], "`guards` must be left out of a hook that is told only when a call has run")
    found.setdefault("guards", BEFORE in events)
    return found


def _http(node: Node, complaints: Complaints) -> dict[str, Any]:
    parts = read.known_keys(node, "`http`", HTTP, complaints)
    found: dict[str, Any] = {"url": "", "headers": {}}
    if node.kind == "mapping" and "url" not in parts:
        complaints.at(node, "`http` must have the key `url`")
    if "url" in parts:
        found["url"] = read.text(parts["url"], "`url`", complaints)
        if found["url"] and not _url.fullmatch(found["url"]):
            complaints.at(parts["url"], f"`url` must be a whole http or https address (got {parts['url'].shown})")
    if "headers" in parts:
        given = read.mapping(parts["headers"], "`headers`", complaints)
        found["headers"] = {
            name: template(complaints, value, f"header `{name}`", None, variables=True) for name, value in given.items()
        }
    return found
