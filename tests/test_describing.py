"""What makes descriptions of programs' own tables: help texts and options, read and put together."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from describing.grouping import READS, READS_TREE, Group
from describing.helptree import FLAG, GLUED, VALUE, Node, aliases_of, commands_of, options_of

COBRA = """\
Lists what runs

Usage:
  x ps [flags]

Aliases:
  x container ls, x container list, x ps

Available Commands:
  get         Show one
  set, put    Change one
  update-all: Change all of them

FLAGS
  -a, --all             Show all
      --format string   Print by a template
"""
KUBECTL = """\
Options:
    -A, --all-namespaces=false:
        Whatever the namespace
    -f, --filename=[]:
        Files
"""


def test_commands_stand_below_headings_that_name_them_with_a_colon_or_in_columns() -> None:
    assert commands_of(COBRA) == ["get", "set", "update-all"]


def test_other_names_of_a_command_are_those_behind_the_same_words() -> None:
    assert aliases_of(COBRA, ("x", "ps")) == frozenset()
    assert aliases_of(COBRA, ("x", "container", "ls")) == {"list"}


def test_an_option_is_a_switch_takes_a_value_or_may_have_one_glued_to_it() -> None:
    forms = {names: form for text in (COBRA, KUBECTL) for names, (form, _) in options_of(text).items()}

    assert forms == {
        ("-a", "--all"): FLAG,
        ("--format",): VALUE,
        ("-A", "--all-namespaces"): GLUED,
        ("-f", "--filename"): VALUE,
    }


def test_every_command_of_a_tree_is_found_with_and_without_subcommands() -> None:
    root = Node(children={"a": Node(children={"b": Node()}), "c": Node()})

    assert [path for path, _ in root.commands()] == [("a",), ("a", "b"), ("c",)]


def test_siblings_that_do_alike_are_one_entry_and_what_is_two_things_is_left_out() -> None:
    group = Group()
    group.add(("pods",), ["list", "ls"], "shown", {"--all": "flags", "-f": "flags", "--file": READS})
    group.add(("pods",), ["get"], "shown", {"-f": "values", "--file": "values", "--dir": READS_TREE})
    group.add(("pods",), ["logs"], "shown:logs", {"-f": "flags"})

    assert group.described({"shown": ["connect x fetch"]}) == {
        "subcommands": {
            "pods": {
                "subcommands": {
                    "get list ls": {
                        "use": "shown",
                        "flags": "--all",
                        "options": {
                            "--dir": {"value": "path", "does": "read", "tree": True},
                            "--file": {"value": "path", "does": "read"},
                        },
                        "effects": ["connect x fetch"],
                    },
                    "logs": {"use": "shown", "flags": "-f"},
                }
            }
        }
    }


def test_a_command_that_has_subcommands_and_does_something_by_itself_is_one_entry() -> None:
    group = Group()
    group.add((), ["apply", "delete"], "changed", {"--all": "flags"})
    group.add(("apply",), ["view"], "shown", {})

    assert group.described() == {
        "subcommands": {
            "delete": {"use": "changed", "flags": "--all"},
            "apply": {"use": "changed", "flags": "--all", "subcommands": {"view": {"use": "shown"}}},
        }
    }
