"""The plainest texts: one command of words in which nothing means anything to bash. Whoever judges only such a text
loads neither what reads the others nor `re`, which takes longer than to judge it.

What is read here is exactly what the walk would read; everything else is left to `plainlist` and to the walk.
"""

from __future__ import annotations

from gateway.model.command import Simple, Word
from gateway.shell.guards import ACTING, CARE, MAX_TEXT, RESERVED
from gateway.shell.script import Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FIRST = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_./")
_LETTERS = _FIRST | frozenset("0123456789:,@%+-= ")
_NONE: frozenset[str] = frozenset()
_make: Any = tuple.__new__
_plain_list: Any = None


def plain_script(text: str, cwds: tuple[str, ...], home: object) -> Script | None:
    """The script of a text that needs no walk, or None. `home`: what `~` stands for."""
    global _plain_list
    if len(text) > MAX_TEXT:
        return None
    if is_plain(text):
        words = plain_words(text, 0)
        if words[0].text not in CARE:
            command = _make(Simple, (words, 0, len(text), cwds, (), "", "", (), None, False, False, False))
            script: Script = _make(Script, ((command,), (), (), (), _NONE, (), (), cwds, (), (), (), (), False))
            return script
        return None
    if _plain_list is None:
        from gateway.shell.plainlist import plain_list as _plain_list
    found: Script | None = _plain_list(text, cwds, home)
    return found


def is_plain(text: str) -> bool:
    """Whether a text is one command of plain words (`guards.PLAIN_LETTERS`) with blanks between them, and begins with
    a name to which nothing is assigned."""
    return (
        _LETTERS.issuperset(text)
        and text[:1] in _FIRST
        and text[-1] != " "
        and ("=" not in text or "=" not in text.partition(" ")[0])
    )


def plain_words(raw: str, start: int) -> tuple[Word, ...]:
    """The words of a text that is plain."""
    words = []
    for text in raw.split(" "):
        if text:
            end = start + len(text)
            words.append(_make(Word, (text, start, end, False, None, None)))
            start = end + 1
        else:
            start += 1
    return tuple(words)


def needs_care(name: str) -> bool:
    """Whether a plain name changes the state of the reading, or is no command's name."""
    return name in ACTING or name in RESERVED
