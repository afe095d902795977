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

from gateway.approval.saved_rules import entry_of, lines_of, rule_id, rule_text
from gateway.audit.index import Index
from gateway.config.layers import layer_folders, read_layer
from gateway.config.near_misses import POLICY
from gateway.core.errors import CallError
from gateway.core.places import packaged, places
from gateway.core.quantities import counted
from gateway.core.value import Value
from gateway.judge.findings import confirm
from gateway.judge.linting import traits_of
from gateway.judge.policy_tests import examples_of, run_tests
from gateway.model.decision import Decision
from gateway.policy.lint.lint import lint
from gateway.policy.wording import shortened, visible
from gateway.replay.clauses import MIN_SUPPORT, Clause, alternatives_of, chosen, needs, place_of, supported, used
from gateway.replay.compare import PART, read
from gateway.replay.decisions import Kept
from gateway.replay.harm import MORE_HARM
from gateway.replay.judging import PRESENT, Judging
from gateway.replay.parts import POOL, map_parts
from gateway.replay.sources import side_with
from gateway.replay.symbolic import Half, compared
from gateway.translation.asked import Where, shown
from gateway.translation.auditing import harm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gateway.replay.compare import Progress
    from gateway.replay.judging import Anew, Note, Side

EXAMPLES = 3
LAYER, USER = "local", "user"
SOON = 10  # calls of a session
MOST_PROJECTS = 40  # in which rules for all of them are tried
_SHIPPED = b"version: 1\nextends: [daily]\n"  # what holds where a person has no policy
_FILE = "policy.d/suggested.yaml"
_MODES = ("default", "accept_edits")
_PRESETS = ("remote-reading",)  # those that say more of what a person wants than of what there is
_LONGEST = 200  # characters of an example
_HEAD = "version: 1\nrules:\n"
_WORLD = Where("/home/dev", "/home/dev/project")


class Suggestion(Value):
    """A rule on one line, and what speaks for and against it. `questions`: answered ones that it helps to end;
    `sessions`, `days`: in which they came. `ends`: some of them; `asks`: recorded calls of the same kind that are asked
    about or refused all the same. `others`: recorded calls that nobody said yes to and that it takes part in allowing,
    with how many there are; `opens`: a call outside of the record that it allows. `matches`, `not_matches`: calls that
    say so as examples of the rule."""

    text: str
    questions: int
    sessions: int
    days: int
    ends: tuple[str, ...]
    asks: tuple[str, ...]
    others: tuple[str, ...]
    others_count: int
    opens: tuple[str, ...]
    matches: tuple[str, ...] = ()
    not_matches: tuple[str, ...] = ()

    @property
    def because(self) -> str:
        """Where the rule comes from."""
        span = f"{counted(self.sessions, 'session')}, " if self.sessions else ""
        return f"suggested from {counted(self.questions, 'answer')} ({span}{counted(self.days, 'day')})"


class Preset(Value):
    """A shipped preset that would have ended questions which no single rule should. `ends`: some of them."""

    name: str
    questions: int
    ends: tuple[str, ...]


class Suggested(Value):
    """`decisions`: of this project that were looked at; `asked`: how many of them policy asks about now, `agreed`: how
    many of these people said yes to, `ended`: of those, how many all rules together end, tried by the engine.
    `elsewhere`: questions whose answer the record does not have. `unjudged`: decisions that could not be judged again.
    `doubtful`: yes that count for nothing, because a sandbox had to stop something soon after. `presets`: for a person
    to turn on; what they end is not in `ended`. `vetoed`: clauses that were dropped, by why."""

    rules: tuple[Suggestion, ...]
    decisions: int = 0
    asked: int = 0
    agreed: int = 0
    ended: int = 0
    elsewhere: int = 0
    unjudged: int = 0
    doubtful: int = 0
    presets: tuple[Preset, ...] = ()
    vetoed: tuple[tuple[str, int], ...] = ()

    @property
    def as_json(self) -> dict[str, Any]:
        """As programs are told."""
        rules = [each.as_dict() | {"because": each.because} for each in self.rules]
        return self.as_dict() | {"rules": rules, "presets": [each.as_dict() for each in self.presets]}


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
    trying = Trying(folder, root, since, until, how=how, workers=workers, everywhere=everywhere)
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


def is_of(each: Anew, root: str) -> bool:
    """Whether a recorded call was made in a project."""
    return f"{each.cwd}/".startswith(root.rstrip("/") + "/")


class Trying:
    """Tries rules on a record and beside it; one use."""

    def __init__(
        self, folder: str, root: str, since: str, until: str, *, how: str, workers: int, everywhere: bool = False
    ) -> None:
        """`everywhere`: rules are tried in the user layer, in every project that `look_into` names."""
        self._folder, self._root = folder, root
        self._how, self._workers = how, workers
        self.counted = read(
            folder, since, until, by_time=True, how=how, workers=workers, progress=lambda _done, _of: None
        )
        self._distinct = self.counted.distinct
        self._since = since
        self._layer = USER if everywhere else LAYER
        self._own = [each for each in layer_folders(places(), root) if each.layer == USER]
        self._roots: tuple[str, ...] = (root,)
        self.base = PRESENT if everywhere else side_with("present", root, LAYER, {})
        self._half = Half(self.base, root)
        self._vetoed: dict[str, int] = {}
        self._last: tuple[Side, Half] = self.base, self._half

    def look_into(self, roots: Iterable[str]) -> None:
        """Rules are tried in these projects: not in more than `MOST_PROJECTS`, those with most decisions."""
        counts: dict[str, int] = {}
        for each in roots:
            counts[each] = counts.get(each, 0) + (each != self._root)
        order = sorted(counts, key=lambda each: (-counts[each], each))
        self._roots = tuple(dict.fromkeys((self._root, *order[: MOST_PROJECTS - 1])))

    def is_unknown(self, each: Anew, projects: Mapping[str, str]) -> bool:
        """Whether nobody can say what a rule would make of a recorded call."""
        other = self._layer == USER and projects.get(place_of(each.distinct), "") not in self._roots
        return other or not each.new.is_certain

    def trusted(self, yes: list[Anew]) -> list[Anew]:
        """Without those after which, soon and in each of their sessions, a sandbox had to stop something."""
        if not yes:
            return []
        with Index(self._folder) as index:
            doubted = index.broke_out(self._since, SOON)
        return [each for each in yes if not each.distinct.sessions or not doubted.issuperset(each.distinct.sessions)]

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

    def presets(self, yes: Sequence[Anew]) -> Iterator[Preset]:
        """The shipped presets that would have ended more than one question each, allow nothing that was ever refused,
        and do no harm."""
        agreed = {place_of(each.distinct): each for each in yes}
        if sum(each.distinct.agreed for each in yes) < MIN_SUPPORT:
            return
        for name in _PRESETS:
            file = packaged(f"policies/{name}.yaml")
            if any(each.file == file for each in self._half.bound):
                continue
            side = self._with(f"version: 1\nextends: [{name}]\n".encode())
            ids = {rule["id"] for each in self.half(side).bound if each.file == file for rule in each.rules}
            if ids & (self.harmful(side) | self.refused(side)):
                continue
            ends = [
                each for each in self.judged(side, used)
                if each.new.decision == "allow" and place_of(each.distinct) in agreed and ids & set(each.new.noted)
            ]  # fmt: skip
            questions = sum(each.distinct.agreed for each in ends)
            if questions >= MIN_SUPPORT:
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

    def side(self, texts: Mapping[str, str]) -> Side:
        """What holds now, and these rules by their ids."""
        return self._with(_document(texts))

    def _with(self, document: bytes) -> Side:
        """What holds now, and one more file."""
        changed = {_FILE: document}
        if self._layer == USER and not any(map(read_layer, self._own)):
            changed[POLICY] = _SHIPPED
        found = [side_with("suggested", each, self._layer, changed) for each in self._roots]
        return found[0].replace(snapshots=tuple(pair for each in found for pair in each.snapshots))

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


def frequent(found: Iterable[Anew]) -> tuple[str, ...]:
    """The most frequent ones, different as people read them."""
    order = sorted(found, key=lambda each: (-each.distinct.count, each.shown))
    texts = dict.fromkeys(visible(shortened(f"{each.tool}  {each.shown}", 200)) for each in order)
    return tuple(texts)[:EXAMPLES]


def entry(found: Suggestion, by: str, now: float) -> tuple[str, str]:
    """Id and lines of a rule in the file of what was answered with "always"."""
    said = f"{found.because}, as to {found.ends[0]}"
    return rule_id(found.text), entry_of(
        found.text, shown=said, by=by, now=now, because=found.because, matches=found.matches,
        not_matches=found.not_matches,
    )  # fmt: skip


def as_policy(rules: Iterable[Suggestion]) -> str:
    """Rules as they would stand in a policy file."""
    return "".join(
        "\n".join(
            [
                f"  - id: {rule_id(each.text)}",
                f"    {each.text}",
                *lines_of(each.because, each.matches, each.not_matches),
            ]
        )
        + "\n"
        for each in rules
    )
