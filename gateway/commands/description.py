"""The compiled form of a program's description, as `gateway.spec.commands` makes it. Only annotations need it.

It is JSON: dicts, lists, texts, numbers, booleans and None. A key that is missing says no. What each stands for is said
once, beside the keys of the files: `gateway.spec.commandkeys`. Here are those that have another form, or none, there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Required, TypedDict

    class Conditional(TypedDict, total=False):
        """What is there only with, or only without, some options or marks."""

        when: list[str]
        unless: list[str]

    class Effect(Conditional, total=False):
        """One effect. Without a `target` it is on the value or operand; `extra` is its direction, access or object;
        `there`: what its code loads, where the path is there; code that is only there where git has some to run."""

        kind: Required[str]
        target: str
        extra: str
        tree: bool
        there: bool

    class Taken(Conditional, total=False):
        """What words that belong to an option, or stand for themselves, mean. `tree`: whether paths are meant with all
        below them, or the options with which they are."""

        names: list[str]
        does: list[Effect]
        tree: bool | list[str]
        via: str
        scheme: str
        direction: str
        port: int
        default: str
        dash: bool

    class Option(Taken, total=False):
        """An option under all of its `names`. It takes `arity` values of these `kinds`, or with `optional` one that is
        glued to it."""

        kinds: list[str]
        arity: int
        optional: bool
        sets: list[str]
        until: list[str]
        harmless: list[str]
        inert: bool
        braces: bool
        git_setting: bool
        keep: bool
        open: bool
        appends: bool
        split: bool
        cwd: bool | str

    class Operand(Taken, total=False):
        """A word that is no option."""

        kind: Required[str]
        default_when: list[str]
        optional: bool
        into: bool
        adds: bool
        elsewhere: bool

    class Spec(TypedDict, total=False):
        """How a program, or one subcommand, reads its words.

        `options`: the place in `table` behind each spelling. Operands are `lead`, then `rest`, then `tail`; `operands`:
        whether the file speaks of any; `conditional`: whether some have conditions. `subcommands`: the place in
        `nested` behind each name, `prefixes` those behind the beginnings of names, `canonical` the name that one is
        called by. `harmless`: options and operands that are not listed do nothing.
        """

        name: Required[str]
        dialect: Required[str]
        table: Required[list[Option]]
        options: Required[dict[str, int]]
        lead: Required[list[Operand]]
        rest: Required[Operand | None]
        tail: Required[list[Operand]]
        operands: Required[bool]
        effects: Required[list[Effect]]
        conditional: bool
        after: Operand
        subcommands: dict[str, int]
        nested: Sequence[Spec]
        prefixes: list[tuple[str, int]]
        canonical: dict[str, str]
        bare: str
        default: str
        classes: list[str]
        special: list[str]
        skips: tuple[str, list[str]]
        harmless: bool
        numeric: bool
        dashless: bool
        assign: bool
        alone: list[str]
        helps: list[str]
        ignored: list[str]

    class Description(Spec, total=False):
        """A program's, or those of several that read their words alike. `place`: the line and column of its names,
        `lines`: those of its examples, with their file. `also`: what may only add to it; `undescribed`: it says nothing
        by itself."""

        names: Required[list[str]]
        several: bool
        builtin: bool
        checked: list[str]
        place: list[int]
        examples: dict[str, list[str]]
        lines: dict[str, tuple[int, int, str]]
        also: list[Description]
        undescribed: bool
