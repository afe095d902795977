"""A second parser on the same text: where the two do not find the same commands, it counts as not understood.

Only for policies that say `second_opinion: true`. The other parser is bashlex, an optional extra under a licence of its
own, which is imported when it is first asked. It knows less of bash (no `case`, no `[[`, no arrays, no arithmetic), so
it refuses more; a refusal counts as a disagreement.
"""

from __future__ import annotations

from gateway.shell.script import Script, Unknown
from gateway.shell.tokens import tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    # A word that is known, or None for what may become any number of any words.
    Pattern = tuple[str | None, ...]

MAX_TEXT = 10_000
_ACTIVE = frozenset("$`{}~*?[")
_KINDS = {
    ">": ("write",), ">>": ("write",), ">|": ("write",), "&>": ("write",), "&>>": ("write",), "<": ("read",),
    "<>": ("read", "write"),
}  # fmt: skip


def with_second_opinion(text: str, script: Script) -> Script:
    """The script as it is if both parsers find the same commands and redirections; else one that is unknown as a whole,
    with its words for the deny and ask lanes. The commands that were found stay: they can only make it stricter."""
    if script.unknowns:
        return script
    why = disagreement(text, script)
    if not why:
        return script
    return script.replace(unknowns=(Unknown(why, 0, len(text)),), tokens=tokens(text))


def disagreement(text: str, script: Script) -> str:
    """Why a second parser does not confirm what was read, "" if it does."""
    if not (script.commands or script.redirects or text.strip()):
        return ""
    if len(text) > MAX_TEXT:
        return "too long for the second parser"
    try:
        import bashlex  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return "the second parser that the policy asks for is not installed (the extra `bashlex`)"
    other = _Other()
    try:
        for tree in bashlex.parse(text):
            other.visit(tree)
    except Exception as problem:  # it has many ways to give up
        if not script.commands and not script.redirects and not script.assignments:
            return ""  # nothing but comments
        return f"the second parser cannot read it: {_first_line(problem)}"
    return _compare(other, script)


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


class _Other:
    """What the other parser found."""

    def __init__(self) -> None:
        self.commands: set[Pattern] = set()
        self.redirects: set[tuple[str, str | None]] = set()

    def visit(self, node: Any) -> None:
        kind = node.kind
        if kind == "command":
            self._command(node)
        elif kind == "redirect":
            self._redirect(node)
        for name in ("parts", "list", "redirects"):
            for child in getattr(node, name, None) or ():
                self.visit(child)
        for name in ("command", "output", "heredoc", "body"):
            child = getattr(node, name, None)
            if hasattr(child, "kind") and not (kind == "function" and name == "body"):
                self.visit(child)

    def _command(self, node: Any) -> None:
        words: list[str | None] = []
        for part in node.parts:
            if part.kind == "word" or (part.kind == "assignment" and words):
                words.append(None if part.parts or not _ACTIVE.isdisjoint(part.word) else part.word)
        if words:
            self.commands.add(tuple(words))

    def _redirect(self, node: Any) -> None:
        for kind in _KINDS.get(node.type, ()):
            target = getattr(node.output, "word", None)
            known = target is not None and not node.output.parts and _ACTIVE.isdisjoint(target)
            self.redirects.add((kind, target if known else None))


def _compare(other: _Other, script: Script) -> str:
    ours = {tuple([word.text if word.literal else None for word in command.words]) for command in script.commands}
    for words in ours:
        if words not in other.commands and not any(_may_be(pattern, words) for pattern in other.commands):
            return f"the second parser does not find `{_shown(words)}`"
    for pattern in other.commands:
        if pattern not in ours and not any(_may_be(pattern, words) for words in ours):
            return f"only the second parser finds `{_shown(pattern)}`"
    opened = {
        (redirect.kind, redirect.word.text if redirect.word.literal else None)
        for redirect in script.redirects
        if redirect.kind in ("read", "write", "net")
    }
    for one, others, who in ((opened, other.redirects, "the second parser does not open"),
                             (other.redirects, opened, "only the second parser opens")):  # fmt: skip
        for kind, target in one:
            if not any(_is_same(kind, target, also, place) for also, place in others):
                return f"{who} `{target or '?'}`"
    return ""


def _is_same(kind: str, target: str | None, also: str, place: str | None) -> bool:
    return (kind == also or "net" in (kind, also)) and (target is None or place is None or target == place)


def _may_be(pattern: Pattern, words: Pattern) -> bool:
    """Whether unknown words of either could be what makes them the same."""
    at = back = 0
    star = -1
    index = 0
    while at < len(words):
        if index < len(pattern) and pattern[index] is None:
            star, back = index, at
            index += 1
        elif index < len(pattern) and (words[at] is None or pattern[index] == words[at]):
            at += 1
            index += 1
        elif star >= 0:
            back += 1
            at, index = back, star + 1
        else:
            return False
    return all(word is None for word in pattern[index:])


def _shown(words: Iterable[str | None]) -> str:
    return " ".join(["?" if word is None else word for word in words])[:60]
