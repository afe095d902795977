"""What a model is offered: the tools that policy leaves something of, and which of them only by name."""

from __future__ import annotations

import time

from gateway.policy.offering import denied_for_every_input
from gateway.tools.handlers import is_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.engine import Gateway
    from gateway.session import Session
    from gateway.tools.tool import Tool

SEARCH = "ToolSearch"
ANSWER, SKILLS, COMMANDS = "StructuredOutput", "Skill", "SlashCommand"
# With more tools than this, those that may wait are shown by name; the setting `tools_in_full` says another number.
IN_FULL = 50
SETTING = "tools_in_full"
FORMS = ("anthropic", "mcp", "schema")
_MOST_LISTED = 500


def definitions(gateway: Gateway, form: str, mode: str, session: Session | None) -> list[dict[str, Any]]:
    """The definitions in the form that is asked for: of the Anthropic API, of MCP, or plain JSON Schemas by name.

    With more tools than the policy shows in full, those that are declared to wait are named in the description of
    ToolSearch, which loads them; MCP clients have no such search, and get all of them.
    """
    if form not in FORMS:
        raise ValueError(f"the form must be one of {', '.join(FORMS)} (got {form!r})")
    mode = mode or gateway.context.mode
    found = offered(gateway, mode, () if session is None else session.context.rules)
    waiting = [] if form == "mcp" else deferred(gateway, found, session)
    names = {tool.name for tool in waiting}
    told = _written_down(gateway)
    schema = None if session is None else session.answer_schema
    return [
        _FORMED[form](
            tool if tool.name != ANSWER else _answering(tool, schema or {}), _described(tool, mode, waiting, told)
        )
        for tool in found
        if tool.name not in names and (tool.name != ANSWER or schema is not None) and told.get(tool.name) != ""
    ]


def _answering(tool: Tool, schema: Mapping[str, Any]) -> Tool:
    """The tool that takes a session's final answer, with the schema of that answer."""
    from gateway.tools.tool import Tool as Made

    return Made({**tool.entry, "input": {"properties": {}, **schema}})


def _written_down(gateway: Gateway) -> dict[str, str]:
    """By tool, what there is to be loaded with it, "" for nothing."""
    from gateway.skills.found import COMMAND, SKILL, listing

    root, trusted = gateway.context.root, gateway.loaded.project_trusted
    return {name: listing(kind, gateway.places, root, trusted) for name, kind in ((SKILLS, SKILL), (COMMANDS, COMMAND))}


def offered(gateway: Gateway, mode: str = "", rules: tuple[str, ...] = ()) -> list[Tool]:
    """The tools that a call may use: switched on, with something behind them, and not denied for every input. `rules`:
    those of the session."""
    context = gateway.context.replace(mode=mode or gateway.context.mode, now=time.time())
    policy, available = gateway.loaded_with(rules).policy, _available(gateway)
    return [
        gateway.registry[name]
        for name in gateway.registry
        if gateway.registry.is_enabled(name, available)
        and is_there(gateway.registry[name].entry)
        and not denied_for_every_input(policy, name, context)
    ]


def deferred(gateway: Gateway, found: list[Tool], session: Session | None) -> list[Tool]:
    """Those of them that are shown by name only: none unless there are many, and none that was searched for."""
    setting = gateway.loaded.settings.get(SETTING)
    if len(found) <= (IN_FULL if setting is None else setting.value):
        return []
    if all(tool.name != SEARCH for tool in found):
        return []  # nobody could load them
    loaded = session.searched if session is not None else frozenset()
    return [
        tool
        for tool in found
        if tool.entry["defer"] and not tool.entry["always_load"] and tool.name not in loaded and tool.name != SEARCH
    ]


def _available(gateway: Gateway) -> frozenset[str]:
    """The conditions that hold: variables that are set, and a provider of searches."""
    found = frozenset(f"env:{name}" for name, value in gateway.environment.items() if value)
    return found | {"needs:search"} if "search" in gateway.loaded.settings else found


def _described(tool: Tool, mode: str, waiting: list[Tool], told: Mapping[str, str]) -> str:
    text = tool.description(mode)
    if told.get(tool.name):
        return f"{text}\n\nThere are:\n{told[tool.name]}"
    if tool.name != SEARCH or not waiting:
        return text
    lines = [f"- {each.name}: {each.entry['search_hint'] or each.entry['summary']}" for each in waiting[:_MOST_LISTED]]
    return f"{text}\n\nTools that you see only by name:\n" + "\n".join(lines)


def _anthropic(tool: Tool, description: str) -> dict[str, Any]:
    return {"name": tool.name, "description": description, "input_schema": tool.input_schema()}


def _mcp(tool: Tool, description: str) -> dict[str, Any]:
    entry = tool.entry
    found = {"name": tool.name, "title": entry["summary"], "description": description}
    found["inputSchema"] = tool.input_schema()
    if entry["output"] is not None:
        found["outputSchema"] = {"type": "object", **entry["output"]}  # clients refuse a list with any other
    read_only, destructive = entry["read_only"] is True, entry["destructive"] is not False
    found["annotations"] = {
        "readOnlyHint": read_only,
        "destructiveHint": destructive and not read_only,
        "openWorldHint": entry["level"] in ("network", "execute", "agent"),
    }
    return found


def _schema(tool: Tool, description: str) -> dict[str, Any]:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": tool.name}
    return {**schema, **tool.entry["input"], "description": description}


_FORMED = {"anthropic": _anthropic, "mcp": _mcp, "schema": _schema}
