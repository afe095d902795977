"""Characters that look like others: a word that seems to be one name and is another. Pure.

A word is pointed out when it mixes scripts, when all of its foreign letters look like Latin ones, when it holds a sign
that looks like one the shell or a path gives a meaning, when its letters are only another form of plain ones (wide,
mathematical), or when it is a host's name in its encoded form. A word of one other script is left as it is.
"""

from __future__ import annotations

import unicodedata

from gateway.core.value import Value

# Letters of other scripts that common fonts draw like a Latin one, and signs that look like those of shell and path, by
# code point: here, too, nobody could tell them apart.
_LETTERS = {
    "A": (0x391, 0x410, 0x13aa), "B": (0x392, 0x412), "C": (0x421, 0x13df), "D": (0x13a0,),
    "E": (0x395, 0x415, 0x13ac), "G": (0x50c, 0x13c0), "H": (0x397, 0x41d, 0x13bb), "I": (0x399, 0x406, 0x4c0),
    "J": (0x408, 0x13ab), "K": (0x39a, 0x41a), "L": (0x53c,), "M": (0x39c, 0x41c, 0x13b7), "N": (0x39d,),
    "O": (0x39f, 0x41e), "P": (0x3a1, 0x420, 0x13e2), "Q": (0x51a,), "R": (0x13a1,), "S": (0x405, 0x54f, 0x13da),
    "T": (0x3a4, 0x422, 0x13a2), "U": (0x54d,), "W": (0x51c, 0x13b3, 0x13d4), "X": (0x3a7, 0x425),
    "Y": (0x3a5, 0x423), "Z": (0x396, 0x13c3), "a": (0x251, 0x3b1, 0x430), "b": (0x44c,), "c": (0x3f2, 0x441, 0x217d),
    "d": (0x501, 0x217e), "e": (0x435,), "g": (0x261, 0x581), "h": (0x4bb, 0x570),
    "i": (0x131, 0x269, 0x3b9, 0x456, 0x2170), "j": (0x3f3, 0x458), "k": (0x3ba,), "l": (0x4cf, 0x217c),
    "m": (0x217f,), "n": (0x578,), "o": (0x3bf, 0x43e, 0x585), "p": (0x3c1, 0x440), "q": (0x51b, 0x566),
    "s": (0x455,), "t": (0x3c4,), "u": (0x3c5, 0x57d), "v": (0x3bd, 0x2174), "w": (0x51d, 0x561),
    "x": (0x3c7, 0x445, 0x2179), "y": (0x28f, 0x3b3, 0x443),
}  # fmt: skip
_MARKS = {
    '"': (0x201c, 0x201d, 0x2033), "$": (0xff04,), "&": (0xff06,), "'": (0x2b9, 0x2bc, 0x2018, 0x2019, 0x2032),
    "*": (0x204e, 0x2217), ",": (0x201a, 0xa4f9), "-": (0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2212, 0x2cbb),
    ".": (0x2024, 0xa4f8), "/": (0x2044, 0x2215, 0x2571, 0x27cb, 0x29f8), ":": (0x2d0, 0x5c3, 0x2236, 0xa789),
    "<": (0x2039,), ">": (0x203a,), "\\": (0x2216, 0x29f5, 0x29f9), "|": (0x1c0, 0x2223, 0x2d4f),
    "~": (0x2dc, 0x223c),
}  # fmt: skip
_TWINS = {chr(code): plain for plain, codes in _LETTERS.items() for code in codes}
_SIGNS = {chr(code): plain for plain, codes in _MARKS.items() for code in codes}
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "GEORGIAN", "HEBREW", "ARABIC")


# What stands between what a person reads as one word: blanks, and the signs of shell, paths and addresses.
_BETWEEN = frozenset(" \t\r\n/\\\"'`;|&<>()[]{}=,:.@$*?!#")


class Finding(Value):
    """A word that may be taken for another. `seems`: what it looks like, "" if nobody can say."""

    word: str
    seems: str
    why: str


def findings(text: str) -> list[Finding]:
    """Every word of a text that may be taken for another, each once."""
    if text.isascii() and "xn--" not in text.lower():
        return []
    found: dict[str, Finding] = {}
    for word in _words(text):
        if word not in found:
            finding = _look(word)
            if finding is not None:
                found[word] = finding
    return list(found.values())


def with_escapes(text: str) -> str:
    """The text with those characters as escapes that make a word look like another."""
    found = {finding.word for finding in findings(text)}
    if not found:
        return text
    parts: list[str] = []
    word = ""
    for character in [*text, " "]:
        if character not in _BETWEEN:
            word += character
            continue
        parts += map(_escape, word) if word in found else word
        parts.append(character)
        word = ""
    return "".join(parts)[:-1]


def _escape(character: str) -> str:
    if character.isascii() or not (character in _TWINS or character in _SIGNS or _plain(character) != character):
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _words(text: str) -> list[str]:
    return "".join(" " if each in _BETWEEN else each for each in text).split()


def _look(word: str) -> Finding | None:
    if word.isascii():
        return _encoded(word)
    foreign = [each for each in word if not each.isascii()]
    twins = [each for each in foreign if each in _TWINS or each in _SIGNS or _plain(each) != each]
    letters = [each for each in foreign if each.isalpha()]
    scripts = {_script(each) for each in word if each.isalpha()}
    seems = "".join(_TWINS.get(each) or _SIGNS.get(each) or _plain(each) for each in word)
    if any(each in _SIGNS or not each.isalpha() for each in twins):
        why = "a sign in it looks like another"
    elif len(scripts & set(_SCRIPTS)) > 1:
        why = f"it mixes {' and '.join(sorted(each.title() for each in scripts))} letters"
    elif twins and len(twins) == len(letters):
        why = "its letters look like Latin ones"
    elif any(_plain(each) != each for each in twins):
        why = "its letters are another form of plain ones"
    else:
        return None
    names = ", ".join(dict.fromkeys(f"U+{ord(each):04X} {unicodedata.name(each, '')}".rstrip() for each in twins[:4]))
    return Finding(word, seems if seems.isascii() else "", why + (f" ({names})" if names else ""))


def _encoded(word: str) -> Finding | None:
    """A part of a host's name in its encoded form, with what browsers would show."""
    if not word.lower().startswith("xn--"):
        return None
    try:
        shown = word[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError):
        return Finding(word, "", "it claims to be a name in its encoded form, and is none")
    seems = "".join(_TWINS.get(each) or _plain(each) for each in shown)
    return Finding(word, seems if seems.isascii() else "", f"it is the encoded form of `{shown}`")


def _plain(character: str) -> str:
    """The plain ASCII form of a character that is only another form of it, else the character."""
    form = unicodedata.normalize("NFKC", character)
    return form if form.isascii() else character


def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]
