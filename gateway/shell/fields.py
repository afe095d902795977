"""What becomes of a word's pieces: brace expansion, field splitting, and globs as patterns."""

from __future__ import annotations

import re

from gateway.model.command import Names, Word
from gateway.model.effect import HOLE
from gateway.shell.braces import MAX_LETTERS, TooMany, expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.shell.pieces import Host, Piece

BETWEEN = "\x01"  # a control character, which no text that is read holds
_GLOB = re.compile(r"[*?\[]")
_BRACKET = re.compile(r"[!^]?[A-Za-z0-9_.,@%+=-]+\Z")


def brace(pieces: list[Piece]) -> list[list[Piece]]:
    """The words, as pieces, that brace expansion makes of one; that one alone where nothing expands. Raises TooMany
    where they cannot be followed."""
    atoms: list[object] = []
    for piece in pieces:
        if piece[0] == "u":
            atoms += piece[1]
        else:
            atoms.append(piece)
    if len(atoms) > MAX_LETTERS:
        raise TooMany
    spread = expand(atoms)
    if spread == [atoms]:
        return [pieces]
    result = []
    for word in spread:
        merged: list[Piece] = []
        for atom in word:
            if isinstance(atom, tuple):
                merged.append(atom)
            elif merged and merged[-1][0] in "nil" and (atom.isalnum() or atom == "_"):
                raise TooMany  # to bash the letter belongs to the variable's name
            elif merged and merged[-1][0] == "u":
                merged[-1] = ("u", merged[-1][1] + atom)
            else:
                merged.append(("u", atom))
        if merged:
            result.append(merged)
    return result


def split(host: Host, pieces: list[Piece], start: int, end: int) -> list[Word]:
    """Field splitting and globs."""
    only = [piece for piece in pieces if piece[1] or piece[0] == "u"]
    if len(only) == 1 and only[0][0] in "gl":
        text, _, pattern = only[0][1].partition(BETWEEN)
        asks = (("blanks", pattern),) if only[0][0] == "l" else ()
        return [Word(text, start, end, False, pattern, Names((), asks))]
    fields = [_Field()]
    for kind, part in pieces:
        field = fields[-1]
        if kind in "qi":
            field.add(part, quoted=True)
        elif kind == "u":
            field.add(part, quoted=False)
            field.kept = True
        elif kind == "e":
            for index, text in enumerate(part.split(BETWEEN)):
                if index:
                    fields.append(_Field())
                fields[-1].add(text, quoted=True)
        elif kind in "gl":
            field.add(HOLE, quoted=True)
            field.splits = field.splits or kind == "l"
        elif kind == "m" or HOLE in part or not host.splits_plainly() or "\\" in part:
            field.add(part if HOLE in part and host.splits_plainly() else HOLE, quoted=True)
            field.splits = True
        elif any(other == "u" and "$" in letters for other, letters in pieces) and part.split() != [part]:
            field.add(HOLE, quoted=True)  # beside a lone `$`, bash does not split
            field.splits = True
        else:
            _add_fields(fields, part)
    return [field.word(start, end) for field in fields if field.kept or field.splits]


def _add_fields(fields: list[_Field], part: str) -> None:
    """A known text, unquoted: blanks in it separate words."""
    inside = part.split()
    if part[:1] in (" ", "\t", "\n") and part and (fields[-1].kept or fields[-1].text):
        fields.append(_Field())
    for index, word in enumerate(inside):
        if index:
            fields.append(_Field())
        fields[-1].add(word, quoted=False)
        fields[-1].kept = True
    if inside and part[-1] in " \t\n":
        fields.append(_Field())


class _Field:
    __slots__ = ("active", "kept", "pattern", "plain", "splits", "text")

    def __init__(self) -> None:
        self.text = ""
        self.pattern = ""
        self.plain = ""  # like the text, with quoted letters replaced: where brackets are looked for
        self.kept = False
        self.splits = False
        self.active = False

    def add(self, part: str, *, quoted: bool) -> None:
        self.text += part
        if quoted:
            self.kept = True
            self.pattern += _GLOB.sub(r"[\g<0>]", part)
            self.plain += "q" * len(part)
        else:
            self.pattern += part
            self.plain += part
            if not self.active and _GLOB.search(part):
                self.active = True

    def word(self, start: int, end: int) -> Word:
        if not self.active:
            return Word(self.text, start, end, self.splits)
        if "[" in self.plain:
            return self._with_brackets(start, end)
        if "*" not in self.plain and "?" not in self.plain:
            return Word(self.text, start, end, self.splits)
        return Word(self.text, start, end, self.splits, self.pattern)

    def _with_brackets(self, start: int, end: int) -> Word:
        at = self.plain.find("[")
        close = self.plain.find("]", at + 2)
        if close < 0:
            if "]" in self.plain[at:] or "*" in self.plain or "?" in self.plain:
                return Word(self.text[:at] + HOLE, start, end, True)
            return Word(self.text, start, end, self.splits)
        simple = self.plain == self.pattern and HOLE not in self.text
        insides = re.findall(r"\[([^\]]*)\]", self.plain)
        if not simple or any(not inside.lstrip("!^").isascii() or not _BRACKET.match(inside) for inside in insides) \
                or self.plain.count("[") != len(insides) or self.plain.count("]") != len(insides):  # fmt: skip
            return Word(self.text[:at] + HOLE, start, end, True)
        return Word(self.text, start, end, self.splits, self.pattern.replace("[^", "[!"))
