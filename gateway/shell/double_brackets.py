"""`[[ … ]]`: its words as those of a simple command, so that descriptions can judge it."""

from __future__ import annotations

import re

from gateway.model.command import Word
from gateway.model.effect import HOLE
from gateway.shell.simple import SEPARATE, Reader, read_tail
from gateway.shell.tildes import tilde_pieces
from gateway.shell.words import plain_word, read_quoted, read_word, value_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.shell.state import Feed, Ways
    from gateway.shell.walk_state import WalkState

_OPERATORS = ("&&", "||", "(", ")", "<", ">")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_test(walk: WalkState, start: int, end: int, feed: Feed, via: tuple[str, ...] = ()) -> Ways:
    """Read `[[ … ]]` and the redirects behind it."""
    reader = Reader(walk, start, end, feed, via)
    text = walk.text
    at = start + 2
    reader.words.append(plain_word("[[", start, at))
    reader.raws.append((start, at))
    regex = False
    while True:
        while at < end and text[at] in " \t\n":
            at += 1
        begin = at
        operator = next((o for o in _OPERATORS if text.startswith(o, at)), "")
        if at >= end:
            walk.unknown("a test that is not closed", start, end)
            break
        if operator and not regex and not (operator in "<>" and at in walk.regions):
            at += len(operator)
            reader.words.append(plain_word(operator, begin, at))
        else:
            at = _regex(walk, at, end) if regex else at
            pieces, at = ([], at) if regex else read_word(walk, at, end)
            if at == begin or (at < end and text[at] not in SEPARATE):
                walk.unknown("an operator or a quote where none was expected", begin, end)
                break
            word = (
                value_word(tilde_pieces(walk, pieces), begin, at)
                if not regex
                else plain_word(text[begin:at], begin, at)
            )
            if regex and (not text[begin:at].isascii() or any(c in text[begin:at] for c in "$`'\"\\")):
                word = Word(HOLE, begin, at)
            reader.words.append(word)
        reader.raws.append((begin, at))
        raw = text[begin:at]
        regex = raw == "=~"
        if raw == "]]":
            break
    reader.is_test = True
    reader.redirects, reader.feed = read_tail(walk, at, end, feed)
    return reader.finish()


def _regex(walk: WalkState, at: int, end: int) -> int:
    """A regular expression in `[[`: parentheses and bars are its own; blanks end it outside of parentheses."""
    text = walk.text
    depth = 0
    while at < end:
        region = walk.regions.get(at)
        if region is not None:
            walk.region(region) if region.kind != "array" else walk.seen.add(region.start)
            at = region.end
            continue
        letter = text[at]
        if letter in " \t\n" and not depth:
            return at
        if letter in "'\"":
            at = read_quoted(walk, at, end, [])
            continue
        if letter == "\\":
            at += 1
        elif letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth < 0:
                return at
        elif letter in ";&<>" and not depth:
            return at
        elif letter == "$":
            found = _NAME.match(text, at + 1, end)
            if found:
                walk.read_variable(found[0], at, found.end())
        at += 1
    return at
