"""Reading a whole shell text: its parts, its substitutions, and what is known of variables and folders on the way."""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.shell import flow
from gateway.shell.characters import check_characters, odd_character
from gateway.shell.findings import NOTHING, unfolded
from gateway.shell.flat import flat
from gateway.shell.guards import (
    MAX_DEPTH,
    MAX_PARSED,
    MAX_TEXT,
    Refused,
    may_have_regions,
)
from gateway.shell.script import NO_SCRIPTS
from gateway.shell.skeleton import skeleton
from gateway.shell.state import (
    Output,
    State,
    join,
)
from gateway.shell.walk_state import WalkState
from gateway.shell.words import read_word, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from gateway.model.command import Word
    from gateway.shell.nodes import Node
    from gateway.shell.regions import Region
    from gateway.shell.script import Script
    from gateway.shell.state import Ways

_FEW = 20  # times that a variable is read, so that doubled each time it would still be small


def read(
    text: str,
    *,
    cwds: tuple[str, ...],
    home: str,
    variables: Mapping[str, str],
    activates: Mapping[str, tuple[str, ...]] = NO_SCRIPTS,
) -> Script:
    """As `reading.read`, for any text."""
    moves = splits = False
    attributed: frozenset[str] = frozenset()
    followed: frozenset[str] = frozenset()
    tried = False
    while True:
        walk = Walk(cwds, home, variables, moves, splits, attributed, followed)
        walk.activates = activates
        end: State | None = None
        try:
            if len(text) > MAX_TEXT:
                raise Refused(f"longer than {MAX_TEXT:,} characters", 0, len(text))
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
        if walk.functions and (hoped := walk.plain_functions()) != followed and (not tried or not followed <= hoped):
            followed, tried = NOTHING if tried else hoped, True
            continue
        return walk.script(text, end.cwds if end else ())


class Walk(WalkState):
    """One walk through a text: parts of it, and what they hold, each read in the state that the walk has then."""

    parsed = 0  # how many characters the grammar was given

    # Texts.

    def whole(self, text: str) -> State | None:
        """Read a text that is a script of its own: the whole, or what is inside backticks."""
        regions: tuple[Region, ...] = ()
        removed: tuple[int, ...] = ()
        if may_have_regions(text):
            import gateway.shell.regions as finding_regions

            found = finding_regions.survey(text)
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
        if "&" in shape or "|" in shape or "=" in shape:
            self.search_for_bombs(root, self.text[start:end])
        ways = flow.lines(self, root, self.state)
        for region in regions:
            if region.start not in self.seen:
                self.unknown("a substitution that nothing seems to use", region.start, region.end)
                self.region(region)
        self.regions, self.loose, self.timed, self.offset = outer
        self.depth -= 1
        return ways

    def search_for_bombs(self, root: Node, text: str) -> None:
        """What of a piece, which is this text, would start processes without end, or fill the memory."""
        loops = "()" in text or "function" in text or "while" in text or "until" in text or "for" in text
        if loops or text.count("$") > _FEW:
            from gateway.shell.bombs import bombs, explosions  # lazy: few texts loop
            from gateway.shell.script import Unknown

            for kind, start, end in (*bombs(root, text), *explosions(root, text)):
                self.bombs.append(Unknown(kind, start + self.offset, end + self.offset))

    def statement(self, node: Node, state: State) -> Ways:
        """Read one statement in a state."""
        return flow.run(self, node, state)

    def structure(self, shape: str, start: int) -> Node:
        """Ask the grammar."""
        import gateway.shell.grammar as grammar  # most texts are read without it, which takes less than loading it

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
        activations = self.activations
        self.in_function = False
        if kind == "output":
            self.feed = ("pipe", "", self.reading, True)
        if kind == "backtick":
            self.backtick(region)
        else:
            self.piece(region.inner, region.stop, region.children)
        if kind in ("input", "output") and self.activations > activations:
            self.unordered = True
        self.state, self.feed, self.in_function = outer
        return HOLE, False

    def backtick(self, region: Region) -> None:
        """Read what stands between backquotes, in which a backslash quotes itself, `$` and a backquote, and `"` within
        quotes (POSIX, 2.6.3). What is found has its place in the text around."""
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
        # Places outside mean nothing inside, whose own are moved behind it.
        self.feed, self.reading = (self.feed[0], self.feed[1], None, True), None
        self.state = self.state.without({n for n, v in self.state.values.items() if isinstance(v, Output)})
        try:
            self.whole("".join(inside))
        except Refused as refusal:
            begin = where[refusal.start] if refusal.start < len(where) else last
            raise Refused(refusal.why, begin, max(begin, last)) from None
        finally:
            self.shift(marks, lambda at, is_end: (where[at - 1] + 1 if at else region.inner) if is_end
                       else (where[at] if at < len(where) else last))  # fmt: skip
        self.depth -= 1

    def evaluate_text(self, expression: str, start: int, end: int) -> str:
        """`arithmetic.evaluate` for a text that is an expression after quote removal (`let`)."""
        outer = (self.text, self.regions)
        marks = self.marks()
        self.text, self.regions = expression, {}
        problem: str = self.arithmetic().evaluate(self, 0, len(expression), {})
        self.text, self.regions = outer
        self.shift(marks, lambda _, is_end: end if is_end else start)
        return problem
