"""Rules: the items of `rules:` and the lists `allow:`, `ask:` and `deny:`, turned into normal form.

A rule in normal form is plain JSON-able data:

    {"lane", "id", "derived", "line", "column", "text", "because", "instead", "lock", "expires",
     "when": PREDICATES, "except": [PREDICATES, …], "delegate": {"to", "until", "within"} | None,
     "excepts", "require": {…} | None, "changes", "matches": […], "not_matches": […]}

All of `when` must hold; a rule with several alternatives has them under `when: {"any": [PREDICATES, …]}` and
nothing beside it. The fields are explained in `FIELDS`, which the JSON Schema shares.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime

from gateway.model.changes import ASK, CHANGES
from gateway.model.decision import LAYERS
from gateway.spec import read
from gateway.spec.predicates import CIRCUMSTANCES, read_alternatives, read_predicates, read_short
from gateway.spec.short import MAIN_FIELDS
from gateway.spec.suggest import did_you_mean, one_of
from gateway.spec.yamltext import MAX_PROBLEMS, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.short import ToolNames
    from gateway.spec.yamltext import Complaints, Node

LANES = ("deny", "ask", "allow")
FIELDS = {
    "id": "names the rule in verdicts, `without:` and `excepts:`; derived from the content if it is missing",
    "deny": "what this rule forbids",
    "ask": "what a person must agree to",
    "allow": "what needs no question",
    "require": "what must be true of a call that `for:` matches, whatever allows it",
    "for": "which calls `require:` speaks of; all if it is missing",
    "because": "the reason, told to people and to the model",
    "instead": "what to do instead, told to the model",
    "except": "alternatives for which this rule is silent",
    "lock": "deny: no lower layer may be delegated an exception; ask: can be answered once only",
    "delegate": "which lower layer may silence this rule with `excepts:`, until when and within which bounds",
    "excepts": "the id of an upper layer's rule that this allow rule silences where that rule delegates it",
    "changes": "what becomes of what a call changes that this rule allows `contained: true`; without it: keep",
    "expires": "an ISO date or time in UTC after which the rule is gone; a date holds until its end",
    "matches": "calls that this rule must match, checked whenever the file is loaded",
    "not_matches": "calls that this rule must not match, checked whenever the file is loaded",
}
REQUIREMENTS = ("confined", "contained", "network", "changes")
DELEGATES = LAYERS[1:-1]
ID_PATTERN = "[a-z0-9][a-z0-9-]*"
# Which fields make sense beside which lane.
_ONLY = {
    "for": ("require",),
    "except": ("deny", "ask", "require"),
    "lock": ("deny", "ask"),
    "delegate": ("deny", "ask"),
    "excepts": ("allow",),
    "changes": ("allow",),
}

_ID = re.compile(ID_PATTERN)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?")


class RuleReader:
    """Reads the rules of one file; keeps ids unique."""

    def __init__(self, tools: ToolNames, complaints: Complaints) -> None:
        self.tools = tools
        self.complaints = complaints
        self.rules: list[dict[str, Any]] = []
        self._given: dict[str, int] = {}

    def short_list(self, node: Node, lane: str) -> None:
        """The top-level list `allow:`, `ask:` or `deny:`."""
        for item in read.sequence(node, f"`{lane}`", self.complaints):
            if item.value.__class__ is str:
                when = read_short(item, lane, self.tools, self.complaints)
                self.rules.append(_rule(lane, item, f"{lane} {item.value}", when))
            else:
                remedy = f"put the long form under `rules:` as `- {lane}: …`"
                self.complaints.at(item, f"entry of `{lane}` must be `Tool(…)` (got {item.shown})", remedy)
            if len(self.complaints.problems) > MAX_PROBLEMS:
                self.complaints.raise_any()

    def rule_list(self, node: Node) -> None:
        """The top-level list `rules:`."""
        for item in read.sequence(node, "`rules`", self.complaints):
            if item.value.__class__ is dict:
                self._rule(item)
            else:
                remedy = "write `- deny: …`, `- ask: …`, `- allow: …` or `- require: …`"
                self.complaints.at(item, f"rule must be a mapping (got {item.shown})", remedy)
            if len(self.complaints.problems) > MAX_PROBLEMS:
                self.complaints.raise_any()

    def finish(self) -> list[dict[str, Any]]:
        """The rules, each with an id that is unique in the file and does not depend on the order of rules."""
        length = 8
        open_ids = {rule["text"]: "" for rule in self.rules if rule["derived"]}
        while open_ids:
            found: dict[str, list[str]] = {}
            for text in open_ids:
                lane = text.split(" ", 1)[0]
                digest = hashlib.blake2b(text.encode("utf-8"), digest_size=32).hexdigest()
                found.setdefault(f"{lane}-{digest[:length]}", []).append(text)
            if length == 64 or all(len(texts) == 1 and name not in self._given for name, texts in found.items()):
                open_ids = {texts[0]: name for name, texts in found.items()}
                break
            length += 8
        taken = set(self._given)
        times: dict[str, int] = {}
        for rule in self.rules:
            if rule["derived"]:
                first = name = open_ids[rule["text"]]
                while name in taken:  # the very same rule once more
                    times[first] = times.get(first, 1) + 1
                    name = f"{first}-{times[first]}"
                taken.add(name)
                rule["id"] = name
        return self.rules

    def _rule(self, node: Node) -> None:
        entries: dict[str, Node] = node.value
        complaints = self.complaints
        lanes = [name for name in entries if name in LANES or name == "require"]
        for name, value in entries.items():
            if name not in FIELDS:
                self._unknown(name, value)
        if len(lanes) != 1:
            got = f"got `{lanes[0]}` and `{lanes[1]}`" if lanes else "got none"
            complaints.at(node, f"rule must have one of `deny`, `ask`, `allow` or `require` ({got})")
            return
        lane = lanes[0]
        for name, places in _ONLY.items():
            if name in entries and lane not in places:
                message = f"`{name}` must stand beside {one_of(places)} (got `{lane}`)"
                complaints.at_key(entries[name], message, _remedy(name))
        rule = _rule(lane, node, "", {})
        if lane == "require":
            rule["require"] = self._require(entries["require"])
            self._set_when(rule, entries.get("for"), "deny")
        else:
            self._set_when(rule, entries[lane], lane)
        for name in ("because", "instead"):
            if name in entries:
                rule[name] = read.text(entries[name], f"`{name}`", complaints).strip()
        if "lock" in entries:
            rule["lock"] = read.boolean(entries["lock"], "`lock`", complaints)
        if "except" in entries:
            rule["except"] = self._except(entries["except"])
        if "delegate" in entries:
            rule["delegate"] = self._delegate(entries["delegate"])
            if rule["lock"]:
                complaints.at_key(
                    entries["delegate"], "`delegate` must not stand beside `lock: true`", "remove one of them"
                )
        if "excepts" in entries:
            rule["excepts"] = self._id(entries["excepts"], "`excepts`")
        if "changes" in entries:
            rule["changes"] = self._changes(entries["changes"], rule)
        if "expires" in entries:
            rule["expires"] = self._moment(entries["expires"], "`expires`")
        for name in ("matches", "not_matches"):
            if name in entries:
                rule[name] = read.texts(entries[name], f"`{name}`", complaints)
        if len(entries) == 1 and entries[lane].value.__class__ is str:
            rule["text"] = f"{lane} {entries[lane].value}"
        else:
            rule["text"] = _text_of(lane, entries)
        if "id" in entries:
            self._own_id(rule, entries["id"])
        self.rules.append(rule)

    def _unknown(self, name: str, value: Node) -> None:
        remedy = ""
        if name in ("effect", "tool", "path", "host", "command", "exec"):
            remedy = f"put it into the rule: `deny: {{{name}: …}}`"
        remedy = remedy or did_you_mean(name, FIELDS, f"known are {one_of(FIELDS)}")
        self.complaints.at_key(value, f"rule must not have the key `{clip(name)}`", remedy)

    def _set_when(self, rule: dict[str, Any], node: Node | None, lane: str) -> None:
        if node is None:
            return
        before = len(self.complaints.problems)
        found = read_alternatives(node, lane, self.tools, self.complaints)
        if len(self.complaints.problems) == before:
            self._check_when(found, rule["lane"], node)
        rule["when"] = found[0] if len(found) == 1 else {"any": found} if found else {}

    def _check_when(self, alternatives: list[dict[str, Any]], lane: str, node: Node) -> None:
        """Complains about a rule that matches everything without saying so."""
        for when in alternatives:
            if not when:
                remedy = 'to match every call write `{tool: "*"}`' if lane != "allow" else ""
                self.complaints.at(node, "rule must say what it matches (got an empty mapping)", remedy)
            elif lane == "allow" and CIRCUMSTANCES.issuperset(when):
                got = ", ".join(f"`{name}`" for name in when)
                remedy = "add `tool`, `effect`, `command`, `exec`, `path` or `host`"
                self.complaints.at(node, f"allow rule must say what it allows (got only {got})", remedy)
            elif lane == "allow":
                self._check_fields(when, node)

    def _check_fields(self, when: dict[str, Any], node: Node) -> None:
        """Complains about an allow on the raw text of a command or path: another command on the line, or a link,
        would walk around it."""
        if any(name in when for name in ("command", "exec", "path")):
            return
        kinds = {} if "tool" in when else {**dict.fromkeys(MAIN_FIELDS, "path"), "command": "shell", "url": ""}
        for name in when.get("tool", ()):
            if name in self.tools:
                known: Any = self.tools[name]
                kinds[known[2]] = known[1]
        for path in when.get("args", ()):
            kind = kinds.get(path.split(".", 1)[0], "")
            if kind in ("shell", "path"):
                remedy = "write `Bash(…)`" if kind == "shell" else "write `Read(…)`, `Edit(…)` or the predicate `path`"
                self.complaints.at(node, f"allow rule must not test `{clip(path)}` as raw text", remedy)

    def _except(self, node: Node) -> list[dict[str, Any]]:
        before = len(self.complaints.problems)
        found = read_alternatives(node, "allow", self.tools, self.complaints)
        if len(self.complaints.problems) == before and not all(found):
            self.complaints.at(node, "`except` must say what it matches (got an empty mapping)")
        for when in found:
            self._check_fields(when, node)
        return found

    def _require(self, node: Node) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in read.known_keys(node, "`require`", REQUIREMENTS, self.complaints).items():
            if name in ("confined", "contained"):
                found[name] = read.boolean(value, f"`{name}`", self.complaints)
            elif name == "changes":
                found[name] = read.choice(value, "`changes`", (ASK,), self.complaints)
            else:
                found[name] = read.choice(value, "`network`", ("off",), self.complaints)
        if node.value == {}:
            self.complaints.at(node, "`require` must not be empty")
        return found

    def _changes(self, node: Node, rule: dict[str, Any]) -> str:
        """What becomes of changes; it says nothing of a call that no alternative contains."""
        when = rule["when"]
        if not any(each.get("contained") is True for each in when.get("any", (when,))):
            remedy = "add `contained: true` to what it allows"
            self.complaints.at_key(node, "`changes` must stand beside `contained: true`", remedy)
        return read.choice(node, "`changes`", CHANGES[1:], self.complaints)

    def _delegate(self, node: Node) -> dict[str, Any]:
        complaints = self.complaints
        entries = read.known_keys(node, "`delegate`", ("to", "until", "within"), complaints)
        found: dict[str, Any] = {"to": "", "until": "", "within": {}}
        if "to" in entries:
            found["to"] = read.choice(entries["to"], "`to`", DELEGATES, complaints)
        elif node.value.__class__ is dict:
            complaints.at(node, "`delegate` must have the key `to`", f"name the layer: {one_of(DELEGATES)}")
        if "until" in entries:
            found["until"] = self._moment(entries["until"], "`until`")
        if "within" in entries:
            found["within"] = read_predicates(entries["within"], "allow", self.tools, complaints)
            if entries["within"].value == {}:
                complaints.at(entries["within"], "`within` must not be empty")
            self._check_fields(found["within"], entries["within"])
        return found

    def _id(self, node: Node, what: str) -> str:
        text = node.value
        if text.__class__ is str and _ID.fullmatch(text):
            return str(text)
        remedy = ""
        if text.__class__ is str and text:
            near = re.sub("[^a-z0-9]+", "-", text.casefold()).strip("-")
            remedy = f"write `{clip(near)}`" if near else ""
        elif text.__class__ is int:
            remedy = "put it in quotes"
        rule = "lower-case letters, digits and dashes, with a letter or digit first"
        self.complaints.at(node, f"{what} must be {rule} (got {node.shown})", remedy)
        return ""

    def _own_id(self, rule: dict[str, Any], node: Node) -> None:
        name = self._id(node, "`id`")
        if not name:
            return
        if name in self._given:
            self.complaints.at(
                node, f"`id` must be unique in the file (got `{clip(name)}`, first on line {self._given[name]})"
            )
        self._given.setdefault(name, node.line)
        rule["id"], rule["derived"] = name, False

    def _moment(self, node: Node, what: str) -> str:
        text = node.value
        if text.__class__ is str and _MOMENT.fullmatch(text) and text.isascii():
            try:
                datetime.fromisoformat(text)
            except ValueError as error:
                self.complaints.at(node, f"{what} must be a real date (got {node.shown}: {error})")
            return str(text)
        rule = "a date as `2027-01-31` or a time as `2027-01-31T17:00Z`"
        self.complaints.at(node, f"{what} must be {rule} (got {node.shown})")
        return ""


def _remedy(name: str) -> str:
    if name == "lock":
        return "an upper layer's allow cannot be taken away; lock the deny or ask rule"
    if name == "except":
        return "write a deny or ask rule for what is excepted"
    return ""


def _rule(lane: str, node: Node, text: str, when: dict[str, Any]) -> dict[str, Any]:
    return {
        "lane": lane, "id": "", "derived": True, "line": node.line, "column": node.column, "text": text,
        "because": "", "instead": "", "lock": False, "expires": "", "when": when, "except": [], "delegate": None,
        "excepts": "", "require": None, "changes": "", "matches": [], "not_matches": [],
    }  # fmt: skip


def _text_of(lane: str, entries: dict[str, Node]) -> str:
    """The rule on one line, as it was written, without its messages and examples."""
    parts = [f"{lane} {_inline(entries[lane])}"]
    parts += [f"{name} {_inline(entries[name])}" for name in _SHOWN if name in entries]
    return " ".join(parts)


_SHOWN = ("for", "changes", "except", "excepts", "delegate", "lock", "expires")


def _inline(node: Node) -> str:
    value = node.value
    kind = value.__class__
    if kind is str:
        return value if value.isprintable() else ascii(value)
    if kind is dict:
        return "{" + ", ".join([f"{name}: {_inline(item)}" for name, item in value.items()]) + "}"
    if kind is list:
        return "[" + ", ".join([_inline(item) for item in value]) + "]"
    return "null" if value is None else str(value).lower()
