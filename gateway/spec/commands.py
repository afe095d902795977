"""Descriptions of programs: YAML text → compiled dicts that `gateway.commands` interprets.

A file describes one program, or several that read their words alike:

    names: [grep, egrep, fgrep]     # one program, the first name is the canonical one; or else
    programs: [md5sum, sha1sum]     # several programs that are used alike
    classes: [search]
    flags: -i|--ignore-case -v      # options without value and effect; `|` joins one option's spellings,
                                    # `--[no-]x` are two options
    values: -m|--max-count          # options with a value that means nothing to us
    optionals: --color              # options with a value only if it is glued
    inert: --no-pager               # flags that change nothing a rule could mean
    alone: --version version        # words that, as the only argument, print something and do nothing else
    options:                        # options that do something
      -f|--file: {value: path, does: read, sets: pattern}
    operands:                       # positions in order; one may be `rest`
      - {kind: text, unless: [-e, pattern]}
      - {kind: path, does: read, tree: [-r], rest: true, default: "."}
    effects: [{do: "read . tree", unless: [--help]}]
    examples: {"grep x f": [read f]}

`subcommands` nest the same keys (`add|stage` are one, `push pull` are two that read their words alike, `list-*` stands
for all that start so and are not named otherwise);
`groups` with `use` share options; a command with `elsewhere: true` runs in a container or on another machine: rules
see its words, its paths are not this machine's. `code: WHY` says that the program runs what nobody can tell. What
a description does not list is never nothing: the engine makes code of it.
The result holds dicts, lists, texts, numbers, booleans and None alone.
"""

from __future__ import annotations

from gateway.spec.commandkeys import (
    CLASSES,
    DIALECTS,
    DIRECTIONS,
    EFFECT,
    EFFECTS,
    KINDS,
    OPTION,
    PATH_KINDS,
    SKIPS,
    SLOT,
    SPEC,
    TOP,
    UNKNOWN_OPTIONS,
)
from gateway.spec.read import ours
from gateway.spec.yamltext import Complaints, Node, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.commands.description import Description

    Spec = dict[str, Any]

_SPEC_KEYS = frozenset(SPEC)
_TOP_KEYS = _SPEC_KEYS | frozenset(TOP)
_SLOT_KEYS = frozenset(SLOT)
_OPTION_KEYS = frozenset(OPTION)
_EFFECT_KEYS = frozenset(EFFECT)


def compile_description(text: str | bytes, file: str, layer: str = "") -> Description:
    """The compiled description of one file. ConfigError with every problem and its place.

    `layer`: the one that brings the file, "" for a shipped one. What speaks of the gateway's own code is for shipped
    descriptions, and for the enterprise layer, whose descriptions stand in their place.
    """
    root = load(text, file)
    complaints = Complaints(file)
    compiled: Any = _Compiler(complaints, layer).program(root)
    complaints.raise_any()
    described: Description = compiled  # a file without complaints is one
    return described


class _Compiler:
    """Compiles one file; complaints gather what is wrong."""

    def __init__(self, complaints: Complaints, layer: str = "") -> None:
        self.complaints = complaints
        self.layer = layer
        self.groups: dict[str, Node] = {}
        self.open: list[str] = []  # the groups that are being read, one in another

    def program(self, root: Node) -> Spec:
        ours(root, "description", _TOP_KEYS, self.complaints, needs="programs" if root.get("programs") else "names")
        several = self._texts(root.get("programs"))
        names = self._texts(root.get("names")) or several
        if not names or (several and root.get("names") is not None):
            self.complaints.at(root, "description must have either names or programs", "add `names: [program]`")
            return {}
        given = root.get("names") or root.get("programs") or root
        self._check_names(given)
        groups = root.get("groups")
        if groups is not None and self._is(groups, dict, "groups", "a mapping"):
            self.groups = groups.value
        compiled = self.spec(root, names[0], None)
        compiled["names"] = names
        if several:
            compiled["several"] = True
        if self._boolean(root.get("builtin")):
            compiled["builtin"] = True
            if self.layer:
                remedy = "leave it out: what bash has built in is known"
                self.complaints.at_key(
                    root.get("builtin") or root, "builtin must be left to shipped descriptions", remedy
                )
        compiled["place"] = [given.line, given.column]
        examples = root.get("examples")
        compiled["examples"] = {}
        if examples is not None and self._is(examples, dict, "examples", "a mapping"):
            compiled["examples"] = {call: self._texts(found) for call, found in examples.value.items()}
            compiled["lines"] = {call: [found.key_line, found.key_column] for call, found in examples.value.items()}
        return compiled

    def _check_names(self, names: Node) -> None:
        for node in names:
            name = node.value
            if name.__class__ is str and (not name or "/" in name or not name.isprintable() or " " in name):
                self.complaints.at(node, f"name must be that of a program, without its folder (got {node.shown})")

    def spec(self, node: Node, name: str, parent: Spec | None) -> Spec:
        """One grammar: the program's own or a subcommand's."""
        compiled: Spec = {"name": name, "dialect": parent["dialect"] if parent else "gnu"}
        compiled.update(table=[], options={}, lead=[], rest=None, tail=[], operands=False)
        compiled["effects"] = list(parent["effects"]) if parent else []
        for key in ("classes", "special"):
            if parent and key in parent:
                compiled[key] = list(parent[key])
        if node.value is None:
            node = Node({}, node._mark)  # noqa: SLF001
        if node.value.__class__ is str or node.value.__class__ is list:
            effects = self._effects(node)
            compiled["effects"] += effects
            if any(effect["kind"] == "code" for effect in effects):
                self._open(compiled)
            return compiled
        if parent is not None and not self._mapping(node, _SPEC_KEYS, "subcommand"):
            return compiled
        if (dialect := node.get("dialect")) is not None:
            compiled["dialect"] = self._choice(dialect, DIALECTS, "dialect")
        if (classes := node.get("classes")) is not None:
            compiled["classes"] = [self._choice(item, CLASSES, "class") for item in classes]
        if (skips := node.get("skips")) is not None and self._is(skips, dict, "skips", "a mapping"):
            for what, options in skips.value.items():
                if what not in SKIPS:
                    self.complaints.at_key(options, f"skips must be one of {', '.join(SKIPS)} (got `{what}`)")
                compiled["skips"] = [what, self._texts(options)]
        if parent is not None and "inherited" in parent:
            compiled["table"] = list(parent["table"])
            compiled["options"] = dict(parent["options"])
        self._grammar(node, compiled)
        if self._boolean(node.get("inherit")) or (parent and "inherited" in parent):
            compiled["inherited"] = True
        children = node.get("subcommands")
        if children is not None and self._is(children, dict, "subcommands", "a mapping"):
            compiled["subcommands"] = {}
            compiled["nested"] = []
            for spellings, child in children.value.items():
                if not spellings.split():
                    self.complaints.at_key(child, "subcommand must have a name (got nothing)")
                    continue
                first = spellings.split()[0].partition("|")[0]
                for names in (one.split("|") for one in spellings.split()):
                    for spelling in names:
                        if spelling.endswith("*"):
                            compiled.setdefault("prefixes", []).append([spelling[:-1], len(compiled["nested"])])
                            if spelling != "*":
                                continue
                        if spelling in compiled["subcommands"]:
                            self.complaints.at_key(child, f"subcommand must be unique (got `{spelling}` again)")
                        compiled["subcommands"][spelling] = len(compiled["nested"])
                        if names[0] != first:
                            compiled.setdefault("canonical", {})[spelling] = names[0]
                compiled["nested"].append(self.spec(child, first, compiled))
            if "prefixes" in compiled:
                compiled["prefixes"].sort(key=lambda found: -len(found[0]))
        for key in ("bare", "default"):
            if (chosen := node.get(key)) is not None:
                if chosen.value not in compiled.get("subcommands", {}):
                    self.complaints.at(chosen, f"{key} must be one of the subcommands (got {chosen.shown})")
                compiled[key] = chosen.value
        compiled.pop("inherited", None)
        return compiled

    def _grammar(self, node: Node, compiled: Spec) -> None:
        """The keys that a group may hold too."""
        for used in node.get("use") or ():
            group = self.groups.get(used.value) if used.value.__class__ is str else None
            if group is None:
                self.complaints.at(used, f"group must be one of this file's groups (got {used.shown})")
            elif used.value in self.open:
                self.complaints.at(used, f"group must not use itself (got {used.shown})")
            elif self._mapping(group, _SPEC_KEYS, "group"):
                self.open.append(used.value)
                self._grammar(group, compiled)
                self.open.pop()
        unknown = node.get("unknown_options")
        if unknown is not None:
            self._choice(unknown, UNKNOWN_OPTIONS, "unknown_options")
            compiled["harmless"] = True
        for key in ("numeric", "dashless", "assign"):
            if self._boolean(node.get(key)):
                compiled[key] = True
        if (alone := node.get("alone")) is not None:
            compiled["alone"] = [*compiled.get("alone", ()), *self._words(alone)]
        if (ignored := node.get("ignored")) is not None:
            compiled["ignored"] = self._texts(ignored)
        if (special := node.get("special")) is not None:
            compiled["special"] = [*compiled.get("special", ()), *self._hooks(special)]
        for key, extra in (("flags", {}), ("inert", {"inert": True}), ("values", {"arity": 1, "kinds": ["text"]})):
            for word in self._words(node.get(key)):
                self._add(compiled, word, dict(extra), node)
        for word in self._words(node.get("optionals")):
            self._add(compiled, word, {"optional": True, "kinds": ["text"]}, node)
        options = node.get("options")
        if options is not None and self._is(options, dict, "options", "a mapping"):
            for spelling, option in options.value.items():
                self._add(compiled, spelling, self._option(option), option)
        if (operands := node.get("operands")) is not None:
            compiled["operands"] = True
            compiled.update(lead=[], rest=None, tail=[])
            for operand in operands:
                self._operand(operand, compiled)
        if (after := node.get("after")) is not None:
            compiled["after"] = self._slot(after)
        if (code := node.get("code")) is not None and self._is(code, str, "code", "text"):
            compiled["effects"].append({"kind": "code", "target": str(code.value)})
            if not compiled["operands"]:
                self._open(compiled)
        if (effects := node.get("effects")) is not None:
            compiled["effects"] += self._effects(effects)

    def _hooks(self, node: Node) -> list[str]:
        from gateway.commands.special import HOOKS

        found = self._texts(node)
        if self.layer not in ("", "enterprise"):
            remedy = "say it with the other keys; the part that they cannot say is `code`"
            self.complaints.at_key(node, "special must be left to shipped descriptions", remedy)
        for name in found:
            if name not in HOOKS:
                self.complaints.at(node, f"special must be one of {', '.join(sorted(HOOKS))} (got `{name}`)")
        return found

    @staticmethod
    def _open(compiled: Spec) -> None:
        """What is code anyway may have any options and operands."""
        compiled["harmless"] = True
        compiled["operands"] = True
        compiled["rest"] = {"kind": "text", "does": []}

    def _add(self, compiled: Spec, spelling: str, option: Spec, node: Node) -> None:
        if "[no-]" in spelling:
            self._add(compiled, spelling.replace("[no-]", ""), dict(option), node)
            spelling = spelling.replace("[no-]", "no-")
        names = spelling.split("|")
        merged = {"names": names, **option}
        if "does" not in option and any(key in option for key in ("cwd", "keep", "split", "until", "git_setting")):
            merged["does"] = []
        for name in names:
            if not name:
                self.complaints.at_key(node, f"option must have a name between its bars (got `{spelling}`)")
            compiled["options"][name] = len(compiled["table"])
        compiled["table"].append(merged)

    def _option(self, node: Node) -> Spec:
        if node.value is None:
            return {}
        if not self._mapping(node, _OPTION_KEYS, "option"):
            return {}
        option: Spec = {}
        value = node.get("value")
        optional = node.get("optional")
        kinds = value if value is not None else optional
        if kinds is not None:
            option["kinds"] = [self._choice(kind, KINDS, "kind of value") for kind in kinds]
            if not option["kinds"]:
                self.complaints.at(kinds, "value must have a kind (got an empty list)", "leave it out for no value")
            option["kinds"] = ["text" if kind == "number" else kind for kind in option["kinds"]]
            if value is not None:
                option["arity"] = len(option["kinds"])
            else:
                option["optional"] = True
        active = any(kind != "text" for kind in option.get("kinds", ()))
        if (does := node.get("does")) is not None:
            option["does"] = self._effects(does)
        elif active:
            option["does"] = []
        for key in ("sets", "until", "harmless", "when"):
            if node.get(key) is not None:
                option[key] = self._texts(node.get(key))
        if (until := node.get("until")) is not None and kinds is not None:
            self.complaints.at_key(until, "until must stand without a value", "leave out `value` and `optional`")
        for key in ("inert", "braces", "git_setting", "dash", "keep", "open", "appends", "split"):
            if self._boolean(node.get(key)):
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
            compiled["tree"] = tree.value if tree.value.__class__ is bool else self._texts(tree)
        for key in ("via", "scheme", "direction", "default"):
            if (found := node.get(key)) is not None:
                compiled[key] = str(found.value)
        if (port := node.get("port")) is not None:
            compiled["port"] = port.value if port.value.__class__ is int else 0
        if "direction" in compiled and compiled["direction"] not in DIRECTIONS:
            self.complaints.at(node, f"direction must be one of {', '.join(DIRECTIONS)}")

    def _slot(self, node: Node) -> Spec:
        if not self._mapping(node, _SLOT_KEYS, "operand"):
            return {"kind": "text", "does": []}
        kind = node.get("kind")
        slot: Spec = {"kind": "text" if kind is None else self._choice(kind, KINDS, "kind"), "does": []}
        if slot["kind"] == "number":
            slot["kind"] = "text"
        if (does := node.get("does")) is not None:
            slot["does"] = self._effects(does)
        for key in ("when", "unless", "default_when"):
            if node.get(key) is not None:
                slot[key] = self._texts(node.get(key))
        for key in ("optional", "into", "adds", "dash", "elsewhere"):
            if self._boolean(node.get(key)):
                slot[key] = True
        self._details(node, slot)
        return slot

    def _operand(self, node: Node, compiled: Spec) -> None:
        slot = self._slot(node)
        if "when" in slot or "unless" in slot:
            compiled["conditional"] = True
        if node.value.__class__ is dict and self._boolean(node.get("rest")):
            if compiled["rest"] is not None:
                self.complaints.at(node, "operands must have one `rest` at most (got another)")
            compiled["rest"] = slot
        elif compiled["rest"] is None:
            compiled["lead"].append(slot)
        else:
            compiled["tail"].append(slot)

    def _effects(self, node: Node) -> list[Spec]:
        found: list[Spec] = []
        for item in node:
            if item.value.__class__ is dict:
                if not self._mapping(item, _EFFECT_KEYS, "effect"):
                    continue
                conditions = {
                    key: self._texts(item.get(key)) for key in ("when", "unless") if item.get(key) is not None
                }
                found += [{**self._effect(text), **conditions} for text in item.get("do") or ()]
            else:
                found.append(self._effect(item))
        return found

    def _effect(self, node: Node) -> Spec:
        """One effect's text: its kind, its target (none: the value or operand), and what it takes besides."""
        if not self._is(node, str, "effect", "text"):
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
            effect["target"] = rest
        else:
            if not words:
                self.complaints.at(node, f"effect must name its action (got {node.shown})")
            effect["target"] = words[0] if words else ""
            effect["extra"] = " ".join(words[1:])
        return effect

    def _mapping(self, node: Node, keys: frozenset[str], what: str) -> bool:
        if not self._is(node, dict, what, "a mapping"):
            return False
        for key, value in node.value.items():
            if key not in keys:
                self.complaints.at_key(value, f"{what} must have known keys only (got `{key}`)", _closest(key, keys))
        return True

    def _is(self, node: Node, kind: type, what: str, rule: str) -> bool:
        if node.value.__class__ is kind:
            return True
        self.complaints.at(node, f"{what} must be {rule} (got {node.shown})")
        return False

    def _choice(self, node: Node, allowed: Iterable[str], what: str) -> str:
        words = tuple(allowed)
        if node.value in words:
            return str(node.value)
        self.complaints.at(node, f"{what} must be one of {', '.join(words)} (got {node.shown})")
        return words[0]

    def _boolean(self, node: Node | None) -> bool:
        if node is None:
            return False
        return self._is(node, bool, "switch", "true or false") and bool(node.value)

    def _texts(self, node: Node | None) -> list[str]:
        if node is None or node.value is None:
            return []
        found: list[str] = []
        for item in node:
            if item.value.__class__ is int:  # an option such as `-3`
                found.append(str(item.value))
            elif self._is(item, str, "item", "text"):
                found.append(item.value)
        return found

    def _words(self, node: Node | None) -> list[str]:
        return [word for text in self._texts(node) for word in text.split()]


def _closest(key: str, keys: frozenset[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(key, sorted(keys), 1)
    return f"did you mean `{found[0]}`" if found else f"known are {', '.join(sorted(keys))}"
