"""What two policies make of the same calls, counted by kind of change and by the rule that decides under the new one.

Weighted by decisions, sessions and agents. Pure.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.replay.symbolic import NARROWER, WIDER, Unlogged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gateway.replay.decisions import Counted, Distinct
    from gateway.replay.judging import Anew

    # Which sessions and agents made each of some groups of decisions, beside those that are told with these.
    MadeBy = Callable[[Sequence[Sequence[Distinct]]], Sequence[tuple[set[str], set[str]]]]

EQUAL = "equal"
EXAMPLES = 3
_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}

Rule = tuple[str, str, str, int]


class Example(Value):
    """One call that comes out differently. `at`: when it was last decided; `count`: how often."""

    tool: str
    shown: str
    cwd: str
    at: str
    count: int


class Group(Value):
    """Changes of one kind by one rule. `before`, `after`: decisions; `rule`: what decides under the new policy,
    `was`: what decided under the old one, each as id, layer, file and line. `calls`: different ones."""

    kind: str
    before: str
    after: str
    rule: Rule
    was: Rule
    calls: int
    decisions: int
    sessions: int
    agents: int
    first: str
    last: str
    examples: tuple[Example, ...]


class Comparison(Value):
    """What became of all decisions that were looked at. `judged`: by both policies; `elsewhere`: only the rule that
    decides is another one; `untold`: why others could not be judged, with how many; `other_code`: of the judged ones,
    how many another version of the code had decided; `unlogged`: what differs and no log shows."""

    old: str
    new: str
    decisions: int
    distinct: int
    judged: int
    equal: int
    elsewhere: int
    groups: tuple[Group, ...]
    untold: tuple[tuple[str, int], ...]
    other_code: int = 0
    unlogged: Unlogged = Unlogged()

    @property
    def outcome(self) -> str:
        """The widest thing that was found: wider, narrower, or equal."""
        kinds = {each.kind for each in self.groups} | {each.kind for each in self.unlogged.differences}
        return WIDER if WIDER in kinds else NARROWER if kinds else EQUAL


class Tally:
    """Counts decisions that were judged anew."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, Rule, Rule], list[Anew]] = {}
        self._untold: dict[str, int] = {}
        self._judged = self._equal = self._elsewhere = self._other_code = 0

    def add(self, each: Anew) -> None:
        """Counts one, with all that are equal to it."""
        count = each.distinct.count
        for said in (each.old, each.new):
            if not said.is_certain:
                why = said.problem or f"nobody looked then: {', '.join(said.missing)}"
                self._untold[why] = self._untold.get(why, 0) + count
                return
        self._judged += count
        self._other_code += count * each.other_code
        if each.old.decision == each.new.decision:
            self._equal += count
            self._elsewhere += count * (each.old.rule != each.new.rule)
            return
        key = (each.old.decision, each.new.decision, each.new.rule, each.old.rule)
        self._groups.setdefault(key, []).append(each)

    def add_equal(self, count: int, *, elsewhere: bool, other_code: bool) -> None:
        """Counts so many that come out as they did, by another rule or not."""
        self._judged += count
        self._equal += count
        self._elsewhere += count * elsewhere
        self._other_code += count * other_code

    def join(self, other: Tally) -> None:
        """Adds what another one counted."""
        for key, found in other._groups.items():
            self._groups.setdefault(key, []).extend(found)
        for why, count in other._untold.items():
            self._untold[why] = self._untold.get(why, 0) + count
        self._judged += other._judged
        self._equal += other._equal
        self._elsewhere += other._elsewhere
        self._other_code += other._other_code

    def comparison(self, old: str, new: str, counted: Counted, made_by: MadeBy) -> Comparison:
        """What was counted."""
        untold = dict(self._untold)
        if counted.without:
            untold["no facts were kept of it"] = untold.get("no facts were kept of it", 0) + counted.without
        people = made_by([[each.distinct for each in found] for found in self._groups.values()])
        groups = [_group(key, found, *by) for (key, found), by in zip(self._groups.items(), people, strict=True)]
        return Comparison(
            old=old,
            new=new,
            decisions=counted.decisions,
            distinct=len(counted.distinct),
            judged=self._judged,
            equal=self._equal,
            elsewhere=self._elsewhere,
            groups=tuple(sorted(groups, key=_order)),
            untold=tuple(sorted(untold.items(), key=lambda row: (-row[1], row[0]))),
            other_code=self._other_code,
        )


def _order(group: Group) -> tuple[Any, ...]:
    return group.kind != WIDER, -group.decisions, group.after, group.rule, group.was


def _group(key: tuple[str, str, Rule, Rule], found: list[Anew], sessions: set[str], agents: set[str]) -> Group:
    before, after, rule, was = key
    found = sorted(found, key=lambda each: (-each.distinct.count, each.shown, each.cwd, each.distinct.last))
    return Group(
        kind=WIDER if _STRICTNESS[after] < _STRICTNESS[before] else NARROWER,
        before=before,
        after=after,
        rule=rule,
        was=was,
        calls=len({(each.tool, each.shown, each.cwd) for each in found}),
        decisions=sum(each.distinct.count for each in found),
        sessions=len(sessions.union(*(each.distinct.sessions for each in found))),
        agents=len(agents.union(*((each.distinct.front, *each.distinct.agents) for each in found))),
        first=min(each.distinct.first for each in found),
        last=max(each.distinct.last for each in found),
        examples=_examples(found),
    )


def _examples(found: list[Anew]) -> tuple[Example, ...]:
    """The most frequent ones, of different calls."""
    seen: dict[tuple[str, str], Example] = {}
    for each in found:
        if (each.tool, each.shown) not in seen and len(seen) < EXAMPLES:
            example = Example(each.tool, each.shown, each.cwd, at=each.distinct.last, count=each.distinct.count)
            seen[each.tool, each.shown] = example
    return tuple(seen.values())
