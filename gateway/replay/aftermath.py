"""What came after a yes: where a sandbox had to stop something soon, nobody should learn from it."""

from __future__ import annotations

from gateway.audit.index import Index
from gateway.model.record import DECISION, OUTCOME

SOON = 10  # calls of a session
_CALLS = (
    "SELECT d.session, d.decision = 'ask' AND coalesce(max(o.ended), '') != 'refused', coalesce(max(o.violations), 0) "
    f"FROM records d LEFT JOIN records o ON o.id = d.id AND o.kind = '{OUTCOME}' "
    f"WHERE d.kind = '{DECISION}' AND d.session != '' AND d.at >= ? GROUP BY d.n ORDER BY d.n"
)


def broke_out(folder: str, since: str) -> set[str]:
    """The sessions of a record in which, since a moment, a sandbox stopped something at most `SOON` calls after a
    question that was answered with yes, that call included. Raises AuditError where the record cannot be read."""
    left: dict[str, int] = {}
    found = set()
    with Index(folder) as index:
        for session, agreed, violations in index.rows(_CALLS, (since,)):
            left[session] = SOON if agreed else left.get(session, -1) - 1
            if violations and left[session] >= 0:
                found.add(session)
    return found
