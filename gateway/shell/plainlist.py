"""Texts that need no state to be read: commands joined by `;`, `&&`, `||`, `|` and line ends, their words literal.

Most texts that agents write are these. What is read here is exactly what the walk would read (a test holds the two
together); whatever could be another expansion than `~` and globs, a keyword, an assignment, or a built-in that changes
the shell is left to it.
"""

from __future__ import annotations

import re

from gateway.model.command import Simple, Word
from gateway.shell.guards import CARE, PLAIN_LETTERS, PLAIN_NAME
from gateway.shell.script import Redirect, Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NETWORK = ("/dev/tcp/", "/dev/udp/")  # bash opens connections for these names
MOST_COMMANDS = 100  # longer lists are rare, and the walk has the bounds for them

# What joins commands; a redirect and its target; a word. A word is letters that mean nothing to bash, stars of a glob,
# escaped letters, and quotes around ASCII text in which nothing expands; `~` only where it stands for HOME.
# One match begins where the last one ended, and nothing in it can be matched in two ways: the time is linear.
_TOKEN: Any = re.compile(
    rf"""[ \t]*(?:
      (?:(&&|\|\||\|(?!&)|;)|\n)(?:[ \t]*\n)*
    | ([0-9]*(?:>>|>&|&>|>|<))[ \t]*((?:~(?=[/ \t\n;&|<>]|\Z))?[{PLAIN_LETTERS}]*)
    | ((?:~(?=[/ \t\n;&|<>]|\Z))?(?:[{PLAIN_LETTERS}*]+|\\[!-~]|'[\n\t -&(-~]*'|"[\n\t !#%-\[\]-_a-~]*")+|~|\{{\}})
    )""",
    re.VERBOSE,
)
_NAME = re.compile(rf"[A-Za-z_./][{PLAIN_NAME}]*").fullmatch
_NOT_PLAIN = re.compile(r"""['"\\*~]""").search
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)"|\\(.)""")
_GLOB = frozenset("*?[\\")
_NONE: frozenset[str] = frozenset()
_make: Any = tuple.__new__


def is_descriptor(text: str) -> bool:
    """Whether the word behind `>&` names a descriptor, and no file."""
    digits = text[:-1] if text[-1:] == "-" else text
    return text == "-" or (digits.isascii() and digits.isdigit())


def _unquoted(found: re.Match[str]) -> str:
    return found[found.lastindex or 0]


def plain_list(text: str, cwds: tuple[str, ...], home: object) -> Script | None:
    """The script, or None when the text has to be walked through. `home`: what `~` stands for."""
    commands: list[Simple] = []
    redirects: list[Redirect] = []
    words: list[Word] = []
    at = begin = last = 0
    stdin = joint = ""
    feeder: tuple[int, int] | None = None
    behind_word = False
    for found in iter(_TOKEN.scanner(text).match, None):
        before, at = found.span()
        group = found.lastindex
        if group == 4:
            word: str = found[4]
            start = at - len(word)
            if behind_word and start == before:
                return None
            behind_word = True
            if not words:
                if word in CARE or not _NAME(word):
                    return None
                begin = start
            last = at
            if _NOT_PLAIN(word):
                made = _word(word, start, at, home)
                if made is None:
                    return None
                words.append(made)
            else:
                words.append(_make(Word, (word, start, at, False, None, None)))
        elif group == 3:
            operator, target = found[2], found[3]
            if not words or not target or target.startswith(NETWORK):
                return None
            if behind_word and found.start(2) == before and operator[0].isdigit():
                return None
            last = at
            behind_word = True
            kind = "write"
            if operator[-1] == "<":
                kind = "read"
                if operator == "<" or operator == "0<":
                    stdin, feeder = "file", None
            elif operator[-1] == "&":
                if not is_descriptor(target):
                    return None
                kind = "dup"
            goal = _word(target, at - len(target), at, home)
            if goal is None:
                return None
            redirects.append(_make(Redirect, (kind, goal, found.start(2), at, cwds, len(commands))))
        else:
            if not words:
                return None
            commands.append(
                _make(Simple, (tuple(words), begin, last, cwds, (), stdin, "", (), feeder, False, False, False))
            )
            if len(commands) > MOST_COMMANDS:
                return None
            joint = found[1] or "\n"
            stdin, feeder = ("pipe", (begin, last)) if joint == "|" else ("", None)
            words = []
            behind_word = False
    if at != len(text) and text[at:].strip(" \t"):
        return None
    if words:
        commands.append(
            _make(Simple, (tuple(words), begin, last, cwds, (), stdin, "", (), feeder, False, False, False))
        )
    elif joint not in (";", "\n"):
        return None
    if len(commands) > MOST_COMMANDS:
        return None
    script: Script = _make(
        Script, (tuple(commands), tuple(redirects), (), (), _NONE, (), (), cwds, (), (), (), (), False)
    )
    return script


def _word(text: str, start: int, end: int, home: object) -> Word | None:
    """A word with quotes, escapes, `~` or stars; None where more than these has a say."""
    pattern = None
    expands = text[0] == "~"
    if "'" in text or '"' in text or "\\" in text:
        if "*" in text and "*" in _QUOTED.sub("", text):
            return None
        text = _QUOTED.sub(_unquoted, text)
    elif "*" in text:
        pattern = text
    if expands:
        if not isinstance(home, str) or len(home) < 2 or home[0] != "/" or not _GLOB.isdisjoint(home):
            return None
        text = home + text[1:]
        if pattern is not None:
            pattern = home + pattern[1:]
    word: Word = _make(Word, (text, start, end, False, pattern, None))
    return word
