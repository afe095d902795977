"""Characters that make a text unreadable, or that look like something else than they are."""

from __future__ import annotations

import re

from gateway.shell.guards import Refused

# Tab and newline are the only control characters with a meaning of their own; bash, terminals and people disagree
# about the others, and bash uses two of them internally. A lone surrogate is no text at all.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# Characters that reorder or hide text for the reader.
_DECEIVING = "[\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]"
# Blanks that bash takes for letters, and letters that nobody sees.
_ODD = (
    "[\u00a0\u00ad\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u202f\u205f-\u2065"
    "\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)


def check_characters(text: str) -> None:
    """Refuse control characters and, outside ASCII, characters that deceive the reader."""
    found = _CONTROL.search(text)
    if found:
        raise Refused(f"control character U+{ord(found[0]):04X}", found.start(), found.end())
    if not text.isascii():
        found = re.search(_DECEIVING, text)  # compiled, and kept, when a text needs it
        if found:
            raise Refused(f"invisible character U+{ord(found[0]):04X}", found.start(), found.end())


def odd_character(skeleton: str) -> tuple[int, str] | None:
    """Where an unquoted text holds a blank or a letter that looks like something else."""
    found = re.search(_ODD, skeleton)
    return (found.start(), f"U+{ord(found[0]):04X}") if found else None
