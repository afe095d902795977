"""What is declared of one tool, worked out once, so that a call costs little."""

from __future__ import annotations

from gateway.model.effect import Item, Use
from gateway.tools.coerce import coercions, shapes
from gateway.tools.frozen import freeze
from gateway.tools.validate import compile_validator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # (what, its field, tree or not, whether it happens even if the field is not known, the whole declaration)
    Action = tuple[str, str, bool, bool, dict[str, Any]]

OF_A_SERVER = frozenset(("mcp.list_resources", "mcp.read_resource"))
_ALTERNATIVES = ("required", "oneOf", "anyOf")


class Declaration:
    """A tool as its canonical form, its validation and its effects need it. `entry` is the declaration in plain form
    and must not be changed."""

    __slots__ = (
        "actions", "alternatives", "canonical", "check", "check_partial", "coerce", "cwd_fields", "defaults", "entry",
        "foreign", "internal", "level", "match", "match_kind", "name", "open", "plain_fields", "required", "server",
        "server_field", "shapes", "shown_base", "spellings", "use", "words",
    )  # fmt: skip

    def __init__(self, entry: dict[str, Any]) -> None:
        schema = entry["input"]
        properties: dict[str, Any] = schema.get("properties", {})
        match = entry["match"] or {"field": "", "kind": ""}
        self.entry = entry
        self.name: str = entry["name"]
        self.level: str = entry["level"]
        self.open: bool = entry["open"]
        self.foreign: str = entry.get("agent", "")  # the agent whose tool this is, "" for ours
        self.match: str = match["field"]
        self.match_kind: str = match["kind"]
        self.internal = frozenset(entry["internal"])
        self.spellings: dict[str, Any] = entry.get("spellings") or {}
        self.required = frozenset(schema.get("required", ()))
        alternatives = (*schema.get("oneOf", ()), *schema.get("anyOf", ()))
        self.alternatives = [frozenset(part["required"]) for part in alternatives if "required" in part]
        self.check = compile_validator(schema)
        self.plain_fields = _plain_fields(schema)
        self.check_partial = [step for step in self.check if step[0] not in _ALTERNATIVES]
        self.coerce = coercions(properties)
        self.shapes = shapes(properties)
        self.defaults = {name: freeze(part["default"]) for name, part in properties.items() if "default" in part}
        self.use = Item(Use(self.name))
        self.actions = _actions(entry)
        handler = entry.get("handler") or {}
        # The MCP server that is asked, as declared or as a field of the call names it.
        self.server: str = handler.get("server", "")
        self.server_field = "server" if handler.get("name") in OF_A_SERVER else ""
        self.words = next((effect["words"] for effect in entry["effects"] if effect["do"] == "argv"), None)
        self.cwd_fields = [e["field"] for e in entry["effects"] if e.get("default") == "cwd"]
        # A pattern's folders move into the field it is based on: that one must be absolute before.
        kinds = [(name, *(kind if isinstance(kind, list) else (kind, ""))) for name, kind in entry["kinds"].items()]
        self.canonical = sorted(kinds, key=lambda found: found[1] == "glob")
        self.shown_base = next((base for name, kind, base in kinds if kind == "glob" and name == self.match), "")

    def description(self, mode: str = "default") -> str:
        """The text a model gets in a session of this mode."""
        parts = self.entry["description"]
        return "\n\n".join([part["text"] for part in parts if not part["modes"] or mode in part["modes"]])

    def input_schema(self) -> dict[str, Any]:
        """The input schema as a model gets it: nothing internal, and no alternatives at the top level.

        Model APIs refuse those; the description says what belongs together, and a call is held to it.
        """
        return {key: part for key, part in self.entry["input"].items() if key not in ("oneOf", "anyOf")}


def _actions(entry: dict[str, Any]) -> list[Action]:
    """A tool's declared effects in the form that `effects.effects_of` goes through; undeclared effects are opaque."""
    required = entry["input"].get("required", ())
    declared = entry["effects"] or [{"do": "opaque", "why": f"what `{entry['name']}` does is not declared"}]
    found = []
    for effect in declared:
        field = effect.get("field", "")
        always = field in required or "default" in effect
        found.append((effect["do"], field, bool(effect.get("tree")), always, effect))
    return found


def _plain_fields(schema: dict[str, Any]) -> dict[str, tuple[type, int]] | None:
    """The fields of which a schema says no more than that they are text, of which length at least, or a boolean; None
    where it says more of the whole. Of fields that are not here nothing is said."""
    if not {"type", "properties", "required", "additionalProperties", "description"}.issuperset(schema):
        return None
    found: dict[str, tuple[type, int]] = {}
    for name, part in schema.get("properties", {}).items():
        says = part.keys() - {"description", "title", "default", "examples"}
        if part.get("type") == "string" and says <= {"type", "minLength"}:
            found[name] = (str, part.get("minLength", 0))
        elif part.get("type") == "boolean" and says == {"type"}:
            found[name] = (bool, 0)
    return found
