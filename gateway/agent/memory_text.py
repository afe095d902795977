"""What files of memory say: where they bring in others, and how a model is shown them; pure."""

from __future__ import annotations

import html
import re

from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_IMPORTS = 50
# `@docs/style.md`, behind a blank or at the start of a line; not an address, and no name in code.
_IMPORT = re.compile(r"(?<![^\s(\[\"'])@((?:~/|/|\.{1,2}/)?[\w.+-][\w./+-]*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)


def imports(text: str) -> tuple[str, ...]:
    """The paths that a text brings in, in its order, each once. What stands in code brings in nothing."""
    found: dict[str, None] = {}
    for piece in _outside_fences(text):
        for match in _IMPORT.finditer(_CODE.sub(" ", piece)):
            found[match.group(1).rstrip(".")] = None
            if len(found) == MOST_IMPORTS:
                return tuple(found)
    return tuple(found)


def _outside_fences(text: str) -> Iterator[str]:
    """The pieces of a text between blocks of code. One that is not closed goes on to the end."""
    piece: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            mark = found.group(1) if found else ""
            if mark[:1] == fence[0] and len(mark) >= len(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found:
            fence = found.group(1)
            yield "\n".join(piece)
            piece = []
        else:
            piece.append(line)
    yield "\n".join(piece)


def cut(text: str, most: int) -> str:
    """A text of at most so many characters, with what is left out said."""
    if len(text) <= most:
        return text
    at = text.rfind("\n", 0, most)
    shown = text[: at if at > 0 else most]
    return f"{shown}\n[{len(text) - len(shown):,} more characters are left out: read the file for them]"


def as_block(file: str, layer: str, text: str) -> str:
    """One file as a model is shown it. No text can end its own block."""
    whole = text.strip().replace("</memory", "<\\/memory")
    return f'<memory file="{html.escape(visible(file))}" layer="{layer}">\n{whole}\n</memory>'
