"""Remarks on rules that took part in no decision since a moment."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

from gateway.core.errors import GatewayError
from gateway.frontends.cli.replay import Progress
from gateway.frontends.durations import seconds_of
from gateway.policy.lint.unused import unused
from gateway.replay.uses import uses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.policy.compile import Bound
    from gateway.policy.lint.clauses import Finding


def unused_rules(folder: str, written: str, since: str, bound: Sequence[Bound]) -> tuple[list[Finding], str]:
    """Remarks on rules, and why there can be none, "" if there can. `folder`: the record's; `written`: the moment as it
    was asked for. Raises GatewayError for a record that cannot be read."""
    progress = Progress()
    try:
        found = uses(folder, since, judging=progress.judging)
    except OSError as error:
        raise GatewayError(f"the record in {folder} cannot be read: {error.strerror or error}") from error
    finally:
        progress.end()
    if found.untold:
        return [], found.untold
    start = datetime.fromisoformat(since).replace(tzinfo=UTC).timestamp()
    span = f"since {written}" if seconds_of(written) is None else f"for {written}"
    day = since.partition("T")[0]
    changed = {each.file for each in bound if _changed_at(each.file) > start}
    return list(unused(bound, found.rules, found.decisions, span, day, changed=changed, now=time.time())), ""


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
