"""Settings of npm, in the form of ini files that its own package `ini` reads."""

from __future__ import annotations

import re

from gateway.commands.steering.entries import NotRead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.steering.entries import Entry

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f\u3000\ufeff]")
_SECTION = re.compile(r"\[([^\]]*)\]\s*")
_UNTIL_REMARK = re.compile(r"(?:[^\\;#]+|\\[\\;#]?)*+")


def entries(text: str) -> list[Entry]:
    """Keys and values after quotes and escapes; variables stay as they are written. Raises NotRead for signs of which
    not every version of JavaScript and Python says alike whether they are blanks."""
    if _CONTROL.search(text):
        raise NotRead("signs that are not shown")
    found: list[Entry] = []
    section: tuple[str, ...] = ()
    for line in re.split(r"[\r\n]+", text):
        if not line.strip() or line.lstrip()[0] in ";#":
            continue
        head = _SECTION.fullmatch(line)
        if head:
            section = (_plain(head[1]),)
            continue
        key, equals, value = line.partition("=")
        if not key:
            continue
        name = _plain(key)
        found.append(((*section, name.removesuffix("[]")), _plain(value) if equals else "true"))
    return found


def _plain(text: str) -> str:
    """A key or a value as it is meant."""
    text = text.strip()
    if text and text[0] in "\"'" and text.endswith(text[0]):
        import json

        inner = text[1:-1] if text[0] == "'" else text
        try:
            meant = json.loads(inner)
        except (ValueError, RecursionError):
            return inner
        return meant if isinstance(meant, str) else inner
    return re.sub(r"\\([\\;#])", r"\1", _UNTIL_REMARK.match(text)[0]).strip()  # type: ignore[index]  # always matches
