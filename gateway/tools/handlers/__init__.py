"""What stands behind the tools: one function for each name that `tools.yaml` gives as `python:`.

A handler is imported when its tool is first called, so that a session pays only for what it uses. A tool is added
with an entry in `tools.yaml`, at most one function, and its line here.
"""

from __future__ import annotations

from gateway.tools.handling import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.model.call import Call
    from gateway.tools.handling import Handler

# name in `tools.yaml` -> module and function
HANDLERS = {
    "agents.output": "gateway.tools.handlers.agents:output",
    "agents.start": "gateway.tools.handlers.agents:start",
    "discovery.search": "gateway.tools.handlers.discovery:search",
    "files.edit": "gateway.tools.handlers.files:edit",
    "files.read": "gateway.tools.handlers.files:read",
    "files.write": "gateway.tools.handlers.files:write",
    "lsp.ask": "gateway.tools.handlers.lsp:ask",
    "mcp.list_resources": "gateway.tools.handlers.mcp:list_resources",
    "mcp.read_resource": "gateway.tools.handlers.mcp:read_resource",
    "search.glob": "gateway.tools.handlers.search:glob",
    "search.grep": "gateway.tools.handlers.search:grep",
    "shell.bash": "gateway.tools.handlers.shell:bash",
    "shell.kill": "gateway.tools.handlers.shells:kill",
    "shell.monitor": "gateway.tools.handlers.shells:monitor",
    "shell.output": "gateway.tools.handlers.shells:output",
    "notebooks.edit": "gateway.tools.handlers.notebooks:edit",
    "web.fetch": "gateway.tools.handlers.web:fetch",
    "web.search": "gateway.tools.handlers.web_search:search",
    "answers.structured": "gateway.tools.handlers.answers:structured",
    "crons.create": "gateway.tools.handlers.crons:create",
    "crons.delete": "gateway.tools.handlers.crons:delete",
    "crons.show": "gateway.tools.handlers.crons:show",
    "persons.ask": "gateway.tools.handlers.persons:ask",
    "persons.enter_plan": "gateway.tools.handlers.persons:enter_plan",
    "persons.exit_plan": "gateway.tools.handlers.persons:exit_plan",
    "sessions.config": "gateway.tools.handlers.sessions:config",
    "sessions.sleep": "gateway.tools.handlers.sessions:sleep",
    "sessions.trigger": "gateway.tools.handlers.sessions:trigger",
    "skills.command": "gateway.tools.handlers.skills:command",
    "skills.load": "gateway.tools.handlers.skills:load",
    "tasks.create": "gateway.tools.handlers.tasks:create",
    "tasks.get": "gateway.tools.handlers.tasks:get",
    "tasks.show": "gateway.tools.handlers.tasks:show",
    "tasks.stop": "gateway.tools.handlers.tasks:stop",
    "tasks.todos": "gateway.tools.handlers.tasks:todos",
    "tasks.update": "gateway.tools.handlers.tasks:update",
    "teams.create": "gateway.tools.handlers.teams:create",
    "teams.delete": "gateway.tools.handlers.teams:delete",
    "teams.send": "gateway.tools.handlers.teams:send",
    "worktrees.enter": "gateway.tools.handlers.worktrees:enter",
    "worktrees.leave": "gateway.tools.handlers.worktrees:leave",
}
# The same name -> a function that says by raising CallError what is wrong with a call, without looking at the world.
CHECKS = {
    "lsp.ask": "gateway.tools.handlers.lsp:check",
    "notebooks.edit": "gateway.tools.handlers.notebooks:check",
    "web.search": "gateway.tools.handlers.web_search:check",
}
# What stands behind the other kinds of handler.
KINDS = {
    "command": "gateway.tools.handlers.command:run",
    "http": "gateway.tools.handlers.http:request",
    "mcp": "gateway.tools.handlers.mcp:call",
}

_found: dict[str, Any] = {}


def handler(entry: dict[str, Any]) -> Handler:
    """The function that does the work of a declared tool. Raises Failure where there is none."""
    declared = entry.get("handler", {"kind": "mcp"})  # a tool that nobody declared is a server's
    kind = declared["kind"]
    place = KINDS.get(kind) if kind != "python" else HANDLERS.get(declared["name"])
    if place is None:
        raise Failure(f"{entry['name']} is not there yet: {declared.get('name', kind)}.")
    function: Handler = _load(place)
    return function


def is_there(entry: dict[str, Any]) -> bool:
    """Whether anything stands behind a declared tool."""
    declared = entry.get("handler", {"kind": "mcp"})
    return declared["name"] in HANDLERS if declared["kind"] == "python" else declared["kind"] in KINDS


def check(entry: dict[str, Any]) -> Callable[[Call], None] | None:
    """What looks at the meaning of a tool's calls before they are judged, None where nothing does."""
    declared = entry.get("handler")
    if not declared or declared["kind"] != "python":
        return None
    place = CHECKS.get(declared["name"])
    return None if place is None else _load(place)


def _load(place: str) -> Any:
    found = _found.get(place)
    if found is None:
        from importlib import import_module

        module, _, function = place.partition(":")
        found = _found[place] = getattr(import_module(module), function)
    return found
