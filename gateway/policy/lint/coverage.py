"""Rules that say again what others say, or that never get to say anything: because one other rule holds for all of it,
or several do together.

What holds for what is answered exactly (`gateway.policy.algebra`). Whom to ask is found by index: a rule is looked at
again for a point of the narrower one that the rules found so far leave, so that the time grows with the rules and not
with their pairs.
"""

from __future__ import annotations

import json

from gateway.model.changes import ASK, DISCARD
from gateway.model.decision import LAYERS
from gateway.policy.algebra.clauses import at_least, at_most
from gateway.policy.algebra.dimensions import everything
from gateway.policy.algebra.languages import UndecidedError
from gateway.policy.algebra.regions import uncovered
from gateway.policy.lint.index import Index
from gateway.policy.lint.witness import witness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Set
    from typing import Any

    from gateway.policy.algebra.regions import Point, Region
    from gateway.policy.lint.clauses import Clause, Finding

STRICTER = {"allow": ("deny", "ask"), "ask": ("deny",), "deny": ()}
_MOST_TOGETHER = 64
_MOST_NAMED = 3


def comparable(clauses: Sequence[Clause]) -> list[Clause]:
    """Those that decide, and so can stand in each other's way."""
    return [clause for clause in clauses if clause.lane in STRICTER and clause.bound.level == "enforce"]


def covered(judged: Sequence[Clause], cover: Cover, files: Set[str]) -> Iterator[Finding]:
    """Duplicates, rules under stricter ones, and rules that others imply, alone or together; one finding a rule, for
    all rules of some files. `judged`: of which `cover` was made."""
    doubled = set()
    for clause, first in _duplicates(judged):
        doubled.add(clause.number)
        yield _duplicate(clause, first)
    by_rule: dict[int, list[Clause]] = {}
    for clause in judged:
        if clause.number not in doubled:
            by_rule.setdefault(clause.number, []).append(clause)
    # Which of the others are useless themselves takes long to say, and only ever leaves less that could cover a rule.
    asked = [alternatives for alternatives in by_rule.values() if alternatives[0].bound.file in files]
    if len(asked) < len(by_rule) and not any(_may_be_covered(alternatives, cover) for alternatives in asked):
        return
    gone = set(doubled)
    left = []
    for number, alternatives in by_rule.items():
        found = _all_of(cover.alone(clause) for clause in alternatives)
        if found:
            gone.add(number)
            yield _useless(alternatives[0], found[0])
        else:
            left.append(alternatives)
    for alternatives in left:
        together = _all_of(cover.together(clause, gone) for clause in alternatives)
        if together:
            gone.add(alternatives[0].number)
            yield _useless(alternatives[0], list({id(wide): wide for each in together for wide in each}.values()))


def _may_be_covered(alternatives: Sequence[Clause], cover: Cover) -> bool:
    """Whether all other rules together leave nothing of a rule, be they useless themselves or not."""
    return all(cover.alone(clause) or cover.together(clause, set()) for clause in alternatives)


def _all_of(found: Iterable[list[Clause]]) -> list[list[Clause]]:
    """What was found for every alternative of a rule, [] if one has nothing."""
    complete = []
    for each in found:
        if not each:
            return []
        complete.append(each)
    return complete


class Cover:
    """Which clauses hold for all that another one holds for."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self._index = Index(clauses)
        self._least: dict[tuple[int, bool], list[Region]] = {}

    def alone(self, narrow: Clause) -> list[Clause]:
        """The one clause of another rule that makes this one useless: a stricter one first; [] if none does."""
        candidates = [wide for wide in self._index.near(narrow) if _may_replace(wide, narrow)]
        if not candidates:
            return []
        try:
            regions = at_most(narrow.when, narrow.lane, narrow.bound.layer)
        except UndecidedError:
            return []
        for wide in sorted(candidates, key=lambda wide: wide.lane not in STRICTER[narrow.lane]):
            if not set(narrow.kinds) <= set(wide.kinds) or not self._holds_for(wide, narrow, regions):
                continue
            if wide.lane != narrow.lane or not self._is_twin(wide, narrow):
                return [wide]
        return []

    def together(self, narrow: Clause, gone: set[int]) -> list[Clause]:
        """The clauses of several rules that together leave nothing of this one, none of which is useless itself; []
        if they leave something."""
        near = self._index.near(narrow)
        if not any(_may_replace(wide, narrow) and wide.number not in gone for wide in near):
            return []
        try:
            regions = at_most(narrow.when, narrow.lane, narrow.bound.layer)
        except UndecidedError:
            return []
        same = (*STRICTER[narrow.lane], narrow.lane)
        return self.above(narrow, regions) or self._by(narrow, regions, same, gone)

    def above(self, narrow: Clause, regions: list[Region]) -> list[Clause]:
        """The clauses of stricter rules that leave nothing of some regions of a clause, [] if they leave something."""
        return self._by(narrow, regions, STRICTER[narrow.lane], set())

    def stricter(self, point: Point, narrow: Clause) -> Iterator[Region]:
        """What stricter rules hold for and a point of a clause lies in."""
        for _wide, region in self._at(point, narrow, STRICTER[narrow.lane], set()):
            yield region

    def at(self, point: Point, narrow: Clause, lanes: Sequence[str]) -> Iterator[tuple[Clause, Region]]:
        """Clauses of some lanes that hold for a point of a clause of this or of another policy, with what they hold
        for."""
        for wide in self._index.at(point, narrow):
            for region in self.least(wide, narrow) if wide.lane in lanes else ():
                if point.lies_in(region):
                    yield wide, region

    def _by(self, narrow: Clause, regions: list[Region], lanes: tuple[str, ...], gone: set[int]) -> list[Clause]:
        used: dict[int, Clause] = {}

        def holding(point: Point) -> Iterator[Region]:
            for wide, region in self._at(point, narrow, lanes, gone):
                if len(used) < _MOST_TOGETHER:
                    used[id(wide)] = wide
                    yield region

        try:
            covers = all(uncovered(region, holding, everything) is None for region in regions)
        except UndecidedError:
            return []
        return list(used.values()) if covers else []

    def _at(
        self, point: Point, narrow: Clause, lanes: tuple[str, ...], gone: set[int]
    ) -> Iterator[tuple[Clause, Region]]:
        for wide, region in self.at(point, narrow, lanes):
            if _may_replace(wide, narrow) and (wide.lane != narrow.lane or wide.number not in gone):
                yield wide, region

    def least(self, wide: Clause, narrow: Clause) -> list[Region]:
        """What a clause certainly holds for. Exceptions that the narrower rule has as well leave out nothing of it."""
        excepting = wide.rule["except"] and wide.rule["except"] != narrow.rule["except"]
        key = (id(wide), bool(excepting))
        found = self._least.get(key)
        if found is None:
            try:
                exceptions = wide.exceptions if excepting else ()
                found = at_least(wide.when, wide.lane, wide.bound.layer, exceptions)
            except (UndecidedError, ValueError):
                found = []
            self._least[key] = found
        return found

    def _holds_for(self, wide: Clause, narrow: Clause, regions: list[Region]) -> bool:
        found = self.least(wide, narrow)

        def holding(point: Point) -> Iterator[Region]:
            return (region for region in found if point.lies_in(region))

        try:
            return bool(found) and all(uncovered(region, holding, everything) is None for region in regions)
        except UndecidedError:
            return False

    def _is_twin(self, wide: Clause, narrow: Clause) -> bool:
        """Of two that hold for the same, only the later is useless."""
        if wide.number < narrow.number:
            return False
        try:
            return self._holds_for(narrow, wide, at_most(wide.when, wide.lane, wide.bound.layer))
        except UndecidedError:
            return False


def _duplicates(clauses: Sequence[Clause]) -> Iterator[tuple[Clause, Clause]]:
    seen: dict[str, Clause] = {}
    reported = set()
    for clause in clauses:
        rule = clause.rule
        key = json.dumps(
            [
                clause.lane,
                _sorted(clause.when),
                rule["except"],
                rule["excepts"],
                rule["lock"],
                rule["expires"],
                rule["changes"],
                clause.anchors,
            ],
            sort_keys=True,
        )
        first = seen.setdefault(key, clause)
        if first is clause or first.number == clause.number or clause.number in reported:
            continue
        if _same_place(first, clause):
            continue
        if "any" in rule["when"] and len(rule["when"]["any"]) > 1:
            continue  # one alternative among others; the search for cover judges the whole rule
        reported.add(clause.number)
        yield clause, first


def _same_place(one: Clause, other: Clause) -> bool:
    """The same rule twice: its file is reached on two ways."""
    return (
        all(one.rule[where] == other.rule[where] for where in ("line", "column")) and one.bound.file == other.bound.file
    )


def _sorted(when: dict[str, Any]) -> dict[str, Any]:
    """Lists that mean any of or none of, in one order."""
    return {
        name: sorted(value)
        if isinstance(value, list) and name != "exec" and all(isinstance(v, str) for v in value)
        else value
        for name, value in when.items()
    }


def _duplicate(clause: Clause, first: Clause) -> Finding:
    same_layer = first.bound.layer == clause.bound.layer
    return clause.finding(
        "duplicate",
        "warning" if same_layer else "info",
        f"says what {first.place()} says already",
        "remove one of them",
    )


def _may_replace(wide: Clause, narrow: Clause) -> bool:
    """Whether a clause of another rule that holds for all of a narrower one makes it useless: it is stricter, or says
    the same as firmly and for as long."""
    if wide.number == narrow.number or _same_place(wide, narrow):
        return False
    rule, below = wide.rule, narrow.rule
    if rule["expires"] and rule["expires"] != below["expires"]:
        return False
    if rule["delegate"] and below["excepts"] == rule["id"]:
        return False
    if wide.lane in STRICTER[narrow.lane]:
        return True
    if wide.lane != narrow.lane or (below["lock"] and not rule["lock"]):
        return False
    if below["delegate"] != rule["delegate"] or below["excepts"]:
        return False
    if rule["changes"] == ASK and below["changes"] == DISCARD:
        return False  # where nobody can be asked about changes, the wide one lets nothing run
    # An upper layer's rule holds whatever becomes of the lower one.
    return narrow.lane == "allow" or LAYERS.index(wide.bound.layer) <= LAYERS.index(narrow.bound.layer)


def _useless(narrow: Clause, wide: Sequence[Clause]) -> Finding:
    call = witness(narrow)
    named = [each.place() for each in wide]
    if len(named) > _MOST_NAMED:
        named = [*named[:_MOST_NAMED], f"{len(named) - _MOST_NAMED} more"]
    who = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]} together"
    holds = "holds" if len(named) == 1 else "hold"
    first = wide[0]
    if all(each.lane != narrow.lane for each in wide):
        lanes = f"{first.lane} rule " if len(named) == 1 else ""
        return narrow.finding(
            "shadowed", "warning", f"never decides: {lanes}{who} {holds} for all of it",
            f"remove it, or narrow `{first.rule['id']}`", witness=call.text,
            proof="overruled" if call.text else "", circumstances=call.circumstances,
        )  # fmt: skip
    # A deny or ask of its own may still be there for its message, or in case the other file goes away.
    own_file = any(each.bound.file != narrow.bound.file for each in wide)
    own_reason = narrow.lane != "allow" and (narrow.rule["because"] or own_file)
    return narrow.finding(
        "implied", "info" if own_reason else "warning", f"adds nothing: {who} {holds} for all of it",
        "remove it", witness=call.text, proof="spoken" if call.text else "",
        circumstances=call.circumstances,
    )  # fmt: skip
