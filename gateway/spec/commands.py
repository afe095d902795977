"""Descriptions of programs: YAML text → compiled dicts that `gateway.commands` interprets.

A file describes one program, or several that read their words alike:

    names: [grep, egrep, fgrep]     # one program, the first name is the canonical one; or else
    programs: [md5sum, sha1sum]     # several programs that are used alike
    checked: GNU grep 3.8           # the program and version that this was compared with
    classes: [search]
    flags: -i|--ignore-case -v      # options without value and effect; `|` joins one option's spellings,
                                    # `--[no-]x` are two options
    values: -m|--max-count          # options with a value that means nothing to us
    optionals: --color              # options with a value only if it is glued
    file_urls: --parameters         # options with a value that may be `file://PATH`, which is read
    at_paths: --parameters          # options with a value that may be `@PATH`, which is read
    inert: --no-pager               # flags that change nothing a rule could mean
    alone: --version version        # words that, as the only argument, print something and do nothing else
    helps: --help help              # words that do so behind named subcommands, too, whatever those do
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

import re

from gateway.spec.commandkeys import (
    CHECKED,
    CLASSES,
    DIALECTS,
    PART,
    SKIPS,
    SPEC,
    TOP,
    UNKNOWN_OPTIONS,
)
from gateway.spec.commandtaken import Taken
from gateway.spec.read import ours
from gateway.spec.yamltext import Complaints, Node, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.commands.description import Description

    Spec = dict[str, Any]

# What the words under a key are as options.
_LISTS: dict[str, Spec] = {
    "flags": {},
    "inert": {"inert": True},
    "values": {"arity": 1, "kinds": ["text"]},
    "optionals": {"optional": True, "kinds": ["text"]},
    "file_urls": {"arity": 1, "kinds": ["file-url"], "does": []},
    "at_paths": {"arity": 1, "kinds": ["@path"], "does": []},
}
_SPEC_KEYS = frozenset(SPEC)
_TOP_KEYS = _SPEC_KEYS | frozenset(TOP) - {"of"}


def compile_description(
    text: str | bytes, file: str, layer: str = "", parts: Iterable[tuple[str, str | bytes]] = ()
) -> Description:
    """The compiled description of one file, with the path and text of those that go on with it. ConfigError with every
    problem and its place.

    `layer`: the one that brings the file, "" for a shipped one. What speaks of the gateway's own code is for shipped
    descriptions, and for the enterprise layer, whose descriptions stand in their place.
    """
    root = load(text, file)
    opened = [(Complaints(path), load(content, path)) for path, content in parts]
    complaints = Complaints(file)
    compiled: Any = _Compiler(complaints, layer).program(root, opened)
    Complaints(
        file, [each for found in (complaints, *(one for one, _ in opened)) for each in found.problems]
    ).raise_any()
    described: Description = compiled  # a file without complaints is one
    return described


def check_is_description(root: Node, file: str) -> None:
    """Raises ConfigError, with no word that stands in the file, if it is none."""
    complaints = Complaints(file)
    if root.get("of") is not None:
        ours(root, "part of a description", PART, complaints, needs="of")
    else:
        ours(root, "description", _TOP_KEYS, complaints, needs="programs" if root.get("programs") else "names")


class _Compiler(Taken):
    """Compiles one file; complaints gather what is wrong."""

    def __init__(self, complaints: Complaints, layer: str = "") -> None:
        super().__init__(complaints)
        self.layer = layer
        self.groups: dict[str, tuple[Complaints, Node]] = {}  # each with those of its file
        self.open: list[str] = []  # the groups that are being read, one in another

    def program(self, root: Node, parts: Iterable[tuple[Complaints, Node]] = ()) -> Spec:
        ours(root, "description", _TOP_KEYS, self.complaints, needs="programs" if root.get("programs") else "names")
        for complaints, part in parts:
            ours(part, "part of a description", PART, complaints, needs="of")
        several = self.texts(root.get("programs"))
        names = self.texts(root.get("names")) or several
        if not names or (several and root.get("names") is not None):
            self.complaints.at(root, "description must have either names or programs", "add `names: [program]`")
            return {}
        given = root.get("names") or root.get("programs") or root
        self._check_names(given)
        files = [(self.complaints, root), *parts]
        for complaints, file in files:
            self._groups(complaints, file.get("groups"))
        compiled = self.spec(root, names[0], None, parts)
        compiled["names"] = names
        if several:
            compiled["several"] = True
        if self.boolean(root.get("builtin")):
            compiled["builtin"] = True
            if self.layer:
                remedy = "leave it out: what bash has built in is known"
                self.complaints.at_key(
                    root.get("builtin") or root, "builtin must be left to shipped descriptions", remedy
                )
        compiled["place"] = [given.line, given.column]
        compiled["examples"] = {}
        compiled["lines"] = {}
        checked: dict[str, None] = {}
        for complaints, file in files:
            self.complaints = complaints
            self._examples(file.get("examples"), compiled)
            checked |= dict.fromkeys(self._checked(file.get("checked")))
        if root.get("checked") is not None:
            compiled["checked"] = list(checked)
        return compiled

    def _groups(self, complaints: Complaints, groups: Node | None) -> None:
        if groups is None or not self.check(groups, dict, "groups", "a mapping"):
            return
        for name, group in groups.value.items():
            if name in self.groups:
                complaints.at_key(group, f"group must be unique (got `{name}` again)")
            self.groups[name] = complaints, group

    def _examples(self, examples: Node | None, compiled: Spec) -> None:
        if examples is None or not self.check(examples, dict, "examples", "a mapping"):
            return
        for call, found in examples.value.items():
            if call in compiled["examples"]:
                self.complaints.at_key(found, "example must be unique (got it again)", "it stands in another file too")
            compiled["examples"][call] = self.texts(found)
            compiled["lines"][call] = [found.key_line, found.key_column, self.complaints.file]

    def _checked(self, node: Node | None) -> list[str]:
        for item in node or ():
            if item.value.__class__ is str and not re.match(CHECKED, item.value):
                message = f"checked must name a program and its version (got {item.shown})"
                self.complaints.at(item, message, "as in `GNU tar 1.35`")
        return self.texts(node)

    def _check_names(self, names: Node) -> None:
        for node in names:
            name = node.value
            if name.__class__ is str and (not name or "/" in name or not name.isprintable() or " " in name):
                self.complaints.at(node, f"name must be that of a program, without its folder (got {node.shown})")

    def spec(self, node: Node, name: str, parent: Spec | None, parts: Iterable[tuple[Complaints, Node]] = ()) -> Spec:
        """One grammar: the program's own or a subcommand's. `parts`: files with more of its subcommands."""
        compiled: Spec = {"name": name, "dialect": parent["dialect"] if parent else "gnu"}
        compiled.update(table=[], options={}, lead=[], rest=None, tail=[], operands=False)
        compiled["effects"] = list(parent["effects"]) if parent else []
        for key in ("classes", "special"):
            if parent and key in parent:
                compiled[key] = list(parent[key])
        if node.value is None:
            node = Node({}, node._mark)  # noqa: SLF001
        if node.value.__class__ is str or node.value.__class__ is list:
            effects = self.effects(node)
            compiled["effects"] += effects
            if any(effect["kind"] == "code" for effect in effects):
                self._open(compiled)
            return compiled
        if parent is not None and not self.mapping(node, _SPEC_KEYS, "subcommand"):
            return compiled
        if (dialect := node.get("dialect")) is not None:
            compiled["dialect"] = self.choice(dialect, DIALECTS, "dialect")
        if (classes := node.get("classes")) is not None:
            compiled["classes"] = [self.choice(item, CLASSES, "class") for item in classes]
        if (skips := node.get("skips")) is not None and self.check(skips, dict, "skips", "a mapping"):
            for what, options in skips.value.items():
                if what not in SKIPS:
                    self.complaints.at_key(options, f"skips must be one of {', '.join(SKIPS)} (got `{what}`)")
                compiled["skips"] = [what, self.texts(options)]
        if parent is not None and "inherited" in parent:
            compiled["table"] = list(parent["table"])
            compiled["options"] = dict(parent["options"])
        self._grammar(node, compiled)
        if self.boolean(node.get("inherit")) or (parent and "inherited" in parent):
            compiled["inherited"] = True
        own = self.complaints
        for complaints, file in ((own, node), *parts):
            self.complaints = complaints
            self._children(file.get("subcommands"), compiled)
        self.complaints = own
        if compiled["dialect"] == "none" and ("subcommands" in compiled or not compiled["operands"]):
            remedy = "list `operands`; words with a dash can be options of the dialect `dash`"
            self.complaints.at(node, "dialect none must stand with operands and no subcommands", remedy)
        if "prefixes" in compiled:
            compiled["prefixes"].sort(key=lambda found: -len(found[0]))
        for key in ("bare", "default"):
            if (chosen := node.get(key)) is not None:
                if chosen.value not in compiled.get("subcommands", {}):
                    self.complaints.at(chosen, f"{key} must be one of the subcommands (got {chosen.shown})")
                compiled[key] = chosen.value
        compiled.pop("inherited", None)
        return compiled

    def _children(self, children: Node | None, compiled: Spec) -> None:
        if children is None or not self.check(children, dict, "subcommands", "a mapping"):
            return
        compiled.setdefault("subcommands", {})
        nested = compiled.setdefault("nested", [])
        for spellings, child in children.value.items():
            if not spellings.split():
                self.complaints.at_key(child, "subcommand must have a name (got nothing)")
                continue
            first = spellings.split()[0].partition("|")[0]
            for names in (one.split("|") for one in spellings.split()):
                for spelling in names:
                    if spelling.endswith("*"):
                        compiled.setdefault("prefixes", []).append([spelling[:-1], len(nested)])
                        if spelling != "*":
                            continue
                    if spelling in compiled["subcommands"]:
                        self.complaints.at_key(child, f"subcommand must be unique (got `{spelling}` again)")
                    compiled["subcommands"][spelling] = len(nested)
                    if names[0] != first:
                        compiled.setdefault("canonical", {})[spelling] = names[0]
            nested.append(self.spec(child, first, compiled))

    def _grammar(self, node: Node, compiled: Spec) -> None:
        """The keys that a group may hold too."""
        for used in node.get("use") or ():
            complaints, group = self.groups.get(str(used.value), (self.complaints, None))
            if group is None:
                self.complaints.at(used, f"group must be one of this file's groups (got {used.shown})")
            elif used.value in self.open:
                self.complaints.at(used, f"group must not use itself (got {used.shown})")
            else:
                own, self.complaints = self.complaints, complaints
                if self.mapping(group, _SPEC_KEYS, "group"):
                    self.open.append(used.value)
                    self._grammar(group, compiled)
                    self.open.pop()
                self.complaints = own
        unknown = node.get("unknown_options")
        if unknown is not None:
            self.choice(unknown, UNKNOWN_OPTIONS, "unknown_options")
            compiled["harmless"] = True
        for key in ("numeric", "dashless", "assign"):
            if self.boolean(node.get(key)):
                compiled[key] = True
        for key in ("alone", "helps"):
            if (words := node.get(key)) is not None:
                compiled[key] = [
                    *compiled.get(key, ()),
                    *[word for each in self.words(words) for word in each.split("|")],
                ]
        if (ignored := node.get("ignored")) is not None:
            compiled["ignored"] = self.texts(ignored)
        if (special := node.get("special")) is not None:
            compiled["special"] = [*compiled.get("special", ()), *self._hooks(special)]
        listed: dict[str, Node] = {}
        for key, shape in _LISTS.items():
            if (words := node.get(key)) is not None:
                for word in self.words(words):
                    self._add(compiled, word, dict(shape), words, listed)
        options = node.get("options")
        if options is not None and self.check(options, dict, "options", "a mapping"):
            for spelling, option in options.value.items():
                self._add(compiled, spelling, self.option(option), option, listed)
        if (operands := node.get("operands")) is not None:
            compiled["operands"] = True
            compiled.update(lead=[], rest=None, tail=[])
            for operand in operands:
                self._operand(operand, compiled)
        if (after := node.get("after")) is not None:
            compiled["after"] = self.slot(after)
        if (code := node.get("code")) is not None and self.check(code, str, "code", "text"):
            compiled["effects"].append({"kind": "code", "target": str(code.value)})
            if not compiled["operands"]:
                self._open(compiled)
        if (effects := node.get("effects")) is not None:
            compiled["effects"] += self.effects(effects)

    def _hooks(self, node: Node) -> list[str]:
        from gateway.commands.special import HOOKS

        found = self.texts(node)
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

    def _add(self, compiled: Spec, spelling: str, option: Spec, node: Node, listed: dict[str, Node]) -> None:
        """Adds an option under all of its names. `listed`: those that its level has listed so far, each with the
        key under which it stands."""
        if "[no-]" in spelling:
            self._add(compiled, spelling.replace("[no-]", ""), dict(option), node, listed)
            spelling = spelling.replace("[no-]", "no-")
        names = spelling.split("|")
        merged = {"names": names, **option}
        if "does" not in option and any(key in option for key in ("cwd", "keep", "split", "until", "git_setting")):
            merged["does"] = []
        for name in names:
            if not name:
                self.complaints.at_key(node, f"option must have a name between its bars (got `{spelling}`)")
            elif name in listed:
                remedy = f"take one of them away; the other stands under the key on line {listed[name].key_line}"
                self.complaints.at_key(node, f"option must be listed once (got `{name}` again)", remedy)
            listed[name] = node
            compiled["options"][name] = len(compiled["table"])
        compiled["table"].append(merged)

    def _operand(self, node: Node, compiled: Spec) -> None:
        slot = self.slot(node)
        if "when" in slot or "unless" in slot:
            compiled["conditional"] = True
        if node.value.__class__ is dict and self.boolean(node.get("rest")):
            if compiled["rest"] is not None:
                self.complaints.at(node, "operands must have one `rest` at most (got another)")
            compiled["rest"] = slot
        elif compiled["rest"] is None:
            compiled["lead"].append(slot)
        else:
            compiled["tail"].append(slot)
