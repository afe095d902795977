"""The few rules that would have ended most of the questions of a record that people said yes to.

What each effect that was asked about would need is said by `gateway.policy.always.covering`: the same program and
subcommand, files of a kind in a folder or the same target, exactly this host; the very words where nothing wider is
safe. What more than one yes speaks for is tried by the engine itself, all of it together, in a file of the local layer:
on every recorded decision of the project, on calls that are known to do harm, on the tests of the policies that hold,
and by the linter. A clause that takes part in allowing what was ever refused or denied, or what does harm, is dropped.
As allow rules only ever allow more, what holds of all that is left holds of every part of it.
"""

from __future__ import annotations

import functools
import time

from gateway.approval.saved_rules import entry_of, rule_id, rule_text
from gateway.core.errors import CallError
from gateway.core.places import places
from gateway.core.value import Value
from gateway.judge.findings import confirm
from gateway.judge.linting import traits_of
from gateway.judge.policy_tests import run_tests
from gateway.model.decision import Decision
from gateway.policy.lint.lint import lint
from gateway.policy.wording import shortened, visible
from gateway.replay.clauses import Clause, alternatives_of, chosen, needs, supported, used
from gateway.replay.compare import PART, read
from gateway.replay.decisions import Kept
from gateway.replay.harm import MORE_HARM
from gateway.replay.judging import Judging
from gateway.replay.parts import POOL, map_parts
from gateway.replay.sources import side_with
from gateway.replay.symbolic import Half, compared
from gateway.translation.asked import Where, shown
from gateway.translation.auditing import harm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from gateway.replay.compare import Progress
    from gateway.replay.decisions import Distinct
    from gateway.replay.judging import Anew, Note, Side

EXAMPLES = 3
LAYER = "local"
_FILE = "policy.d/suggested.yaml"
_MODES = ("default", "accept_edits")
_HEAD = "version: 1\nrules:\n"
_WORLD = Where("/home/dev", "/home/dev/project")


class Suggestion(Value):
    """A rule on one line, and what speaks for and against it. `questions`: answered ones that it helps to end;
    `sessions`, `days`: in which they came. `ends`: some of them; `asks`: recorded calls of the same kind that are asked
    about or refused all the same. `others`: recorded calls that nobody said yes to and that it takes part in allowing,
    with how many there are; `opens`: a call outside of the record that it allows."""

    text: str
    questions: int
    sessions: int
    days: int
    ends: tuple[str, ...]
    asks: tuple[str, ...]
    others: tuple[str, ...]
    others_count: int
    opens: tuple[str, ...]


class Suggested(Value):
    """`decisions`: of this project that were looked at; `asked`: how many of them policy asks about now, `agreed`: how
    many of these people said yes to, `ended`: of those, how many all rules together end, tried by the engine.
    `elsewhere`: questions whose answer the record does not have. `unjudged`: decisions that could not be judged again.
    `vetoed`: clauses that were dropped, by why."""

    rules: tuple[Suggestion, ...]
    decisions: int = 0
    asked: int = 0
    agreed: int = 0
    ended: int = 0
    elsewhere: int = 0
    unjudged: int = 0
    vetoed: tuple[tuple[str, int], ...] = ()


HARMFUL, REFUSED, UNTOLD, LINT, TESTS = (
    "would allow what does harm", "would allow what was refused or denied",
    "may allow a refused call that cannot be judged again", "the linter objects", "a test of your policy fails",
)  # fmt: skip


def suggested(
    folder: str,
    root: str,
    since: str = "",
    until: str = "",
    *,
    how: str = POOL,
    workers: int = 0,
    judging: Progress = lambda _done, _of: None,
) -> Suggested:
    """What would have ended most questions of a record in one project. Raises AuditError, OSError where the record
    cannot be read, and ConfigError where a policy is broken."""
    trying = Trying(folder, root, since, until, how=how, workers=workers)
    asked = trying.judged(trying.base, functools.partial(needs, root), judging)
    own = [each for each in asked if each.new.is_certain and is_of(each, root)]
    questions = [each for each in own if each.new.decision == "ask"]
    yes = [each for each in questions if each.distinct.agreed and not each.distinct.refused]
    clauses = supported(yes)
    clauses = trying.without_doubt(clauses, [each for each in asked if not each.new.is_certain])
    clauses = trying.tried(clauses)
    found = trying.rules(chosen(clauses, yes))
    return trying.told(found, own, yes).replace(
        decisions=sum(each.distinct.count for each in own),
        asked=sum(each.distinct.count for each in questions),
        agreed=sum(each.distinct.agreed for each in yes),
        elsewhere=sum(
            each.distinct.count - each.distinct.agreed - each.distinct.refused
            for each in questions
            if each.distinct.decision == "ask"
        ),
        unjudged=sum(each.distinct.count for each in asked if not each.new.is_certain) + trying.counted.without,
    )


def is_of(each: Anew, root: str) -> bool:
    """Whether a recorded call was made in a project."""
    return f"{each.cwd}/".startswith(root.rstrip("/") + "/")


class Trying:
    """Tries rules on a record and beside it; one use."""

    def __init__(self, folder: str, root: str, since: str, until: str, *, how: str, workers: int) -> None:
        self._folder, self._root = folder, root
        self._how, self._workers = how, workers
        self.counted = read(
            folder, since, until, by_time=True, how=how, workers=workers, progress=lambda _done, _of: None
        )
        self._distinct = self.counted.distinct
        self.base = side_with("present", root, LAYER, {})
        self._half = Half(self.base, root)
        self._vetoed: dict[str, int] = {}
        self._last: tuple[Side, Half] = self.base, self._half

    def judged(
        self, side: Side, note: Note, progress: Progress = lambda _done, _of: None, *, before: Side | None = None
    ) -> list[Anew]:
        """All decisions under a policy, and under another one before it where one is given."""
        parts = [self._distinct[at : at + PART] for at in range(0, len(self._distinct), PART)]
        make = functools.partial(Judging, self._folder, before or side, side, note)
        found: list[Anew] = []
        for some in map_parts(make, parts, how=self._how, workers=self._workers):
            found += some
            progress(len(found), len(self._distinct))
        return found

    def without_doubt(self, clauses: list[Clause], unjudged: Sequence[Anew]) -> list[Clause]:
        """Without those that may speak of what was refused and cannot be judged again."""
        refused = [each for each in unjudged if each.distinct.refused or each.distinct.decision == "deny"]
        if not refused:
            return clauses
        kept = Kept(self._folder)
        try:
            effects = [each for one in refused for each in _effects(kept.line(one.distinct))]
        finally:
            kept.close()
        return self._dropping(clauses, lambda each: any(_may_be(each.says, *one) for one in effects), UNTOLD)

    def tried(self, clauses: list[Clause]) -> list[Clause]:
        """Those that are left when nothing refused or harmful is allowed by all of them together."""
        while clauses:
            named = {f"suggested-{number}": each for number, each in enumerate(clauses)}
            side = self.side({name: rule_text([each.says]) for name, each in named.items()})
            for guilty, why in ((self.harmful(side), HARMFUL), (self.refused(side), REFUSED)):
                bad = {named[name] for name in guilty if name in named}
                if bad:
                    clauses = self._dropping(clauses, bad.__contains__, why)
                    break
            else:
                break
        return clauses

    def rules(self, groups: Iterable[list[Clause]]) -> dict[str, list[Clause]]:
        """The rules by their texts, without those that the linter or a test objects to."""
        found = {rule_text(alternatives_of(each)): each for each in groups}
        while found:
            side = self.side({rule_id(text): text for text in found})
            bad, why = self.linted(side), LINT
            if not bad:
                bad, why = self.failing(list(found)), TESTS
            if not bad and (self.harmful(side) or self.refused(side)):
                bad, why = set(map(rule_id, found)), REFUSED  # joined they must say what they said one by one
            if not bad:
                return found
            for text in [each for each in found if rule_id(each) in bad]:
                self._vetoed[why] = self._vetoed.get(why, 0) + len(found.pop(text))
        return {}

    def told(self, rules: Mapping[str, list[Clause]], own: Sequence[Anew], yes: Sequence[Anew]) -> Suggested:
        """What there is to say of rules, all of it as the engine decides it."""
        vetoed = tuple(sorted(self._vetoed.items()))
        if not rules:
            return Suggested((), vetoed=vetoed)
        side = self.side({rule_id(text): text for text in rules})
        anew = {place_of(each.distinct): each for each in self.judged(side, used)}
        agreed = set(map(place_of, (each.distinct for each in yes)))
        then = {place_of(each.distinct): each for each in own}
        now = [(each, anew[key].new) for key, each in then.items()]
        allowed = [(each, said.noted) for each, said in now if said.decision == "allow" and each.new.decision == "ask"]
        opened: dict[str, list[str]] = {}
        for difference in compared(self._half, self.half(side)).differences:
            opened.setdefault(difference.rule[0], []).append(difference.call)
        left = [each for each, said in now if said.decision != "allow"]
        found = []
        for text, clauses in rules.items():
            name = rule_id(text)
            its = [each for each, ids in allowed if name in ids]
            ends = [each for each in its if place_of(each.distinct) in agreed]
            others = [each for each in its if place_of(each.distinct) not in agreed]
            if not ends:
                continue
            keys = {each.key for each in clauses}
            near = [each for each in left if keys & set(each.new.noted) or clauses[0].who in each.shown]
            found.append(
                Suggestion(
                    text=text,
                    questions=sum(each.distinct.agreed for each in ends),
                    sessions=len({name for each in ends for name in each.distinct.sessions}),
                    days=len({day for each in ends for day in each.distinct.days}),
                    ends=frequent(ends),
                    asks=frequent(near),
                    others=frequent(others),
                    others_count=sum(each.distinct.count for each in others),
                    opens=tuple(opened.get(name, ()))[:1],
                )
            )
        ended = sum(each.distinct.agreed for each, _ids in allowed if place_of(each.distinct) in agreed)
        order = sorted(found, key=lambda each: (-each.questions, each.text))
        return Suggested(tuple(order), ended=ended, vetoed=vetoed)

    def side(self, texts: Mapping[str, str]) -> Side:
        """What holds now, and these rules by their ids."""
        return side_with("suggested", self._root, LAYER, {_FILE: _document(texts)})

    def _dropping(self, clauses: list[Clause], is_bad: Callable[[Clause], bool], why: str) -> list[Clause]:
        left = [each for each in clauses if not is_bad(each)]
        if len(left) < len(clauses):
            self._vetoed[why] = self._vetoed.get(why, 0) + len(clauses) - len(left)
        return left

    def refused(self, side: Side) -> set[str]:
        """What takes part in allowing a recorded call that was denied, or that somebody said no to."""
        found: set[str] = set()
        for each in self.judged(side, used):
            was = each.distinct
            if each.new.decision == "allow" and (was.refused or was.decision == "deny"):
                found.update(each.new.noted)
        return found

    def harmful(self, side: Side) -> set[str]:
        """What takes part in allowing a harmful call that is not allowed without it."""
        new = self.half(side)
        found: set[str] = set()
        for asked in (*harm(), *MORE_HARM):
            text = shown(asked, _WORLD)
            for mode in _MODES:
                for confined in (True, False):
                    context = new.trials.context(mode=mode, confined=confined)
                    try:
                        now = new.trials.verdict(text, new.policy, context)
                        if now.decision is Decision.ALLOW:
                            was = self._half.trials.verdict(text, self._half.policy, context)
                            found.update(used(now) if was.decision is not Decision.ALLOW else ())
                    except CallError:
                        continue  # nothing runs
        return found

    def half(self, side: Side) -> Half:
        """A policy in the example world; the last one is kept."""
        if self._last[0] != side:
            self._last = side, Half(side, self._root)
        return self._last[1]

    def linted(self, side: Side) -> set[str]:
        """The rules that the linter has something to say about."""
        new = self.half(side)
        levels = new.settings.get("levels", {})
        every = lint(new.bound, traits_of(new.registry), home=new.home, now=time.time())
        confirmed = confirm(every, new.bound, new.trials, levels)
        return {each.rule for each in confirmed.findings if each.file.endswith(_FILE)}

    def failing(self, texts: Sequence[str]) -> set[str]:
        """Rules with which a test of the policies that hold fails that does not fail without them. Where none does by
        itself, all of them."""
        before = self._failures(())
        if self._failures(texts) <= before:
            return set()
        alone = {rule_id(each) for each in texts if not self._failures((each,)) <= before}
        return alone or set(map(rule_id, texts))

    def _failures(self, texts: Sequence[str]) -> set[tuple[Any, ...]]:
        snapshot = dict(self.side({rule_id(each): each for each in texts}).snapshots)[self._root]
        registry = self._half.registry
        report = run_tests(snapshot.files, (), registry, places(), self._root, snapshot.described, whole=True)
        return {(each.file, each.line, each.call, each.problem) for each in report.failures}


def _document(texts: Mapping[str, str]) -> bytes:
    if not texts:
        return b"version: 1\n"
    return (_HEAD + "".join(f"  - id: {name}\n    {text}\n" for name, text in texts.items())).encode()


def _effects(line: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """What a recorded call did; anything where that is not known."""
    if line is None or line.get("more") or not isinstance(line.get("effects"), list):
        return [("", "")]
    return [(str(kind), str(target)) for kind, target in line["effects"]]


def _may_be(says: Mapping[str, Any], kind: str, target: str) -> bool:
    """Whether a clause may speak of an effect of which only kind and target are known."""
    if not kind:
        return True
    return says.get("effect", kind) == kind and says.get("host", "") in target


def place_of(each: Distinct) -> tuple[int, int]:
    """Where one of its lines stands."""
    return each.segment, each.start


def frequent(found: Iterable[Anew]) -> tuple[str, ...]:
    """The most frequent ones, different as people read them."""
    order = sorted(found, key=lambda each: (-each.distinct.count, each.shown))
    texts = dict.fromkeys(visible(shortened(f"{each.tool}  {each.shown}", 200)) for each in order)
    return tuple(texts)[:EXAMPLES]


def entry(found: Suggestion, by: str, now: float) -> tuple[str, str]:
    """Id and lines of a rule in the file of what was answered with "always"."""
    because = f"suggested from {found.questions} answers, as to {found.ends[0]}"
    return rule_id(found.text), entry_of(found.text, shown=because, by=by, now=now)
