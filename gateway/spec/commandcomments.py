"""Where comments stand in a YAML text. The parser drops them; what is no part of any of its tokens is one."""

from __future__ import annotations

import re

from yaml.tokens import ScalarToken

from gateway.core.value import Value
from gateway.spec.yamltext import tokens

_HEADER = re.compile(r"[|>][-+0-9]*[ \t]+(?=#)")


class Comment(Value):
    """A comment from its `#` on. `alone`: nothing stands in front of it on its line. Both counts from 1."""

    line: int
    column: int
    text: str
    alone: bool


def comments_of(text: str) -> list[Comment]:
    """The comments of a valid text, in their order."""
    if "#" not in text:
        return []
    texts = [
        (token.start_mark.index + _header(text, token), token.end_mark.index)
        for token in tokens(text)
        if isinstance(token, ScalarToken)
    ]
    found, line_start, line = [], 0, 1
    for written in text.split("\n"):
        at = written.find("#")
        while at >= 0:
            place = line_start + at
            free = at == 0 or written[at - 1] in " \t"
            if free and not any(start <= place < end for start, end in texts):
                found.append(Comment(line, at + 1, written[at:].rstrip(), not written[:at].strip()))
                break
            at = written.find("#", at + 1)
        line_start, line = line_start + len(written) + 1, line + 1
    return found


def _header(text: str, token: ScalarToken) -> int:
    """How long the line is that opens a block of text, if this token is one that has a comment there."""
    match = _HEADER.match(text, token.start_mark.index) if token.style in ("|", ">") else None
    return 0 if match is None else text.index("\n", match.end()) - token.start_mark.index
