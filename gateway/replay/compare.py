"""What two policies make of the same calls, counted: by kind of change, and by the rule that decides under the new one.

Weighted by decisions, sessions and agents. Pure but for the work that it hands on.
"""

from __future__ import annotations

import functools

from gateway.core.plainjson import loads
from gateway.core.value import Value
from gateway.replay.decisions import Counted, joined, scan, segments_of
from gateway.replay.parts import POOL, RAY, map_parts
from gateway.replay.remembering import Remembering
from gateway.replay.symbolic import NARROWER, WIDER, Unlogged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from gateway.replay.decisions import Segment
    from gateway.replay.judging import Anew, Side

    # How much is done, and of how much.
    Progress = Callable[[int, int], None]

EQUAL = "equal"
EXAMPLES = 3
PART = 512  # distinct decisions that are judged at once
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


def compared(
    folder: str,
    old: Side,
    new: Side,
    since: str = "",
    until: str = "",
    *,
    how: str = POOL,
    workers: int = 0,
    reading: Progress = lambda _done, _of: None,
    judging: Progress = lambda _done, _of: None,
) -> Comparison:
    """What two policies make of the decisions of a record. With both the recorded one, what was decided then is
    compared with what is decided by the same policy now: the two must be equal. Raises AuditError and OSError where the
    record cannot be read."""
    for by_time in (False, True):
        counted = read(folder, since, until, by_time, how=how, workers=workers, progress=reading)
        found = _compare(folder, counted, old, new, by_time, how=how, workers=workers, progress=judging)
        if found is not None:
            return found
    raise AssertionError("decisions of different times are kept apart by now")


def read(folder: str, since: str, until: str, by_time: bool, *, how: str, workers: int, progress: Progress) -> Counted:
    """The decisions of a record in a span of time. Raises AuditError and OSError where it cannot be read."""
    segments = segments_of(folder)
    scanned = []
    make = functools.partial(_Scanning, since, until, by_time)
    for found in map_parts(make, segments, how=POOL if how == RAY else how, workers=workers):
        scanned.append(found)
        progress(len(scanned), len(segments))
    return joined(scanned)


class _Scanning:
    def __init__(self, since: str, until: str, by_time: bool) -> None:
        self._asked = since, until, by_time

    def __call__(self, segment: Segment) -> Any:
        return scan(segment, *self._asked)


def _compare(
    folder: str, counted: Counted, old: Side, new: Side, by_time: bool, *, how: str, workers: int, progress: Progress
) -> Comparison | None:
    """None where a policy asks what time it was, and decisions of different times count as the same."""
    is_replay = old.recorded and new.recorded
    parts = [counted.distinct[at : at + PART] for at in range(0, len(counted.distinct), PART)]
    tally = Tally()
    done = 0
    for found in map_parts(functools.partial(Remembering, folder, old, new), parts, how=how, workers=workers):
        for each in found:
            if each.asks_time and not by_time:
                return None
            tally.add(_against_record(each) if is_replay else each)
        done += len(found)
        progress(done, len(counted.distinct))
    return tally.comparison(old.name, new.name, counted)


def _against_record(each: Anew) -> Anew:
    """With what was decided then in the place of what the old policy says."""
    rule = tuple(loads(each.distinct.rule))
    return each.replace(old=each.old.replace(decision=each.distinct.decision, rule=rule))


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

    def comparison(self, old: str, new: str, counted: Counted) -> Comparison:
        """What was counted."""
        untold = dict(self._untold)
        if counted.without:
            untold["no facts were kept of it"] = untold.get("no facts were kept of it", 0) + counted.without
        groups = [_group(key, found) for key, found in self._groups.items()]
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


def _group(key: tuple[str, str, Rule, Rule], found: list[Anew]) -> Group:
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
        sessions=len(_all(each.distinct.sessions for each in found)),
        agents=len(_all((each.distinct.front, *each.distinct.agents) for each in found)),
        first=min(each.distinct.first for each in found),
        last=max(each.distinct.last for each in found),
        examples=_examples(found),
    )


def _all(texts: Iterable[tuple[str, ...]]) -> set[str]:
    return {each for some in texts for each in some}


def _examples(found: list[Anew]) -> tuple[Example, ...]:
    """The most frequent ones, of different calls."""
    seen: dict[tuple[str, str], Example] = {}
    for each in found:
        if (each.tool, each.shown) not in seen and len(seen) < EXAMPLES:
            example = Example(each.tool, each.shown, each.cwd, at=each.distinct.last, count=each.distinct.count)
            seen[each.tool, each.shown] = example
    return tuple(seen.values())
