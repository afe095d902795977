"""The words of a text that can't be read: the fallback tokens, for the deny and ask lanes only.

Quotes, backslashes and invisible characters are dropped, every operator separates, and so do the openings of
substitutions; what stands inside quotes and substitutions is split like the rest. Too many tokens rather than too few.
"""

from __future__ import annotations

import re

from gateway.shell.ansi import decode

MAX_TOKENS = 20_000

_INVISIBLE = (0xAD, 0x34F, 0x61C, 0x180E, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F),
              *range(0x2060, 0x2070), *range(0xFE00, 0xFE10))  # fmt: skip
_CONTROL = (*range(9), 11, 12, *range(14, 32), *range(127, 160))
_DROPPED = dict.fromkeys((*map(ord, "'\"\\"), *_CONTROL, *_INVISIBLE))
_SEPARATORS = dict.fromkeys((*map(ord, ";&|()<>`\r\n\t{}\u00a0\u2028\u2029\u202f\u3000"), *range(0x2000, 0x200B)), " ")
_SIMPLIFIED: dict[int, str | None] = {**_DROPPED, **_SEPARATORS}
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)


def tokens(text: str) -> tuple[str, ...]:
    """The words of a text in order; of very many, every different one once."""
    text = text.replace("\\\n", "")
    if "$'" in text:
        text = _ANSI.sub(_decoded, text)
    simplified = text.translate(_SIMPLIFIED)
    found = [word for word in simplified.replace("$ ", " ").split() if word != "$"]
    if len(found) > MAX_TOKENS:
        found = list(dict.fromkeys(found))
    return tuple(found)


def _decoded(match: re.Match[str]) -> str:
    value = decode(match[1])
    return match[1] if value is None else value
