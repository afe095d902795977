"""Rules as the linter sees them: each alternative of a rule, with absolute path patterns and what it can speak of."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.policy.compile import alternatives, anchors_of, epoch
from gateway.policy.predicates import PREDICATES, kinds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gateway.policy.anchors import Anchors
    from gateway.policy.compile import Bound

PATH_PREDICATES = tuple(name for name, each in PREDICATES.items() if each.form.name == "paths")
OF_PART = tuple(name for name, each in PREDICATES.items() if each.scope == "part")
# The kinds of effect that have what a predicate tests.
FIELDS = {name: each.kinds for name, each in PREDICATES.items() if each.kinds}


class Finding(Value):
    """One thing about a rule that its author should know.

    `severity`: error, warning or info. `witness`: a call that shows it, with `proof` saying what the engine must
    answer for that: "covered" (this rule allows it), "overruled" (this rule speaks of it and another decides),
    "missed" (this rule does not speak of it), "spoken" (it speaks of it, whoever decides), "reached" (it is allowed,
    and this rule covers a read). `circumstances`: those in which the call is made, by fields of a context.
    """

    id: str
    severity: str
    layer: str
    file: str
    line: int
    rule: str
    message: str
    remedy: str
    witness: str = ""
    proof: str = ""
    circumstances: tuple[tuple[str, Any], ...] = ()

    @property
    def shown(self) -> str:
        """The witness with its circumstances, as people read them; "" for none."""
        said = ", ".join(f"{name} {value}" for name, value in self.circumstances if name != "now")
        return f"{self.witness} ({said})" if said and self.witness else self.witness


class ToolTraits(Value):
    """What the linter must know of a tool: whether it runs a shell text or words, and its declared effects
    (empty for a tool that nobody declared, or whose effects depend on a text)."""

    shell: bool
    effects: frozenset[str]


class Clause(Value):
    """One alternative of a rule. `when` holds absolute path patterns, `written` what the file says.

    `anchors` are those that the rule's patterns were based on. `kinds` are the effects it can hold for by the
    fields that it tests. `number` counts rules over all files, in order.
    """

    number: int
    bound: Bound
    rule: dict[str, Any]
    when: dict[str, Any]
    written: dict[str, Any]
    anchors: Anchors
    kinds: tuple[str, ...]

    @property
    def exceptions(self) -> list[dict[str, Any]]:
        """Those of its rule, with absolute path patterns. Raises ValueError for a pattern that is none."""
        return [absolute(when, self.anchors) for when in self.rule["except"]]

    @property
    def lane(self) -> str:
        """Of its rule: allow, ask, deny or require."""
        return str(self.rule["lane"])

    def place(self) -> str:
        """Layer and line, for messages about another rule."""
        return f"`{self.rule['id']}` ({self.bound.layer}, {self.bound.file}:{self.rule['line']})"

    def finding(
        self,
        name: str,
        severity: str,
        message: str,
        remedy: str = "",
        *,
        witness: str = "",
        proof: str = "",
        circumstances: tuple[tuple[str, Any], ...] = (),
    ) -> Finding:
        """A finding about this clause's rule."""
        rule, bound = self.rule, self.bound
        return Finding(
            name,
            severity,
            layer=bound.layer,
            file=bound.file,
            line=rule["line"],
            rule=rule["id"],
            message=message,
            remedy=remedy,
            witness=witness,
            proof=proof,
            circumstances=circumstances,
        )


def active(bound: Iterable[Bound]) -> Iterator[tuple[int, Bound, dict[str, Any]]]:
    """Every rule that is not left out, with its number and where it is bound."""
    number = 0
    for each in bound:
        for rule in each.rules:
            if rule["id"] not in each.without:
                yield number, each, rule
                number += 1


def clauses_of(bound: Iterable[Bound], home: str, found: list[Finding]) -> list[Clause]:
    """Every alternative of every active rule; patterns that are none become findings and their clause is left out."""
    clauses = []
    for number, each, rule in active(bound):
        anchors = anchors_of(each, rule["lane"], home)
        known: dict[int, list[str]] = {}
        for written in alternatives(rule["when"]):
            clause = Clause(
                number, each, rule=rule, when=written, written=written, anchors=anchors, kinds=kinds_of(written)
            )
            when = _absolute(clause, found, known)
            if when is not None:
                clauses.append(clause if when is written else clause.replace(when=when))
    return clauses


def _absolute(clause: Clause, found: list[Finding], known: dict[int, list[str]]) -> dict[str, Any] | None:
    try:
        return absolute(clause.written, clause.anchors, known)
    except ValueError as error:
        found.append(clause.finding("invalid-pattern", "error", str(error)))
        return None


def absolute(written: dict[str, Any], anchors: Anchors, known: dict[int, list[str]] | None = None) -> dict[str, Any]:
    """Predicates with absolute path patterns. `known`: those of the rule's other alternatives by the identity of what
    the file says, which they share. Raises ValueError for a pattern that is none."""
    names = [name for name in PATH_PREDICATES if name in written]
    if not names:
        return written
    known = {} if known is None else known
    for patterns in [written[name] for name in names]:
        if id(patterns) not in known:
            known[id(patterns)] = [anchors.pattern(each) for each in patterns]
    return {**written, **{name: known[id(written[name])] for name in names}}


def is_expired(rule: dict[str, Any], now: float) -> bool:
    """Whether a rule's time is over."""
    return bool(rule["expires"]) and epoch(rule["expires"]) <= now
