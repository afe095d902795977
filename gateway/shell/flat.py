"""The structure of a text without grouping: commands joined by `;`, `&&`, `||` and `|`.

Most texts are so, and need no grammar. Whatever might be a keyword, a group or a mistake is left to it.
"""

from __future__ import annotations

import re

from gateway.shell.guards import RESERVED
from gateway.shell.nodes import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OPERATOR = re.compile(r"[<>]&|&>|>\||\|&|&&|\|\||[;&|(){}\n!]")
_FIRST = re.compile(r"[^\s;&|<>]*")
_REDIRECTS = frozenset((">&", "<&", "&>", ">|"))
_BLANKS = " \t"
_make: Any = tuple.__new__


def flat(shape: str) -> Node | None:
    """The statements of a skeleton as the grammar would give them; None when it has to be asked."""
    statements: list[Node] = []
    chain: list[Node] = []
    pipe: list[Node] = []
    start = 0
    for found in _OPERATOR.finditer(shape):
        operator = found[0]
        if operator in _REDIRECTS:
            continue
        at = found.start()
        if operator not in _JOINS or not _leaf(shape, start, at, pipe):
            return None
        start = at + len(operator)
        if operator == "|" or operator == "|&":
            continue
        chain.append(_joined("pipeline", pipe))
        pipe = []
        if operator == ";":
            statements.append(_joined("chain", chain))
            chain = []
        else:
            chain.append(_make(Node, (operator, at, start, ())))
    if shape[start:].strip(_BLANKS) or pipe or chain:
        if not _leaf(shape, start, len(shape), pipe):
            return None
        chain.append(_joined("pipeline", pipe))
        statements.append(_joined("chain", chain))
    return Node("sequence", 0, len(shape), tuple(statements))


_JOINS = frozenset((";", "&&", "||", "|", "|&"))


def _leaf(shape: str, start: int, end: int, pipe: list[Node]) -> bool:
    while start < end and shape[start] in _BLANKS:
        start += 1
    while end > start and shape[end - 1] in _BLANKS:
        end -= 1
    first = _FIRST.match(shape, start, end)
    if start == end or first is None or first[0] in RESERVED:
        return False
    pipe.append(_make(Node, ("simple", start, end, ())))
    return True


def _joined(kind: str, parts: list[Node]) -> Node:
    if len(parts) == 1:
        return parts[0]
    return Node(kind, parts[0].start, parts[-1].end, tuple(parts))
