"""Reading a whole shell text: its parts, its substitutions, and what is known of variables and folders on the way."""

from __future__ import annotations

from gateway.model.command import Simple, Word
from gateway.model.effect import HOLE
from gateway.shell import flow
from gateway.shell.flat import flat
from gateway.shell.found import NOTHING, Found, unfolded
from gateway.shell.guards import (
    MAX_DEPTH,
    MAX_PARSED,
    MAX_TEXT,
    Refused,
    check_characters,
    may_have_regions,
    odd_character,
)
from gateway.shell.redirects import INHERITED, PIPE
from gateway.shell.script import Assignment, Script, Unknown
from gateway.shell.simple import PLAIN_COMMAND, needs_care, plain_words
from gateway.shell.skeleton import skeleton
from gateway.shell.state import ASSIGNED, DYNAMIC, FROZEN, NUMBER, NUMERIC, State, is_number, join, numeric, text_of
from gateway.shell.words import plain_word, read_word, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType
    from typing import Any

    from gateway.shell.builtins import Ways
    from gateway.shell.nodes import Node
    from gateway.shell.regions import Region

_make: Any = tuple.__new__  # the class's own checks cost more than the reading of a short text


def read(text: str, *, cwds: tuple[str, ...], home: str, variables: Mapping[str, str]) -> Script:
    """Read a shell text that starts in one of `cwds` with some variables known. Never raises on any text."""
    if len(text) <= MAX_TEXT and PLAIN_COMMAND(text):
        words = plain_words(text, 0)
        if not needs_care(words[0].text):
            command = _make(Simple, (words, 0, len(text), cwds, (), "", "", ()))
            script: Script = _make(Script, ((command,), (), (), (), NOTHING, (), (), cwds, (), ()))
            return script
    moves = splits = False
    attributed: frozenset[str] = frozenset()
    while True:
        walk = Walk(cwds, home, variables, moves, splits, attributed)
        end: State | None = None
        try:
            if len(text) > MAX_TEXT:
                raise Refused("too long", 0, len(text))
            check_characters(text)
            end = walk.whole(text)
        except Refused as refusal:
            walk.unknown(refusal.why, min(refusal.start, len(text)), min(max(refusal.start, refusal.end), len(text)))
        except RecursionError:
            walk.unknown("nested too deeply", 0, len(text))
        # What runs later than it is read (functions, traps, the next turn of a loop) was read as if the text never
        # left its folder and never changed how words are split. If it does, read again without these hopes.
        if (walk.leaves_folder and walk.defers and not moves) or (walk.sets_fields and not splits):
            moves = moves or walk.leaves_folder
            splits = splits or walk.sets_fields
            continue
        if walk.defers and not walk.attributed <= attributed:
            attributed |= walk.attributed
            continue
        return walk.script(text, end.cwds if end else ())


class Walk(Found):
    """One reading. What was found so far, and where the reading stands."""

    def __init__(
        self,
        cwds: tuple[str, ...],
        home: str,
        variables: Mapping[str, str],
        moves: bool = False,
        splits: bool = False,
        attributed: frozenset[str] = NOTHING,
    ) -> None:
        super().__init__()
        # The text and the substitutions in it that can be met now.
        self.text = ""
        self.regions: dict[int, Region] = {}
        self.seen: set[int] = set()
        self.feed = INHERITED
        # The state, and what holds from some point on whatever happens.
        self.given: dict[str, str] = dict(variables)
        if home:
            self.given.setdefault("HOME", home)
        old = self.given.get("OLDPWD", "")
        self.state = State(cwds, self.given, (old,) if old else ())
        self.functions: dict[str, tuple[bool, bool]] = {}  # whether a call moves, and whether it may do anything
        self.volatile: set[str] = set(attributed)
        self.frozen: set[str] = set()
        self.attributed: set[str] = set()  # names that bash may change, or not, when they are set
        self.integers: set[str] = set()
        self.associative: set[str] = set()
        self.assigned_here: frozenset[str] = frozenset()
        self.own_pwd = True
        self.changes_folder = moves
        self.plain_fields = not splits and "IFS" not in self.given
        self.leaves_folder = self.sets_fields = self.defers = False
        self.trapped = self.physical = self.all_exported = self.in_function = False
        self.moved = self.wild = False
        self.written: set[str] = set()
        self.jump: State | None = None  # the states in which the loop around is left or begun again
        self.skipped: State | None = None  # those in which an expansion that fails leaves the line
        self.calls_may_fail = self.globs_may_fail = False
        # Bounds.
        self.offset = 0
        self.depth = 0
        self.parsed = 0
        self.repeats = 0
        self.loose = False
        self.timed: frozenset[int] = frozenset()

    # Texts.

    def whole(self, text: str) -> State | None:
        """Read a text that is a script of its own: the whole, or what is inside backticks."""
        regions: tuple[Region, ...] = ()
        removed: tuple[int, ...] = ()
        if may_have_regions(text):
            from gateway.shell.regions import survey

            found = survey(text)
            text, regions, removed = found.text, found.regions, found.removed
        outer = (self.text, self.regions, self.seen)
        marks = self.marks()
        self.text = text
        self.seen = set()
        try:
            ok, fail = self.piece(0, len(text), regions)
        finally:
            if removed:
                self.shift(marks, unfolded(removed))
            self.text, self.regions, self.seen = outer
        return join(ok, fail)

    def piece(self, start: int, end: int, regions: Sequence[Region]) -> Ways:
        """Read a part of the text that is a list of commands, with its outermost regions."""
        self.depth += 1
        self.parsed += end - start
        if self.depth > MAX_DEPTH or self.parsed > MAX_PARSED:
            raise Refused("nested too deeply" if self.depth > MAX_DEPTH else "too much to read", start, end)
        outer = (self.regions, self.loose, self.timed, self.offset)
        self.regions = {region.start: region for region in regions} if regions else {}
        self.loose, self.timed, self.offset = False, frozenset(), start
        shape = skeleton(self.text, start, end, regions)
        if not shape.isascii():
            odd = odd_character(shape)
            if odd:
                self.unknown(f"a letter that does not look like one, {odd[1]}", start + odd[0], start + odd[0] + 1)
        root = flat(shape) or self.structure(shape, start)
        ways = flow.lines(self, root, self.state)
        for region in regions:
            if region.start not in self.seen:
                self.unknown("a substitution that nothing seems to use", region.start, region.end)
                self.region(region)
        self.regions, self.loose, self.timed, self.offset = outer
        self.depth -= 1
        return ways

    def structure(self, shape: str, start: int) -> Node:
        """Ask the grammar."""
        from gateway.shell import grammar  # most texts are read without it, and loading it takes longer than they do

        found = grammar.structure(shape)
        self.loose = found.negated
        self.timed = frozenset(start + at for at in found.timed)
        for why, begin, end in found.problems:
            self.unknown(why, start + begin, start + end)
        return found.root

    def arithmetic(self) -> ModuleType:
        """The module that reads arithmetic, loaded for the texts that have some."""
        from gateway.shell import arithmetic

        return arithmetic

    def list_words(self, start: int, end: int, between: str = "", *, lines: bool = True) -> list[Word]:
        """Words in a span that is no command: of `for` (which ends with its line), `case` and its patterns."""
        found: list[Word] = []
        at = start
        while at < end:
            letter = self.text[at]
            if letter == "\n" and not lines:
                break
            if letter in " \t\n" or letter in between:
                at += 1
                continue
            if letter == "#":
                at = self.text.find("\n", at, end)
                if at < 0:
                    break
                continue
            begin = at
            pieces, at = read_word(self, at, end)
            if at == begin:
                self.unknown("an operator or a quote where none was expected", begin, end)
                break
            if self.globs_may_fail:
                self.may_fail()
            found += words_of(self, pieces, begin, at)
        return found

    # Substitutions and expansions: what words ask for.

    def region(self, region: Region) -> tuple[str, bool]:
        """Walk a substitution or expansion; its value as far as known, and whether it may be several words."""
        self.seen.add(region.start)
        kind = region.kind
        if kind == "parameter":
            from gateway.shell.expansions import parameter

            return parameter(self, region)
        if kind == "arithmetic":
            children = {child.start: child for child in region.children}
            if not self.arithmetic().surely_computes(self.text[region.inner : region.stop], self.state):
                self.may_fail()
            problem = self.arithmetic().evaluate(self, region.inner, region.stop, children)
            if problem:
                self.unknown(problem, region.start, region.end)
            return HOLE, False
        if kind in ("array", "compute", "heredoc"):
            for child in region.children:
                self.region(child)
            return HOLE, True
        outer = (self.state, self.feed, self.in_function)
        self.in_function = False
        if kind == "output":
            self.feed = PIPE
        if kind == "backtick":
            self.backtick(region)
        else:
            self.piece(region.inner, region.stop, region.children)
        self.state, self.feed, self.in_function = outer
        return HOLE, False

    def backtick(self, region: Region) -> None:
        inside: list[str] = []
        where: list[int] = []
        at = region.inner
        escaped = '$`\\"' if region.quoted else "$`\\"
        while at < region.stop:
            if self.text[at] == "\\" and at + 1 < region.stop and self.text[at + 1] in escaped:
                at += 1
            inside.append(self.text[at])
            where.append(at)
            at += 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Refused("nested too deeply", region.start, region.end)
        marks = self.marks()
        last = region.stop
        try:
            self.whole("".join(inside))
        except Refused as refusal:
            begin = where[refusal.start] if refusal.start < len(where) else last
            raise Refused(refusal.why, begin, max(begin, last)) from None
        finally:
            self.shift(marks, lambda at, is_end: (where[at - 1] + 1 if at else region.inner) if is_end
                       else (where[at] if at < len(where) else last))  # fmt: skip
        self.depth -= 1

    def variable(self, name: str, start: int, end: int) -> str:
        """The value of a variable that a word reads, with `HOLE` for what is not known."""
        self.read_variable(name, start, end)
        if name == "PWD" and self.own_pwd:
            return self.state.cwds[0] if len(self.state.cwds) == 1 else HOLE
        if name == "OLDPWD" and self.own_pwd:
            return self.state.old[0] if len(self.state.old) == 1 else HOLE
        if name == "_":
            return HOLE
        return text_of(self.state.values.get(name))

    def holds_number(self, name: str) -> bool:
        return self.plain_fields and self.state.values.get(name) is NUMBER

    def tilde(self, name: str) -> str:
        """What `~name` stands for."""
        if not name:
            return text_of(self.state.values.get("HOME"))
        if name == "+":
            return self.state.cwds[0] if len(self.state.cwds) == 1 else HOLE
        if name == "-":
            return self.state.old[0] if len(self.state.old) == 1 else HOLE
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

    def is_numeric_value(self, value: str | int) -> bool:
        return is_number(value)

    def evaluate_text(self, expression: str, start: int, end: int) -> str:
        """`arithmetic.evaluate` for a text that is an expression after quote removal (`let`)."""
        outer = (self.text, self.regions)
        marks = self.marks()
        self.text, self.regions = expression, {}
        problem: str = self.arithmetic().evaluate(self, 0, len(expression), {})
        self.text, self.regions = outer
        self.shift(marks, lambda _, is_end: end if is_end else start)
        return problem

    # What built-ins and assignments change.

    def remember(self, name: str, value: str | int) -> None:
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

    def keep(self, name: str, value: str | int) -> None:
        """As `remember`, for the rest of the text and not for one command alone."""
        self.sets_fields = self.sets_fields or name == "IFS"
        self.remember(name, value)

    def assign(self, name: str, word: Word, known: str | int, exported: bool) -> None:
        if name in self.integers and not is_number(known):
            self.unknown("an integer variable evaluates what it is set to", word.start, word.end)
        self.keep(name, known)
        self.assignments.append(Assignment(name, word, word.start, word.end, -1, exported))

    def declared(self, name: str, word: Word, exported: bool) -> None:
        """A variable gets an attribute and keeps its value."""
        value = text_of(self.state.values.get(name))
        self.assignments.append(
            Assignment(name, plain_word(value, word.start, word.end), word.start, word.end, -1, exported)
        )

    def set_variable(self, name: str, value: str | int, start: int, end: int) -> None:
        self.assign(name, plain_word(text_of(value), start, end), value, self.all_exported)

    def drop(self, name: str) -> None:
        """A variable is unset."""
        self.keep(name, ASSIGNED)

    def forget(self) -> Ways:
        """Foreign code may have run in this shell."""
        self.wild = self.leaves_folder = True
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

    def shadow(self, name: str, calls: tuple[bool, bool]) -> None:
        self.shadowed.add(name)
        self.functions[name] = calls

    @property
    def cwds(self) -> tuple[str, ...]:
        return self.state.cwds

    def unknown(self, why: str, start: int, end: int) -> None:
        if self.text:  # the grammar may count the line end that was added for it
            end = min(end, len(self.text))
        self.unknowns.append(Unknown(why, min(start, end), end))
