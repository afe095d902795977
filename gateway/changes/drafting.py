"""One call that writes to layers of its own: from before it starts until somebody has decided about what it changed."""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.changes.area import area_of
from gateway.changes.drafted import drafted
from gateway.changes.keeping import discard, keep
from gateway.changes.leaving import leave_draft
from gateway.changes.store import Store
from gateway.core.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gateway.changes.drafted import Drafted
    from gateway.changes.keeping import Kept
    from gateway.changes.recording import Of
    from gateway.model.plan import SandboxPlan


class Draft:
    """Of one confined call. `plan`: by which it runs."""

    def __init__(self, of: Of, plan: SandboxPlan) -> None:
        """Raises StoreError where there can be none."""
        self._store = Store(of.folder)
        writing = self._store.begin(of.call, of.tool, of.session, of.project, area_of(plan), named=of.named)
        writing.close()
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
