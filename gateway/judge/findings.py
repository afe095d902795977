"""Verifies the linter's findings with the engine: examples and tests that fail, calls that findings show as proof."""

from __future__ import annotations

from gateway.config.compiling import compiled_once
from gateway.config.layers import PROJECT, layer_folders, passed_over
from gateway.core.errors import CallError
from gateway.core.value import Value
from gateway.judge.policy_tests import examples_of, is_packaged, needs_circumstances, rules_of
from gateway.model.decision import Decision
from gateway.policy.compile import compile_policy
from gateway.policy.lint.lint import Finding
from gateway.policy.table import Policy
from gateway.policy.wording import phrase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gateway.core.places import Places
    from gateway.judge.policy_tests import Case, Trials
    from gateway.model.context import Context
    from gateway.model.rule import Rule
    from gateway.model.verdict import Verdict
    from gateway.policy.compile import Bound

# The modes in which an allow rule is to be of use.
MODES = ("default", "accept_edits")


def failing_examples(bound: Iterable[Bound], trials: Trials) -> Iterator[Finding]:
    """An error for each example that does not hold: with one, no policy loads. `bound` stands in the example world."""
    for each in bound:
        for rule in each.rules if not is_packaged(each.file) else ():
            if rule["id"] in each.without:
                continue
            for case, _hit in examples_of(trials, each, rule):
                if case.problem:
                    yield Finding(
                        "failing-example", "error", each.layer, each.file, line=rule["line"], rule=rule["id"],
                        message=case.problem,
                        remedy="correct the rule or the example: `gateway policy test` runs them one by one",
                    )  # fmt: skip


def failing_test(layer: str, case: Case) -> Finding:
    """A warning for a row of a table that does not hold: the policy loads, and does not do what it says it does."""
    remedy = "correct the rules or the row: `gateway policy test` runs them one by one"
    return Finding(
        "failing-test", "warning", layer, case.file, line=case.line, rule=case.rule, message=case.problem, remedy=remedy
    )


def without_effect(bound: Sequence[Bound], trials: Trials, levels: dict[str, str]) -> Iterator[Finding]:
    """A warning for each allow rule with an example that comes out allowed in no mode that lets work be done, confined
    or not: it names the rule above, and what leaves that out where this is tried and helps. `bound` stands in the
    example world."""
    policy = Policy(**compiled_once(bound, home=trials.world.home), levels=levels)
    contexts = [trials.context(confined=confined, mode=mode) for mode in MODES for confined in (True, False)]
    for each in bound:
        for rule in each.rules if not is_packaged(each.file) else ():
            if rule["lane"] != "allow" or rule["id"] in each.without or needs_circumstances(rule):
                continue
            for call in rule["matches"]:
                asked = _asked(call, trials, policy, contexts)
                if asked is None:
                    continue
                yield Finding(
                    "no-effect", "warning", each.layer, each.file, line=rule["line"], rule=rule["id"],
                    message=f"`{call}` is allowed in no mode, although this rule speaks of it: {_above(asked)}",
                    remedy=_remedy(call, asked, bound, trials, levels, contexts),
                )  # fmt: skip
                break


def _above(verdict: Verdict) -> str:
    """What keeps the call from being allowed."""
    rule = verdict.reason.rule
    if rule.lane == "mode":
        return f"no rule covers that it {phrase(verdict.analysis.items[verdict.reason.item].effect)}"
    said = "denies it" if verdict.decision is Decision.DENY else "asks"
    return f"rule `{rule.id}` ({rule.source}) {said}"


def _asked(call: str, trials: Trials, policy: Policy, contexts: Sequence[Context]) -> Verdict | None:
    """The mildest verdict that does not allow the call; None if one does, or none can be had."""
    try:
        verdicts = [trials.verdict(call, policy, context) for context in contexts]
    except CallError:
        return None
    best = min(verdicts, key=lambda verdict: verdict.decision)
    return None if best.decision is Decision.ALLOW else best


def _remedy(
    call: str,
    asked: Verdict,
    bound: Sequence[Bound],
    trials: Trials,
    levels: dict[str, str],
    contexts: Sequence[Context],
) -> str:
    """What lets the rule speak, tried; general words where nothing is known to."""
    left: set[str] = set()
    while asked.reason.rule.lane != "mode":
        above = asked.reason.rule
        if above.source.layer == "builtin" or above.lock or not is_packaged(above.source.file) or above.id in left:
            break
        left.add(above.id)
        now = [each.replace(without=each.without | left) for each in bound]
        policy = Policy(**compile_policy(now, home=trials.world.home), levels=levels)
        again = _asked(call, trials, policy, contexts)
        if again is None:
            ids = ", ".join(sorted(left))
            return f"`extends: [{{preset: daily, without: [{ids}]}}]`, with the preset that you extend, lets it speak"
        asked = again
    return "a person is asked in any case; allow what else the call does, or remove the example"


def not_read(places: Places, root: str) -> list[Finding]:
    """What lies in the project and looks like policy, under a name that is not read."""
    found = passed_over(layer_folders(places, root))
    return [
        Finding("misnamed", "warning", PROJECT, each.file, line=0, rule="", message=each.message, remedy=each.remedy)
        for each in found
    ]


class Confirmed(Value):
    """Findings that the engine bears out; `refuted`: how many it does not, which are left out."""

    findings: tuple[Finding, ...]
    refuted: int = 0


def confirm(findings: Iterable[Finding], bound: Sequence[Bound], trials: Trials, levels: dict[str, str]) -> Confirmed:
    """The findings, each with a call only where the engine bears it out. `bound` stands in the example world.

    What is said of two rules and not borne out by the call that is to show it is left out and counted; what was only
    supposed is left out. A finding about what a rule opens is then only an `info`, because something else holds the
    door.
    """
    policy = Policy(**compiled_once(bound, home=trials.world.home), levels=levels)
    confirmed = []
    refuted = 0
    for finding in findings:
        if finding.witness and not _shows(finding, trials, policy):
            if finding.proof not in ("covered", "missed"):
                refuted += finding.proof != "reached"
                continue
            finding = finding.replace(witness="", severity="info")
        confirmed.append(finding)
    return Confirmed(tuple(confirmed), refuted)


def _shows(finding: Finding, trials: Trials, policy: Policy) -> bool:
    """Whether the engine answers what the finding claims."""
    try:
        verdict = trials.verdict(finding.witness, policy, trials.context().replace(**dict(finding.circumstances)))
    except CallError:
        return False
    me = (finding.file, finding.line, finding.rule)
    spoke = set(map(_place, rules_of(verdict)))
    decides = _place(verdict.reason.rule) == me
    if finding.proof == "covered":
        covering = {_place(each.reason.rule) for each in verdict.outcomes}
        return verdict.decision.word == "allow" and me in covering
    if finding.proof == "overruled":
        return me in spoke and not decides
    if finding.proof == "spoken":
        return me in spoke
    if finding.proof == "reached":
        kinds = {item.effect.kind for item in verdict.analysis.items}
        reads = {each.reason.item for each in verdict.outcomes if _place(each.reason.rule) == me}
        return (
            verdict.decision is Decision.ALLOW
            and not kinds & {"code", "opaque"}  # which the sandbox holds
            and any(verdict.analysis.items[place].effect.kind == "read" for place in reads)
        )
    return me not in spoke


def _place(rule: Rule) -> tuple[str, int, str]:
    return rule.source.file, rule.source.line, rule.id
