"""Every tool that is declared, found by name or alias."""

from __future__ import annotations

from gateway.core.errors import CallError, Problem
from gateway.tools.declaration import OF_A_SERVER
from gateway.tools.tool import Tool
from gateway.tools.words import quoted, suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gateway.model.call import Call, RawCall
    from gateway.model.context import Context

    Servers = dict[str, tuple[str, dict[str, dict[str, Any]]]]

_FOREIGN_KEPT = 1000  # distinct undeclared MCP tools whose compiled form is kept
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_LONGEST_NAME = 256
SEARCH = "web.search"  # what stands behind tools that search the web


class Registry:
    """The frozen set of declared tools.

    `registry["Read"]` is a callable `Tool`; `tool` also finds aliases and every `mcp__server__tool`. A tool is
    worked out when it is first asked for: a process that judges one call pays for one tool.
    """

    __slots__ = ("_compiled", "_entries", "_foreign", "_names", "_servers", "_tools")

    def __init__(self, compiled: dict[str, Any], servers: Servers | None = None) -> None:
        """`compiled` is what `gateway.spec.tools.compile_tools` gives. It must not be changed afterwards. `servers`:
        what is known of tools of MCP servers that nobody declared, as `with_servers` takes it."""
        self._compiled = compiled
        self._servers: Servers = servers or {}
        self._entries: dict[str, dict[str, Any]] = compiled["tools"]
        self._names: dict[str, str] = compiled["aliases"]
        self._tools: dict[str, Tool] = {}
        self._foreign: dict[str, Tool] = {}

    def __getitem__(self, name: str) -> Tool:
        """The declared tool of exactly this name; KeyError if there is none."""
        found = self._tools.get(name)
        if found is None:
            found = self._tools[name] = Tool(self._entries[name])
        return found

    def entry(self, name: str) -> dict[str, Any]:
        """What is declared of the tool of exactly this name, without making it; KeyError if there is none."""
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def tool(self, name: str) -> Tool:
        """The tool that a call of this name means. Raises `CallError` if there is none or it is switched off."""
        if name.__class__ is not str:
            raise CallError(Problem(f"tool must be a name (got {quoted(name)})"))
        found = self._tools.get(name) or self._foreign.get(name)
        if found is None:
            found = self._find(name)
        if found.entry["enabled"] is False:
            remedy = "see `gateway tools list`"
            if found.entry.get("layer") == "project":
                remedy = "a person has to trust this project first: `gateway policy trust`"
            raise CallError(Problem(f"tool must be switched on (got {quoted(name)})", remedy=remedy))
        return found

    def canonical_call(self, raw: RawCall, context: Context) -> Call:
        """The canonical, validated form of a call. Raises `CallError` with every complaint."""
        from gateway.tools.canonical import canonicalise

        return canonicalise(self.tool(raw.tool), raw, context)

    def with_servers(self, servers: Servers) -> Registry:
        """The same tools, with what is known of MCP servers: by name the address that a server has ("" for one that
        runs here), and the declarations of its tools by their own names. What a layer declares of a tool of a server
        comes first. A tool that asks the server that it is given the name of connects to where that one is."""
        urls = {name: address for name, (address, _described) in servers.items() if address}
        if not urls:
            return Registry(self._compiled, servers)
        there = {"do": "connect", "by": "server", "urls": urls, "direction": "send"}
        found = {
            name: {**entry, "effects": [*entry["effects"], there]}
            for name, entry in self._entries.items()
            if (entry.get("handler") or {}).get("name") in OF_A_SERVER
        }
        return Registry({**self._compiled, "tools": {**self._entries, **found}}, servers)

    def with_search(self, url: str) -> Registry:
        """The same tools, where those that search the web connect to this address, whatever they are given."""
        there = [{"do": "connect", "by": "fixed", "url": url, "direction": "send"}]
        found = {
            name: {**entry, "effects": there}
            for name, entry in self._entries.items()
            if (entry.get("handler") or {}).get("name") == SEARCH
        }
        return Registry({**self._compiled, "tools": {**self._entries, **found}}, self._servers) if found else self

    def canonical_name(self, name: str) -> str:
        """The declared name behind an alias; any other name as it is."""
        return self._names.get(name, name)

    def names(self) -> tuple[str, ...]:
        """Every declared name and alias, in the order of the file."""
        return (*self._entries, *self._names)

    def definitions(self, mode: str = "default", available: frozenset[str] | None = None) -> list[dict[str, Any]]:
        """The tools as model APIs take them: name, description and input schema, without internal fields.

        `available` names the flags, variables and capabilities that are there, as `flag:x`, `env:X`, `needs:x`;
        without it every tool counts that is not switched off.
        """
        found = []
        for name in self._entries:
            tool = self[name]
            if self.is_enabled(name, available):
                found.append({"name": name, "description": tool.description(mode), "input_schema": tool.input_schema()})
        return found

    def is_enabled(self, name: str, available: frozenset[str] | None = None) -> bool:
        """Whether the tool is offered where `available` is there (None: everything)."""
        enabled = self._entries[name]["enabled"]
        if isinstance(enabled, bool):
            return enabled
        return available is None or all(f"{kind}:{what}" in available for kind, what in enabled.items())

    def _find(self, name: str) -> Tool:
        declared = self._names.get(name, name)
        if declared in self._entries:
            return self[declared]
        if is_mcp_name(name):
            if len(self._foreign) >= _FOREIGN_KEPT:
                self._foreign.clear()
            found = self._foreign[name] = Tool(self._entry_of(name))
            return found
        remedy = suggestion(name, self.names()) or "see `gateway tools list`"
        raise CallError(Problem(f"tool must be a known name (got {quoted(name)})", remedy=remedy))

    def _entry_of(self, name: str) -> dict[str, Any]:
        """The declaration of a server's tool: as its server is described, with the connection that each call takes to
        a server elsewhere; of one that nobody described, that it may do anything."""
        server, _, tool = name[5:].partition("__")
        address, described = self._servers.get(server, ("", {}))
        entry = described.get(tool)
        if entry is None:
            entry = foreign_entry(name)
        else:
            entry = {**entry, "name": name, "handler": {"kind": "mcp", "server": server, "tool": tool}}
        if address:
            there = {"do": "connect", "by": "fixed", "url": address, "direction": "send"}
            entry = {**entry, "effects": [*entry["effects"], there]}
        return entry


def is_mcp_name(name: str) -> bool:
    """Whether `name` is `mcp__server__tool`: always a known tool, declared or not."""
    if not name.startswith("mcp__") or len(name) > _LONGEST_NAME or not _NAME.issuperset(name):
        return False
    server, _, tool = name[5:].partition("__")
    return bool(server and tool)


def foreign_entry(name: str) -> dict[str, Any]:
    """The declaration of a tool that nobody declared: takes anything, may do anything."""
    return {
        "name": name,
        "summary": f"The tool `{name}` of an MCP server.",
        "description": [{"text": f"The tool `{name}` of an MCP server.", "modes": []}],
        "input": {"type": "object", "properties": {}, "additionalProperties": True},
        "internal": {},
        "open": True,
        "enabled": True,
        "level": "execute",
        "read_only": False,
        "destructive": False,
        "concurrency_safe": False,
        "match": None,
        "kinds": {},
        "effects": [{"do": "opaque", "why": f"what `{name}` does is not declared"}, {"do": "guess"}],
        "filters": False,
    }
