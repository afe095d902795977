"""Calls that write to layers of their own: from before the first one starts until somebody has decided about what they
changed."""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.changes.area import area_of
from gateway.changes.drafted import drafted
from gateway.changes.keeping import discard, keep
from gateway.changes.leaving import leave_draft
from gateway.changes.store import DRAFT, RUNNING, Store
from gateway.core.errors import StoreError
from gateway.sandbox.drafts import is_touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gateway.changes.drafted import Drafted
    from gateway.changes.keeping import Kept
    from gateway.changes.recording import Of
    from gateway.model.plan import SandboxPlan

_LONGEST = 500  # characters of the calls' texts that are kept


class Draft:
    """Of one confined call, or of several that go on in the same layers one after another. `plan`: by which the last
    one runs; `has_met`: whether that met what a layer cannot do, by what the kernel told."""

    has_met = False

    def __init__(self, of: Of, plan: SandboxPlan) -> None:
        """Raises StoreError where there can be none."""
        self._store = Store(of.folder)
        writing = self._store.begin(of.call, of.tool, of.session, of.project, area_of(plan), named=of.named)
        writing.journal.close()
        made = writing.made
        self.number = made.number
        folder = self._store.path(made.number, "draft")
        try:
            os.mkdir(folder, 0o700)
            self._made = made.replace(began=os.stat(folder).st_ctime_ns)
            self._store.put(self._made)
        except OSError as error:
            self._store.remove(made.number)
            raise StoreError(f"there can be no draft in {folder} ({error.strerror})") from error
        self.plan = plan.replace(draft=folder)

    def again(self, of: Of, plan: SandboxPlan) -> None:
        """Another call goes on in its layers, by this plan from now on. Raises StoreError where it is decided about by
        now."""
        folder = self._store.path(self.number, "draft")
        with self._store.locked():
            made = self._store.checked(self.number)
            if made.state != DRAFT:
                raise StoreError(f"the changes {self.number} are no draft")
            try:
                os.utime(folder)
                began = os.stat(folder).st_ctime_ns
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
        self._made = leave_draft(self._store, self._made)

    def read(self, judged: Callable[[str], str]) -> Drafted:
        """What it changed. Raises StoreError."""
        return drafted(self._store, self.number, judged)

    def keep(self, judged: Callable[[str], str], only: Collection[str] | None, *, rest: bool) -> Kept:
        """Makes it the person's. Raises StoreError where nothing was done."""
        return keep(self._store, self.number, judged, only, rest=rest)

    def discard(self) -> None:
        """Forgets it."""
        with suppress(StoreError):
            discard(self._store, self.number)
