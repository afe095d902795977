"""What the linter finds, held against the engine: examples that fail, and the calls that findings show as proof."""

from __future__ import annotations

from gateway.config.layers import PROJECT, layer_folders, passed_over
from gateway.core.errors import CallError
from gateway.judge.policy_tests import examples_of, is_packaged, rules_of
from gateway.policy.compile import compile_policy
from gateway.policy.lint.lint import Finding
from gateway.policy.table import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gateway.core.places import Places
    from gateway.judge.policy_tests import Trials
    from gateway.policy.compile import Bound


def failing_examples(bound: Iterable[Bound], trials: Trials) -> Iterator[Finding]:
    """An error for each example that does not hold: with one, no policy loads. `bound` stands in the example world."""
    for each in bound:
        for rule in each.rules if not is_packaged(each.file) else ():
            if rule["id"] in each.without:
                continue
            for case, _hit in examples_of(trials, each, rule):
                if case.problem:
                    yield Finding(
                        "failing-example", "error", each.layer, each.file, rule["line"], rule["id"], case.problem,
                        "correct the rule or the example: `gateway policy test` runs them one by one",
                    )  # fmt: skip


def not_read(places: Places, root: str) -> list[Finding]:
    """What lies in the project and looks like policy, under a name that is not read."""
    found = passed_over(layer_folders(places, root))
    return [Finding("misnamed", "warning", PROJECT, each.file, 0, "", each.message, each.remedy) for each in found]


def confirm(
    findings: Iterable[Finding], bound: Sequence[Bound], trials: Trials, levels: dict[str, str]
) -> list[Finding]:
    """The findings with the calls that the engine bears out. `bound` stands in the example world.

    A call that does not show what its finding says is taken away; a finding about what a rule opens is then only
    an `info`, because something else holds the door.
    """
    policy = Policy(**compile_policy(bound, home=trials.world.home), levels=levels)
    confirmed = []
    for finding in findings:
        if finding.witness and not _shows(finding, trials, policy):
            severity = "info" if finding.proof in ("covered", "missed") else finding.severity
            finding = finding.replace(witness="", severity=severity)
        confirmed.append(finding)
    return confirmed


def _shows(finding: Finding, trials: Trials, policy: Policy) -> bool:
    """Whether the engine answers what the finding claims."""
    try:
        verdict = trials.verdict(finding.witness, policy)
    except CallError:
        return False
    me = (finding.file, finding.line, finding.rule)
    spoke = {(rule.source.file, rule.source.line, rule.id) for rule in rules_of(verdict)}
    decided = verdict.reason.rule
    decides = (decided.source.file, decided.source.line, decided.id) == me
    if finding.proof == "covered":
        covering = {(o.reason.rule.source.file, o.reason.rule.source.line, o.reason.rule.id) for o in verdict.outcomes}
        return verdict.decision.word == "allow" and me in covering
    if finding.proof == "overruled":
        return me in spoke and not decides
    return me not in spoke
