"""A catalogue of tools as servers have them: names, descriptions and schemas of the sizes that are met in the field."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from gateway.mcp.server_tools import Theirs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.mcp.server_tools import Prompt

SERVERS = {
    "github": (
        "issue",
        "pull_request",
        "repository",
        "branch",
        "commit",
        "release",
        "workflow_run",
        "code_scanning_alert",
    ),
    "jira": ("ticket", "sprint", "board", "epic", "worklog", "attachment", "custom_field", "transition"),
    "slack": ("message", "channel", "thread", "reaction", "user_group", "file", "reminder", "bookmark"),
    "postgres": ("table", "index", "query_plan", "replication_slot", "role", "schema", "extension", "statistic"),
    "cloud": (
        "instance",
        "bucket",
        "load_balancer",
        "security_group",
        "snapshot",
        "dns_record",
        "function",
        "secret_version",
    ),
}
VERBS = (
    "create", "get", "list", "update", "delete", "search", "archive", "restore", "export", "import", "compare",
    "assign", "watch",
)  # fmt: skip
DESCRIPTION = (
    "{verb} a {thing} in {server}. Returns the {thing} with its identifier, its state, who changed it last and when. "
    "Use this when the user names a {thing} or when another tool has returned its identifier; prefer the search for "
    "anything else. Results are paginated: give `page` and `per_page` to see more than the first thirty."
)


def definitions(number: int) -> dict[str, list[dict[str, Any]]]:
    """So many tools in all, by server, as `tools/list` gives them."""
    found: dict[str, list[dict[str, Any]]] = {server: [] for server in SERVERS}
    made = _all()
    for _ in range(number):
        server, tool = next(made)
        found[server].append(tool)
    return found


class Listed:
    """What a session would have joined (`gateway.mcp.tool_catalogue.Joined`), of servers that list so many tools."""

    version = 0

    def __init__(self, number: int) -> None:
        listed = definitions(number)
        self._tools = [Theirs(server, {**each, "annotations": {}}) for server in listed for each in listed[server]]

    def tools(self) -> tuple[Theirs, ...]:
        return tuple(self._tools)

    def prompts(self) -> tuple[Prompt, ...]:
        return ()

    def runs(self, server: str) -> bool:
        return server in SERVERS


def _all() -> Iterator[tuple[str, dict[str, Any]]]:
    for more in count():
        for verb in VERBS:
            for place in range(8):
                for server, things in SERVERS.items():
                    yield server, _tool(server, verb, things[place] + (f"_v{more + 1}" if more else ""))


def _tool(server: str, verb: str, thing: str) -> dict[str, Any]:
    words = thing.replace("_", " ")
    properties = {
        "owner": {"type": "string", "description": f"The account or organisation that owns the {words}."},
        "project": {"type": "string", "description": "The name of the project, without its owner."},
        f"{thing}_id": {"type": "integer", "minimum": 1, "description": f"The number of the {words}."},
        "state": {
            "type": "string",
            "enum": ["open", "closed", "all"],
            "default": "open",
            "description": "Which to see.",
        },
        "page": {"type": "integer", "minimum": 1, "default": 1, "description": "The page of results."},
        "per_page": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "default": 30,
            "description": "How many on a page.",
        },
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["owner", "project"],
        "additionalProperties": False,
    }
    description = DESCRIPTION.format(verb=verb.capitalize(), thing=words, server=server)
    return {"name": f"{verb}_{thing}", "description": description, "inputSchema": schema}
