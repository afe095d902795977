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

from gateway.approval.saved_rules import rule_id, rule_text
from gateway.core.places import packaged
from gateway.judge.policy_tests import examples_of
from gateway.replay.aftermath import broke_out
from gateway.replay.clauses import MIN_SUPPORT, Clause, alternatives_of, chosen, needs, place_of, supported, used
from gateway.replay.decisions import Kept
from gateway.replay.parts import POOL
from gateway.replay.rule_trials import EXAMPLES, Trying, frequent, is_of, refused_of
from gateway.replay.suggestions import Preset, Suggested, Suggestion
from gateway.replay.symbolic import compared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gateway.replay.compare import Progress
    from gateway.replay.judging import Anew

_PRESETS = ("remote-reading",)  # those that say more of what a person wants than of what there is
_LONGEST = 200  # characters of an example
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
    everywhere: bool = False,
    how: str = POOL,
    workers: int = 0,
    judging: Progress = lambda _done, _of: None,
) -> Suggested:
    """What would have ended most questions of a record in one project. `everywhere`: in all projects, by rules of the
    user layer that answers in more than one of them speak for. Raises AuditError, OSError where the record cannot be
    read, and ConfigError where a policy is broken."""
    trying = Suggesting(folder, root, since, until, how=how, workers=workers, everywhere=everywhere)
    noted = trying.judged(trying.base, functools.partial(needs, "" if everywhere else root), judging)
    projects = {place_of(each.distinct): each.new.noted[0] for each in noted if each.new.noted}
    asked = [each.replace(new=each.new.replace(noted=each.new.noted[1:])) for each in noted]
    own = [each for each in asked if each.new.is_certain and (everywhere or is_of(each, root))]
    questions = [each for each in own if each.new.decision == "ask"]
    answered = [each for each in questions if each.distinct.agreed and not each.distinct.refused]
    yes = trying.trusted(answered)
    if everywhere:
        trying.look_into(projects[place_of(each.distinct)] for each in asked if place_of(each.distinct) in projects)
    clauses = supported(yes, projects if everywhere else None)
    clauses = trying.without_doubt(clauses, [each for each in asked if trying.is_unknown(each, projects)])
    clauses = trying.tried(clauses)
    found = trying.rules(chosen(clauses, yes))
    return trying.told(found, own, yes).replace(
        presets=tuple(trying.presets(yes)),
        decisions=sum(each.distinct.count for each in own),
        asked=sum(each.distinct.count for each in questions),
        agreed=sum(each.distinct.agreed for each in yes),
        doubtful=sum(each.distinct.agreed for each in answered) - sum(each.distinct.agreed for each in yes),
        elsewhere=sum(
            each.distinct.count - each.distinct.agreed - each.distinct.refused
            for each in questions
            if each.distinct.decision == "ask"
        ),
        unjudged=sum(each.distinct.count for each in asked if not each.new.is_certain) + trying.counted.without,
    )


class Suggesting(Trying):
    """Tries what answers speak for, and leaves out what must not be suggested; one use."""

    def __init__(self, *given: Any, **how: Any) -> None:
        super().__init__(*given, **how)
        self._vetoed: dict[str, int] = {}

    def trusted(self, yes: list[Anew]) -> list[Anew]:
        """Without those after which, soon and in each of their sessions, a sandbox had to stop something."""
        if not yes:
            return []
        doubted = broke_out(self.folder, self._since)
        return [each for each in yes if not each.distinct.sessions or not doubted.issuperset(each.distinct.sessions)]

    def without_doubt(self, clauses: list[Clause], unjudged: Sequence[Anew]) -> list[Clause]:
        """Without those that may speak of what was refused and cannot be judged again."""
        refused = [each for each in unjudged if each.distinct.refused or each.distinct.decision == "deny"]
        if not refused:
            return clauses
        kept = Kept(self.folder)
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

    def presets(self, yes: Sequence[Anew]) -> Iterator[Preset]:
        """The shipped presets that would have ended more than one question each, allow nothing that was ever refused,
        and do no harm."""
        agreed = {place_of(each.distinct): each for each in yes}
        if sum(each.distinct.agreed for each in yes) < MIN_SUPPORT:
            return
        for name in _PRESETS:
            file = packaged(f"policies/{name}.yaml")
            if any(each.file == file for each in self.before.bound):
                continue
            side = self.side_of(f"version: 1\nextends: [{name}]\n".encode())
            ids = {rule["id"] for each in self.half(side).bound if each.file == file for rule in each.rules}
            judged = self.judged(side, used)
            ends = [
                each for each in judged
                if each.new.decision == "allow" and place_of(each.distinct) in agreed and ids & set(each.new.noted)
            ]  # fmt: skip
            questions = sum(each.distinct.agreed for each in ends)
            if questions >= MIN_SUPPORT and not ids & refused_of(judged) and not ids & self.harmful(side):
                yield Preset(name, questions, frequent(ends))

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
        for difference in compared(self.before, self.half(side)).differences:
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
                    matches=self._hit(text, ends, True),
                    not_matches=self._hit(text, near, False),
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

    def _hit(self, text: str, calls: Iterable[Anew], wanted: bool) -> tuple[str, ...]:
        """Calls that can stand as examples of a rule, which holds for all of them or for none: in the example world,
        where no file is and no branch, it is the calls' own words that say so."""
        half = self.half(self.side({rule_id(text): text}))
        bound, rule = next((b, r) for b in half.bound for r in b.rules if r["id"] == rule_id(text))
        found: list[str] = []
        for each in sorted(calls, key=lambda each: (-each.distinct.count, len(each.shown), each.shown)):
            call = each.shown if each.tool == "Bash" else f"{each.tool}({each.shown})"
            if call in found or not call.isprintable() or len(call) > _LONGEST or len(found) >= EXAMPLES:
                continue
            given = {**rule, "matches": [], "not_matches": [], "matches" if wanted else "not_matches": [call]}
            if not any(case.problem for case, _hit in examples_of(half.trials, bound, given)):
                found.append(call)
        return tuple(found)

    def _dropping(self, clauses: list[Clause], is_bad: Callable[[Clause], bool], why: str) -> list[Clause]:
        left = [each for each in clauses if not is_bad(each)]
        if len(left) < len(clauses):
            self._vetoed[why] = self._vetoed.get(why, 0) + len(clauses) - len(left)
        return left


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
