"""What becomes of what a call has changed in layers of its own: shown to whoever can be asked when it has ended, kept,
or thrown away.

Whatever goes wrong leaves the project as it was; what nobody has decided about is kept aside, and `gateway keep`
gets it.
"""

from __future__ import annotations

import os
import signal
from functools import cache

from gateway.calls.output import Text
from gateway.calls.saving import of_call
from gateway.core.errors import GatewayError, StoreError
from gateway.core.quantities import counted
from gateway.core.value import Value
from gateway.model.changes import DISCARD
from gateway.policy.modes import CEILINGS
from gateway.policy.wording import visible
from gateway.sandbox.base import SandboxError
from gateway.tools.traits import in_background

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.approval.base import Decided
    from gateway.calls.ports import InProgress
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict
    from gateway.sandbox.changes.drafted import Drafted
    from gateway.sandbox.changes.drafting import Draft

# What has become of them, as the record tells it.
KEPT, PARTLY, DISCARDED, UNDECIDED = "kept", "partly", "discarded", "undecided"
PENDING = "pending"  # it is shown when the turn ends
_REAL = "real"  # it is discarded, and the call runs once more
_ROUNDS = 5
# As a shell tells that somebody ended a command: by a key, a hang-up, or from elsewhere.
_INTERRUPTED = frozenset(128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM))
_MOST_NAMED = 5
_LATER = "nothing of it is in the project; a person can have it by `gateway keep {}`"
# What a program says that did not get on with a layer, where it does with a folder. Of renames and links the kernel
# tells (`gateway.sandbox.changes.limits_met`); of files of other groups, which cannot be written, it cannot: a filter
# sees what is asked for and not what is answered, and to look at each opening for writing before it costs more than
# the layer.
_LIMITS = (b"Invalid cross-device link", b"EXDEV", b"Value too large for defined data type", b"EOVERFLOW")
_MET = "It met what a layer cannot do (to rename a folder that was there, say): what it left may be half done."
_MET_ONLY = "It met what a layer cannot do (to rename a folder that was there, say), and changed nothing."


def draft_of(life: InProgress, verdict: Verdict, plan: SandboxPlan | None) -> Draft | None:
    """The layers of a call that changes nothing else, None for one that does. In a turn whose changes are shown at its
    end it is the turn's, which reading calls see, too. `plan`: None for one that only looks at what lies in those of
    the turn. Raises SandboxError."""
    together = life.session.together
    if together is not None and verdict.changes != DISCARD and not in_background(life.raw):
        found: Draft | None = together.enter(life, verdict, plan)
        return found
    return new_draft(life, verdict, plan) if plan is not None and plan.drafted else None


def new_draft(life: InProgress, verdict: Verdict, plan: SandboxPlan) -> Draft:
    """Layers of a call, of which nothing is there yet. Raises SandboxError."""
    from gateway.sandbox.changes.drafting import Draft

    try:
        return Draft(of_call(life, verdict), plan)
    except (GatewayError, OSError) as error:
        raise SandboxError(f"there is no room for what the call changes: {error}") from error


class Ran(Value):
    """A call that wrote to layers, with what became of it: the last one of them, where there were several. `keys`: of
    all of them, as answers are remembered by; `has_met`: one of them met what a layer cannot do; `cut`: what is to be
    said of one that did not come to its end, "" for none."""

    verdict: Verdict
    status: int
    keys: tuple[tuple[str, str, str], ...]
    has_met: bool = False
    cut: str = ""


class Outcome(Value):
    """What became of what was changed. `what`: as the record tells it; `why`: nothing of it is kept, "" where some is;
    `notes`: what the model is to know besides; `reports`: what people are."""

    what: str
    why: str = ""
    notes: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


def ran(life: InProgress, verdict: Verdict) -> Ran:
    """What is known of a call that has ended."""
    result = life.result
    assert result is not None  # it has run
    has_met = any(each in result.stderr or each in result.stdout for each in _LIMITS)
    if life.draft is not None:
        has_met = has_met or life.draft.has_met or (life.draft.has_linked and bool(result.status))
    return Ran(verdict, result.status, (_key(verdict),), has_met)


def was_interrupted(life: InProgress) -> bool:
    """Whether somebody ended it, or policy's limits did."""
    result = life.result
    assert result is not None
    return life.cancel.is_set or result.ended in ("timeout", "cancelled", "limit") or result.status in _INTERRUPTED


def ended(life: InProgress, draft: Draft) -> None:
    """Nothing of a call runs any more that wrote to layers."""
    together = life.session.together
    try:
        draft.ended()
    finally:
        if together is not None and together.has(draft):
            together.leave()
    if in_background(life.raw):
        draft.discard()
    else:
        life.draft = draft


def settle(life: InProgress, verdict: Verdict) -> None:
    """Has somebody decide about what a call has changed, and does it. The result of the call says what has become of
    it. Raises nothing that a person or a file can cause."""
    draft = life.draft
    if draft is None:
        return
    result = life.result
    assert result is not None  # it has run
    together, of = life.session.together, ran(life, verdict)
    if together is not None and together.has(draft) and not (of.has_met and together.lets_go(draft)):
        together.ran(life, verdict)
        return
    judged = judged_by(life, verdict)
    try:
        found = draft.read(judged)
        changes = bool(names_of(found))
        met = of.has_met and bool(result.status)
        if verdict.changes == DISCARD or (found.is_empty and not met and was_interrupted(life)):
            draft.discard()
        elif found.is_empty and not met:
            draft.forget()
        elif not changes and not met:
            draft.keep(judged, None, rest=True)  # it lies in temporary folders
        elif was_interrupted(life):
            why = f"what it changed is not kept, since it did not come to its end: {later(draft)}"
            _tell(life, Outcome(UNDECIDED, why))
        else:
            outcome = decide(life, of, draft, found, judged, lambda: life.cancel.is_set, can_run=True)
            if outcome.what == _REAL:
                _run_for_real(life)
            else:
                _tell(life, outcome)
        if verdict.changes == DISCARD and changes:
            why = f"mode `{verdict.context.mode}`" if verdict.context.mode in CEILINGS else "policy"
            told = f"{_said(found)} {why} has thrown away: the files are as they were."
            life.notes.append(told)
            life.result = result.replace(reason=result.reason or told, drafted=DISCARDED)
    except (StoreError, OSError) as error:
        why = f"what it changed could not be kept: {error}; {later(draft)}"
        _tell(life, Outcome(UNDECIDED, why))


def _run_for_real(life: InProgress) -> None:
    """What a layer could not do is done without one, and saved so that it can be taken back."""
    done = life.again()
    life.output, life.result = done.output, done.result
    life.reports += done.reports


def judged_by(life: InProgress, verdict: Verdict) -> Callable[[str], str]:
    """Tells why policy forbids that a name is changed, "" where it does not."""
    rule_on = life.planner.protection(verdict).classify

    @cache
    def judged(path: str) -> str:  # asked of the same names before they are shown, and again before they are kept
        rule = rule_on(path)
        return f"rule `{rule}` protects it" if rule else ""

    return judged


def decide(
    life: InProgress,
    of: Ran,
    draft: Draft,
    found: Drafted,
    judged: Callable[[str], str],
    is_cancelled: Callable[[], bool],
    *,
    can_run: bool = False,
) -> Outcome:
    """Asks about what was changed, unless the person has said so before, and does what they say. `can_run`: one that
    has met what a layer cannot do can be run for real by whoever asked for this. Raises StoreError and OSError where
    that cannot be done."""
    from gateway.approval.base import Review
    from gateway.sandbox.changes.listing import draft_listed

    agreed = life.session.agreed_changes
    known = frozenset[str]().union(*[agreed.get(key, frozenset()) for key in of.keys])
    in_the_way = bool(found.conflicts or found.never)
    if not (of.has_met or of.cut or in_the_way) and known.issuperset(names_of(found)):
        return _kept(draft, found, judged, None, rest=False)
    problem = " ".join([each for each in (_MET if of.has_met else "", of.cut) if each])
    for _ in range(_ROUNDS):
        review = Review(
            of.verdict, draft_listed(found, texts=True), of.status, problem=problem, session=life.grants is not None,
            real=can_run and of.has_met, cancelled=is_cancelled,
        )  # fmt: skip
        decided = life.services.review(life.planner, review)
        if decided is None:
            break
        if not decided.keep:
            draft.discard()
            if decided.real and can_run and of.has_met:
                return Outcome(_REAL)
            said = f": {visible(decided.note).rstrip('.')}" if decided.note else ""
            return Outcome(DISCARDED, f"what it changed was discarded{said}; the files are as they were")
        try:
            done = _kept(draft, found, judged, _chosen(decided, found), rest=decided.rest)
        except StoreError as error:
            problem = str(error)
            found = draft.read(judged)
            continue
        if decided.session:
            agreed.update({key: agreed.get(key, frozenset()).union(names_of(found)) for key in of.keys})
        return done
    if found.is_empty:
        draft.discard()
        return Outcome(DISCARDED, notes=(_MET_ONLY,))
    return Outcome(UNDECIDED, f"nobody has said that what it changed is to be kept: {later(draft)}")


def _kept(
    draft: Draft,
    found: Drafted,
    judged: Callable[[str], str],
    only: tuple[str, ...] | None,
    *,
    rest: bool,
) -> Outcome:
    """Keeps what was chosen; the model is told of what was not. Raises StoreError where nothing was done."""
    kept = draft.keep(judged, only, rest=rest)
    notes = []
    left = [path for path in names_of(found) if only is not None and not _lies_in(path, only)]
    if left:
        notes.append(f"A person kept a part of what it changed; not kept: {_some(left)}.")
    if kept.stays:
        notes.append(f"Not kept, since something stands in the way: {_some(list(kept.stays))}.")
    reports = tuple(f"`{visible(path)}` stays as it was: {why}" for path, why in kept.stays.items())
    return Outcome(PARTLY if only is not None or kept.stays else KEPT, "", tuple(notes), reports)


def _tell(life: InProgress, outcome: Outcome) -> None:
    """The result says what has become of it; a call of which nothing is kept is one that did not work, and says why."""
    output, result = life.output, life.result
    assert result is not None
    life.notes += outcome.notes
    life.reports += outcome.reports
    result = result.replace(drafted=outcome.what)
    if outcome.why:
        why = outcome.why
        life.output = output.replace(blocks=(*output.blocks, Text(f"{why[0].upper()}{why[1:]}.")), is_error=True)
        told = f"{result.reason}; {why}" if result.reason else why
        result = result.replace(status=result.status or 1, reason=told, cwd="", exported=None)
    life.result = result


def _chosen(decided: Decided, found: Drafted) -> tuple[str, ...] | None:
    if not decided.only:
        return None
    return tuple(os.path.join(found.of.project, name) for name in decided.only)


def names_of(found: Drafted) -> frozenset[str]:
    """All names that are another in the project."""
    inside = tuple(f"{root}/" for root, _dev, _ino in found.of.roots)
    return frozenset(node.path for node in found.all() if node.path.startswith(inside))


def later(draft: Draft) -> str:
    """How it can be had that nobody has decided about."""
    return _LATER.format(draft.number)


def _lies_in(path: str, names: tuple[str, ...]) -> bool:
    return any(f"{path}/".startswith(f"{each}/") for each in names)


def _key(verdict: Verdict) -> tuple[str, str, str]:
    return verdict.call.tool, verdict.call.shown, verdict.context.cwd


def _said(found: Drafted) -> str:
    names = sorted(names_of(found))
    return f"What it changed ({counted(len(names), 'name')}: {_some(names)})"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(map(visible, names[:_MOST_NAMED])) + more
