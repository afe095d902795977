"""What becomes of what a call has changed in layers of its own: shown to whoever can be asked when it has ended, kept,
or thrown away.

Whatever goes wrong leaves the project as it was; what nobody has decided about is kept aside, and `gateway keep`
gets it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

from gateway.calls.output import Text
from gateway.calls.saving import of_call
from gateway.core.errors import GatewayError, StoreError
from gateway.core.quantities import counted
from gateway.model.changes import DISCARD
from gateway.policy.modes import CEILINGS
from gateway.policy.wording import visible
from gateway.sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.approval.base import Decided
    from gateway.calls.planner import Planner
    from gateway.calls.ports import Approves, InProgress
    from gateway.changes.drafted import Drafted
    from gateway.changes.drafting import Draft
    from gateway.model.call import RawCall
    from gateway.model.context import Context
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict

# What has become of them, as the record tells it.
KEPT, PARTLY, DISCARDED, UNDECIDED = "kept", "partly", "discarded", "undecided"
_ROUNDS = 5
# As a shell tells that somebody ended a command: by a key, a hang-up, or from elsewhere.
_INTERRUPTED = frozenset(128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM))
_MOST_NAMED = 5
_LATER = "nothing of it is in the project; a person can have it by `gateway keep {}`"
# What a program says that did not get on with a layer, where it does with a folder.
_LIMITS = (b"Invalid cross-device link", b"EXDEV", b"Value too large for defined data type", b"EOVERFLOW")
_MET = "It met what a layer cannot do (to rename a folder that was there, say): what it left may be half done."


def in_background(raw: RawCall) -> bool:
    """Whether a call goes on when its tool has returned, so that nobody can be asked about what it has changed."""
    return isinstance(raw.input, Mapping) and raw.input.get("run_in_background") is True


def draft_of(life: InProgress, verdict: Verdict, plan: SandboxPlan) -> Draft | None:
    """The layers of a call that changes nothing else, None for one that does. Raises SandboxError."""
    if not plan.drafted:
        return None
    from gateway.changes.drafting import Draft

    try:
        return Draft(of_call(life, verdict), plan)
    except (GatewayError, OSError) as error:
        raise SandboxError(f"there is no room for what the call changes: {error}") from error


def circumstances(context: Context, raw: RawCall, services: Approves, planner: Planner) -> Context:
    """Those of a call: whether somebody can be asked, when it has ended, what becomes of what it has changed."""
    if context.reviewed or in_background(raw) or not services.can_review(planner):
        return context
    return context.replace(reviewed=True)


def settle(life: InProgress, verdict: Verdict) -> None:
    """Has somebody decide about what a call has changed, and does it. The result of the call says what has become of
    it. Raises nothing that a person or a file can cause."""
    draft = life.draft
    if draft is None:
        return
    rule_on = life.planner.protection(verdict).classify

    def judged(path: str) -> str:
        rule = rule_on(path)
        return f"rule `{rule}` protects it" if rule else ""

    result = life.result
    assert result is not None  # it has run
    try:
        found = draft.read(judged)
        changes = bool(_names(found))
        if verdict.changes == DISCARD or found.is_empty:
            draft.discard()
        elif not changes:
            draft.keep(judged, None, rest=True)  # it lies in temporary folders
        else:
            _decide(life, verdict, draft, found, judged)
        if verdict.changes == DISCARD and changes:
            why = f"mode `{verdict.context.mode}`" if verdict.context.mode in CEILINGS else "policy"
            told = f"{_said(found)} {why} has thrown away: the files are as they were."
            life.notes.append(told)
            life.result = result.replace(reason=result.reason or told, drafted=DISCARDED)
    except (StoreError, OSError) as error:
        _not_kept(life, f"what it changed could not be kept: {error}; {_LATER.format(draft.number)}")


def _decide(life: InProgress, verdict: Verdict, draft: Draft, found: Drafted, judged: Callable[[str], str]) -> None:
    from gateway.approval.base import Review
    from gateway.changes.listing import draft_listed

    result = life.result
    assert result is not None
    if life.cancel.is_set or result.ended in ("timeout", "cancelled", "limit") or result.status in _INTERRUPTED:
        _not_kept(life, f"what it changed is not kept, since it did not come to its end: {_LATER.format(draft.number)}")
        return
    has_met = any(each in result.stderr or each in result.stdout for each in _LIMITS)
    known = life.session.agreed_changes.get(_key(verdict), frozenset())
    in_the_way = bool(found.conflicts or found.never)
    if not (has_met or in_the_way) and known.issuperset(_names(found)):
        _kept(life, draft, found, judged, None, rest=False)
        return
    problem = _MET if has_met else ""
    for _ in range(_ROUNDS):
        review = Review(
            verdict, draft_listed(found, texts=True), result.status, problem=problem, session=life.grants is not None,
            cancelled=lambda: life.cancel.is_set,
        )  # fmt: skip
        decided = life.services.review(life.planner, review)
        if decided is None:
            break
        if not decided.keep:
            draft.discard()
            life.result = result.replace(drafted=DISCARDED)
            said = f": {visible(decided.note).rstrip('.')}" if decided.note else ""
            _not_kept(life, f"what it changed was discarded{said}; the files are as they were")
            return
        try:
            _kept(life, draft, found, judged, _chosen(decided, found), rest=decided.rest)
        except StoreError as error:
            problem = str(error)
            found = draft.read(judged)
            continue
        if decided.session:
            life.session.agreed_changes[_key(verdict)] = known.union(_names(found))
        return
    _not_kept(life, f"nobody has said that what it changed is to be kept: {_LATER.format(draft.number)}")


def _kept(
    life: InProgress,
    draft: Draft,
    found: Drafted,
    judged: Callable[[str], str],
    only: tuple[str, ...] | None,
    *,
    rest: bool,
) -> None:
    """Keeps what was chosen; the model is told of what was not. Raises StoreError where nothing was done."""
    kept = draft.keep(judged, only, rest=rest)
    if life.result is not None:
        life.result = life.result.replace(drafted=PARTLY if only is not None or kept.stays else KEPT)
    left = [path for path in _names(found) if only is not None and not _lies_in(path, only)]
    if left:
        life.notes.append(f"A person kept a part of what it changed; not kept: {_some(left)}.")
    life.reports += [f"`{visible(path)}` stays as it was: {why}" for path, why in kept.stays.items()]
    if kept.stays:
        life.notes.append(f"Not kept, since something stands in the way: {_some(list(kept.stays))}.")


def _not_kept(life: InProgress, why: str) -> None:
    """The call is one that did not work, and says why."""
    output, result = life.output, life.result
    assert result is not None
    life.output = output.replace(blocks=(*output.blocks, Text(f"{why[0].upper()}{why[1:]}.")), is_error=True)
    told = f"{result.reason}; {why}" if result.reason else why
    what = result.drafted or UNDECIDED
    life.result = result.replace(status=result.status or 1, reason=told, cwd="", exported=None, drafted=what)


def _chosen(decided: Decided, found: Drafted) -> tuple[str, ...] | None:
    if not decided.only:
        return None
    return tuple(os.path.join(found.of.project, name) for name in decided.only)


def _names(found: Drafted) -> frozenset[str]:
    """All names that are another in the project."""
    inside = tuple(f"{root}/" for root, _dev, _ino in found.of.roots)
    return frozenset(node.path for node in found.all() if node.path.startswith(inside))


def _lies_in(path: str, names: tuple[str, ...]) -> bool:
    return any(f"{path}/".startswith(f"{each}/") for each in names)


def _key(verdict: Verdict) -> tuple[str, str, str]:
    return verdict.call.tool, verdict.call.shown, verdict.context.cwd


def _said(found: Drafted) -> str:
    names = sorted(_names(found))
    return f"What it changed ({counted(len(names), 'name')}: {_some(names)})"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(map(visible, names[:_MOST_NAMED])) + more
