"""What one more allow rule would open in a project: by the algebra, by the record, and beside both.

The rule is put, as it would be saved, into a file of the local layer beside what holds now, and the engine decides: all
recorded decisions of the project anew, the calls by which the two policies differ, calls that are known to do harm, the
tests of the policies, and the linter.
"""

from __future__ import annotations

import json

from gateway.approval.saved_rules import rule_id
from gateway.core.value import Value
from gateway.policy.wording import visible
from gateway.replay.clauses import used
from gateway.replay.parts import POOL
from gateway.replay.rule_trials import Trying, frequent, is_of
from gateway.replay.symbolic import compared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.replay.compare import Progress
    from gateway.replay.judging import Anew

HARMFUL, LINT, TESTS = (
    "it would allow a call that is known to do harm", "the linter objects to it", "a test of your policy fails with it",
)  # fmt: skip


class Otherwise(Value):
    """Recorded decisions that would come out allowed. `was`: what was decided, and by which rule; `count`: how many;
    `refused`: how many of them somebody said no to; `calls`: the most frequent ones."""

    was: str
    rule: str
    count: int
    refused: int
    calls: tuple[str, ...]


class Opening(Value):
    """What a rule opens. `calls`: by the algebra, each asked of both policies; `refuted`: how many more the engine
    decides alike. `otherwise`: recorded decisions of the project that would come out allowed, of so many `decisions`.
    `near`: recorded calls of the same program or tool that would not. `objections`: what speaks so much against it that
    it cannot be accepted."""

    calls: tuple[str, ...]
    refuted: int
    otherwise: tuple[Otherwise, ...]
    decisions: int
    near: tuple[str, ...]
    objections: tuple[str, ...]


def opening(
    folder: str,
    root: str,
    rule: str,
    who: str,
    since: str = "",
    *,
    how: str = POOL,
    workers: int = 0,
    judging: Progress = lambda _done, _of: None,
) -> Opening:
    """What an allow rule, given on one line, would open. `folder`: the record's; `who`: how a call of the same kind
    begins. Raises AuditError, OSError where the record cannot be read, and ConfigError where a policy is broken."""
    trying = Trying(folder, root, since, "", how=how, workers=workers)
    name = rule_id(rule)
    side = trying.side({name: rule})
    both = [each for each in trying.judged(side, used, judging, before=trying.base) if is_of(each, root)]
    told = [each for each in both if each.old.is_certain and each.new.is_certain]
    changed = [each for each in told if each.new.decision == "allow" != each.old.decision]
    left = [each for each in told if each.new.decision != "allow" and each.shown.startswith(who)]
    unlogged = compared(trying.half(trying.base), trying.half(side))
    tests = ((trying.harmful(side), HARMFUL), (trying.linted(side), LINT), (trying.failing([rule]), TESTS))
    return Opening(
        calls=tuple(dict.fromkeys(visible(each.call) for each in unlogged.differences if each.rule[0] == name)),
        refuted=unlogged.refuted,
        otherwise=_grouped(changed),
        decisions=sum(each.distinct.count for each in told),
        near=frequent(left),
        objections=tuple(why for guilty, why in tests if name in guilty),
    )


def _grouped(changed: Iterable[Anew]) -> tuple[Otherwise, ...]:
    groups: dict[tuple[str, str], list[Anew]] = {}
    for each in changed:
        decided = each.distinct.decision
        groups.setdefault((decided, str(json.loads(each.distinct.rule)[0])), []).append(each)
    return tuple(
        Otherwise(
            was,
            rule,
            count=sum(each.distinct.count for each in found),
            refused=sum(each.distinct.refused for each in found),
            calls=frequent(found),
        )
        for (was, rule), found in sorted(groups.items())
    )
