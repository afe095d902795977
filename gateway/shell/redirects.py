"""Redirections, wherever they stand: on simple commands, compound ones and functions."""

from __future__ import annotations

import re

from gateway.model.command import Word
from gateway.model.effect import HOLE
from gateway.shell.plainlist import NETWORK, is_descriptor
from gateway.shell.script import Redirect
from gateway.shell.state import FILE, NUMBER
from gateway.shell.tildes import tilde_pieces
from gateway.shell.words import plain_word, read_word, text_in, value_word, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.shell.regions import Region
    from gateway.shell.state import Feed
    from gateway.shell.walk_state import WalkState

# Behind `>&`, what the word gave is expanded once more where it is the name of a file.
_SAME_TWICE: Any = re.compile(r"(?!~)[^$`\\'\"*?\[" + HOLE + "]+").fullmatch
REDIRECT = re.compile(r"([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?(&>>|&>|<<<|<<|<>|>>|>\||>&|<&|>|<)")


def read_redirect(walk: WalkState, found: re.Match[str], end: int, into: list[Redirect]) -> tuple[int, Feed | None]:
    """Read one redirection whose operator was matched. Appends what it opens; returns where it ends and, if it feeds
    standard input, with what."""
    start, at = found.start(), found.end()
    descriptor, operator = found[1], found[2]
    feeds = descriptor in (None, "0")
    if descriptor and descriptor[0] == "{":
        walk.set_variable(descriptor[1:-1], NUMBER, start, found.end(1))
    if operator == "<<":
        region = walk.regions.get(found.start(2))
        if region is None or region.kind != "heredoc":
            walk.unknown("a here-document that is not understood", start, end)
            return end, None
        content = _body(walk, region)
        into.append(Redirect("text", plain_word(content, region.inner, region.stop), start, region.end, walk.cwds))
        return region.end, ("text", content, None, False) if feeds else None
    while at < end and walk.text[at] in " \t":
        at += 1
    begin = at
    if operator == "<<<":
        pieces, at = read_word(walk, begin, end)
        word = value_word(tilde_pieces(walk, pieces, value=True), begin, at)
        into.append(Redirect("text", word, start, at, walk.cwds))
        return at, ("text", word.text + "\n", None, False) if feeds else None
    pieces, at = read_word(walk, begin, end)
    if at == begin:
        walk.unknown("a redirection without a target", start, end)
        return end, None
    words = words_of(walk, pieces, begin, at)
    word = words[0] if len(words) == 1 else Word(HOLE, begin, at, True)
    if operator == ">&" and not _SAME_TWICE(word.text):
        if walk.numeric_source(begin, at):
            into.append(Redirect("dup", word, start, at, walk.cwds))
            return at, None
        walk.unknown("bash expands what stands behind `>&` twice", begin, at)
    into += [Redirect(kind, word, start, at, walk.cwds) for kind in _kinds(operator, word)]
    if not feeds or operator not in ("<", "<>", "<&"):
        return at, None
    region = walk.regions.get(begin)
    if operator == "<" and region is not None and region.kind == "input" and region.end == at:
        return at, ("pipe", "", walk.inner_span(region), True)
    return at, FILE


def _kinds(operator: str, word: Word) -> tuple[str, ...]:
    text = word.text
    if operator == "<&" or (operator == ">&" and is_descriptor(text)):
        return ("dup",)
    if text.startswith(NETWORK):
        return ("net",)
    if operator == "<":
        return ("read",)
    return ("read", "write") if operator == "<>" else ("write",)


def may_not_open(redirects: Sequence[Redirect]) -> bool:
    """Whether a redirection may fail: then bash does not run the command behind it."""
    for each in redirects:
        text = each.word.text
        if each.kind == "dup":
            if text not in ("0", "1", "2", "-", "0-", "1-", "2-"):
                return True
        elif each.kind != "text" and text != "/dev/null":
            return True
    return False


def _body(walk: WalkState, region: Region) -> str:
    """The text of a here-document."""
    walk.seen.add(region.start)
    text = walk.text[region.inner : region.stop]
    if not region.quoted:
        outer = walk.regions
        walk.regions = {child.start: child for child in region.children}
        pieces, _ = read_word(walk, region.inner, region.stop, quoted_text=True)
        walk.regions = outer
        text = text_in(pieces)
    if region.strip:
        text = "\n".join(line.lstrip("\t") for line in text.split("\n"))
    return text
