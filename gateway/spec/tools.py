"""`tools.yaml`: strict, positioned loading into a plain form that a cache can keep.

    version: 1
    tools:
      Read:
        summary: Read a file.
        …

`compile_tools` accepts exactly the keys of `ENTRY_KEYS` and runs every example; `gateway.spec.tools_schema` describes
the same format to editors. The plain form is what `gateway.tools.registry.Registry` takes.
"""

from __future__ import annotations

import re

from gateway.model.decision import LEVELS, MODES
from gateway.spec import read
from gateway.spec.node import Complaints, clip
from gateway.spec.tool_effects import (
    MATCH_KINDS,
    field,
    read_effects,
    read_handler,
    read_kinds,
    template,
)
from gateway.spec.tool_fields import KEYWORDS, entries, read_schema
from gateway.spec.yamltext import load
from gateway.tools.examples import require_examples
from gateway.tools.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.node import Node

VERSION = 1
ENTRY_KEYS = (
    "summary", "description", "input", "internal", "output", "open", "enabled", "level", "read_only", "destructive",
    "concurrency_safe", "match", "effects", "canonical", "filters", "handler", "max_result_chars", "defer",
    "always_load", "search_hint", "aliases", "spellings", "render", "reviewer", "private", "examples",
)  # fmt: skip
REQUIRED_KEYS = ("summary", "description", "input", "handler", "examples")
INPUT_KEYS = ("type", "properties", "required", "anyOf", "oneOf", "description")
TRAITS = ("by_effects", "overwrites")
CONDITIONS = ("flag", "env", "needs")
SPELLING_KEYS = ("field", "values", "ignore")
EXAMPLE_KEYS = ("call", "effects", "complaint", "verdict")
RENDERED = ("call", "progress", "result", "error", "refusal")
FORMS = ("condensed", "full")
MAX_RESULT_CHARS = 30_000
NAME_PATTERN = "^[A-Za-z][A-Za-z0-9_-]{0,63}$"  # what model APIs take as a name
CHANGING = ("write", "delete", "shell", "argv", "opaque")

_FLAGS = ("defer", "always_load", "filters")
_name_form = re.compile(NAME_PATTERN)


def compile_tools(text: str | bytes, file: str, layer: str = "builtin") -> dict[str, Any]:
    """The tools of a file in plain form. `layer`: that of the file, which says what it may declare.

    Raises `ConfigError` with every problem and its place, and with every example that gives something else than it says
    (verdicts excepted, which take a policy).

    The result holds nothing that JSON does not: `file`, `tools` (by name, in order) and `aliases` (to names).
    """
    document = load(text, file)
    complaints = Complaints(file)
    top = read.ours(document, "file", ("version", "tools"), complaints, needs="version", version=VERSION)
    top = entries(document, "file", top, complaints, required=("version", "tools"))
    tools: dict[str, Any] = {}
    aliases: dict[str, str] = {}
    nodes = read.mapping(top["tools"], "tools", complaints) if "tools" in top else {}
    for name, node in nodes.items():
        if not _name_form.fullmatch(name):
            message = "tool name must start with a letter and be at most 64 letters, digits, `_` or `-`"
            complaints.at_key(node, f"{message} (got `{clip(name)}`)")
        tools[name] = _Entry(complaints, name, node).read()
        if layer == "project":
            _check_project(complaints, name, node)
    for name, node in nodes.items():
        for item in node.get("aliases") or ():
            if item.kind != "text":
                continue  # complained about where the entry is read
            if item.value in nodes or item.value in aliases:
                complaints.at(item, f"alias must be free (got {item.shown})", "a tool or another alias has this name")
            aliases[item.value] = name
    complaints.raise_any()
    compiled = {"file": file, "tools": tools, "aliases": aliases}
    require_examples(Registry(compiled), file)
    return compiled


def _check_project(complaints: Complaints, name: str, node: Node) -> None:
    """What a project may declare: programs that run in the sandbox, under names that nothing else has."""
    handler = node.get("handler")
    if handler is not None and handler.get("command") is None:
        remedy = "a project may not name Python code, addresses or servers; declare it in your own layer"
        complaints.at(handler, f"tool `{name}` of a project must have the handler `command`", remedy)
    if name.startswith("mcp__"):
        complaints.at_key(node, f"tool `{name}` of a project must not have the name of a server's tool")


class _Entry:
    """Reads one tool."""

    def __init__(self, complaints: Complaints, name: str, node: Node) -> None:
        self.complaints = complaints
        self.name = name
        self.node = node
        self.keys = entries(node, f"tool `{name}`", ENTRY_KEYS, complaints, required=REQUIRED_KEYS)
        self.open = self._flag("open")

    def read(self) -> dict[str, Any]:
        complaints, keys = self.complaints, self.keys
        schema = self._input()
        properties: dict[str, dict[str, Any]] = schema["properties"]
        internal = self._internal(properties)
        match = self._match(properties)
        handler, derived = (
            read_handler(complaints, keys["handler"], properties, schema.get("required", []))
            if "handler" in keys
            else ({}, [])
        )
        effects = read_effects(complaints, keys.get("effects"), properties) + derived
        level = read.choice(keys["level"], "level", LEVELS, complaints) if "level" in keys else "execute"
        entry = {
            "name": self.name,
            "line": self.node.key_line,
            "summary": self._line("summary"),
            "description": self._description(),
            "input": schema,
            "internal": internal,
            "output": self._schema("output"),
            "open": self.open,
            "enabled": self._enabled(),
            "level": level,
            "read_only": self._trait("read_only"),
            "destructive": self._trait("destructive"),
            "concurrency_safe": self._trait("concurrency_safe"),
            "match": match,
            "effects": effects,
            "kinds": read_kinds(complaints, keys.get("canonical"), match, effects, properties),
            "handler": handler,
            "max_result_chars": self._max_result_chars(),
            "search_hint": self._line("search_hint"),
            "aliases": read.texts(keys["aliases"], "alias", complaints) if "aliases" in keys else [],
            "spellings": self._spellings(properties),
            "render": self._render(properties),
            "reviewer": self._fields("reviewer", "field that the reviewer sees", properties),
            "private": self._fields("private", "field that the record keeps no content of", properties),
            "examples": self._examples(),
            **{key: self._flag(key) for key in _FLAGS},
        }
        self._check_traits(entry)
        return entry

    def _flag(self, key: str) -> bool:
        return read.boolean(self.keys[key], key, self.complaints) if key in self.keys else False

    def _line(self, key: str) -> str:
        if key not in self.keys:
            return ""
        line = read.text(self.keys[key], key, self.complaints).strip()
        if "\n" in line:
            self.complaints.at(self.keys[key], f"{key} must be one line")
        return line

    def _description(self) -> list[dict[str, Any]]:
        if "description" not in self.keys:
            return []
        parts: list[dict[str, Any]] = []
        if self.keys["description"].value == []:
            self.complaints.at(self.keys["description"], "description must not be empty")
        for item in self.keys["description"]:
            if item.kind != "mapping":
                parts.append({"text": read.text(item, "description", self.complaints).strip(), "modes": []})
                continue
            found = entries(item, "description", ("text", "modes"), self.complaints, required=("text", "modes"))
            if len(found) == 2:
                text = read.text(found["text"], "description", self.complaints).strip()
                parts.append({"text": text, "modes": read.choices(found["modes"], "mode", MODES, self.complaints)})
        return parts

    def _input(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"type": "object", "properties": {}}
        if "input" in self.keys:
            node = self.keys["input"]
            for key, value in node.value.items() if node.kind == "mapping" else ():
                if key in KEYWORDS and key not in INPUT_KEYS:
                    read.unknown_key(key, value, "input of a tool", INPUT_KEYS, self.complaints)
            plain |= read_schema(self.complaints, node, "input", is_open=self.open)
            if plain["type"] != "object":
                self.complaints.at(node, "input must be of type object")
        return plain | {"additionalProperties": self.open}

    def _internal(self, properties: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if "internal" not in self.keys:
            return found
        for name, node in read.mapping(self.keys["internal"], "internal", self.complaints).items():
            if name in properties:
                self.complaints.at_key(node, f"internal field must not also be an input (got `{name}`)")
            found[name] = read_schema(self.complaints, node, f"internal field `{name}`", is_open=self.open)
        return found

    def _spellings(self, properties: dict[str, Any]) -> dict[str, Any]:
        """By the name that is sent: the field that is meant, values of it, and whether it says nothing here."""
        complaints = self.complaints
        found: dict[str, Any] = {}
        if "spellings" not in self.keys:
            return found
        for name, node in read.mapping(self.keys["spellings"], "spellings", complaints).items():
            keys = {"field": node} if node.kind == "text" else entries(node, "spelling", SPELLING_KEYS, complaints)
            field = read.text(keys["field"], "field", complaints) if "field" in keys else name
            ignored = "ignore" in keys and read.boolean(keys["ignore"], "ignore", complaints)
            values = read.mapping(keys["values"], "values", complaints) if "values" in keys else {}
            if ignored and (name in properties or len(keys) > 1):
                complaints.at_key(node, f"what is left out must be no field, and have no other key (got `{name}`)")
            elif not ignored and field not in properties:
                complaints.at(node, f"field must be one of the input (got `{clip(field)}`)")
            elif field != name and name in properties:
                complaints.at_key(node, f"another spelling must not also be an input (got `{name}`)")
            elif field == name and not ignored and not values:
                complaints.at(node, f"a spelling of `{name}` must say what it stands for")
            found[name] = {
                "field": field,
                "values": {each: read.data(value, "value", complaints) for each, value in values.items()},
                "ignore": ignored,
            }
        return found

    def _schema(self, key: str) -> dict[str, Any] | None:
        return read_schema(self.complaints, self.keys[key], key, is_open=self.open) if key in self.keys else None

    def _enabled(self) -> bool | dict[str, str]:
        node = self.keys.get("enabled")
        if node is None:
            return True
        if node.kind == "boolean":
            return bool(node.value)
        found = entries(node, "enabled", CONDITIONS, self.complaints)
        if not found:
            self.complaints.at(node, f"enabled must be true, false or name one of {', '.join(CONDITIONS)}")
        return {kind: read.text(value, kind, self.complaints) for kind, value in found.items()}

    def _trait(self, key: str) -> bool | str:
        node = self.keys.get(key)
        if node is None:
            return False
        if node.kind == "boolean":
            return bool(node.value)
        return read.choice(node, key, TRAITS, self.complaints)

    def _check_traits(self, entry: dict[str, Any]) -> None:
        """A constant `read_only: true` beside an effect that is none is a mistake, and a dangerous one."""
        changes = [effect["do"] for effect in entry["effects"] if effect["do"] in CHANGING]
        if entry["read_only"] is True and (changes or not entry["effects"]):
            got = f"effect `{changes[0]}`" if changes else "no declared effects"
            remedy = "declare it `by_effects`, or leave it out"
            self.complaints.at(
                self.keys["read_only"], f"read_only must be true only where the effects say so (got {got})", remedy
            )

    def _match(self, properties: dict[str, Any]) -> dict[str, str] | None:
        if "match" not in self.keys:
            return None
        found = entries(self.keys["match"], "match", ("field", "kind"), self.complaints, required=("field", "kind"))
        if len(found) < 2:
            return None
        kind = read.choice(found["kind"], "kind of match", MATCH_KINDS, self.complaints)
        return {"field": field(self.complaints, found["field"], "match", properties), "kind": kind}

    def _max_result_chars(self) -> int | None:
        node = self.keys.get("max_result_chars")
        if node is None:
            return MAX_RESULT_CHARS
        if node.value == "none":
            return None
        return read.integer(node, "max_result_chars", self.complaints, 1)

    def _render(self, properties: dict[str, Any]) -> dict[str, Any]:
        node = self.keys.get("render")
        if node is None or node.value == "generic":
            return {}
        found: dict[str, Any] = {}
        for stage, value in entries(node, "render", RENDERED, self.complaints).items():
            forms = (
                entries(value, f"render of {stage}", FORMS, self.complaints)
                if value.kind == "mapping"
                else {"full": value}
            )
            # Only a call's fields are known by name; what the other stages may show is up to their handler.
            known = properties if stage == "call" else properties | {"message": {}, "summary": {}}
            found[stage] = {
                form: template(self.complaints, text, f"render of {stage}", known) for form, text in forms.items()
            }
        return found

    def _fields(self, key: str, what: str, properties: dict[str, Any]) -> list[str]:
        node = self.keys.get(key)
        return [] if node is None else read.choices(node, what, properties, self.complaints)

    def _examples(self) -> list[dict[str, Any]]:
        node = self.keys.get("examples")
        if node is None:
            return []
        examples = []
        for item in read.sequence(node, "examples", self.complaints):
            found = entries(item, "example", EXAMPLE_KEYS, self.complaints, required=("call",))
            if "call" in found and len(found) == 1:
                self.complaints.at(item, "example must say what the call gives", "effects, complaint or verdict")
            if "effects" in found and "complaint" in found:
                self.complaints.at(item, "example must give effects or a complaint, not both")
            example: dict[str, Any] = {"line": item.line, "column": item.column}
            if "call" in found:
                call = read.mapping(found["call"], "call of an example", self.complaints)
                example["call"] = {name: value.plain() for name, value in call.items()}
            for key in ("effects", "complaint"):
                if key in found:
                    example[key] = read.texts(found[key], key, self.complaints, empty=key == "effects")
            if "verdict" in found:
                example["verdict"] = read.choice(found["verdict"], "verdict", ("allow", "ask", "deny"), self.complaints)
            examples.append(example)
        if node.value == []:
            self.complaints.at(node, f"tool `{self.name}` must have at least one example")
        return examples
