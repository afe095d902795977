"""Simple commands: assignments, words and redirects, read from the text by bash's lexical rules.

The grammar said where a simple command begins and ends; every character in between is read again here. An operator
that turns up makes the command unknown: then the two readings disagree.
"""

from __future__ import annotations

import re

from gateway.model.command import Simple, Word
from gateway.model.effect import HOLE
from gateway.shell import builtins
from gateway.shell.guards import ACTING, PLAIN_LETTERS, RESERVED
from gateway.shell.plain import is_plain, needs_care, plain_words
from gateway.shell.redirects import REDIRECT, may_not_open, read_redirect
from gateway.shell.script import Assignment, Redirect
from gateway.shell.state import ASSIGNED, NUMBER, Elements, is_number, join, numeric
from gateway.shell.tildes import tilde_pieces
from gateway.shell.words import plain_word, read_word, value_word, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.shell.regions import Region
    from gateway.shell.state import Content, Feed, Ways
    from gateway.shell.walk_state import WalkState

_PLAIN_ENDS = re.compile(rf"""(?:[{PLAIN_LETTERS}]+|'[^']*'|"[^"\\$`]*")(?=[ \t]|\Z)""")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SEPARATE = " \t\n;&|()<>"
_make: Any = tuple.__new__  # the class's own checks cost more than reading a plain command


def read_simple(walk: WalkState, start: int, end: int, feed: Feed, via: tuple[str, ...] = ()) -> Ways:
    """Read a simple command; emits it and what it opens and sets; returns the state behind it."""
    raw = walk.text[start:end]
    if is_plain(raw):
        words = plain_words(raw, start)
        name = words[0].text
        if not needs_care(name) and name not in walk.functions:
            walk.add(
                _make(
                    Simple,
                    (words, start, end, walk.state.cwds, via, feed[0], feed[1], (), feed[2], feed[3], False, False),
                )
            )
            return walk.state, walk.state
    return Reader(walk, start, end, feed, via).read()


class Reader:
    """A command while it is read."""

    def __init__(self, walk: WalkState, start: int, end: int, feed: Feed, via: tuple[str, ...]) -> None:
        self.walk = walk
        self.start = start
        self.end = end
        self.feed = feed
        self.via = via
        self.words: list[Word] = []
        self.raws: list[tuple[int, int]] = []
        self.redirects: list[Redirect] = []
        self.assigned: list[tuple[str, Word, Content, int]] = []
        self.is_test = False

    def read(self) -> Ways:
        """The whole command. What it finds goes to the walk; returned are the states after success and failure."""
        walk, text = self.walk, self.walk.text
        before = walk.state
        walk.reading = (self.start, self.end)
        writes = len(walk.assignments)
        at, end = self.start, self.end
        started = False
        while True:
            while at < end and text[at] in " \t":
                at += 1
            if at >= end:
                break
            begin = at
            letter = text[at]
            if letter == "#":
                walk.unknown("a comment inside a command", at, end)
                break
            if letter in "<>&{0123456789" and (found := self.redirect_at(at)):
                at, feed = read_redirect(walk, found, end, self.redirects)
                self.feed = feed or self.feed
            elif not started and (after := self.assignment(at)) > at:
                at = after
            else:
                if not started:
                    started = True
                    if self.assigned:  # they hold for the command, not for its words
                        later = walk.state
                        walk.state = before
                        if len(walk.assignments) > writes:
                            joined = join(before, later)
                            assert joined is not None
                            walk.state = joined
                at = self.word(at)
                if letter == "{" and text[at - 1] == "}" and text[at : at + 1] in ("<", ">") and "[" in text[begin:at]:
                    # It is no word, but the element that is to hold the descriptor.
                    walk.unknown("a subscript that bash evaluates", begin, at)
            if at == begin or (at < end and text[at] not in SEPARATE):
                walk.unknown("an operator or a quote where none was expected", begin, end)
                break
        return self.finish()

    def redirect_at(self, at: int) -> re.Match[str] | None:
        """The match of a redirection that begins at this position, None where something else does."""
        region = self.walk.regions.get(at)
        if region is not None and region.kind != "heredoc":
            return None
        return REDIRECT.match(self.walk.text, at, self.end)

    def word(self, at: int) -> int:
        """Read the word at a position, which may become several or none; returns where it ends."""
        walk = self.walk
        found = _PLAIN_ENDS.match(walk.text, at, self.end)
        if found:
            text, end = found[0], found.end()
            self.words.append(plain_word(text[1:-1] if text[0] in "'\"" else text, at, end))
            self.raws.append((at, end))
            return end
        declares = bool(self.words) and self.words[0].text in builtins.DECLARATIONS and self.raws[0] == (
            self.words[0].start, self.words[0].start + len(self.words[0].text)
        )  # fmt: skip
        pieces, end = read_word(walk, at, self.end)
        region = walk.regions.get(end)
        if declares and region is not None and region.kind == "array" and walk.text[end - 1] == "=":
            name = _NAME.match(walk.text, at)
            if name and any(word.text[:1] == "-" and "A" in word.text for word in self.words):
                walk.associative.add(name[0])
            self.array(region, name[0] if name else "")
            pieces.append(("q", HOLE))
            end = region.end
        if end > at:
            made = words_of(walk, pieces, at, end, declares=declares)
            self.words += made
            self.raws += [(at, end)] * len(made)
            if walk.flows and walk.flows[-1].start >= at:
                walk.blur(at, end, len(made) == 1)
            if walk.globs_may_fail and not all(word.literal for word in made):
                walk.may_fail()
        return end

    # Assignments.

    def assignment(self, at: int) -> int:
        """Read `NAME=…` at a position; returns where it ends, or the position itself if it is none."""
        walk, text = self.walk, self.walk.text
        found = _NAME.match(text, at, self.end)
        if not found:
            return at
        name = found[0]
        behind = found.end()
        subscript = None
        if text.startswith("[", behind):
            close = bracket_end(text, behind, self.end, walk.regions)
            if close < 0:
                return at
            subscript = (behind + 1, close)
            behind = close + 1
        adds = text.startswith("+=", behind)
        behind += 2 if adds else 1
        if behind > self.end or text[behind - 1] != "=":
            return at
        if subscript:
            self.subscript(name, *subscript)
        region = walk.regions.get(behind)
        if region is not None and region.kind == "array":
            elements = self.array(region, name)
            word = Word(HOLE, behind, region.end, True)
            known: Content = ASSIGNED if elements is None or adds or subscript else elements
            end = region.end
        else:
            pieces, end = read_word(walk, behind, self.end)
            word = value_word(tilde_pieces(walk, pieces, value=True), behind, end)
            known = self.known(name, word, behind, end, adds, subscript is not None)
        self.assigned.append((name, word, known, at))
        walk.remember(name, known)
        return end

    def known(self, name: str, word: Word, start: int, end: int, adds: bool, element: bool) -> Content:
        """What a variable holds after `NAME=WORD`, or `NAME+=WORD` (`adds`); nothing is known of an array of which one
        `element` is set."""
        walk = self.walk
        value: Content = word.text
        if HOLE in word.text:
            if walk.numeric_source(start, end):
                value = NUMBER
            elif value == HOLE:
                value = walk.output_at(start, end) or ASSIGNED
        if name in walk.integers and not (
            walk.is_numeric_value(value) and (not adds or element or numeric(walk.state, name))
        ):
            walk.unknown("an integer variable evaluates what it is set to", start, end)
        if element:
            return ASSIGNED
        if adds:
            old = walk.state.values.get(name)
            if name in walk.integers:
                return NUMBER
            return old + value if isinstance(old, str) and isinstance(value, str) else ASSIGNED
        return value

    def subscript(self, name: str, start: int, end: int) -> None:
        """Read what stands between the brackets: bash evaluates it as arithmetic, unless the array is associative."""
        walk = self.walk
        if name in walk.associative:
            for region in list(walk.regions.values()):
                if start <= region.start < end:
                    walk.region(region)
            return
        if not walk.text[start:end].isdigit():
            walk.may_fail()
        problem = walk.arithmetic().plain_subscript(walk, start, end, walk.regions)
        if problem:
            walk.unknown(problem, start, end)

    def array(self, region: Region, name: str) -> Elements | None:
        """Read the elements between the parentheses; None if they are not known, or have subscripts."""
        walk, text = self.walk, self.walk.text
        walk.seen.add(region.start)
        outer = walk.regions
        walk.regions = {child.start: child for child in region.children}
        at, end = region.inner, region.stop
        words: list[Word] = []
        plain = name not in walk.integers and name not in walk.associative
        while at < end:
            letter = text[at]
            if letter in " \t\n":
                at += 1
                continue
            if letter == "#":
                at = text.find("\n", at, end)
                if at < 0:
                    break
                continue
            begin = at
            plain = plain and letter != "["
            if (
                letter == "["
                and (close := bracket_end(text, at, end, walk.regions)) > 0
                and text[close + 1 : close + 2] in "+="
            ):
                self.subscript(name, at + 1, close)
                at = text.index("=", close) + 1
            pieces, at = read_word(walk, at, end)
            words += words_of(walk, pieces, begin, at)
            if at == begin or (at < end and text[at] not in " \t\n"):
                walk.unknown("an array that is not understood", region.start, region.end)
                break
        walk.regions = outer
        if name in walk.integers and not all(word.literal and is_number(word.text) for word in words):
            walk.unknown("an integer variable evaluates what it is set to", region.start, region.end)
        listed(walk, words)
        return Elements(tuple([word.text for word in words])) if plain and all(w.literal for w in words) else None

    # The end.

    def finish(self) -> Ways:
        """Note the command, and let it change the state if it is a built-in or a function of the text."""
        walk = self.walk
        if not self.words:
            for name, word, known, _ in self.assigned:
                walk.changes_reading(name, word.start, word.end)
                walk.keep(name, known)
            self.emit(-1)
            return walk.state, walk.state
        part = len(walk.commands)
        names = tuple(each[0] for each in self.assigned)
        words = tuple(self.words)
        # What a trap runs, it runs later, wherever the shell is then.
        cwds = walk.state.cwds
        if words[0].text == "trap":
            walk.defers = True
            cwds = () if walk.changes_folder else cwds
        feed = self.feed
        calls = words[0].text in walk.bodies
        walk.add(
            _make(
                Simple,
                (words, self.start, self.end, cwds, self.via, feed[0], feed[1], names, feed[2], feed[3], calls, False),
            )
        )
        if self.redirects or names:
            self.emit(part)
        first = words[0]
        if first.text == "exec" and len(words) == 1:
            walk.feed = self.feed  # for whatever comes next
        if not first.literal:
            walk.unknown("the program's name is not known before the run", first.start, first.end)
            return walk.forget()
        # `time` that is still here does not begin a pipeline: then it is the program.
        if (
            first.text in RESERVED
            and first.text != "time"
            and not self.is_test
            and first.text == walk.text[self.raws[0][0] : self.raws[0][1]]
        ):
            walk.unknown(f"`{first.text}` where a program's name was expected", first.start, first.end)
            return walk.forget()
        if first.text not in ACTING and first.text not in walk.functions:
            return walk.state, walk.state
        walk.assigned_here = frozenset(names)
        before = walk.state
        walk.current_feed = self.feed
        activations = walk.activations
        ways = builtins.run(walk, words, self.raws)
        if walk.activations > activations:
            walk.commands[part] = walk.commands[part].replace(activates=True)
        walk.assigned_here = frozenset()
        return (ways[0], join(ways[1], before)) if may_not_open(self.redirects) else ways

    def emit(self, part: int) -> None:
        """Hand redirections and assignments on; `part` is the number of the command they belong to, -1 for none."""
        walk = self.walk
        if part >= 0:
            walk.redirects += [
                Redirect(each.kind, each.word, each.start, each.end, each.cwds, part) for each in self.redirects
            ]
        else:
            walk.redirects += self.redirects
        for name, word, _, start in self.assigned:
            walk.assignments.append(Assignment(name, word, start, word.end, part, part >= 0 or walk.all_exported))


def listed(walk: WalkState, words: list[Word]) -> None:
    """Patterns that stand where no command takes them: the shell lists their folders all the same."""
    walk.redirects += [
        Redirect("list", word, word.start, word.end, walk.cwds)
        for word in words
        if word.pattern is not None and word.names is None
    ]


def read_tail(walk: WalkState, start: int, end: int, feed: Feed) -> tuple[list[Redirect], Feed]:
    """The redirects behind a compound command, and what then feeds it."""
    reader = Reader(walk, start, end, feed, ())
    text = walk.text
    at = start
    while True:
        while at < end and text[at] in " \t":
            at += 1
        if at >= end:
            break
        found = reader.redirect_at(at)
        if not found:
            walk.unknown("a word behind a compound command", at, end)
            break
        at, given = read_redirect(walk, found, end, reader.redirects)
        reader.feed = given or reader.feed
    return reader.redirects, reader.feed


def bracket_end(text: str, at: int, end: int, children: dict[int, Region]) -> int:
    """The `]` that closes the `[` at a position; -1 if there is none or quoting makes it uncertain."""
    depth = 0
    while at < end:
        if at in children:
            at = children[at].end
            continue
        letter = text[at]
        if letter in "\\'\"`":
            close = text.find(letter, at + 1, end) if letter in "'\"" else -1
            if close < 0 or "\\" in text[at:close]:
                return -1
            at = close + 1
            continue
        if letter == "[":
            depth += 1
        elif letter == "]":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return -1
