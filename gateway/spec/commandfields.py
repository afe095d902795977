"""The values that stand in many places of a description: words, switches, choices and effects."""

from __future__ import annotations

from gateway.spec.commandkeys import CHANGED, DIRECTIONS, EFFECT, EFFECTS, PATH_KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.spec.node import Complaints, Node

    Spec = dict[str, Any]

_EFFECT_KEYS = frozenset(EFFECT)


class Fields:
    """Reads them; complaints gather what is wrong, and something harmless to go on with stands in its place."""

    def __init__(self, complaints: Complaints) -> None:
        self.complaints = complaints

    def effects(self, node: Node) -> list[Spec]:
        """Effects in either form, as texts or under `do` with conditions."""
        found: list[Spec] = []
        for item in node:
            if item.value.__class__ is dict:
                if not self.mapping(item, _EFFECT_KEYS, "effect"):
                    continue
                conditions = {key: self.texts(item.get(key)) for key in ("when", "unless") if item.get(key) is not None}
                there = self.boolean(item.get("there"))
                for text in item.get("do") or ():
                    effect = {**self._effect(text), **conditions}
                    if there and (effect["kind"] not in ("read", "credential", "code") or "tree" in effect):
                        said = "there must stand with `read`, `credential` or `code`"
                        self.complaints.at(text, f"{said} (got {text.shown})")
                    found.append({**effect, "there": True} if there else effect)
            else:
                found.append(self._effect(item))
        return found

    def _effect(self, node: Node) -> Spec:
        """One effect's text: its kind, its target (none: the value or operand), and what it takes besides."""
        if not self.check(node, str, "effect", "text"):
            return {"kind": "opaque", "target": ""}
        kind, _, rest = node.value.partition(" ")
        words = rest.split()
        effect: Spec = {"kind": kind}
        if kind not in EFFECTS:
            self.complaints.at(node, f"effect must be one of {', '.join(EFFECTS)} (got `{kind}`)")
        elif kind in PATH_KINDS:
            if words and words[-1] == "tree":
                effect["tree"] = True
                words.pop()
            if words:
                effect["target"] = words.pop(0)
            if words:
                self.complaints.at(node, f"effect on a path must be `{kind} [PATH] [tree]` (got {node.shown})")
        elif kind in ("code", "opaque"):
            effect["target"] = rest
        elif kind == "connect":
            if words and words[-1] in DIRECTIONS:
                effect["extra"] = words.pop()
            effect["target"] = " ".join(words)
        elif kind == "env":
            effect["extra"] = words.pop() if words else ""
            effect["target"] = " ".join(words)
            if effect["extra"] not in ("read", "set"):
                self.complaints.at(node, f"effect on a variable must end in read or set (got {node.shown})")
        elif kind == "credential":
            target, _, last = rest.rpartition(" ")
            effect["target"] = target if last == CHANGED else rest
            if last == CHANGED:
                effect["extra"] = CHANGED
        else:
            if not words:
                self.complaints.at(node, f"effect must name its action (got {node.shown})")
            effect["target"] = words[0] if words else ""
            effect["extra"] = " ".join(words[1:])
        return effect

    def mapping(self, node: Node, keys: frozenset[str], what: str) -> bool:
        """Whether it is a mapping; keys that are not known are complained of and no obstacle. `what`: what it should
        be."""
        if not self.check(node, dict, what, "a mapping"):
            return False
        for key, value in node.value.items():
            if key not in keys:
                self.complaints.at_key(value, f"{what} must have known keys only (got `{key}`)", _closest(key, keys))
        return True

    def check(self, node: Node, kind: type, what: str, rule: str) -> bool:
        """Whether the value is of this type. `what` and `rule` say in the complaint what must be what."""
        if node.value.__class__ is kind:
            return True
        self.complaints.at(node, f"{what} must be {rule} (got {node.shown})")
        return False

    def choice(self, node: Node, allowed: Iterable[str], what: str) -> str:
        """The value if it is one of those allowed, else the first of them."""
        words = tuple(allowed)
        if node.value in words:
            return str(node.value)
        self.complaints.at(node, f"{what} must be one of {', '.join(words)} (got {node.shown})")
        return words[0]

    def boolean(self, node: Node | None) -> bool:
        """Whether it is there and true."""
        if node is None:
            return False
        return self.check(node, bool, "switch", "true or false") and bool(node.value)

    def texts(self, node: Node | None) -> list[str]:
        """A text, or the texts of a list; whole numbers count as written, for options such as `-3`."""
        if node is None or node.value is None:
            return []
        found: list[str] = []
        for item in node:
            if item.value.__class__ is int:  # an option such as `-3`
                found.append(str(item.value))
            elif self.check(item, str, "item", "text"):
                found.append(item.value)
        return found

    def words(self, node: Node | None) -> list[str]:
        """The words of all texts, split at blanks."""
        return [word for text in self.texts(node) for word in text.split()]


def _closest(key: str, keys: frozenset[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(key, sorted(keys), 1)
    return f"did you mean `{found[0]}`" if found else f"known are {', '.join(sorted(keys))}"
