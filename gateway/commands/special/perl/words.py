"""How perl reads its own words: the programs of `-e`, what loops over files, and what is edited in place."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.command import Word

NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
_MODULES = frozenset(("strict", "warnings", "utf8", "feature", "List::Util", "POSIX"))
# What options may have glued to them.
_TAKING = {"0": "01234567xABCDEFabcdef", "l": "01234567", "C": "0123456789SIOEioADLa"}


class Words:
    """perl's own reading of its words."""

    def __init__(self, words: tuple[Word, ...]) -> None:
        self.programs: list[Word] = []
        self.loops = False
        self.edits: str | None = None
        self.shown = False
        self.known = True
        self.operands: tuple[Word, ...] = ()
        at = 1
        while at < len(words):
            word = words[at]
            if word.text[:1] != "-" or word.text == "-":
                break
            at += 1
            if word.text == "--":
                break
            if not word.literal:
                self.known = False
                return
            at = self._cluster(word.text, words, at)
        self.operands = words[at:]

    def _cluster(self, text: str, words: tuple[Word, ...], at: int) -> int:
        position = 1
        while position < len(text):
            letter, rest = text[position], text[position + 1 :]
            position += 1
            if letter in "eE":
                if rest or at >= len(words):
                    self.known = False
                    return at
                self.programs.append(words[at])
                return at + 1
            if letter in "np":
                self.loops = True
            elif letter == "i":
                self.edits = rest
                self.loops = True
                return at
            elif letter in "Mm":
                module, _, names = rest.partition("=")
                self.known = self.known and module in _MODULES and set(names) <= NAME | {","}
                return at
            elif letter == "F":
                self.loops = True
                inner = rest[1:-1] if rest[:1] == rest[-1:] == "/" and len(rest) > 1 else rest
                self.known = self.known and not set(inner) & set("/'\"`;{@$")
                return at
            elif letter in _TAKING:
                while position < len(text) and text[position] in _TAKING[letter]:
                    position += 1
            elif letter in "vV":
                self.shown = True
            elif letter not in "awW":
                self.known = False
                return at
        return at
