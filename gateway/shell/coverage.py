"""Nothing of a text is lost between the grammar and the walk: what no node holds is keywords and operators alone."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.shell.nodes import Node

_KEYWORDS = frozenset(
    ("case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then", "until",
     "while")
)  # fmt: skip
_WORD = re.compile(r"[^\s;&|(){}!]+")
_READ_WHOLE = frozenset(("simple", "test", "span", "arithmetic", "unknown", "error"))


def uncovered(root: Node, shape: str) -> tuple[int, int] | None:
    """The first word of a skeleton that no node of its structure holds."""
    spans: list[tuple[int, int]] = []
    _collect(root, spans)
    spans.sort()
    at = 0
    for start, end in (*spans, (len(shape), len(shape))):
        for found in _WORD.finditer(shape, at, max(start, at)):
            if found[0] not in _KEYWORDS:
                return found.span()
        at = max(at, end)
    return None


def _collect(node: Node, spans: list[tuple[int, int]]) -> None:
    kind = node.kind
    if kind in _READ_WHOLE:
        spans.append((node.start, node.end))
        return
    if kind == "redirected":
        spans.append((node.children[0].end, node.end))
    elif kind == "for arithmetic":
        spans.append((node.start, node.children[0].start))
    for child in node.children:
        _collect(child, spans)
