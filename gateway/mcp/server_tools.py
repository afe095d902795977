"""Tools and prompts of MCP servers, as a model is offered them. What they say of themselves is text of the server: it
comes cleaned, as pinned, and bounded. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase

from gateway.core.value import Value
from gateway.mcp.sanitised import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

MOST_DESCRIPTION = 4_000
MOST_SCHEMA = 32_000
MOST_NAME = 128  # what model APIs take
_LINE = 200
_SUMMARY = 100
# What model APIs take as a name, of a tool and of a field.
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_FIELD = _NAME | {"."}
_LONGEST_FIELD = 64
_ALTERNATIVES = ("oneOf", "anyOf", "allOf")
_ANYTHING: dict[str, Any] = {"type": "object"}


class Theirs:
    """One tool of a server: the same to those who offer tools as a declared one (`gateway.tools.tool.Tool`). `judged`:
    the name by which policy knows it; `name`: the model's, where it cannot have that one."""

    __slots__ = ("_description", "_schema", "annotations", "entry", "judged", "name", "server")

    def __init__(self, server: str, definition: Mapping[str, Any], shown_in_full: Collection[str] = ()) -> None:
        """`definition`: as `gateway.mcp.links` offers it; `shown_in_full`: patterns of names that never wait."""
        own = definition["name"]
        self.server = server
        self.judged = f"mcp__{server}__{own}"
        self.name = model_name(self.judged)
        self.annotations: Mapping[str, Any] = definition["annotations"]
        self._description = definition.get("description") or definition.get("title") or own
        self._schema: dict[str, Any] | None = None
        read_only = self.annotations.get("readOnlyHint") is True
        self.entry: dict[str, Any] = {
            "name": self.name,
            "summary": _first_line(definition.get("title") or self._description)[:_SUMMARY],
            "search_hint": "",
            "defer": True,
            "always_load": any(fnmatchcase(own, each) for each in shown_in_full),
            "level": "read" if read_only else "execute",
            "read_only": read_only,
            "destructive": self.annotations.get("destructiveHint") is not False,
            "input": definition["inputSchema"],
            "output": None,
        }

    def __repr__(self) -> str:
        return f"Theirs({self.judged!r})"

    def description(self, _mode: str = "") -> str:
        """What its server says of it."""
        text: str = self._description
        return text if len(text) <= MOST_DESCRIPTION else f"{text[:MOST_DESCRIPTION]}…"

    def input_schema(self) -> dict[str, Any]:
        """Its input, as model APIs take it. One that they would refuse, or that is too long, says of the input only
        that it is an object: the server says what is wrong with a call."""
        if self._schema is None:
            schema = {key: each for key, each in self.entry["input"].items() if key not in _ALTERNATIVES}
            self._schema = schema if _is_taken(schema) else _ANYTHING
        return self._schema


def model_name(judged: str) -> str:
    """The name that a model API takes for a tool."""
    return "".join(each if each in _NAME else "_" for each in judged)[:MOST_NAME]


def _is_taken(schema: dict[str, Any]) -> bool:
    import json

    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if len(json.dumps(schema)) > MOST_SCHEMA:
        return False
    fields = schema.get("properties", {})
    if not isinstance(fields, dict):
        return False
    if not all(map(_is_field, fields)):
        return False
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return True


class Prompt(Value):
    """One prompt of a server. `name`: of the command that gets it; `own`: the server's; `arguments`: their names, with
    whether each must be given."""

    name: str
    server: str
    own: str
    arguments: tuple[tuple[str, bool], ...]
    description: str

    def line(self) -> str:
        """How a model reads of it."""
        hint = "".join(f" <{name}>" if must else f" [{name}]" for name, must in self.arguments)
        return f"- {self.name}{hint}" + (f": {self.description}" if self.description else "")


def prompt_of(server: str, entry: Mapping[str, Any]) -> Prompt | None:
    """The prompt of a listing's entry, None for one that cannot be called by a name."""
    own = entry.get("name")
    if not isinstance(own, str) or not own or not _FIELD.issuperset(own) or len(own) > MOST_NAME:
        return None
    given = entry.get("arguments")
    arguments = [
        (each["name"], each.get("required") is True)
        for each in (given if isinstance(given, list) else ())
        if isinstance(each, dict) and _is_field(each.get("name"))
    ]
    said = entry.get("description")
    description = _first_line(shown(said)) if isinstance(said, str) else ""
    return Prompt(f"mcp__{server}__{own}", server, own=own, arguments=tuple(arguments), description=description[:_LINE])


def _is_field(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= _LONGEST_FIELD and _FIELD.issuperset(name)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")
