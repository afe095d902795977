"""Which rules a record does not show to have decided anything."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from gateway.audit.index import Index
from gateway.frontends.durations import seconds_of
from gateway.policy.lint.unused import unused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.policy.compile import Bound
    from gateway.policy.lint.lint import Finding


def unused_rules(
    folder: str, written: str, since: str, bound: Sequence[Bound], now: float
) -> tuple[list[Finding], str]:
    """Remarks on rules that decided nothing since a moment, and why there can be none, "" if there can. A record that
    does not reach back so far shows nothing. `written`: the moment as it was asked for. Raises AuditError for a record
    that cannot be read."""
    with Index(folder) as index:
        begins = index.begins()
        decided = index.rules(since)
    day = since.partition("T")[0]
    if not begins:
        return [], "nothing is recorded yet, so no rule can be called unused"
    if begins > since:
        return [], f"the record begins on {begins.partition('T')[0]}, so no rule can be called unused since {day}"
    if not decided:
        return [], f"no decision is recorded since {day}, so no rule can be called unused"
    start = datetime.fromisoformat(since).replace(tzinfo=UTC).timestamp()
    changed = {each.file for each in bound if _changed_at(each.file) > start}
    span = f"since {written}" if seconds_of(written) is None else f"for {written}"
    return list(unused(bound, decided, span, day, changed=changed, now=now)), ""


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
