"""The commands of a program with their options, from the help that it prints of each of them.

Help texts are written for people, so what takes a value is asked of the program itself where its parser tells:
`PROGRAM COMMAND --help --option` ends with "flag needs an argument" if it does (programs made with cobra), and shows
help if not. An option whose form nobody tells is left out.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from describing import writing
from describing.grouping import Group
from gateway.spec.commands import compile_description
from gateway.spec.helptext import read_help
from tests import checkedhelp
from tests.checkedhelp import NOBODY, Place, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from describing.grouping import Table

FLAG, GLUED, VALUE = "flags", "optionals", "values"
DEPTH = 5

_HEADER = re.compile(r"^(?:\x1b\[\d+m)?([A-Z][A-Za-z ()-]*?)(?:\x1b\[\d+m)?:?$")
_COMMAND = re.compile(r"^ {1,4}([a-z0-9][a-z0-9_-]*)(?:, ([a-z]+))?\*?(?:: +\S.*| {2,}\S.*| *)$")
_KUBECTL = re.compile(r"^ +(?:-(\w), )?--([\w-]+)=(.*):$")
_COMMANDS = re.compile(r"(?i)\bcommands\b")
_NONE = frozenset(("help", "completion"))


# The spellings of one option.
Names = tuple[str, ...]


@dataclass
class Node:
    """A command: its options, each with its form, and its subcommands by name."""

    options: dict[Names, str] = field(default_factory=dict)
    children: dict[str, Node] = field(default_factory=dict)
    aliases: frozenset[str] = frozenset()

    def commands(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
        """Every command below this one, with and without subcommands."""
        if path:
            yield path, self
        for name, child in self.children.items():
            yield from child.commands((*path, name))


def sections(text: str) -> dict[str, list[str]]:
    """The lines that stand below each heading."""
    found: dict[str, list[str]] = {}
    lines = found.setdefault("", [])
    for line in text.splitlines():
        if (match := _HEADER.match(line)) is not None:
            lines = found.setdefault(match[1], [])
        else:
            lines.append(line)
    return found


def commands_of(text: str) -> list[str]:
    found = [
        match[1]
        for heading, lines in sections(text).items()
        if _COMMANDS.search(heading)
        for line in lines
        if (match := _COMMAND.match(line)) is not None
    ]
    return [name for name in dict.fromkeys(found) if name not in _NONE]


def aliases_of(text: str, command: tuple[str, ...]) -> frozenset[str]:
    """Other names of a command of a program, as its help lists them: alone, or behind the words that lead to it."""
    lines = next((lines for heading, lines in sections(text).items() if heading.lower() == "aliases"), [])
    found = [tuple(each.split()) for line in lines for each in line.split(",") if each.split()]
    names = {each[-1] for each in found if each[:-1] in ((), command[:-1])}
    return frozenset(names - {command[-1]})


def options_of(text: str) -> dict[Names, tuple[str, str]]:
    """The spellings of each option with its form, "" where the text does not tell, and the line that explains it."""
    found: dict[Names, tuple[str, str]] = {}
    for line in text.splitlines():
        if (match := _KUBECTL.match(line)) is not None:
            form = GLUED if match[3] in ("true", "false") else VALUE
            names = (f"-{match[1]}", f"--{match[2]}") if match[1] else (f"--{match[2]}",)
            found.setdefault(names, (form, line))
            continue
        told = read_help(line)
        for form, entries in ((FLAG, told.flags), (GLUED, told.optionals), (VALUE, told.values), ("", told.unclear)):
            for entry in entries:
                spelled = entry.split("|")
                both = [each.replace("[no-]", no) for each in spelled for no in ("", "no-")]
                found.setdefault(tuple(dict.fromkeys(both)), (form, line))
    return found


class Asked:
    """A program that is asked for its help, in an empty home of nobody."""

    def __init__(self, program: str, place: Place, *, probes: bool) -> None:
        self.program = program
        self.place = place
        self.probes = probes
        # By spellings and explanation: many commands have an option in common.
        self.known: dict[tuple[Names, str], str] = {}

    def help(self, path: tuple[str, ...]) -> str:
        return plain(self.place.run(self.program, *path, "--help"))

    def form(self, path: tuple[str, ...], names: Names, told: str, line: str) -> str:
        """What the parser says of an option, `told` by the help; "" if nobody knows."""
        if not self.probes:
            return told
        if (names, line) not in self.known:
            takes = "flag needs an argument" in self.place.run(self.program, *path, "--help", names[-1])
            self.known[names, line] = VALUE if takes else FLAG if told in (FLAG, "") else GLUED
        return self.known[names, line]

    def node(self, path: tuple[str, ...] = (), above: str = "") -> Node:
        """The command at `path`; `above`: the help of what it belongs to, which a wrong word shows again."""
        text = self.help(path)
        if not text or text == above:
            return Node()
        node = Node(aliases=aliases_of(text, (self.program, *path)))
        for names, (told, line) in options_of(text).items():
            if form := self.form(path, names, told, line):
                node.options[names] = form
        if len(path) < DEPTH:
            for name in commands_of(text):
                node.children[name] = self.node((*path, name), text)
        return node


def tree(program: str, *, probes: bool, wanted: Callable[[str], bool] = lambda _: True) -> Node:
    """All commands of `program` whose first word is `wanted`; `probes`: its parser tells what takes a value."""
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        asked = Asked(program, Place(folder), probes=probes)
        root = Node()
        for name in commands_of(text := asked.help(())):
            if wanted(name):
                root.children[name] = asked.node((name,), text)
        return root


def group(program: str, root: Node, table: Table, *unlike: Node) -> Group:
    """The commands of a tree put together as a person says. Left out are options that all commands have by what is
    written by hand, and those that other trees have in another form, where a description speaks of several programs."""
    found = Group()
    of_all = inherited(program)
    others = [dict(each.commands()) for each in unlike]
    for path, node in root.commands():
        if not (shape := table.shape(path)):
            continue
        kinds: dict[str, str] = {}
        for names, form in node.options.items():
            if of_all.intersection(names):
                continue
            told = [_form(other[path], each) for other in others if path in other for each in names]
            if (kind := table.option(path, names, form)) and all(each in ("", form) for each in told):
                kinds |= dict.fromkeys(names, kind)
        found.add(path[:-1], {path[-1], *node.aliases}, shape, kinds)
    return found


def inherited(program: str) -> frozenset[str]:
    """The options that a description written by hand gives to all subcommands."""
    path = f"gateway/commands/{program}.yaml"
    text = Path(path).read_text("utf-8")
    if re.search(r"^inherit: true$", text, re.MULTILINE) is None:
        return frozenset()
    return frozenset(compile_description(text, path)["options"])


def _form(node: Node, option: str) -> str:
    return next((form for names, form in node.options.items() if option in names), "")


def version_of(program: str) -> str:
    """What the program says of its version."""
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        return checkedhelp.version_of(program, Place(folder))


def write_part(
    program: str, part: str, found: Group, added: Mapping[tuple[str, ...], dict[str, Any]], version: str = ""
) -> None:
    """Writes what was found of a program, and what a person says of some of its commands, into a part of its
    description. `version`: program and version, if the program on PATH is not to be asked."""
    told = found.described()
    for path, commands in added.items():
        below = told
        for name in path:
            below = below.setdefault("subcommands", {}).setdefault(name, {})
        below.setdefault("subcommands", {}).update(commands)
    begins = writing.part(program, version or version_of(program))
    writing.write(f"gateway/commands/{program}.{part}.yaml", {**begins, **told})
