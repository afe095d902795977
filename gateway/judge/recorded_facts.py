"""The answers of an earlier look at the host, in its place: a call is judged again with what was found then.

What that look was not asked is missing, as everything that nobody could tell; it is counted, so that a judgement
that lacks a fact is never taken for one that has all.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.model.context import Context
    from gateway.model.facts import Facts, Seen, TreeFact, Wanted


CONTAINS = "whether a sandbox held"
BELOW = "what lies below a tree"


class Recorded:
    """What one call was judged with. `missing`: what else was asked, in the words of people; one use."""

    def __init__(self, seen: Seen, *, protects_otherwise: bool = False) -> None:
        """`protects_otherwise`: policy may protect other names by now than those that were looked for below trees."""
        self.seen = seen
        self._protects_otherwise = protects_otherwise
        self.missing: list[str] = []

    def observe(self, wanted: Wanted, context: Context) -> Facts:
        """The facts of then, for what an analysis wants to know now. Trees are asked for on their own."""
        facts = self.seen.facts
        for path in wanted.paths:
            if path not in facts.paths:
                self._lacks("where a path leads")
        for pattern in wanted.globs:
            if pattern not in facts.globs:
                self._lacks("what a pattern matches")
        if any(folder not in facts.git for folder in wanted.git):
            self._lacks("what git finds")
        if any(each not in facts.settings for each in wanted.settings):
            self._lacks("what configuration says")
        if any(folder not in facts.nests for folder in wanted.nests):
            self._lacks("which repositories lie inside")
        if any(path not in facts.activates for path in wanted.activates) and context.confined:
            self._lacks("what a script sets")
        if any(name not in facts.clients for name in wanted.clients):
            self._lacks("where a client connects")
        if not context.confined and any(folder not in facts.names for folder in wanted.names):
            self._lacks("names below a folder")
        return facts.replace(trees={}) if facts.trees else facts

    def below(self, trees: tuple[tuple[str, str], ...]) -> Mapping[tuple[str, str], TreeFact]:
        """What was protected below trees."""
        found = self.seen.facts.trees
        if any(tree not in found for tree in trees) or (trees and self._protects_otherwise):
            self._lacks(BELOW)
        return found

    def own(self) -> bool:
        """Whether what the call names in shared folders is its session's."""
        if self.seen.own is None:
            self._lacks("whose shared files are")
        return self.seen.own is True

    def cannot_contain(self, drafted: tuple[str, ...], _state: str) -> str:
        """Why it could not have run contained, with a layer over these folders."""
        found = dict(self.seen.cannot).get(drafted)
        if found is None:
            self._lacks(CONTAINS)
            return "nobody looked"
        return found

    def cannot_fetch(self) -> str:
        """Why what it installs could not have been fetched before it ran."""
        if self.seen.unfetched is None:
            self._lacks("whether what it installs could be fetched")
            return "nobody looked"
        return self.seen.unfetched

    def branch(self) -> str:
        """The branch that was checked out."""
        if not self.seen.branch_known:
            self._lacks("which branch was checked out")
        return self.seen.context.branch

    def _lacks(self, what: str) -> None:
        if what not in self.missing:
            self.missing.append(what)
