"""The last call that was refused, found from the end of the record without reading all of it."""

from __future__ import annotations

import os
from collections import OrderedDict

from gateway.audit.reading import Moment
from gateway.core.value import Value
from gateway.model.record import CANARY, DECISION, OUTCOME
from gateway.policy.unjudged import BY_HOOK, INTERNAL, INVALID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_BYTES = 32 << 20  # some thirty thousand records
NOT_RUN = 126

# What became of a call that did not run as it was meant to.
DENIED = "denied"  # a rule or the mode says no
NOBODY = "nobody"  # policy asks, and nobody was there to be asked
REFUSED = "refused"  # whoever was asked did not agree, or it was let run and could not be recorded
UNANSWERED = "unanswered"  # an agent was told to ask, and no end of the call is known
INVALID_CALL = "invalid"  # it is no call: an unknown tool, or an input that does not fit
BY_A_HOOK = "hook"
FAULT = "error"  # ours
UNCONFINED = "unconfined"  # the sandbox could not be built, so nothing ran
STOPPED = "stopped"  # it ran, and the sandbox stopped something of it
_NOBODY = ("nobody", "policy")  # who answers where nobody does (`gateway.approval.asking`)


class Refusal(Value):
    """A call that was refused: how (one of the words above), its decision, and its outcome if there is one."""

    kind: str
    decision: dict[str, Any]
    outcome: dict[str, Any] | None


class Looked(Value):
    """What was found. `last`: the refusal that was looked for; `elsewhere`: without one, the last of another folder.
    `is_whole`: the record was read to its beginning, or far enough."""

    last: Refusal | None
    elsewhere: Refusal | None
    is_whole: bool


def kind_of(decision: Mapping[str, Any], outcome: Mapping[str, Any] | None) -> str:
    """How a call was refused, as one of the words above; "" for one that was not."""
    name = _rule(decision)
    if decision.get("decision") == "deny":
        if name.startswith(BY_HOOK):
            return BY_A_HOOK
        return {INVALID: INVALID_CALL, INTERNAL: FAULT}.get(name) or (
            NOBODY if decision.get("reason") == "nobody_to_ask" else DENIED
        )
    asked = decision.get("decision") == "ask"
    grant = decision.get("grant")
    answer: Mapping[str, Any] = grant if isinstance(grant, dict) else {}
    if outcome is None:  # only hooks record what is asked before it is answered
        return UNANSWERED if asked and not answer and _is_hook(decision) else ""
    if outcome.get("violations"):
        return STOPPED
    if outcome.get("ended") == "refused":
        alone = asked and (_is_hook(decision) or answer.get("by") in _NOBODY)
        return NOBODY if alone and not answer.get("allow") else REFUSED
    return UNCONFINED if outcome.get("ended") == "failed" and outcome.get("status") == NOT_RUN else ""


def _is_hook(decision: Mapping[str, Any]) -> bool:
    return str(decision.get("front", "")).startswith("hook:")


def _rule(decision: Mapping[str, Any]) -> str:
    rule = decision.get("rule")
    return rule[0] if isinstance(rule, list) and rule and isinstance(rule[0], str) else ""


def last_refusal(folder: str, root: str, most: int = MOST_BYTES) -> Looked:
    """The last refusal of a call from within `root` ("" for any folder) in the record of a folder, or that there is
    none in its last `most` bytes. Of calls that ended, it counts when they ended. Calls that only try a hook do not.
    Raises AuditError for a record that cannot be read."""
    outcomes: dict[str, dict[str, Any]] = {}
    # Ids whose ends were seen and whose decisions are still to come, the last end first.
    waiting: OrderedDict[str, None] = OrderedDict()
    found: dict[str, Refusal] = {}
    elsewhere: Refusal | None = None
    with Moment(folder) as moment:
        for record in moment.backwards(most):
            known = record.get("id")
            if not isinstance(known, str) or record.get("session") == CANARY:
                continue
            if record["kind"] == OUTCOME and known not in outcomes:
                outcomes[known] = record
                if record.get("violations") or record.get("status") == NOT_RUN:
                    waiting[known] = None
            elif record["kind"] == DECISION:
                outcome = outcomes.get(known)
                kind = kind_of(record, outcome)
                if known in waiting and not kind:
                    del waiting[known]
                elif kind:
                    refusal = Refusal(kind, record, outcome)
                    if root and not _within(record.get("cwd"), root):
                        elsewhere = elsewhere or refusal
                        if known in waiting:
                            del waiting[known]
                    else:
                        found[known] = refusal
                        waiting.setdefault(known)
                if waiting and next(iter(waiting)) in found:
                    return Looked(found[next(iter(waiting))], None, True)
        held = next((found[each] for each in waiting if each in found), None)
        whole = sum(part.size for part in moment.parts) <= most
    return Looked(held, None if held is not None else elsewhere, whole or held is not None)


def _within(cwd: Any, root: str) -> bool:
    return isinstance(cwd, str) and (cwd + "/").startswith(root.rstrip("/") + "/") and os.path.isabs(cwd)
