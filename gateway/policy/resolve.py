"""One verdict from one analysed call and one compiled policy.

Every effect that is not a carrier needs its own cover; then the strictest wins. For each effect: any deny
beats any ask beats any allow, whatever the layer or the order; what no rule speaks of, the mode decides. The
ceilings of `plan` and `read_only` and the demands of `require` rules hold whatever allows the call.
"""

from __future__ import annotations

from gateway.model.changes import ASK, DISCARD, KEEP, NONE, mildest, strictest
from gateway.model.decision import LAYERS, Decision
from gateway.model.effect import BROUGHT, LEAVE, PATH_KINDS
from gateway.model.verdict import Outcome, Reason, Verdict
from gateway.policy.candidates import BOTH, TARGET, WITHOUT_COVER, WRITTEN, Finder
from gateway.policy.fitting import fits, is_refused, is_unknown
from gateway.policy.modes import REVIEWED_MODE, changes_in, classify, is_change, mode_decision, runs_unknown
from gateway.policy.reason_choice import rank, tells_more
from gateway.policy.subject import NO, YES
from gateway.policy.table import (
    CHANGES,
    DELEGATE,
    EXCEPT,
    EXPIRES,
    LANE,
    LAYER,
    LEVEL,
    REST,
    SILENCES,
    level_rule,
    mode_rule,
    review_rule,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.analysis import Analysis
    from gateway.model.call import Call
    from gateway.model.context import Context
    from gateway.model.effect import Item
    from gateway.model.facts import Facts
    from gateway.model.rule import Rule
    from gateway.policy.candidates import Candidate
    from gateway.policy.modes import Regions
    from gateway.policy.table import Judged, Policy

_CONTAINED = ["contained", True]
_LETTING_OUT = ("enterprise", "user")  # layers whose rules may let a call run without the sandbox
_NAMES_PROGRAM = ("command", "exec", "program")
_USER = LAYERS.index("user")
_ALLOW, _ASK, _DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
_SAID: dict[str, dict[tuple[str, int], Outcome]] = {}
_KEPT = 64


def resolve(
    policy: Policy, call: Call, tool: Judged, analysis: Analysis, context: Context, facts: Facts, regions: Regions
) -> Verdict:
    """The verdict on a call with everything that led to it. Pure: same arguments, same verdict."""
    return Resolution(policy, call, tool, analysis, context, facts, regions).verdict()


def _outcomes_of(mode: str) -> dict[tuple[str, int], Outcome]:
    """What a mode said of the first few effects of calls, by class of effect and place: the same few values always."""
    return _SAID.get(mode) or _SAID.setdefault(mode, {})


def _by_mode(mode: str, row: str, number: int) -> Outcome:
    decision = mode_decision(mode, row)
    found = Outcome(decision, Reason(mode_rule(mode), decision, number))
    if number < _KEPT:
        _outcomes_of(mode)[row, number] = found
    return found


class Resolution(Finder):
    """The work on one call: `verdict`, and once more `contained`. One object does all of it: making more takes time."""

    __slots__ = (
        "analysis", "carriers", "discards", "facts", "gives", "kept", "lost", "noted", "open_trees", "outcomes",
        "regions", "tool", "unseen",
    )  # fmt: skip

    def __init__(
        self,
        policy: Policy,
        call: Call,
        tool: Judged,
        analysis: Analysis,
        context: Context,
        facts: Facts,
        regions: Regions,
    ) -> None:
        Finder.__init__(self, policy, call, context, analysis.parts, analysis.items)
        self.tool = tool
        self.analysis, self.items = analysis, analysis.items
        self.facts = facts
        self.regions = regions
        self.outcomes = _outcomes_of(context.mode)
        self.open_trees = not context.confined and not tool.filters
        self.begin()

    def begin(self) -> None:
        """Forgets what a judgement found; what may speak of the call stays."""
        self.carriers: list[tuple[int, list[Candidate]]] = []
        self.kept: dict[int, str] = {}  # what becomes of changes, by the mildest rule that covers each effect
        self.gives = False  # whether a rule gives the call the contained plan
        self.discards = False  # whether a rule lets something of it run whose changes nobody keeps
        self.lost: list[Reason] = []
        self.noted: list[Reason] = []

    def contained(self, *, unseen: bool = False) -> Verdict:
        """The verdict on the same call as a contained one: the same clauses may speak of it. `unseen`: where nobody can
        be asked about what it changes, so that rules which say `changes: ask` cover nothing."""
        self.context = self.context.replace(contained=True)
        self.unseen = unseen
        self.kinds = self.policy.kinds_contained.get(self.context.mode, self.kinds)
        self.begin()
        return self.verdict()

    def verdict(self) -> Verdict:
        """Each effect judged by itself, then the strictest outcome."""
        outcomes: list[Outcome] = []
        carriers_only = True
        silent = not self.speaks_of_carriers()
        for number, item in enumerate(self.analysis.items):
            carries = item.effect.kind in WITHOUT_COVER
            if carries and silent:
                continue
            candidates = self.candidates(item)
            if not carries:
                carriers_only = False
                outcomes.append(self._judge(number, item, candidates) if candidates else self._by_mode(number, item))
                continue
            named = self._by_rules(number, item, candidates) if candidates else None
            if named is not None:
                outcomes.append(self._answered_by_mode(named))
            elif candidates:
                self.carriers.append((number, candidates))
        if self.analysis.tokens:
            outcomes += self._judge_tokens()
        if carriers_only:
            outcomes.append(self._by_level())
        demands: tuple[tuple[str, object], ...] = ()
        if self.policy.requires:
            from gateway.policy.demands import demanded  # lazy: few policies demand anything of plans

            unmet, demands, noted = demanded(self, self.analysis.items)
            outcomes += unmet
            self.noted += noted
        items = self.analysis.items
        deciding = outcomes[0]
        for outcome in outcomes:
            if outcome is not deciding and (
                outcome.decision > deciding.decision
                or (outcome.decision is deciding.decision and tells_more(outcome.reason, deciding.reason, items))
            ):
                deciding = outcome
        if self.policy.review and deciding.decision is _ALLOW and self._is_reviewed(carriers_only):
            deciding = Outcome(_ASK, Reason(review_rule(self.policy.review), _ASK, deciding.reason.item))
            outcomes.append(deciding)
        return Verdict.make((
            deciding.decision, deciding.reason, tuple(outcomes), tuple(self.lost), tuple(self.noted),
            self.call, self.analysis, self.context, self.facts, demands,
            self._changes(demands) if self.gives else NONE, None, "",
        ))  # fmt: skip

    def _changes(self, demands: tuple[tuple[str, object], ...]) -> str:
        """What becomes of what a call changes that rules contain: the strictest over its effects, and of layers."""
        demanded = [str(value) for name, value in demands if name == "changes"]
        bounds = (changes_in(self.context.mode), self.policy.contained, self.context.changes)
        return strictest(*bounds, *self.kept.values(), *demanded)

    def _is_reviewed(self, carriers_only: bool) -> bool:
        """Whether policy wants somebody to look at a call that it allows."""
        reviewed = self.policy.review
        if self.context.mode != REVIEWED_MODE:
            return False
        if reviewed != "changes":
            return reviewed == "all"
        if carriers_only:
            return not self.tool.shell and self.tool.level not in ("read", "session")
        regions, confined = self.regions, self.context.confined
        return any(is_change(classify(item.effect, regions, confined)) for item in self.analysis.items)

    def _judge(self, number: int, item: Item, candidates: list[Candidate]) -> Outcome:
        """What becomes of an effect that rules may speak of."""
        found = self._by_rules(number, item, candidates)
        if found is None:
            return self._by_mode(number, item)
        if found.decision is _DENY:
            return found
        effect, mode = item.effect, self.context.mode
        if is_refused(effect, self.context, self.regions):
            self.lost.append(found.reason.replace(note=f"mode `{mode}` is a ceiling"))
            return self._by_mode(number, item)
        if found.decision is _ASK:
            return self._answered_by_mode(found)
        return self._unless_below(number, effect, found) if self.open_trees and self._is_tree(effect) else found

    def _by_mode(self, number: int, item: Item) -> Outcome:
        """What the mode says of an effect."""
        effect = item.effect
        row = classify(effect, self.regions, self.context.confined)
        if row == "temp_write" and runs_unknown(self.analysis.items):  # it may be about to run what it writes
            row = f"near_{effect.kind}"
        found = self.outcomes.get((row, number))
        if found is None:
            found = _by_mode(self.context.mode, row, number)
        return self._unless_below(number, effect, found) if self.open_trees and self._is_tree(effect) else found

    @staticmethod
    def _is_tree(effect: Any) -> bool:
        return effect.kind in PATH_KINDS and effect.tree

    def _by_rules(self, number: int, item: Item, candidates: list[Candidate]) -> Outcome | None:
        """The strictest rule that holds for this effect, or None when none does."""
        policy, now, items = self.policy, self.context.now, self.analysis.items
        clauses, rules, carrier = policy.clauses, policy.rules, item.effect.kind in WITHOUT_COVER
        self.look_at(item)
        silenced = self._silenced(candidates) if policy.delegations else ()
        best: Reason | None = None
        ends: dict[int, Reason] = {}
        for clause, forbids, covers in candidates:
            rule, tests, of_part = clauses[clause]
            row = rules[rule]
            if row[EXPIRES] and row[EXPIRES] <= now:
                continue
            allow = row[LANE] == "allow"
            if allow:
                if (
                    carrier
                    or not covers
                    or not self._may_cover(item, tests, of_part, row[LAYER])
                    or self.answer(tests, True) is not YES
                ):
                    continue
                effect: Any = item.effect
                named = (
                    effect.kind == "write" and effect.path.startswith(self.regions.temp) and clause in policy.paths[3]
                )
                reason = Reason.make((policy.rule(rule), _ALLOW, number, True, "", named))
                if self.context.contained and covers == BOTH and not row[LEVEL]:
                    changes = (row[REST] and row[REST][CHANGES]) or KEEP
                    if changes == ASK and self.unseen:
                        continue
                    self.gives = self.gives or _CONTAINED in tests
                    self.discards = self.discards or changes == DISCARD
                    self.kept[number] = mildest(changes, self.kept.get(number, changes))
                if covers != BOTH and not row[LEVEL]:
                    if covers not in ends or tells_more(reason, ends[covers], items):
                        ends[covers] = reason
                    continue
            else:
                answer = min(forbids, self.answer(tests, False))
                if answer is NO or (row[EXCEPT] and self.is_excepted(row[EXCEPT])):
                    continue
                if answer is YES:
                    decision = _DENY if row[LANE] == "deny" else _ASK
                    reason = Reason.make((policy.rule(rule), decision, number, True, "", False))
                else:
                    reason = Reason(policy.rule(rule), _ASK, number, False, "may match: the target is not fully known")
            if not (reason.certain or reason.rule.lock) and self.context.contained and is_unknown(item.effect):
                self.lost.append(reason.replace(note="mounts hold it: the call is contained"))
            elif (
                not (reason.certain or reason.rule.lock) and self.tool.shell and self.sandbox_holds(item.effect, clause)
            ):
                continue
            elif rule in silenced:
                self.lost.append(reason.replace(note="excepted by delegation"))
            elif row[LEVEL]:
                self.noted.append(reason)
            elif reason.decision is _ASK and self._is_bypassed(reason.rule):
                self.lost.append(reason.replace(note="mode `bypass` answers it"))
            elif (
                best is None
                or reason.decision > best.decision
                or (reason.decision is best.decision and tells_more(reason, best, items))
            ):
                if best is not None:
                    self.lost.append(best)
                best = reason
            else:
                self.lost.append(reason)
        if best is None and len(ends) == 2:  # one rule for the link, another for where it leads
            best = ends[WRITTEN]
            self.lost.append(ends[TARGET])
        return None if best is None else Outcome.make((best.decision, best))

    def _may_cover(self, item: Item, tests: list[list[Any]], of_part: list[list[Any]], layer: int) -> bool:
        """What an allow rule can cover at all.

        Nothing but the bare tool covers `opaque`, and that of a shell only when it runs confined. `code` needs a
        rule that names the program, or confinement. A bare shell covers what its commands do, not redirects.
        """
        kind = item.effect.kind
        if kind == "system" and item.effect.action == LEAVE:  # type: ignore[attr-defined]
            return LAYERS[layer] in _LETTING_OUT and any(name == "action" for name, _ in tests)
        if self.context.contained and _CONTAINED in tests:
            return fits(item.effect, self.regions)
        if not self.tool.shell:
            return kind != "opaque" or any(name == "tool" for name, _ in tests)
        if kind == "opaque":
            return self.context.confined and any(name == "tool" for name, _ in tests)
        if kind == "code":
            return self.context.confined or any(name in _NAMES_PROGRAM for name, _ in (*of_part, *tests))
        return item.part >= 0 or all(name != "tool" for name, _ in tests)

    def _silenced(self, candidates: list[Candidate]) -> set[int]:
        """Upper rules that a lower allow rule may silence for this effect, inside the bounds of their delegation."""
        silenced, now = set[int](), self.context.now
        for clause, _forbids, covers in candidates:
            rule, tests, _of_part = self.policy.clauses[clause]
            row = self.policy.rules[rule]
            if row[SILENCES] < 0 or row[LEVEL] or covers != BOTH or 0 < row[EXPIRES] <= now:
                continue
            _layer, until, within = self.policy.rules[row[SILENCES]][REST][DELEGATE]
            if until and until <= now:
                continue
            if self.answer(tests, True) is YES and self.answer(within, True) is YES:
                silenced.add(row[SILENCES])
        return silenced

    def _answered_by_mode(self, outcome: Outcome) -> Outcome:
        """What the modes `bypass` and `dont_ask` make of a rule's ask."""
        if outcome.decision is not _ASK:
            return outcome
        rule, mode = outcome.reason.rule, self.context.mode
        if mode == "dont_ask":
            return Outcome(_DENY, outcome.reason.replace(decision=_DENY, note="nobody is asked in mode `dont_ask`"))
        if self._is_bypassed(rule):
            self.lost.append(outcome.reason.replace(note="mode `bypass` answers it"))
            return Outcome(_ALLOW, Reason(mode_rule(mode), _ALLOW, outcome.reason.item))
        return outcome

    def _is_bypassed(self, rule: Rule) -> bool:
        """Whether the mode `bypass` answers this rule's asks. Each is answered by itself: another ask still stands."""
        if self.context.mode != "bypass" or rule.lane != "ask" or rule.lock:
            return False
        return LAYERS.index(rule.source.layer) >= _USER

    def _unless_below(self, number: int, effect: Any, outcome: Outcome) -> Outcome:
        """A tree that nobody confines or filters: protected paths below it must be ruled out by a look."""
        from gateway.policy.protected import rules_below  # lazy: most calls are about no trees

        rules = rules_below(self.policy, effect.kind, effect.path)
        if effect.kind == "write" and not effect.skips:
            place = self.facts.paths.get(effect.path)
            if place is not None and place.kind == "missing" and place.real == effect.path:
                return outcome  # what a program makes there has names of its own choice
        fact = self.facts.trees.get((effect.path, effect.skips))
        if not rules or outcome.decision is _DENY or (fact is not None and fact.complete and not fact.found):
            return outcome
        if effect.skips == BROUGHT:
            note = "protected paths may lie below it: the names come from elsewhere"
        elif fact is not None and fact.found:
            note = "protected paths lie below it: " + ", ".join(fact.found[:3])
        else:
            note = "protected paths may lie below it, and the look at the folder ended at its bound"
        reasons = [Reason(self.policy.rule(rule), _ASK, number, False, note) for rule in rules]
        firmest = min(reasons, key=lambda reason: (reason.rule.lane != "deny", rank(reason, effect)))
        return self._answered_by_mode(Outcome(_ASK, firmest))

    def _judge_tokens(self) -> list[Outcome]:
        """Deny and ask rules tried on the words of a text that could not be parsed."""
        from gateway.policy.unparsed import token_reasons  # lazy: most texts can be parsed

        place = next((n for n, item in enumerate(self.analysis.items) if item.effect.kind == "opaque"), 0)
        outcomes = []
        for is_in_force, reason in token_reasons(self.policy, self.analysis.tokens, self, place):
            if is_in_force:
                outcomes.append(self._answered_by_mode(Outcome(reason.decision, reason)))
            else:
                self.noted.append(reason)
        return outcomes

    def _by_level(self) -> Outcome:
        """A call with carriers only: an allow rule may cover it, else its level decides."""
        policy = self.policy
        best: Reason | None = None
        for number, candidates in self.carriers:
            self.look_at(self.analysis.items[number])
            for clause, _forbids, covers in candidates:
                rule, tests, _of_part = policy.clauses[clause]
                row = policy.rules[rule]
                if row[LANE] != "allow" or row[LEVEL] or 0 < row[EXPIRES] <= self.context.now:
                    continue
                if covers == BOTH and len(self.analysis.parts) <= 1 and self.answer(tests, True) is YES:
                    reason = Reason(policy.rule(rule), _ALLOW, number)
                    if best is None or tells_more(reason, best, self.analysis.items):
                        best = reason
        if best is not None:
            return Outcome(_ALLOW, best)
        level = "read" if self.tool.shell else self.tool.level
        decision = Decision[policy.levels.get(level, "allow" if level in ("read", "session") else "ask").upper()]
        rule = level_rule(level)
        if decision is _ASK and self.context.mode in ("dont_ask", "bypass"):
            decision, rule = mode_decision(self.context.mode, "deep"), mode_rule(self.context.mode)
        return Outcome(decision, Reason(rule, decision, 0))
