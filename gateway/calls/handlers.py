"""Tool handlers by name: one function for each name that `tools.yaml` gives as `python:`.

A handler is imported when its tool is first called, so that a session pays only for what it uses. A tool is added
with an entry in `tools.yaml`, at most one function, and its line here.
"""

from __future__ import annotations

from gateway.calls.output import Failure
from gateway.core.products import REMEDY, missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.calls.work import Handler
    from gateway.model.call import Call

# name in `tools.yaml` -> module and function
HANDLERS = {
    "agents.output": "gateway.handlers.agents:output",
    "agents.start": "gateway.handlers.agents:start",
    "discovery.search": "gateway.handlers.discovery:search",
    "files.edit": "gateway.handlers.files:edit",
    "files.read": "gateway.handlers.files:read",
    "files.write": "gateway.handlers.files:write",
    "lsp.ask": "gateway.handlers.lsp:ask",
    "mcp.list_resources": "gateway.handlers.mcp:list_resources",
    "mcp.read_resource": "gateway.handlers.mcp:read_resource",
    "search.glob": "gateway.handlers.search:glob",
    "search.grep": "gateway.handlers.search:grep",
    "shell.bash": "gateway.handlers.shell:bash",
    "shell.kill": "gateway.handlers.shells:kill",
    "shell.monitor": "gateway.handlers.shells:monitor",
    "shell.output": "gateway.handlers.shells:output",
    "notebooks.edit": "gateway.handlers.notebooks:edit",
    "web.fetch": "gateway.handlers.web:fetch",
    "web.search": "gateway.handlers.web_search:search",
    "answers.structured": "gateway.handlers.answers:structured",
    "crons.create": "gateway.handlers.crons:create",
    "crons.delete": "gateway.handlers.crons:delete",
    "crons.show": "gateway.handlers.crons:show",
    "persons.ask": "gateway.handlers.persons:ask",
    "persons.enter_plan": "gateway.handlers.persons:enter_plan",
    "persons.exit_plan": "gateway.handlers.persons:exit_plan",
    "proposals.propose": "gateway.handlers.proposals:propose",
    "sessions.config": "gateway.handlers.sessions:config",
    "sessions.sleep": "gateway.handlers.sessions:sleep",
    "sessions.trigger": "gateway.handlers.sessions:trigger",
    "skills.command": "gateway.handlers.skills:command",
    "skills.load": "gateway.handlers.skills:load",
    "tasks.create": "gateway.handlers.tasks:create",
    "tasks.get": "gateway.handlers.tasks:get",
    "tasks.show": "gateway.handlers.tasks:show",
    "tasks.stop": "gateway.handlers.tasks:stop",
    "tasks.todos": "gateway.handlers.tasks:todos",
    "tasks.update": "gateway.handlers.tasks:update",
    "teams.create": "gateway.handlers.teams:create",
    "teams.delete": "gateway.handlers.teams:delete",
    "teams.send": "gateway.handlers.teams:send",
    "worktrees.enter": "gateway.handlers.worktrees:enter",
    "worktrees.leave": "gateway.handlers.worktrees:leave",
}
# The same name -> a function that says by raising CallError what is wrong with a call, without looking at the world.
CHECKS = {
    "lsp.ask": "gateway.handlers.lsp:check",
    "notebooks.edit": "gateway.handlers.notebooks:check",
    "web.search": "gateway.handlers.web_search:check",
}
# What a tool is nothing without, of the packages that only the extra `agent` brings.
NEEDS = {
    "crons.create": ("cronsim",),
    "crons.show": ("cronsim",),
    "notebooks.edit": ("nbformat",),
    "web.fetch": ("bs4", "markdownify"),
}
# What stands behind the other kinds of handler.
KINDS = {
    "command": "gateway.handlers.command:run",
    "http": "gateway.handlers.http:request",
    "mcp": "gateway.handlers.mcp:call",
    "own": "gateway.handlers.custom_functions:run",
}

_found: dict[str, Any] = {}


def handler(entry: dict[str, Any]) -> Handler:
    """The function that does the work of a declared tool. Raises Failure where there is none, and where a package that
    it needs is not installed."""
    declared = entry.get("handler", {"kind": "mcp"})  # a tool that nobody declared is a server's
    kind = declared["kind"]
    place = KINDS.get(kind) if kind != "python" else HANDLERS.get(declared["name"])
    if place is None:
        raise Failure(f"{entry['name']} is not there yet: {declared.get('name', kind)}.")
    package = missing(NEEDS.get(declared.get("name", ""), ()))
    if package:
        raise Failure(f"{entry['name']} is not there: the package `{package}` is missing.", f"To have it, {REMEDY}.")
    function: Handler = _load(place)
    return function


def is_there(entry: dict[str, Any]) -> bool:
    """Whether anything stands behind a declared tool, and is installed."""
    declared = entry.get("handler", {"kind": "mcp"})
    if declared["kind"] != "python":
        return declared["kind"] in KINDS
    name = declared["name"]
    return name in HANDLERS and not missing(NEEDS.get(name, ()))


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
