"""pip's commands, from the parsers of pip itself: needs pip, and says so with DESCRIBE_PYTHON.

    describe pip            # writes gateway/commands/pip.commands.yaml

SHAPES says what each command does; one that is not named there stands in pip.yaml by hand. Options that name files
(FILES) read them, those that name a place of packages (INDEXES) are left to the groups there.
"""

from __future__ import annotations

from typing import Any

from describing import helptree
from describing.grouping import READS, Table
from describing.helptree import FLAG, VALUE, Node

SHAPES = {
    "list": "listed", "show": "shown", "freeze": "shown", "check": "shown", "inspect": "shown", "debug": "shown",
    "index": "asked", "hash": "hashed", "help": "shown",
}  # fmt: skip
FILES = frozenset(("--requirement", "--constraint"))
INDEXES = frozenset(("--index-url", "--extra-index-url", "--find-links", "--outdated", "--uptodate"))


def option(path: tuple[str, ...], names: tuple[str, ...], form: str) -> str:
    del path
    if INDEXES.intersection(names):
        return ""
    return READS if FILES.intersection(names) else form


def commands() -> Node:
    from pip._internal.commands import commands_dict, create_command

    root = Node()
    for name in commands_dict:
        parser: Any = create_command(name).parser
        of_all = {
            each for group in parser.option_groups if group.title == "General Options" for each in group.option_list
        }
        root.children[name] = Node({
            (*each._short_opts, *each._long_opts): VALUE if each.takes_value() else FLAG  # noqa: SLF001
            for each in parser.option_list_all
            if each not in of_all
        })  # fmt: skip
    return root


def main() -> None:
    from pip import __version__

    table = Table(lambda path: SHAPES.get(path[0], ""), option)
    helptree.write_part("pip", "commands", helptree.group("pip", commands(), table), {}, f"pip {__version__}")
