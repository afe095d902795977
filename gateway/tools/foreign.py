"""Tools of foreign agents: described as our own are, and found by the agent that has them.

What stands for one of ours is judged as a call of ours: the same rules and effects hold. What nobody described is
judged by what its arguments look like, and never allowed by that alone: that nobody knows what it does is an effect.
"""

from __future__ import annotations

import os

from gateway.tools.paths import UnclearError, absolute
from gateway.tools.registry import foreign_entry
from gateway.tools.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from gateway.core.packed import Descriptions
    from gateway.model.context import Context
    from gateway.tools.registry import Registry

RULES = "names for rules"  # where these are packed: no tool is called so, as there is no agent before a `/`
_KEPT = 500
_LONGEST_NAME = 200
# Fields that hold the text of a command, by their names in lower case without `_` and `-`.
_COMMANDS = frozenset(("command", "cmd", "commandline", "shellcommand", "bashcommand", "bash", "shell"))
_FOLDS = {ord("_"): "", ord("-"): ""}
# Fields that hold where a tool works, in the same spelling.
_PATHS = frozenset(
    ("path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths", "absolutepath",
     "relativepath", "targetfile", "targetpath", "notebookpath", "directory", "dir", "dirpath", "targetdirectory")
)  # fmt: skip
_FOLDERS = frozenset(("cwd", "workdir", "workingdirectory", "workingdir", "directory", "dir", "dirpath"))
_ON_PATHS = frozenset(("list", "read", "write", "delete", "patch", "patterns"))
_AS_SENT = " (as sent)"
_DEEPEST = 20


class Foreign:
    """The described tools of all agents. Each is unpacked when it is first called."""

    def __init__(self, described: Descriptions) -> None:
        self._described = described
        self._tools: dict[tuple[str, str], Tool] = {}
        self._of_servers: dict[str, tuple[Tool, Tool]] = {}

    def __call__(self, agent: str, name: str) -> Tool | None:
        """An agent's tool, by the name that this agent has for it; None if nobody described it."""
        key = (agent, name)
        found = self._tools.get(key)
        if found is None:
            entry = self._described(f"{agent}/{name}")
            if entry is None:
                return None
            found = self._tools[key] = Tool(entry)
        return found

    def recorded_as(self, agent: str, name: str) -> Tool | None:
        """The tool of an agent whose calls the record has under this name, which may be one of ours; None if there is
        none. Of several, the one that the agent calls so itself, else the first."""
        found = self(agent, name)
        if found is not None and found.name == name:
            return found
        prefix = f"{agent}/"
        own = (self(agent, each.removeprefix(prefix)) for each in self._described.names() if each.startswith(prefix))
        return next((tool for tool in own if tool is not None and tool.name == name), None)

    def names_for_rules(self) -> dict[str, list[str]]:
        """The names that rules may use for what stands for none of ours, each with the kind of its match field and that
        field: the same for every agent that has such a tool."""
        found = self._described(RULES)
        assert found is not None
        rules: dict[str, list[str]] = found["rules"]
        return rules

    def of_server(self, registry: Registry, name: str, given: Mapping[str, Any]) -> Tool:
        """A tool of an MCP server, as another agent calls it: what its declaration does not know is no fault of the
        call. Raises CallError for one that is switched off."""
        tool = registry.tool(name)
        if any(effect["do"] == "guess" for effect in tool.entry["effects"]):
            return _guessed(tool.entry, given)
        found = self._of_servers.get(name)
        if found is None or found[0] is not tool:
            if len(self._of_servers) >= _KEPT:
                self._of_servers.clear()
            schema = {**tool.entry["input"], "additionalProperties": True}
            found = self._of_servers[name] = tool, Tool({**tool.entry, "input": schema, "open": True, "agent": "mcp"})
        return found[1]


def rule_names(entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What `names_for_rules` gives, in the form that is packed beside the tools."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        match = entry["match"] or {"kind": "", "field": ""}
        if entry["own"]:
            found.setdefault(entry["name"], [match["kind"], match["field"]])
    return {"names": [RULES], "rules": found}


def renamed(tool: Tool, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The input with the names that our tool has for the fields. A field that stands in the way of one keeps its value
    under another name: what nobody declared changes nothing."""
    names: Mapping[str, str] = tool.entry.get("fields", {})
    if not names or names.keys().isdisjoint(given):
        return given
    taken = {ours for theirs, ours in names.items() if theirs in given}
    found = {}
    for name, value in given.items():
        known = names.get(name)
        if known is not None:
            found[known] = value
        else:
            found[f"{name}{_AS_SENT}" if name in taken else name] = value
    return found


def unseen_place(tool: Tool, given: Mapping[str, Any], context: Context) -> str:
    """The field of a call by whose name its agent may well work at a place other than the one that is judged, "" if
    there is none. `given`: with our names; `context`: where the call works. Which of two spellings counts is the
    agent's own affair, and may be another with its next release."""
    kinds = {effect["do"] for effect in tool.entry["effects"]}
    if "theirs" not in tool.entry or "guess" in kinds:  # of a server's tools the schema is the server's own
        return ""
    declared = tool.entry["input"]["properties"]
    if "shell" in kinds:
        wanted, own = _FOLDERS, tool.entry.get("cwd", "")
        known = {context.cwd}
    elif kinds.isdisjoint(_ON_PATHS):
        return ""
    else:
        wanted, own = _PATHS, ""
        known = {_real(each, context) for name in declared for each in _texts(given.get(name), 0)}
        if not any(given.get(name) for name in declared):
            known.add(context.cwd)
    for name, value in given.items():
        if name in declared or name == own:
            continue
        for field, text in _named(name.removesuffix(_AS_SENT), value, 0):
            if field.translate(_FOLDS).lower() in wanted and text and _real(text, context) not in known:
                return field
    return ""


def _real(text: str, context: Context) -> str:
    try:
        return os.path.realpath(absolute(text, context.cwd, context.home))
    except UnclearError:
        return ""


def _texts(value: Any, depth: int) -> list[str]:
    return [text for _name, text in _named("", value, depth)]


def _named(name: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Every text in a value with the name of the field that it stands in."""
    if value.__class__ is str:
        yield name, value
    elif depth < _DEEPEST and isinstance(value, dict):
        for key, each in value.items():
            yield from _named(key, each, depth + 1)
    elif depth < _DEEPEST and isinstance(value, (list, tuple)):
        for each in value:
            yield from _named(name, each, depth + 1)


def undescribed(name: str, given: Mapping[str, Any]) -> Tool:
    """A tool that nobody described, for this one call: what its fields look like, and that more is not known."""
    return _guessed(foreign_entry(name[:_LONGEST_NAME]), given)


def _guessed(entry: dict[str, Any], given: Mapping[str, Any]) -> Tool:
    """One whose effects are guessed, with the text of a command among them where a field is called so."""
    entry = {**entry, "agent": "undescribed"}
    fields = [name for name, value in given.items() if value and name.translate(_FOLDS).lower() in _COMMANDS]
    if len(fields) == 1 and given[fields[0]].__class__ is str:
        entry["match"] = {"field": fields[0], "kind": "shell"}
        entry["kinds"] = {fields[0]: "shell"}
        entry["effects"] = [*entry["effects"], {"do": "shell", "field": fields[0]}]
    return Tool(entry)
