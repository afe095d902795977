"""The draft of a turn: its calls write to shared layers, and what they changed is shown once and decided about as one.

    with gateway.shown_once(session):
        ...  # calls: each sees what those before it have changed, the person's files do not
    # here the person has decided

Commands work in them, and tools that work on files by themselves. While something lies there whose fate is open, what
a rule lets change the person's own files goes on from it, in the layers, too. They are shown earlier where a call needs
what does not lie in them: one that runs outside of them, on files that were changed in them, or with the person's login
or the network; and whenever somebody asks. One call at a time works in them.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager

from gateway.calls.drafts import (
    PENDING,
    UNDECIDED,
    Outcome,
    Ran,
    decide,
    judged_by,
    later,
    names_of,
    new_draft,
    ran,
    was_interrupted,
)
from gateway.calls.layered import is_layered
from gateway.calls.saving import of_call
from gateway.core.errors import StoreError
from gateway.model.changes import ASK, DISCARD, KEEP, NONE
from gateway.model.decision import Decision
from gateway.model.effect import HOLE, Touch
from gateway.model.plan import WRITE
from gateway.policy.wording import visible
from gateway.sandbox.base import SandboxError
from gateway.sandbox.nested_paths import is_below
from gateway.tools.traits import in_background

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.calls.planner import Planner
    from gateway.calls.ports import InProgress
    from gateway.calls.session import Session
    from gateway.model.effect import Effect
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict
    from gateway.sandbox.changes.drafting import Draft

NOTE = (
    "What it changed lies in a layer over the files: calls of this turn see it, everybody else does once a person "
    "has kept it, who is asked at the end of the turn."
)
_UNSEEN = ("code", "opaque", "push", "credential", "system")


class Together:
    """The layers of one turn. Safe to use from several threads."""

    def __init__(self, is_cancelled: Callable[[], bool] = lambda: False) -> None:
        """`is_cancelled`: whether the person wants no more of it, so that they are not asked either."""
        self._is_cancelled = is_cancelled
        self._lock = threading.RLock()  # held by whoever works in them
        self._draft: Draft | None = None
        self._ever: list[Draft] = []
        self._last: tuple[InProgress, Ran] | None = None
        self._told = False  # the model knows what it means for them
        self._alone = True  # one call has worked in them so far
        self._changed: frozenset[str] | None = None  # names, once somebody asked
        self.has_ended = False  # calls that come now have layers of their own
        self._cut = False
        self.outcome: Outcome | None = None  # of what was shown at the end

    # Calls that work in them.

    def enter(self, life: InProgress, verdict: Verdict, plan: SandboxPlan | None) -> Draft | None:
        """The layers that a call is to run in, until `leave`; None where there are none and it needs none. `plan`: None
        for one that only looks at what lies in them. Raises SandboxError."""
        from gateway.sandbox.drafts import over
        from gateway.sandbox.view import plan_over

        self._lock.acquire()
        try:
            draft = self._draft
            if draft is not None:
                try:
                    of = of_call(life, verdict)
                    of = of if verdict.drafts else of.replace(call="")  # it only reads in them
                    every = *verdict.context.workspace, *draft.plan.drafted
                    draft.again(of, plan_over(every) if plan is None else over(plan, every))
                except StoreError:  # somebody has decided about it elsewhere
                    draft = self._draft = None
            if draft is None and plan is not None and plan.drafted:
                draft = new_draft(life, verdict, over(plan, verdict.context.workspace) if not self.has_ended else plan)
                if not self.has_ended:
                    self._draft, self._last, self._cut, self._told = draft, None, False, False
                    self._ever.append(draft)
        except BaseException:
            self._lock.release()
            raise
        if draft is None or draft is not self._draft:
            self._lock.release()
        return draft

    def has(self, draft: Draft) -> bool:
        """Whether these are layers of this turn, or were until they were shown."""
        return any(each is draft for each in self._ever)

    def lets_go(self, draft: Draft) -> bool:
        """Has these layers be those of the one call that has worked in them, and of the turn no longer; False where
        there were several."""
        with self._lock:
            if self._draft is not draft or self._last is not None:
                return False
            self._draft = None
            return True

    def leave(self) -> None:
        """The call that has entered has ended."""
        self._changed = None
        self._lock.release()

    def ran(self, life: InProgress, verdict: Verdict) -> None:
        """A call has worked in them: what its result says of that."""
        result = life.result
        assert result is not None
        with self._lock:
            draft = self._draft
            if draft is None or draft is not life.draft:
                return  # it was shown meanwhile
            now = ran(life, verdict)
            if life.cancel.is_set:
                self._cut = True
            elif was_interrupted(life):
                now = now.replace(
                    cut=f"`{visible(verdict.call.shown)}` did not come to its end: what it left is half done."
                )
            self._alone = self._last is None
            if self._last is not None:
                before = self._last[1]
                keys = tuple(dict.fromkeys((*before.keys, *now.keys)))
                now = now.replace(keys=keys, has_met=before.has_met or now.has_met, cut=now.cut or before.cut)
            self._last = life, now
            try:
                is_touched = draft.is_touched
            except (OSError, ValueError):
                is_touched = True
        if is_touched and verdict.drafts:  # others only read in them
            life.result = result.replace(drafted=PENDING)
            if not self._told:
                life.notes.append(NOTE)
            self._told = True

    # Calls that need what does not lie in them.

    def before(
        self,
        life: InProgress,
        verdict: Verdict,
        planned: Callable[[Planner, Verdict], SandboxPlan | None],
        judged: Callable[[], Verdict],
    ) -> Verdict:
        """The verdict by which a call runs, and with it the plan of its life: in the layers where what lies there may
        be what it goes on from, else once that is decided about, where it needs it. `planned`: the plan by a verdict;
        `judged`: a verdict on the files as they are by then. Raises what these raise."""
        if self._joins(life, verdict):
            drafted = verdict.replace(changes=ASK)
            try:
                life.plan = planned(life.planner, drafted)
            except SandboxError:
                pass  # a part of what it changes lies in no layer
            else:
                return drafted
        if self._shows_before(life, verdict):
            verdict = judged()
            life.plan = planned(life.planner, verdict)
        return verdict

    def _joins(self, life: InProgress, verdict: Verdict) -> bool:
        """Whether a call that may change the person's own files changes the layers instead, because nobody has decided
        yet about what lies there."""
        with self._lock:
            if self._draft is None or verdict.decision is not Decision.ALLOW or verdict.changes not in (NONE, KEEP):
                return False
            if life.plan is not None:
                return life.plan.writes and self._fits(life, verdict.replace(changes=ASK), life.plan)
            changing = [item.effect for item in verdict.analysis.items if item.effect.kind in ("write", "delete")]
            return bool(changing) and is_layered(life) and all(map(self._holds, changing))

    def _shows_before(self, life: InProgress, verdict: Verdict) -> bool:
        """Shows what lies in them where a call is not to run before that is decided about; whether it did."""
        with self._lock:
            if self._draft is None:
                return False
            if life.plan is not None:
                if self._fits(life, verdict, life.plan):
                    return False
            else:
                about = self._about(verdict)
                if not about or (is_layered(life) and all(map(self._holds, about))):
                    return False
            outcome = self.show()
        if outcome is not None:
            life.notes.append(f"It needed what commands had changed before it. {said(outcome)}")
            life.reports += outcome.reports
        return True

    def _fits(self, life: InProgress, verdict: Verdict, plan: SandboxPlan) -> bool:
        """Whether a command may run in them: what lies there is nobody's word yet, so that nothing of the person's is
        lent to what they hold."""
        alone = plan.network.mode == "off" and not any(
            item.effect.kind in ("credential", "push", "system") for item in verdict.analysis.items
        )
        if in_background(life.raw) or verdict.changes == DISCARD or not (verdict.contained or alone):
            return False
        return verdict.drafts or all(mount.access != WRITE for mount in plan.mounts)

    def is_about(self, verdict: Verdict) -> bool:
        """Whether what a tool does by itself is about what was changed in them."""
        with self._lock:
            return self._draft is not None and bool(self._about(verdict))

    def _about(self, verdict: Verdict) -> list[Effect]:
        return [item.effect for item in verdict.analysis.items if self._concerns(item.effect)]

    def _holds(self, effect: Effect) -> bool:
        """Whether an effect is about files below the layers alone."""
        assert self._draft is not None
        if not isinstance(effect, Touch) or HOLE in effect.path or HOLE in effect.real:
            return False
        return is_below(effect.real or effect.path, self._draft.plan.drafted)

    def _concerns(self, effect: object) -> bool:
        """Whether something that is done outside of them is about what was changed in them."""
        if not isinstance(effect, Touch):
            return getattr(effect, "kind", "") in _UNSEEN
        if HOLE in effect.path or HOLE in effect.real:
            return True
        changed = self._names()
        for path in (effect.path, effect.real) if effect.real else (effect.path,):
            if _is_or_lies_in(path, changed) or (
                (effect.tree or effect.kind == "list")
                and any(each.startswith(f"{path.rstrip('/')}/") for each in changed)
            ):
                return True
        return False

    def _names(self) -> frozenset[str]:
        """All that was changed in them; everything where that cannot be told."""
        if self._changed is None:
            assert self._draft is not None
            try:
                self._changed = frozenset(node.path for node in self._draft.read(lambda _path: "").all())
            except (StoreError, OSError):
                return frozenset(("/",))
        return self._changed

    # The person.

    def show(self) -> Outcome | None:
        """Has the person decide about what lies in them, which are empty from here on; None where there is nothing to
        decide. Raises nothing that a person or a file can cause."""
        with self._lock:
            draft, last, self._draft, self._last = self._draft, self._last, None, None
            self._changed = None
            if draft is None:
                return None
            if last is None:
                draft.discard()
                return None
            life, of = last
            try:
                judged = judged_by(life, of.verdict)
                found = draft.read(judged)
                if found.is_empty:
                    (draft.discard if self._cut else draft.forget)()
                    return None
                if not names_of(found):
                    draft.keep(judged, None, rest=True)  # it lies in temporary folders
                    return None
                if self._cut or self._is_cancelled() or (of.cut and self._alone):
                    return Outcome(UNDECIDED, f"what it changed is not kept, since it was cut short: {later(draft)}")
                return decide(life, of, draft, found, judged, self._is_cancelled)
            except (StoreError, OSError) as error:
                return Outcome(UNDECIDED, f"what it changed could not be kept: {error}; {later(draft)}")

    def end(self, *, cut: bool = False) -> None:
        """The turn has ended, before its time where it was `cut`: as `show`, with the `outcome`. Calls that come later
        have layers of their own."""
        with self._lock:
            self.has_ended = True
            self._cut = self._cut or cut
            self.outcome = self.show()


@contextmanager
def shown_once(session: Session, is_cancelled: Callable[[], bool] = lambda: False) -> Iterator[Together]:
    """As in the head of this file; `outcome` then says what became of it. Within another one it is that one.
    `is_cancelled`: whether the person is not to be asked any more."""
    around: Together | None = session.together
    if around is not None and not around.has_ended:
        yield around
        return
    together = session.together = Together(is_cancelled)
    try:
        yield together
    except BaseException:
        together.end(cut=True)
        raise
    else:
        together.end()
    finally:
        session.together = None


def said(outcome: Outcome) -> str:
    """What the model is told of it."""
    if outcome.why:
        return f"Of the commands of this turn: {outcome.why}."
    return " ".join(outcome.notes) or "A person has kept what the commands of this turn changed."


def _is_or_lies_in(path: str, names: frozenset[str]) -> bool:
    if "/" in names:
        return True
    while path and path != "/":
        if path in names:
            return True
        path = path.rpartition("/")[0]
    return False
