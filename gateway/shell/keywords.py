"""Keywords that the grammar takes for program names: `time`, `coproc`, and `!` before a compound command.

They are blanked in the skeleton, so that the grammar sees what they stand before.
"""

from __future__ import annotations

import re

from gateway.core.value import Value
from gateway.shell.guards import MAX_KEYWORDS, RESERVED, Refused

_KEYWORD = re.compile(r"(?<![^\s;&|()])(?:time|coproc|!)(?![^\s;&|()<>])")
_FLAGS = re.compile(r"[ \t]+(?:-p|--)(?=[ \t])")
_NEXT = re.compile(r"[ \t]*([^\s;&|()<>]*)")
_OPENING = re.compile(r"\(\(|[ \t]*\([ \t]*\)")  # arithmetic, or the parentheses of a function
_NAMED = re.compile(r"[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*(?=[({]|(?:if|for|case|while|until|select)\s|\[\[\s)")
_LAST_WORD = re.compile(r"(?<![^\s;&|()<>])[^\s;&|()<>]+\Z")
_BEFORE_COMMAND = frozenset(("then", "do", "else", "elif", "if", "while", "until", "!", "{"))


class Blanked(Value):
    """`skeleton` without those keywords; where timed commands start; where coprocesses are; whether a negation was
    taken out, so that success and failure can't be told apart."""

    skeleton: str
    timed: frozenset[int]
    coprocesses: tuple[int, ...]
    negated: bool


def blank(skeleton: str) -> Blanked:
    """Take the keywords out of a skeleton."""
    timed: list[int] = []
    coprocesses: list[int] = []
    negated = False
    all_found = list(_KEYWORD.finditer(skeleton))
    if len(all_found) > MAX_KEYWORDS:
        raise Refused("too many keywords", 0, len(skeleton))
    for found in all_found:
        start, end = found.span()
        if not _begins_command(skeleton, start):
            if found[0] == "!":  # a word like any other, but the grammar has its own idea
                skeleton = skeleton[:start] + "." + skeleton[end:]
            continue
        if found[0] == "!":
            follower = _NEXT.match(skeleton, end)
            if not follower or (follower[1] not in RESERVED and not _OPENING.match(skeleton, follower.end())):
                continue
            negated = True
        elif found[0] == "time":
            while flag := _FLAGS.match(skeleton, end):
                end = flag.end()
        else:
            coprocesses.append(start)
            named = _NAMED.match(skeleton, end)
            if named:
                end = named.end()
        skeleton = skeleton[:start] + " " * (end - start) + skeleton[end:]
        if found[0] == "time":
            follower = _NEXT.match(skeleton, end)
            timed.append(follower.start(1) if follower else end)
    return Blanked(skeleton, frozenset(timed), tuple(coprocesses), negated)


def _begins_command(skeleton: str, at: int) -> bool:
    before = skeleton[:at].rstrip(" \t")
    if not before or before[-1] in ";&(\n)":
        return True
    if before[-1] == "|":
        return before[-2:-1] == "|"
    last = _LAST_WORD.search(before, max(0, len(before) - 6))
    return last is not None and last[0] in _BEFORE_COMMAND
