"""One word of the shell: its pieces as written (`pieces`), and the words that bash makes of them."""

from __future__ import annotations

import re

from gateway.model.command import Word
from gateway.model.effect import HOLE
from gateway.shell.ansi import decode
from gateway.shell.braces import MAX_MADE, TooMany, about
from gateway.shell.fields import BETWEEN, brace, split
from gateway.shell.guards import PLAIN_LETTERS, Refused
from gateway.shell.tildes import tilde_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.shell.pieces import Host, Piece

_RUN = re.compile(r"""[^\\'"`$ \t\n;&|()<>]+""")
_DOUBLE_RUN = re.compile(r'[^\\"`$]+')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ACTIVE = re.compile(r"[*?\[{~]")
_PLAIN_TEXT = re.compile(rf"[{PLAIN_LETTERS}]+\Z")
_SPECIAL = "?#$!-*@0123456789_"
_make: Any = tuple.__new__  # the class's own checks cost more than reading a plain word


def plain_word(text: str, start: int, end: int) -> Word:
    """A word that says what it is. Made without the checks of the class: most words are these."""
    word: Word = _make(Word, (text, start, end, False, None, None))
    return word


def read_word(host: Host, at: int, end: int, *, quoted_text: bool = False) -> tuple[list[Piece], int]:
    """The pieces of the word that starts at a position, and where it ends: at a blank, an operator or `end`.

    `quoted_text`: read to `end` as a here-document's body is read.
    """
    text = host.text
    pieces: list[Piece] = []
    if quoted_text:
        _read_double(host, at, end, pieces, heredoc=True)
        return pieces, end
    while at < end:
        found = _RUN.match(text, at, end)
        if found:
            pieces.append(("u", found[0]))
            at = found.end()
            continue
        letter = text[at]
        if letter in "'\"":
            at = read_quoted(host, at, end, pieces)
        elif letter == "\\":
            if at + 1 >= end:
                raise Refused("ends in a backslash", at, end)
            pieces.append(("q", text[at + 1]))
            at += 2
        elif letter == "$":
            at = _read_dollar(host, at, end, False, pieces)
        elif letter == "`":
            at = _read_region(host, at, False, pieces)
        elif letter in "<>" and at in host.regions and host.regions[at].kind in ("input", "output"):
            host.region(host.regions[at])
            host.note(at, host.regions[at].end, host.regions[at], "")
            pieces.append(("q", "/dev/fd/" + HOLE))
            at = host.regions[at].end
        else:
            break
    return pieces, at


def read_quoted(host: Host, at: int, end: int, pieces: list[Piece]) -> int:
    """Quotes and what stands in them; returns the position behind the closing one."""
    text = host.text
    if text[at] == '"':
        return _read_double(host, at + 1, end, pieces)
    close = text.find("'", at + 1, end)
    if close < 0:
        raise Refused("a single quote is not closed", at, end)
    pieces.append(("q", text[at + 1 : close]))
    return close + 1


def _read_double(host: Host, at: int, end: int, pieces: list[Piece], *, heredoc: bool = False) -> int:
    """Inside double quotes from just behind the opening one; returns the position behind the closing one."""
    text = host.text
    empty = len(pieces)
    while at < end:
        found = _DOUBLE_RUN.match(text, at, end)
        if found:
            pieces.append(("q", found[0]))
            at = found.end()
            continue
        letter = text[at]
        if letter == '"':
            if not heredoc:
                if len(pieces) == empty:
                    pieces.append(("q", ""))
                return at + 1
            pieces.append(("q", '"'))
            at += 1
        elif letter == "\\":
            follower = text[at + 1 : min(at + 2, end)]
            if follower and follower in '$`"\\' and not (heredoc and follower == '"'):
                pieces.append(("q", follower))
                at += 2
            else:
                pieces.append(("q", "\\"))
                at += 1
        elif letter == "$":
            at = _read_dollar(host, at, end, True, pieces)
        else:
            at = _read_region(host, at, True, pieces)
    if heredoc:
        return end
    raise Refused("a double quote is not closed", at, end)


def _read_region(host: Host, at: int, quoted: bool, pieces: list[Piece]) -> int:
    region = host.regions.get(at)
    if region is None:
        raise Refused("a substitution where none was expected", at, at + 1)
    value, several = host.region(region)
    inside = host.text[region.inner : region.stop] if region.kind == "parameter" else ""
    if inside and _expanded(host, inside, region.start, region.end, quoted, pieces):
        return region.end
    if HOLE in value:
        host.note(region.start, region.end, region, inside)
    if quoted:
        pieces.append(("m" if several else "q", value))
    else:
        number = region.kind == "arithmetic" or host.text.startswith("${#", at)
        pieces.append(("q" if number and host.splits_plainly() else "x", value))
    return region.end


def _read_dollar(host: Host, at: int, end: int, quoted: bool, pieces: list[Piece]) -> int:
    if at in host.regions:
        return _read_region(host, at, quoted, pieces)
    text = host.text
    follower = text[at + 1] if at + 1 < end else ""
    found = _NAME.match(text, at + 1, end)
    if found:
        value = host.variable(found[0], at, found.end())
        if HOLE in value:
            if _expanded(host, found[0], at, found.end(), quoted, pieces):
                return found.end()
            host.note(at, found.end(), None, found[0])
        pieces.append(("q" if quoted else "i" if host.holds_number(found[0]) else "n", value))
        return found.end()
    if follower and follower in _SPECIAL:
        if _expanded(host, follower, at, at + 2, quoted, pieces):
            return at + 2
        host.note(at, at + 2, None, follower)
        pieces.append(("m" if quoted and follower == "@" else "q" if quoted else "x", HOLE))
        if follower in "#?$" and host.splits_plainly():
            pieces[-1] = ("q", HOLE)  # a number, whatever it is
        return at + 2
    if not quoted and follower == "'":
        close = at + 2
        while close < end and text[close] != "'":
            close += 2 if text[close] == "\\" else 1
        if close >= end:
            raise Refused("a single quote is not closed", at, end)
        decoded = decode(text[at + 2 : close])
        if decoded is None:
            host.note(at, close + 1, None, "")
        pieces.append(("x", HOLE) if decoded is None else ("q", decoded))
        return close + 1
    if not quoted and follower == '"':
        return _read_double(host, at + 2, end, pieces)
    if follower and follower in "({[":
        raise Refused("a substitution where none was expected", at, at + 2)
    pieces.append(("q" if quoted else "u", "$"))
    return at + 1


def _expanded(host: Host, name: str, start: int, end: int, quoted: bool, pieces: list[Piece]) -> bool:
    """The piece of a variable that holds a path of a glob, or of known elements; False if it is neither."""
    glob = host.glob_of(name)
    if glob:
        pieces.append(("g" if quoted else "l", glob))
        host.note(start, end, None, "")
        return True
    texts = host.elements(name)
    if texts is None:
        return False
    host.expanded(start, end)
    if len(texts) == 1 and HOLE not in texts[0]:
        pieces.append(("q" if quoted else "n", texts[0]))
        return True
    plain = quoted or (host.splits_plainly() and all(text and _PLAIN_TEXT.match(text) for text in texts))
    joined = quoted and "*" in name[-2:]
    if not texts or not plain or joined or any(BETWEEN in text or HOLE in text for text in texts):
        return False
    pieces.append(("e", BETWEEN.join(texts)))
    return True


def words_of(host: Host, pieces: list[Piece], start: int, end: int, *, declares: bool = False) -> list[Word]:
    """The words that bash makes of one word's pieces: after brace, tilde, splitting; globs stay patterns."""
    text = ""
    for kind, part in pieces:
        if kind in "xnmgle" or (kind == "u" and _ACTIVE.search(part)):
            break
        text += part
    else:
        return [plain_word(text, start, end)]
    spread = [pieces]
    if any(kind == "u" and "{" in part for kind, part in pieces):
        try:
            if "$${" in host.text[start:end]:
                raise TooMany  # bash's brace expansion sees an expansion there, its parameter expansion does not
            spread = brace(pieces)
            if spread != [pieces] and declares:
                raise TooMany
        except TooMany:
            if about(host.text[start:end]) > MAX_MADE:
                host.unknown("braces that make more words than a machine may hold", start, end)
            return [Word(_known_prefix(pieces) + HOLE, start, end, True)]
    result: list[Word] = []
    for each in spread:
        each = tilde_pieces(host, each, assignment=declares, bare=spread != [pieces])
        if declares and each and each[0][0] == "u" and _is_assignment(each[0][1]):
            result.append(value_word(each, start, end))
        else:
            result += split(host, each, start, end)
    return result


def value_word(pieces: list[Piece], start: int, end: int) -> Word:
    """One word of pieces that are neither split nor globbed: an assigned value, a here-string."""
    return plain_word(text_in(pieces), start, end)


def text_in(pieces: list[Piece]) -> str:
    """The text of pieces that stay one word, with `HOLE` for what only the run will tell."""
    return "".join([HOLE if kind in "gle" else part for kind, part in pieces])


def _is_assignment(text: str) -> bool:
    found = _NAME.match(text)
    return found is not None and text[found.end() : found.end() + 1] in ("=", "+", "[")


def _known_prefix(pieces: list[Piece]) -> str:
    known = ""
    for kind, part in pieces:
        if kind == "u":
            cut = _ACTIVE.search(part)
            known += part[: cut.start()] if cut else part
            if cut:
                break
        elif kind == "q" and HOLE not in part:
            known += part
        else:
            break
    return known
