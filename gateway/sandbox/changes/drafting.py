"""Calls that write to layers of their own: from before the first one starts until somebody has decided about what they
changed."""

from __future__ import annotations

from contextlib import suppress

from gateway.core.errors import StoreError
from gateway.sandbox.changes.area import area_of
from gateway.sandbox.changes.drafted import Drafted, drafted
from gateway.sandbox.changes.keeping import Kept, discard, keep
from gateway.sandbox.changes.leaving import leave_draft
from gateway.sandbox.changes.store import DRAFT, RUNNING, Store
from gateway.sandbox.drafts import is_empty, is_touched
from gateway.sandbox.joining import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.changes.recording import Of

_LONGEST = 500  # characters of the calls' texts that are kept


class Draft:
    """Of one confined call, or of several that go on in the same layers one after another. `plan`: by which the last
    one runs; `has_met` and `has_linked`: whether that met what a layer cannot do, by what the kernel told
    (`gateway.sandbox.changes.limits_met`)."""

    has_met = has_linked = False
    _is_empty = False  # nothing lies in its layers, so that nobody has to know that there are any

    def __init__(self, of: Of, plan: SandboxPlan) -> None:
        """Raises StoreError where there can be none."""
        self._store = Store(of.folder)
        self._made = self._store.begin_draft(of.call, of.tool, of.session, of.project, area_of(plan), of.named)
        self.number = self._made.number
        self.plan = plan.replace(draft=self._store.path(self.number, "draft"))

    def again(self, of: Of, plan: SandboxPlan) -> None:
        """Another call goes on in its layers, by this plan from now on. Raises StoreError where it is decided about by
        now."""
        folder = self._store.path(self.number, "draft")
        with self._store.locked():
            made = self._store.checked(self.number)
            if made.state not in (DRAFT, RUNNING):
                raise StoreError(f"the changes {self.number} are no draft")
            try:
                began = self._store.moment(self.number)
            except OSError as error:
                raise StoreError(f"there can be no draft in {folder} ({error.strerror})") from error
            known = {root for root, _dev, _ino in made.roots}
            self._made = made.replace(
                state=RUNNING,
                call="; ".join([each for each in (made.call, of.call) if each])[:_LONGEST],
                named=tuple(dict.fromkeys((*made.named, *of.named))),
                roots=(*made.roots, *[each for each in self._store.roots_of(area_of(plan)) if each[0] not in known]),
                again=(*made.again, began),
                owner=self._store.ours(),
            )
            self._store.put(self._made)
        self.plan = plan.replace(draft=folder)

    @property
    def is_touched(self) -> bool:
        """Whether anything at all lies in its layers. Raises OSError and ValueError."""
        return is_touched(self.plan.draft)

    def ended(self) -> None:
        """Nothing of the call runs any more. What it changed is there to be decided about, whatever comes next."""
        self._is_empty = is_empty(self.plan.draft)
        if not self._is_empty:
            self._made = leave_draft(self._store, self._made)

    def read(self, judged: Callable[[str], str]) -> Drafted:
        """What it changed. Raises StoreError."""
        if self._is_empty:
            return Drafted(self._made, (), {}, {})
        return drafted(self._store, self.number, judged)

    def keep(self, judged: Callable[[str], str], only: Collection[str] | None, *, rest: bool) -> Kept:
        """Makes it the person's. Raises StoreError where nothing was done."""
        if self._is_empty:
            self.discard()
            return Kept(0, {})
        return keep(self._store, self.number, judged, only, rest=rest)

    def forget(self) -> None:
        """Nothing of it is to be decided about: what it wrote to caches stays as any call's does."""
        if not self._is_empty:
            join(self.plan.draft)
        self.discard()

    def discard(self) -> None:
        """Forgets it, with what it wrote to caches."""
        with suppress(StoreError):
            discard(self._store, self.number, is_empty=self._is_empty)
