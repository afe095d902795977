"""The tools of foreign agents: `gateway/agents/tools/AGENT.yaml`, loaded as strictly as our own.

    version: 1
    agent: gemini
    tools:
      write_file:
        stands_for: Write
        fields: {content: content}
        examples:
          - {call: {file_path: a.txt, content: x}, effects: [write /home/dev/project/a.txt]}

A tool that stands for one of ours takes level, effects and match field from it; `fields` says under which other names
it has ours. One that stands for none says them itself, and its `name` is what rules call it. What a file does not say
of a field is nothing against a call: schemas are open.
"""

from __future__ import annotations

from gateway.core.errors import CallError, ConfigError, Problem
from gateway.model.call import RawCall
from gateway.model.decision import LEVELS
from gateway.spec import read
from gateway.spec.node import Complaints, clip
from gateway.spec.tool_effects import MATCH_KINDS, field, read_effects, read_kinds
from gateway.spec.tool_fields import entries, read_schema, unknown_name
from gateway.spec.yamltext import load
from gateway.tools.canonical import canonicalise
from gateway.tools.effects import describe, effects_of
from gateway.tools.examples import WORLD
from gateway.tools.foreign import renamed
from gateway.tools.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.node import Node
    from gateway.tools.registry import Registry

VERSION = 1
TOP_KEYS = ("version", "agent", "tools")
ENTRY_KEYS = (
    "stands_for", "name", "fields", "input", "required", "level", "match", "effects", "canonical", "private", "cwd",
    "shell", "examples",
)  # fmt: skip
EXAMPLE_KEYS = ("call", "effects", "complaint")
MORE_EFFECTS = ("patch", "urls", "patterns")
SHELLS = ("bash", "powershell", "cmd", "other")

_STRING: dict[str, Any] = {"type": "string"}
_STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_TYPES = {"text": _STRING, "texts": _STRINGS, "any": {}}


def compile_foreign(text: str | bytes, file: str, shipped: Registry) -> list[dict[str, Any]]:
    """The tools of a file in plain form, each with the names that `gateway.core.packed` files it under.

    Raises ConfigError with every problem and its place, and with every example that gives something else than it says.
    """
    document = load(text, file)
    complaints = Complaints(file)
    top = entries(document, "file", TOP_KEYS, complaints, required=TOP_KEYS)
    if "version" in top and top["version"].value != VERSION:
        complaints.at(top["version"], f"version must be {VERSION} (got {top['version'].shown})")
    agent = read.text(top["agent"], "agent", complaints) if "agent" in top else ""
    found = []
    for name, node in (read.mapping(top["tools"], "tools", complaints) if "tools" in top else {}).items():
        found.append(_Entry(complaints, agent, name, node, shipped).read())
    complaints.raise_any()
    problems = [problem for entry in found for problem in _check(entry, file)]
    if problems:
        raise ConfigError(problems)
    return found


class _Entry:
    """Reads one tool."""

    def __init__(self, complaints: Complaints, agent: str, name: str, node: Node, shipped: Registry) -> None:
        self.complaints = complaints
        self.agent = agent
        self.name = name
        self.node = node
        self.keys = entries(node, f"tool `{clip(name)}`", ENTRY_KEYS, complaints, required=("examples",))
        self.shipped = shipped
        self.ours = self._stands_for()

    def _stands_for(self) -> dict[str, Any] | None:
        node = self.keys.get("stands_for")
        if node is None:
            return None
        name = read.text(node, "stands_for", self.complaints)
        if name not in self.shipped:
            if name:
                unknown_name(self.complaints, node, "tool that it stands for", tuple(self.shipped))
            return None
        return self.shipped[name].entry

    def read(self) -> dict[str, Any]:
        complaints, keys, ours = self.complaints, self.keys, self.ours
        fields = self._renamed()
        properties = self._properties()
        if "effects" in keys or ours is None:
            effects = read_effects(complaints, keys.get("effects"), properties, MORE_EFFECTS)
            if "effects" not in keys:
                complaints.at_key(self.node, f"tool `{clip(self.name)}` must say its effects, or what it stands for")
        else:
            effects = [effect for effect in ours["effects"] if effect.get("field", "") in ("", *properties)]
        match = self._match(properties)
        if match is None and ours is not None and "effects" not in keys:
            match = ours["match"]
        required = self._required(properties, effects)
        name = ours["name"] if ours is not None else self._own_name()
        level = "execute" if ours is None else ours["level"]
        return {
            "names": [f"{self.agent}/{self.name}"],
            "agent": self.agent,
            "theirs": self.name,
            "own": name not in self.shipped.names(),
            "name": name,
            "line": self.node.key_line,
            "summary": f"`{self.name}` of {self.agent}",
            "description": [],
            "input": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": True,
            },
            "internal": {},
            "open": True,
            "enabled": True,
            "level": read.choice(keys["level"], "level", LEVELS, complaints) if "level" in keys else level,
            "read_only": False,
            "destructive": False,
            "concurrency_safe": False,
            "match": match,
            "effects": effects,
            "kinds": self._kinds(match, effects, properties),
            "filters": False,
            "private": self._private(),
            "fields": fields,
            "cwd": self._cwd(),
            "shell": read.choice(keys["shell"], "shell", SHELLS, complaints) if "shell" in keys else "",
            "examples": self._examples(),
        }  # fmt: skip

    def _own_name(self) -> str:
        """What rules call it. The name may be that of one of ours: then rules on that one hold for this one too."""
        return read.text(self.keys["name"], "name", self.complaints) if "name" in self.keys else self.name

    def _renamed(self) -> dict[str, str]:
        """Their names for fields, each with ours."""
        if "fields" not in self.keys:
            return {}
        found: dict[str, str] = {}
        for theirs, node in read.mapping(self.keys["fields"], "fields", self.complaints).items():
            ours = read.text(node, f"name of `{clip(theirs)}`", self.complaints)
            if ours in found.values():
                self.complaints.at(node, f"field `{clip(ours)}` must have one name")
            if self.ours is not None and ours and ours not in self.ours["input"]["properties"]:
                unknown_name(self.complaints, node, "field of ours", tuple(self.ours["input"]["properties"]))
            found[theirs] = ours
        return found

    def _properties(self) -> dict[str, dict[str, Any]]:
        """The fields that something is said of: those that our tool's effects speak of, and what the file adds."""
        found: dict[str, dict[str, Any]] = {}
        if self.ours is not None and "effects" not in self.keys:
            named = self.ours["input"]["properties"]
            used = {effect["field"] for effect in self.ours["effects"] if effect.get("field")}
            used |= {part["field"] for e in self.ours["effects"] for part in e.get("text", ()) if "field" in part}
            used |= set(self.ours["kinds"]) | {(self.ours["match"] or {}).get("field", "")}
            found = {name: _loose(named[name]) for name in named if name in used}
        if "input" in self.keys:
            for name, node in read.mapping(self.keys["input"], "input", self.complaints).items():
                if node.kind == "mapping":
                    found[name] = read_schema(self.complaints, node, f"field `{clip(name)}`", is_open=True)
                else:
                    kind = read.choice(node, f"field `{clip(name)}`", tuple(_TYPES), self.complaints)
                    found[name] = dict(_TYPES.get(kind, {}))
        return found

    def _required(self, properties: dict[str, Any], effects: list[dict[str, Any]]) -> list[str]:
        if "required" in self.keys:
            known, node = tuple(properties), self.keys["required"]
            return read.choices(node, "required field", known, self.complaints) if node.value else []
        if self.ours is not None and "effects" not in self.keys:
            return [name for name in self.ours["input"].get("required", ()) if name in properties]
        return [effect["field"] for effect in effects if effect.get("field") and effect.get("default") is None]

    def _match(self, properties: dict[str, Any]) -> dict[str, str] | None:
        if "match" not in self.keys:
            return None
        node = self.keys["match"]
        found = entries(node, "match", ("field", "kind"), self.complaints, required=("field", "kind"))
        if len(found) < 2:
            return None
        kind = read.choice(found["kind"], "kind of match", MATCH_KINDS, self.complaints)
        return {"field": field(self.complaints, found["field"], "match", properties), "kind": kind}

    def _kinds(
        self, match: dict[str, str] | None, effects: list[dict[str, Any]], properties: dict[str, Any]
    ) -> dict[str, Any]:
        kinds = read_kinds(self.complaints, self.keys.get("canonical"), match, effects, properties)
        if self.ours is not None and "effects" not in self.keys and "canonical" not in self.keys:
            kinds |= {name: kind for name, kind in self.ours["kinds"].items() if name in properties}
        return kinds

    def _private(self) -> list[str]:
        if "private" in self.keys:
            return read.texts(self.keys["private"], "private", self.complaints)
        return list(self.ours["private"]) if self.ours is not None else []

    def _cwd(self) -> str:
        """The field that says where the call works, "" if none does."""
        node = self.keys.get("cwd")
        return "" if node is None else read.text(node, "cwd", self.complaints)

    def _examples(self) -> list[dict[str, Any]]:
        node = self.keys.get("examples")
        found = []
        for item in read.sequence(node, "examples", self.complaints) if node is not None else ():
            parts = entries(item, "example", EXAMPLE_KEYS, self.complaints, required=("call",))
            if ("effects" in parts) == ("complaint" in parts):
                self.complaints.at(item, "example must give either effects or a complaint")
            example: dict[str, Any] = {"line": item.line, "column": item.column}
            if "call" in parts:
                call = read.mapping(parts["call"], "call of an example", self.complaints)
                example["call"] = {name: value.plain() for name, value in call.items()}
            for key in ("effects", "complaint"):
                if key in parts:
                    example[key] = read.texts(parts[key], key, self.complaints, empty=key == "effects")
            found.append(example)
        if not found:
            self.complaints.at_key(self.node, f"tool `{clip(self.name)}` must have at least one example")
        return found


def _loose(schema: dict[str, Any]) -> dict[str, Any]:
    """What kind of value a field holds, and nothing of what else ours demands."""
    found = {key: schema[key] for key in ("type",) if key in schema}
    if "items" in schema:
        found["items"] = _loose(schema["items"])
    return found


def _check(entry: dict[str, Any], file: str) -> list[Problem]:
    """The examples that give something else than they say."""
    tool, problems = Tool(entry), []
    for example in entry["examples"]:
        wrong = _wrong(tool, example)
        if wrong:
            message = f"example of {entry['theirs']} {wrong}"
            problems.append(Problem(message, file=file, line=example["line"], column=example["column"]))
    return problems


def _wrong(tool: Tool, example: dict[str, Any]) -> str:
    try:
        call = canonicalise(tool, RawCall(tool.name, renamed(tool, example["call"])), WORLD)
    except CallError as error:
        paths = sorted(problem.path for problem in error.problems)
        if "complaint" not in example:
            return f"must be a valid call (got: {'; '.join(map(str, error.problems))})"
        if paths != sorted(example["complaint"]):
            return f"must complain about {example['complaint']} (got {paths})"
        return ""
    if "complaint" in example:
        return f"must complain about {example['complaint']} (got a valid call)"
    found = describe(*effects_of(tool, call, WORLD))
    return "" if found == example["effects"] else f"must have the effects {example['effects']} (got {found})"
