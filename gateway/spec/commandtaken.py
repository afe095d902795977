"""What a description says of words that are taken: of an option's values, and of operands."""

from __future__ import annotations

from gateway.spec.commandfields import Fields
from gateway.spec.commandkeys import DIRECTIONS, KINDS, OPTION, SLOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.spec.commandfields import Spec
    from gateway.spec.node import Node

_SLOT_KEYS = frozenset(SLOT)
_OPTION_KEYS = frozenset(OPTION)


class Taken(Fields):
    """Reads it."""

    def option(self, node: Node) -> Spec:
        """An option: the values that it takes and what they are, and what it does."""
        if node.value is None:
            return {}
        if not self.mapping(node, _OPTION_KEYS, "option"):
            return {}
        option: Spec = {}
        value = node.get("value")
        optional = node.get("optional")
        kinds = value if value is not None else optional
        if kinds is not None:
            option["kinds"] = [self.choice(kind, KINDS, "kind of value") for kind in kinds]
            if not option["kinds"]:
                self.complaints.at(kinds, "value must have a kind (got an empty list)", "leave it out for no value")
            option["kinds"] = ["text" if kind == "number" else kind for kind in option["kinds"]]
            if value is not None:
                option["arity"] = len(option["kinds"])
            else:
                option["optional"] = True
        active = any(kind != "text" for kind in option.get("kinds", ()))
        if (does := node.get("does")) is not None:
            option["does"] = self.effects(does)
        elif active:
            option["does"] = []
        for key in ("sets", "until", "harmless", "when"):
            if node.get(key) is not None:
                option[key] = self.texts(node.get(key))
        if (until := node.get("until")) is not None and kinds is not None:
            self.complaints.at_key(until, "until must stand without a value", "leave out `value` and `optional`")
        for key in ("inert", "braces", "git_setting", "dash", "keep", "open", "appends", "split"):
            if self.boolean(node.get(key)):
                option[key] = True
        if (cwd := node.get("cwd")) is not None:
            if cwd.value not in (True, "operands"):
                self.complaints.at(cwd, f"cwd must be true or operands (got {cwd.shown})")
            if "arity" not in option:
                self.complaints.at(cwd, "cwd must stand beside a value", "add `value: path`")
            option["cwd"] = cwd.value
        self._details(node, option)
        return option

    def _details(self, node: Node, compiled: Spec) -> None:
        if (tree := node.get("tree")) is not None:
            compiled["tree"] = tree.value if tree.value.__class__ is bool else self.texts(tree)
        for key in ("via", "scheme", "direction", "default"):
            if (found := node.get(key)) is not None:
                compiled[key] = str(found.value)
        if (port := node.get("port")) is not None:
            compiled["port"] = port.value if port.value.__class__ is int else 0
        if "direction" in compiled and compiled["direction"] not in DIRECTIONS:
            self.complaints.at(node, f"direction must be one of {', '.join(DIRECTIONS)}")

    def slot(self, node: Node) -> Spec:
        """An operand: what it is, and what is done with it."""
        if not self.mapping(node, _SLOT_KEYS, "operand"):
            return {"kind": "text", "does": []}
        kind = node.get("kind")
        slot: Spec = {"kind": "text" if kind is None else self.choice(kind, KINDS, "kind"), "does": []}
        if slot["kind"] == "number":
            slot["kind"] = "text"
        if (does := node.get("does")) is not None:
            slot["does"] = self.effects(does)
        for key in ("when", "unless", "default_when"):
            if node.get(key) is not None:
                slot[key] = self.texts(node.get(key))
        for key in ("optional", "into", "adds", "dash", "elsewhere"):
            if self.boolean(node.get(key)):
                slot[key] = True
        self._details(node, slot)
        return slot
