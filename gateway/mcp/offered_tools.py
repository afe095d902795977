"""What a model is offered: the tools that policy leaves something of, and which of them only by name."""

from __future__ import annotations

import time

from gateway.calls.handlers import is_there
from gateway.model.call import Call
from gateway.policy.denied_tools import denied_for_every_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.calls.session import Session
    from gateway.judge.judge import Judge
    from gateway.mcp.server_tools import Theirs
    from gateway.mcp.tool_catalogue import Catalogue
    from gateway.tools.tool import Tool as Declared

    Tool = Declared | Theirs

SEARCH = "ToolSearch"
ANSWER, SKILLS, COMMANDS = "StructuredOutput", "Skill", "SlashCommand"
# With more tools than this, those that may wait are shown by name; the setting `tools_in_full` says another number.
IN_FULL = 50
SETTING = "tools_in_full"
FORMS = ("anthropic", "mcp", "schema")
# Characters of the list of tools that wait: with hints if all of it fits, else names alone.
MOST_LISTED = 12_000
_MOST_OWN = 6_000  # of that for those that are no server's
_MOST_PROMPTS = 6_000
_OF_SERVERS = "mcp__"
_GETTING = "prompts.get"  # what getting a prompt of a server is judged as
# what a tool needs, and the setting that brings it
_NEEDED = (("search", "search"), ("lsp", "language_servers"), ("servers", "servers"))


def definitions(judge: Judge, form: str, mode: str, session: Session | None) -> list[dict[str, Any]]:
    """The definitions in the form that is asked for: of the Anthropic API, of MCP, or plain JSON Schemas by name.

    With more tools than the policy shows in full, those that are declared to wait are named in the description of
    ToolSearch, which loads them; MCP clients have no such search, and get all of them.
    """
    if form not in FORMS:
        raise ValueError(f"the form must be one of {', '.join(FORMS)} (got {form!r})")
    mode = mode or judge.context.mode
    found = offered(judge, mode, session)
    waiting = [] if form == "mcp" else deferred(judge, found, session)
    names = {tool.name for tool in waiting}
    told = _written_down(judge, session)
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


def _written_down(judge: Judge, session: Session | None) -> dict[str, str]:
    """By tool, what there is to be loaded with it, "" for nothing."""
    from gateway.skills.catalogue import COMMAND, SKILL, listing

    root, trusted = judge.context.root, judge.loaded.project_trusted
    found = {name: listing(kind, judge.places, root, trusted) for name, kind in ((SKILLS, SKILL), (COMMANDS, COMMAND))}
    joined: Catalogue | None = None if session is None else session.joined
    prompts = () if joined is None else joined.prompts()
    lines = [each.line() for each in prompts if _may_call(session, f"{_OF_SERVERS}{each.server}__{_GETTING}")]
    if lines:
        found[COMMANDS] = "\n".join([*([found[COMMANDS]] if found[COMMANDS] else []), *_fitting(lines, _MOST_PROMPTS)])
    return found


def offered(judge: Judge, mode: str = "", session: Session | None = None) -> list[Tool]:
    """The tools that a call may use: switched on, with something behind them, not denied for every input, and of those
    that the agent of the session may call."""
    context = judge.context if session is None else session.context
    context = context.replace(mode=mode or context.mode, now=time.time())
    joined: Catalogue | None = None if session is None else session.joined
    policy, available = judge.loaded_with(context.rules).policy, _available(judge)
    own: list[Tool] = [
        judge.registry[name]
        for name in judge.registry
        if judge.registry.is_enabled(name, available)
        and is_there(judge.registry[name].entry)
        and _may_call(session, name)
        and not denied_for_every_input(policy, name, context)
    ]
    if joined is None:
        return own
    theirs = [
        tool
        for tool in joined.tools()
        if _may_call(session, tool.judged)
        and not denied_for_every_input(
            policy,
            tool.judged,
            context,
            Call(tool.judged, {}, shown="", server=tool.server, annotations=tool.annotations),
        )
    ]
    return [tool for tool in own if not tool.server or joined.runs(tool.server)] + theirs


def _may_call(session: Session | None, judged: str) -> bool:
    """Whether the agent of a session may call a tool at all, whatever policy says of the call."""
    return session is None or session.may is None or session.may(judged)


def deferred(judge: Judge, found: list[Tool], session: Session | None) -> list[Tool]:
    """Those of them that are shown by name only: none unless there are many, and none that was searched for."""
    setting = judge.loaded.settings.get(SETTING)
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


def _available(judge: Judge) -> frozenset[str]:
    """The conditions that hold: variables that are set, a provider of searches, servers for languages."""
    found = frozenset(f"env:{name}" for name, value in judge.environment.items() if value)
    return found | {f"needs:{what}" for what, name in _NEEDED if name in judge.loaded.settings}


def _described(tool: Tool, mode: str, waiting: list[Tool], told: Mapping[str, str]) -> str:
    text = tool.description(mode)
    if told.get(tool.name):
        return f"{text}\n\nThere are:\n{told[tool.name]}"
    if tool.name != SEARCH or not waiting:
        return text
    return f"{text}\n\nTools that you see only by name:\n" + "\n".join(_listed(waiting))


def _listed(waiting: list[Tool]) -> list[str]:
    """The tools that wait, by line: each with a hint, or, where that is too much, those of a server in one line, and of
    very many only the first of each server."""
    lines = [f"- {each.name}: {each.entry['search_hint'] or each.entry['summary']}" for each in waiting]
    if sum(map(len, lines)) <= MOST_LISTED:
        return lines
    groups: dict[str, list[str]] = {}
    for each in waiting:
        server = each.name.split("__")[1] if each.name.startswith(_OF_SERVERS) else ""
        groups.setdefault(server, []).append(each.name.removeprefix(f"{_OF_SERVERS}{server}__"))
    own = [line for each, line in zip(waiting, lines, strict=True) if not each.name.startswith(_OF_SERVERS)]
    found = _fitting(own, _MOST_OWN)
    room = (MOST_LISTED - sum(map(len, found))) // max(1, len(groups) - ("" in groups))
    for server, names in groups.items():
        if server:
            start = f"- {_OF_SERVERS}{server}__ followed by one of: "
            found.append(start + ", ".join(_fitting(names, room - len(start), 2)))
    return found


def _fitting(lines: list[str], most: int, between: int = 1) -> list[str]:
    """As many of the lines as fit, and how many there are besides."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line) + between
        if size > most:
            return [*lines[:number], f"… and {len(lines) - number} more, which ToolSearch finds by words"]
    return lines


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
