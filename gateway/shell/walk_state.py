"""The state of one walk through a shell text: where it stands, and what it knows of the shell there.

Each kind of statement, word and built-in has a module of its own, whose functions are given the `WalkState` they read
and change. They hand what stands inside of them back to it; `walk.Walk` does the rest of the work from there.
"""

from __future__ import annotations

import re

from gateway.core.value import Value
from gateway.model.effect import HOLE
from gateway.shell.fields import BETWEEN
from gateway.shell.findings import NOTHING, Found
from gateway.shell.guards import PLAIN_LETTERS
from gateway.shell.script import NO_SCRIPTS, Assignment, Flow, Unknown
from gateway.shell.state import (
    ASSIGNED,
    DYNAMIC,
    FROZEN,
    INHERITED,
    INTEGERS,
    NUMBER,
    NUMERIC,
    Elements,
    Glob,
    Output,
    State,
    is_number,
    join,
    numeric,
    text_of,
)
from gateway.shell.words import plain_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

    from gateway.model.command import Word
    from gateway.shell.nodes import Node
    from gateway.shell.regions import Region
    from gateway.shell.state import Content, Ways

_PLAIN = re.compile(rf"[{PLAIN_LETTERS}]*").fullmatch
_make: Any = tuple.__new__


class Body(Value):
    """A function's body and what reading it needs."""

    node: Node
    text: str
    regions: dict[int, Region]
    offset: int
    loose: bool
    timed: frozenset[int]


class WalkState(Found):
    """What was found so far, where the walk stands, and what holds from some point on whatever happens."""

    # Most texts change none of these, and a text is read in less time than it takes to set them all.
    text = ""
    feed = current_feed = INHERITED
    reading: tuple[int, int] | None = None  # the simple command that is being read
    # How the text that is being read was given to the grammar.
    offset = 0
    loose = False
    timed: frozenset[int] = frozenset()
    # What is bounded.
    depth = 0
    repeats = 0
    runs_later = went_wild = False  # something may call functions that no call shows
    calls = call_depth = 0
    assigned_here: frozenset[str] = NOTHING
    own_pwd = True
    leaves_folder = sets_fields = defers = False
    trapped = physical = all_exported = in_function = False
    moved = wild = False
    jump: State | None = None  # the states in which the loop around is left or begun again
    skipped: State | None = None  # those in which an expansion that fails leaves the line
    calls_may_fail = globs_may_fail = False
    arrays: frozenset[str] | None = None  # the variables that the text may make arrays, once somebody asked
    activates: Mapping[str, tuple[str, ...]] = NO_SCRIPTS  # scripts that only set these variables when sourced

    def __init__(
        self,
        cwds: tuple[str, ...],
        home: str,
        variables: Mapping[str, str],
        moves: bool,
        splits: bool,
        attributed: frozenset[str],
        followed: frozenset[str],
    ) -> None:
        super().__init__()
        self.seen: set[int] = set()  # the substitutions of the text that were met
        self.regions: dict[int, Region] = {}  # the substitutions in the text that can be met now
        self.given: dict[str, str] = dict(variables)
        if home:
            self.given.setdefault("HOME", home)
        old = self.given.get("OLDPWD", "")
        self.state = State(cwds, self.given, (old,) if old else ())
        self.functions: dict[str, tuple[bool, bool]] = {}  # whether a call moves, and whether it may do anything
        self.followed = followed  # functions whose body is read at each call
        self.bodies: dict[str, Body] = {}
        self.defined: set[str] = set()
        self.called: set[str] = set()
        self.lost: set[str] = set()  # functions that cannot be followed
        self.volatile: set[str] = set(attributed)
        self.frozen: set[str] = set()
        self.attributed: set[str] = set()  # names that bash may change, or not, when they are set
        self.integers: set[str] = set(INTEGERS)
        self.associative: set[str] = set()
        self.written: set[str] = set()
        self.changes_folder = moves
        self.plain_fields = not splits and "IFS" not in self.given

    # What stands inside of what is read. `walk.Walk` does it.

    def statement(self, node: Node, state: State) -> Ways:
        """Read one statement in a state."""
        raise NotImplementedError

    def region(self, region: Region) -> tuple[str, bool]:
        """Read a substitution or expansion; its value as far as known, and whether it may be several words."""
        raise NotImplementedError

    def list_words(self, start: int, end: int, between: str = "", *, lines: bool = True) -> list[Word]:
        """Words in a span that is no command: of `for` (which ends with its line), `case` and its patterns."""
        raise NotImplementedError

    def arithmetic(self) -> ModuleType:
        """The module that reads arithmetic, loaded for the texts that have some."""
        raise NotImplementedError

    def evaluate_text(self, expression: str, start: int, end: int) -> str:
        """`arithmetic.evaluate` for a text that is an expression after quote removal (`let`)."""
        raise NotImplementedError

    # Values that words read.

    def variable(self, name: str, start: int, end: int) -> str:
        """The value of a variable that a word reads, with `HOLE` for what is not known."""
        self.read_variable(name, start, end)
        if name == "PWD":
            return self.folder(self.state.cwds)
        if name == "OLDPWD":
            return self.folder(self.state.old)
        if name == "_":
            return HOLE
        value = self.state.values.get(name)
        if isinstance(value, Elements):
            return value.texts[0] if value.texts else ""
        return text_of(value)

    def folder(self, known: tuple[str, ...]) -> str:
        """What `PWD` or `OLDPWD` holds, `~+` or `~-` stands for: where the text assigns to them, what it says or what
        a later `cd` has put there."""
        return known[0] if len(known) == 1 and self.own_pwd else HOLE

    def glob_of(self, name: str) -> str:
        """The glob, as text and pattern, of which a variable holds a match in this folder; "" if it holds none."""
        value = self.state.values.get(name)
        if isinstance(value, Glob) and value.cwds == self.state.cwds:
            return f"{value.text}{BETWEEN}{value.pattern}"
        return ""

    def elements(self, name: str) -> tuple[str, ...] | None:
        """The known values of `@`, `*`, a positional parameter, or `array[…]`."""
        if name.isidentifier():
            return None
        base, bracket, subscript = name.partition("[")
        value = self.state.values.get("@" if base == "*" or base.isdigit() else base)
        if not isinstance(value, Elements):
            return None
        texts = value.texts
        if base.isdigit():
            bracket, subscript = "[", str(int(base) - 1) + "]"
            if base == "0":
                return None
        elif (base in ("@", "*")) is (bracket == "["):
            return None
        if not bracket or subscript in ("@]", "*]"):
            return texts
        number = int(subscript[:-1]) if subscript[:-1].isdigit() else -1
        return (texts[number],) if 0 <= number < len(texts) else None

    def expanded(self, start: int, end: int) -> None:
        """Note that a word holds a known value, which is not what is written."""
        self.env.append(("", start, end))

    def note(self, start: int, end: int, region: Region | None, name: str) -> None:
        """An unknown part of a word, and whose output it is."""
        source: tuple[int, int] | None = None
        how = "all"
        value = self.state.values.get(name) if name else None
        if region is not None and region.kind in ("command", "backtick", "input"):
            source = self.inner_span(region)
        elif isinstance(value, Output):
            source, how = (value.start, value.end), value.how
        if not self.plain_fields:
            source = None
        self.flows.append(_make(Flow, (start, end, source, how)))

    def blur(self, start: int, end: int, single: bool) -> None:
        """A word whose unknown parts stand in anything but plain letters and quotes is unknown as a whole."""
        inside = set()
        for each in reversed(self.flows):
            if each.start < start:
                break
            if each.end <= end:
                inside.add((each.start, each.end))
        at, outside = start, ""
        for begin, stop in sorted(inside, key=lambda span: (span[0], -span[1])):
            if begin >= at:
                outside += self.text[at:begin]
                at = stop
        outside += self.text[at:end]
        if not single or (outside.strip('"') and not _PLAIN(outside.replace('"', ""))):
            self.flows.append(_make(Flow, (start, end, None, "")))

    def inner_span(self, region: Region) -> tuple[int, int]:
        """The commands of a substitution, without the blanks around them."""
        inside = self.text[region.inner : region.stop]
        return region.inner + len(inside) - len(inside.lstrip(" \t\n")), region.inner + len(inside.rstrip(" \t\n"))

    def output_at(self, start: int, end: int) -> Output | None:
        """What a word's text says if it is nothing but the output of commands, quoted or not."""
        if self.text[start : start + 1] == '"' and self.text[end - 1 : end] == '"':
            start, end = start + 1, end - 1
        for each in reversed(self.flows):
            if each.start < start:
                break
            if each.start == start and each.end == end:
                return Output(*each.source, each.how) if each.source and "<" not in self.text[start] else None
        return None

    def holds_number(self, name: str) -> bool:
        """Whether a variable is set to some number, and unquoted splits into nothing but it."""
        return self.plain_fields and self.state.values.get(name) is NUMBER

    def tilde(self, name: str) -> str:
        """What `~name` stands for."""
        if not name:
            return text_of(self.state.values.get("HOME"))
        if name == "+":
            return self.folder(self.state.cwds)
        if name == "-":
            return self.folder(self.state.old)
        return HOLE

    def splits_plainly(self) -> bool:
        """Whether unquoted expansions are split at blanks, as long as nobody changed IFS."""
        return self.plain_fields

    def read_variable(self, name: str, start: int, end: int) -> None:
        """Note that a variable is read; without its name if the text itself set it."""
        value = self.state.values.get(name)
        is_given = (value is None or value is self.given.get(name)) and name != "_"
        self.env.append((name if is_given else "", start, end))

    def numeric_source(self, start: int, end: int) -> bool:
        """Whether a word as written is surely a number: `$((…))`, `$#`, `${#x}`, a variable that holds one."""
        text = self.text
        if text[start : start + 1] == '"' and text[end - 1 : end] == '"' and end - start > 2:
            start, end = start + 1, end - 1
        region = self.regions.get(start)
        if region is not None:
            inside = text[region.inner : region.stop]
            return region.end == end and (
                region.kind == "arithmetic"
                or (region.kind == "parameter" and (inside[:1] == "#" or numeric(self.state, inside)))
            )
        raw = text[start:end]
        return raw in ("$#", "$?", "$$") or (raw[:1] == "$" and numeric(self.state, raw[1:]))

    def is_numeric_value(self, value: Content) -> bool:
        """As `is_number`, for readers that hold a walk alone."""
        return is_number(value)

    # What built-ins and assignments change.

    def remember(self, name: str, value: Content) -> None:
        """A variable now holds a value."""
        self.written.add(name)
        if name in ("PWD", "OLDPWD"):
            self.own_pwd = False
        if name in self.frozen or name in FROZEN:
            self.may_fail()
            value = ASSIGNED
        elif name in self.volatile or self.trapped or name in DYNAMIC:
            value = NUMBER if name in NUMERIC or (name == "OPTIND" and is_number(value)) else ASSIGNED
        self.state = self.state.assign(name, value)

    def keep(self, name: str, value: Content) -> None:
        """As `remember`, for the rest of the text and not for one command alone."""
        self.sets_fields = self.sets_fields or name == "IFS"
        self.remember(name, value)

    def changes_reading(self, name: str, start: int, end: int) -> None:
        """Refuse what changes how bash reads the words that follow."""
        if name == "GLOBIGNORE":
            self.unknown("a variable that changes what globs match", start, end)
        elif name in ("TEXTDOMAIN", "TEXTDOMAINDIR"):  # `$"…"` is looked up there, and what is found is expanded
            self.unknown("a variable that says what texts are translated to", start, end)

    def assign(self, name: str, word: Word, known: Content, exported: bool) -> None:
        """A variable is set for the rest of the text: `word` as it is written, `known` what it then holds."""
        if name in self.integers and not is_number(known):
            self.unknown("an integer variable evaluates what it is set to", word.start, word.end)
        self.changes_reading(name, word.start, word.end)
        self.keep(name, known)
        self.assignments.append(Assignment(name, word, word.start, word.end, -1, exported))

    def declared(self, name: str, word: Word, exported: bool) -> None:
        """A variable gets an attribute and keeps its value."""
        value = text_of(self.state.values.get(name))
        self.assignments.append(
            Assignment(name, plain_word(value, word.start, word.end), word.start, word.end, -1, exported)
        )

    def set_variable(self, name: str, value: Content, start: int, end: int) -> None:
        """A built-in sets a variable; it is exported where `set -a` holds."""
        self.assign(name, plain_word(text_of(value), start, end), value, self.all_exported)

    def drop(self, name: str) -> None:
        """A variable is unset."""
        self.keep(name, ASSIGNED)

    def forget(self) -> Ways:
        """Foreign code may have run in this shell."""
        self.wild = self.leaves_folder = self.went_wild = True
        self.plain_fields = False
        self.state = self.state.forget()
        return self.state, self.state

    def freeze(self, name: str) -> None:
        """A variable becomes read-only: setting it fails from here on, which ends the line."""
        self.frozen.add(name)
        self.attributed.add(name)

    def may_fail(self) -> None:
        """An expansion or assignment may fail here. Bash then goes on behind the end of the line, whatever was to come
        before that."""
        if self.in_function:
            self.calls_may_fail = True
        self.skipped = join(self.skipped, self.state)

    def next_line(self, state: State) -> State:
        """What holds at the start of a line, if `state` does when the line before it was not left."""
        joined = join(state, self.skipped) or state
        self.skipped = None
        return joined

    def plain_functions(self) -> frozenset[str]:
        """The functions whose every use is a plain call that can be followed."""
        if self.runs_later or self.went_wild:
            return NOTHING
        return frozenset((self.called | self.followed) - self.lost)

    def shadow(self, name: str, calls: tuple[bool, bool]) -> None:
        """The text defines a function of this name, which is called in the place of a program."""
        self.shadowed.add(name)
        self.functions[name] = calls

    @property
    def cwds(self) -> tuple[str, ...]:
        """Where the shell may be, () where nobody can say."""
        return self.state.cwds

    def unknown(self, why: str, start: int, end: int) -> None:
        """Note that a span is not understood, and why."""
        if self.text:  # the grammar may count the line end that was added for it
            end = min(end, len(self.text))
        self.unknowns.append(Unknown(why, min(start, end), end))
