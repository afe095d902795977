"""What rules were used for, by a record: the one place that says when one is unused.

A rule was used where it took part in a decision: as what decided, then or by what holds now, or as what holds for one
of its effects now. A decision that cannot be judged again tells only what decided then. A record that does not reach
back to a moment does not tell what was not used since.
"""

from __future__ import annotations

import functools

from gateway.audit.index import Index
from gateway.core.value import Value
from gateway.replay.compare import PART, read
from gateway.replay.judging import PRESENT, Judging
from gateway.replay.parts import POOL, map_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateway.model.verdict import Verdict
    from gateway.replay.compare import Progress
    from gateway.replay.judging import Anew
    from gateway.tools.tool import Tool


class Uses(Value):
    """`rules`: how many decisions each rule took part in, by its id; `decisions`: how many there were. `untold`: why no
    rule can be called unused, "" where those that are not among `rules` are."""

    rules: Mapping[str, int]
    decisions: int
    untold: str = ""


def uses(
    folder: str,
    since: str,
    *,
    how: str = POOL,
    workers: int = 0,
    judging: Progress = lambda _done, _of: None,
) -> Uses:
    """What the rules that hold now were used for since a moment. Raises AuditError, and OSError where the record cannot
    be read."""
    untold = why_untold(folder, since)
    if untold:
        return Uses({}, 0, untold)
    counted = read(folder, since, "", by_time=True, how=how, workers=workers, progress=lambda _done, _of: None)
    parts = [counted.distinct[at : at + PART] for at in range(0, len(counted.distinct), PART)]
    found: list[Anew] = []
    for some in map_parts(
        functools.partial(Judging, folder, PRESENT, PRESENT, took_part), parts, how=how, workers=workers
    ):
        found += some
        judging(len(found), len(counted.distinct))
    return uses_of(folder, since, ((each, each.new.noted) for each in found))


def took_part(verdict: Verdict, _tool: Tool) -> tuple[str, ...]:
    """The ids of the rules that hold for what a call does."""
    return tuple(dict.fromkeys(outcome.reason.rule.id for outcome in verdict.outcomes))


def uses_of(folder: str, since: str, noted: Iterable[tuple[Anew, Iterable[str]]]) -> Uses:
    """The same of decisions that were judged already, each with the ids of rules that took part in it."""
    counts: dict[str, int] = {}
    for each, ids in noted:
        for name in ids:
            counts[name] = counts.get(name, 0) + each.distinct.count
    with Index(folder) as index:
        decided = index.rules(since)
    return Uses(decided | counts, sum(decided.values()), why_untold(folder, since))


def why_untold(folder: str, since: str) -> str:
    """Why a record does not tell which rules were not used since a moment, "" where it does. Raises AuditError."""
    with Index(folder) as index:
        begins = index.begins()
        is_empty = not index.rules(since)
    day = since.partition("T")[0]
    if not begins:
        return "nothing is recorded yet, so no rule can be called unused"
    if since and begins > since:
        return f"the record begins on {begins.partition('T')[0]}, so no rule can be called unused since {day}"
    return f"no decision is recorded since {day}, so no rule can be called unused" if is_empty else ""
