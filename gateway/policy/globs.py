"""Text globs, compiled to plain lists and matched without regular expressions.

A compiled glob is the list of what stands between its stars. One chunk: no star, the text must be exactly that.
More: the text must start with the first, end with the last, and hold the others in order between them. A chunk is
a string, or, where `?` or a class `[…]` occurs in it, a list of atoms: a character, "" for any one character, or
`[negated, characters, low, high, …]`. It is plain data, so that a cache can store it as JSON and use it as read.

Matching takes time linear in the text whatever the glob: chunks are found left to right and never tried twice.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Atom = str | list[Any]
    Chunk = str | list[Atom]
    Glob = list[Chunk]

SPECIAL = "\\*?["
_CLASSES = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "blank": "  \t\t",
    "cntrl": "\x01\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "xdigit": "09AFaf",
}


def compile_glob(pattern: str, *, question: bool = True) -> Glob:
    """A glob over names and refs: `*` is any text, `?` (unless `question` is false) any one character.

    A backslash makes the next `*`, `?` or backslash literal; before anything else it stands for itself.
    """
    special = "\\*?" if question else "\\*"
    atoms: list[Any] = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        if char == "\\" and pattern[i + 1 : i + 2] in special and i + 1 < len(pattern):
            i += 1
            atoms.append(pattern[i])
        elif char == "*":
            atoms.append(None)
        elif char == "?" and question:
            atoms.append("")
        else:
            atoms.append(char)
        i += 1
    return assemble(atoms)


def compile_segment(pattern: str, *, fold: bool = False) -> Glob:
    """A glob over one segment of a path, as git reads it: `*`, `?`, `[…]`, and `\\` before any character.

    `fold`: the text to match has gone through `fold_case`; classes then hold either case. Raises ValueError for an
    open class, a range that runs backwards, an unknown class name and a backslash at the end.
    """
    if not fold and not ("*" in pattern or "?" in pattern or "[" in pattern or "\\" in pattern):
        return [pattern]
    atoms: list[Any] = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        i += 1
        if char == "\\":
            if i == len(pattern):
                raise ValueError(f"a backslash must stand before the character it makes literal (got `{pattern}`)")
            atoms.extend(fold_case(pattern[i]) if fold else pattern[i])
            i += 1
        elif char == "*":
            atoms.append(None)
        elif char == "?":
            atoms.append("")
        elif char == "[":
            atom, i = _character_class(pattern, i, fold)
            atoms.append(atom)
        else:
            atoms.extend(fold_case(char) if fold else char)
    return assemble(atoms)


def assemble(atoms: list[Any]) -> Glob:
    """The compiled form of a list of atoms in which None stands for a star."""
    if None not in atoms:
        return [_chunk(atoms)]
    chunks: Glob = []
    run: list[Atom] = []
    for atom in [*atoms, None]:
        if atom is not None:
            run.append(atom)
            continue
        chunks.append(_chunk(run))
        run = []
    return [c for i, c in enumerate(chunks) if c or i in (0, len(chunks) - 1)]


def _chunk(atoms: list[Any]) -> Any:
    """Atoms between two stars: one text where each of them is a letter."""
    try:
        text = "".join(atoms)
    except TypeError:  # a class of letters
        return atoms
    return atoms if "" in atoms else text


def literal(glob: Glob) -> str | None:
    """The only text a glob matches, or None if there may be others."""
    return glob[0] if len(glob) == 1 and type(glob[0]) is str else None


def is_literal(pattern: str) -> bool:
    """Whether `compile_glob` of this pattern matches one text only, spelled as the pattern."""
    return not any(c in pattern for c in "*?\\")


def matches(glob: Glob, text: str) -> bool:
    """Whether the whole text matches."""
    head = glob[0]
    if len(glob) == 1:
        if type(head) is str:
            return text == head
        return len(text) == len(head) and _fits(head, text, 0)
    tail = glob[-1]
    start = len(head)
    end = len(text) - len(tail)
    if end < start:
        return False
    if not (text.startswith(head) if type(head) is str else _fits(head, text, 0)):
        return False
    if not (text.endswith(tail) if type(tail) is str else _fits(tail, text, end)):
        return False
    if len(glob) == 2:
        return True
    for chunk in glob[1:-1]:
        at = text.find(chunk, start, end) if type(chunk) is str else _find(chunk, text, start, end)
        if at < 0:
            return False
        start = at + len(chunk)
    return True


def fold_case(text: str) -> str:
    """The text as a file system that ignores case would compare it."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFD", text).casefold())


def escape(text: str) -> str:
    """A segment pattern that matches exactly this text."""
    return "".join("\\" + c if c in SPECIAL else c for c in text)


def _fits(chunk: Any, text: str, at: int) -> bool:
    return all(_one(atom, text[at + i]) for i, atom in enumerate(chunk))


def _one(atom: Any, char: str) -> bool:
    if type(atom) is str:
        return not atom or atom == char
    negated, chars, *bounds = atom
    inside = char in chars or any(bounds[i] <= char <= bounds[i + 1] for i in range(0, len(bounds), 2))
    return inside is not bool(negated)


def _find(chunk: Any, text: str, start: int, end: int) -> int:
    """The first place between `start` and `end` where the chunk fits, -1 if none.

    All places are tried at once: bit i of `state` says that the first i + 1 atoms fit the characters just read.
    """
    masks: dict[str, int] = {}
    goal = 1 << (len(chunk) - 1)
    state = 0
    for i in range(start, end):
        char = text[i]
        mask = masks.get(char)
        if mask is None:
            mask = masks[char] = sum(1 << bit for bit, atom in enumerate(chunk) if _one(atom, char))
        state = (state << 1 | 1) & mask
        if state & goal:
            return i - len(chunk) + 1
    return -1


def _character_class(pattern: str, i: int, fold: bool) -> tuple[Atom, int]:
    """The class whose text starts at `i`, after its `[`, and the place after its `]`."""
    negated = pattern[i : i + 1] in ("!", "^")
    i += negated
    first = i
    bounds: list[str] = []
    chars = ""
    while True:
        if i >= len(pattern):
            raise ValueError(f"a character class must be closed, or its `[` written as `\\[` (got `{pattern}`)")
        char = pattern[i]
        if char == "]" and i > first:
            break
        if pattern.startswith("[:", i) and (end := pattern.find(":]", i)) > 0:
            name = pattern[i + 2 : end]
            if name not in _CLASSES:
                raise ValueError(f"a named character class must be one of {', '.join(_CLASSES)} (got `{name}`)")
            bounds += _CLASSES[name]
            i = end + 2
            continue
        char, i = _class_character(pattern, i)
        if pattern.startswith("-", i) and pattern[i + 1 : i + 2] not in ("]", ""):
            high, i = _class_character(pattern, i + 1)
            if high < char:
                raise ValueError(f"a range must run upwards (got `{char}-{high}`)")
            bounds += char, high
        else:
            chars += char
    if fold and not negated:
        chars += "".join(map(fold_case, chars))
        for low, high in zip(bounds[::2], bounds[1::2], strict=True):
            upper = range(max(ord(low), ord("A")), min(ord(high), ord("Z")) + 1)
            chars += "".join(chr(c).lower() for c in upper)
    return [int(negated), chars, *bounds], i + 1


def _class_character(pattern: str, i: int) -> tuple[str, int]:
    if pattern[i] == "\\":
        i += 1
        if i == len(pattern):
            raise ValueError(f"a backslash must stand before the character it makes literal (got `{pattern}`)")
    return pattern[i], i + 1
