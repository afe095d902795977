"""What two policies decide differently, whether or not anybody has called it: by their rules, with a call for each.

A rule that only one of them has makes a difference where nothing stricter of its own policy stands above it and the
other policy has none that says the same: that is asked of `gateway.policy.algebra`, and the call that shows it of the
engine under both. Calls stand in the example world of `gateway policy test`.
"""

from __future__ import annotations

import functools
import json
import time

from gateway.config.binding import bind
from gateway.config.compiling import compiled_once, reader
from gateway.config.descriptions import find_descriptions
from gateway.config.layers import find_files, read_file
from gateway.config.load import Options, tool_files, tool_names
from gateway.config.shipped import load_tools
from gateway.core.errors import CallError
from gateway.core.places import places
from gateway.core.value import Value
from gateway.judge.policy_tests import Trials, described_by
from gateway.policy.algebra import dimensions
from gateway.policy.algebra.clauses import at_most
from gateway.policy.algebra.dimensions import everything
from gateway.policy.algebra.languages import UndecidedError
from gateway.policy.algebra.regions import overlap, uncovered
from gateway.policy.algebra.sets import Some, Texts
from gateway.policy.lint.clauses import clauses_of, is_expired
from gateway.policy.lint.coverage import STRICTER, Cover, comparable
from gateway.policy.lint.witness import Shown, call_at
from gateway.policy.modes import SYSTEM_VIEW
from gateway.policy.table import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gateway.config.layers import PolicyFile
    from gateway.model.verdict import Verdict
    from gateway.policy.algebra.regions import Point, Region
    from gateway.policy.lint.clauses import Clause
    from gateway.replay.judging import Side

Rule = tuple[str, str, str, int]
# One call of each class of effects that a mode tells apart.
_OF_MODES = (
    "Read(src/x)", "Read(/srv/x)", "Bash(touch src/x)", "Bash(rm src/x)", "Bash(touch /srv/x)",
    "WebFetch(https://example.com/)", "Bash(curl -d x https://example.com/)", "Bash(./x)",
)  # fmt: skip
_MOST_ALLOWS = 16
_UNSEEN = ("mode", "levels")
WIDER, NARROWER = "wider", "narrower"


class Difference(Value):
    """A call that comes out otherwise. `before`, `after`: decisions; `rule`: what decides under the new policy, `was`:
    under the old one, each as id, layer, file and line; `effect`: the kind of what decides."""

    kind: str
    before: str
    after: str
    effect: str
    call: str
    rule: Rule
    was: Rule


class Unlogged(Value):
    """What was found without a record. `refuted`: calls that were to show a difference, and that the engine decides
    alike; `undecided`: changed rules that could not be compared, or of which no call is known; `settings`: names of
    those that differ."""

    differences: tuple[Difference, ...] = ()
    refuted: int = 0
    undecided: int = 0
    settings: tuple[str, ...] = ()


def unlogged(old: Side, new: Side, root: str) -> Unlogged:
    """What two policies of a project decide differently. Raises ConfigError for one that is broken."""
    return compared(Half(old, root).compiled(), Half(new, root).compiled())


def compared(old: Half, new: Half) -> Unlogged:
    """What two policies decide differently."""
    new.read_with(old)
    return _Comparing(old, new).found()


class Half:
    """One policy, ready to be compared and asked."""

    def __init__(self, side: Side, root: str) -> None:
        """Raises ConfigError where its files are broken."""
        here = places()
        snapshot = dict(side.snapshots).get(root)
        options = Options(root, root=root, policies=side.policies)
        files: list[PolicyFile] = []
        if snapshot is None:
            files = find_files(here, root, policies=side.policies)
            brought = tuple(tool_files(here, options))
            described = tuple(find_descriptions(here, root, policies=side.policies))
        else:
            files, brought, described = list(snapshot.files), snapshot.brought, snapshot.described
        registry = load_tools(here, brought)
        parse = reader(lambda: tool_names(registry))
        read = read_file if snapshot is None else snapshot.read
        layered = bind(files, parse, root=root, trusted=lambda _digest: True, all_trusted=snapshot is None, read=read)
        commands = described_by(described, layered, here)
        self.trials = Trials(registry, here, commands)
        self._read_by = (brought, commands)
        self.bound = [self.trials.rebased(each, here.home) for each in layered.bound]
        self.registry = registry
        self.home = self.trials.world.home
        self.settings = {name: setting.value for name, setting in layered.settings.items()}
        self.context = self.trials.context(mode=str(self.settings.get("mode", "default")))

    @functools.cached_property
    def policy(self) -> Policy:
        """In the example world. Raises ConfigError where its rules are broken."""
        return Policy(**compiled_once(self.bound, home=self.home), levels=self.settings.get("levels", {}))

    @functools.cached_property
    def clauses(self) -> list[Clause]:
        """Those of rules that hold today, as they are compared."""
        now = time.time()
        every = comparable(clauses_of(self.bound, self.home, []))
        return [each for each in every if not is_expired(each.rule, now)]

    @functools.cached_property
    def cover(self) -> Cover:
        """Which of them hold for all that another one holds for."""
        return Cover(self.clauses)

    def compiled(self) -> Half:
        """The same. Raises ConfigError where its rules are broken."""
        _ = self.policy
        return self

    def read_with(self, other: Half) -> None:
        """Has calls understood once for both where they read them alike: with the same tools and descriptions."""
        if self._read_by == other._read_by:
            self.trials = other.trials

    def verdict(self, shown: Shown) -> Verdict:
        """What it decides. Raises CallError."""
        context = self.context.replace(**dict(shown.circumstances))
        return self.trials.verdict(shown.text, self.policy, context)


class _Comparing:
    """The comparison of two policies; one use."""

    def __init__(self, old: Half, new: Half) -> None:
        self._old, self._new = old, new
        self._differences: dict[tuple[Any, ...], Difference] = {}
        self._refuted = self._undecided = 0

    def found(self) -> Unlogged:
        """Everything that differs."""
        names = {*self._old.settings, *self._new.settings}
        settings = [name for name in sorted(names) if self._old.settings.get(name) != self._new.settings.get(name)]
        if not set(_UNSEEN).isdisjoint(settings):
            for call in _OF_MODES:
                self._ask(Shown(call))
        olds, news = map(_keyed, (self._old.clauses, self._new.clauses))
        for key, clause in news.items():
            if key not in olds:
                self._changed(clause, self._new, self._old)
        for key, clause in olds.items():
            if key not in news:
                self._changed(clause, self._old, self._new)
        order = sorted(
            self._differences.values(), key=lambda each: (each.kind != WIDER, each.rule, each.was, each.call)
        )
        return Unlogged(tuple(order), self._refuted, self._undecided, tuple(settings))

    def _changed(self, clause: Clause, having: Half, other: Half) -> None:
        """Looks for a call that a clause which only one policy has makes come out otherwise."""
        asked = False
        try:
            for point in _points(clause, having, other):
                shown = call_at(point, clause.kinds)
                if not shown.text:
                    continue
                asked = True
                if self._ask(shown):
                    return
        except (UndecidedError, ValueError):
            self._undecided += 1
            return
        if asked:
            self._refuted += 1

    def _ask(self, shown: Shown) -> bool:
        """Whether the two decide a call differently; keeps it if they do."""
        try:
            before, after = self._old.verdict(shown), self._new.verdict(shown)
        except CallError:
            return False
        if before.decision is after.decision:
            return False
        stricter = max(before, after, key=lambda verdict: verdict.decision)
        items = stricter.analysis.items
        difference = Difference(
            kind=WIDER if after.decision < before.decision else NARROWER,
            before=before.decision.word,
            after=after.decision.word,
            effect=items[stricter.reason.item].effect.kind if items else "",
            call=self._as_written(shown),
            rule=_rule(after),
            was=_rule(before),
        )
        key = (difference.kind, difference.before, difference.after, difference.rule, difference.was)
        self._differences.setdefault(key, difference)
        return True

    def _as_written(self, shown: Shown) -> str:
        """The call as somebody in the project would write it."""
        world = self._new.trials.world
        text = shown.text.replace(f"{world.root}/", "./").replace(f"{world.home}/", "~/")
        said = ", ".join(f"{name} {value}" for name, value in shown.circumstances if name != "now")
        return f"{text} ({said})" if said else text


def _points(clause: Clause, having: Half, other: Half) -> Iterator[Point]:
    """Points of a clause at which it may decide, and the other policy has nothing that says the same."""
    regions = at_most(clause.when, clause.lane, clause.bound.layer)
    near = _near(clause, having)
    for region in regions:
        for part in _where_it_counts(clause, region, other, near):

            def holding(point: Point) -> Iterator[Region]:
                yield from (each for _wide, each in having.cover.at(point, clause, STRICTER[clause.lane]))
                yield from (each for _wide, each in other.cover.at(point, clause, (clause.lane,)))
                if clause.lane == "allow":
                    yield from (each for each in near if point.lies_in(each))

            point = uncovered(part, holding, everything)
            if point is not None:
                yield point


def _where_it_counts(clause: Clause, region: Region, other: Half, near: list[Region]) -> Iterator[Region]:
    """The parts of a region in which a clause may change something: a question only where there was none."""
    if clause.lane == "ask":
        for number, wide in enumerate(each for each in other.clauses if each.lane == "allow"):
            if number < _MOST_ALLOWS and set(wide.kinds) & set(clause.kinds):
                yield from (overlap(region, each) for each in other.cover.least(wide, clause))
        yield from (overlap(region, each) for each in near if set(clause.kinds) & each["kind"].values)
    yield region


def _near(clause: Clause, half: Half) -> list[Region]:
    """What modes let be read without a rule, as far as the clause may speak of it."""
    if not {"read", "list"} & set(clause.kinds):
        return []
    folders = [f"{half.trials.world.root}/**", *(f"{each}/**" for each in SYSTEM_VIEW)]
    among = everything("path").among
    kinds = Some(frozenset(("read", "list")))
    return [{"kind": kinds, "path": Texts(among, (dimensions.paths(folders),))}]


def _keyed(clauses: list[Clause]) -> dict[str, Clause]:
    """Clauses by what they say, wherever they stand."""
    found: dict[str, Clause] = {}
    for each in clauses:
        rule = each.rule
        said = [
            each.lane, each.when, rule["except"], rule["lock"], rule["expires"], rule["delegate"], rule["excepts"],
            each.bound.layer, each.anchors,
        ]  # fmt: skip
        found.setdefault(json.dumps(said, sort_keys=True, default=str), each)
    return found


def _rule(verdict: Verdict) -> Rule:
    rule = verdict.reason.rule
    return rule.id, rule.source.layer, rule.source.file, rule.source.line
