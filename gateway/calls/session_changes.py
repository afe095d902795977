"""What calls of a session have changed, for a command of that session that asks: the state folder is hidden from it, so
it finds there what it may know, and of no other session anything."""

from __future__ import annotations

from gateway.calls.saving import of_call
from gateway.core.errors import StoreError
from gateway.core.plainjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.ports import InProgress
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict

PLACE = "/.gateway-changes"
_MOST_SHOWN = 50


def with_own_changes(life: InProgress, verdict: Verdict, plan: SandboxPlan) -> SandboxPlan:
    """The plan with this listing, for a call that was seen to ask (`gateway changes`)."""
    asks = any(part.program == "gateway" and "changes" in part.subcommands for part in verdict.analysis.parts)
    if not asks or plan.free:
        return plan
    from gateway.sandbox.changes.listing import listed, packed, shown
    from gateway.sandbox.changes.store import Store

    store = Store(of_call(life, verdict).folder)
    found = []
    try:
        mine = [each for each in listed(store) if life.session.name and each.of.session == life.session.name]
        found = [shown(store, each.of.number) for each in mine[-_MOST_SHOWN:]]
    except StoreError as error:
        life.reports.append(f"what the session changed cannot be listed: {error}")
    content = dumps(packed(found)).encode("utf-8", "backslashreplace")
    return plan.replace(files=(*plan.files, (PLACE, content)))
