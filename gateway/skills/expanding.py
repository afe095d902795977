"""The text of a command with what it was told, and what it wants to be run and read; pure.

`$ARGUMENTS` is all that it was told, `$1` to `$9` its words. A line of a shell stands as !`git status`, a file as
@src/a.py. What a command was told adds neither: only what its author wrote counts.
"""

from __future__ import annotations

import re
import shlex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PLACES = re.compile(r"\$(?:ARGUMENTS\b|([1-9])(?![0-9]))")
_WANTED = re.compile(r"!`([^`\n]+)`|(?<![\w@`.!])@((?:[\w.~$/-])+)")


def filled(text: str, args: str) -> str:
    """The text with its places filled."""
    words = _words(args)

    def place(found: re.Match[str]) -> str:
        number = found.group(1)
        if number is None:
            return args
        return words[int(number) - 1] if int(number) <= len(words) else ""

    return _PLACES.sub(place, text)


def has_places(text: str) -> bool:
    """Whether it says where what it was told goes."""
    return _PLACES.search(text) is not None


def expanded(text: str, args: str, run: Callable[[str], str], read: Callable[[str], str | None]) -> str:
    """The whole text. `run` gives what a shell line prints; `read` what a file holds, None for what is no file: then
    the text stays as it is. Each is called once for the same thing."""
    known: dict[str, str | None] = {}
    out: list[str] = []
    start = 0
    for found in _WANTED.finditer(text):
        shell, path = found.groups()
        wanted = filled(shell if shell is not None else path, args)
        key = found.group()
        if key not in known:
            known[key] = run(wanted) if shell is not None else read(wanted)
        given = known[key]
        out.append(filled(text[start : found.start()], args))
        out.append(filled(found.group(), args) if given is None else given)
        start = found.end()
    out.append(filled(text[start:], args))
    return "".join(out)


def _words(args: str) -> list[str]:
    try:
        return shlex.split(args)
    except ValueError:
        return args.split()
