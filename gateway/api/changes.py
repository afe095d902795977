"""What calls of a project changed, and taking it back: for a person, through whatever front."""

from __future__ import annotations

import os

from gateway.audit import secrets
from gateway.config.layers import local_folder
from gateway.core.errors import StoreError
from gateway.model.call import RawCall
from gateway.sandbox.changes.keeping import discard, keep
from gateway.sandbox.changes.listing import listed, shown
from gateway.sandbox.changes.store import KEPT, Store
from gateway.sandbox.changes.undo import undo
from gateway.sandbox.changes.undoing import planned
from gateway.sandbox.changes.unfinished import finish_begun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from gateway.judge.judge import Judge
    from gateway.sandbox.changes.keeping import Kept
    from gateway.sandbox.changes.listing import Listed
    from gateway.sandbox.changes.undoing import Plan


class Changes:
    """Of the project of a gateway. Taking back is a person's: nothing here is offered to agents."""

    def __init__(self, gateway: Judge) -> None:
        self._gateway = gateway
        context = gateway.context
        self.root = context.root or context.cwd
        self._store = Store(local_folder(gateway.places, self.root))

    def list(self, session: str | None = None) -> list[Listed]:
        """What each call changed, the oldest first; of one session only if it is named. Raises StoreError."""
        return [each for each in listed(self._store) if session is None or each.of.session == session]

    def show(self, number: int) -> Listed:
        """One call with the texts of what it changed. Raises StoreError where there is none."""
        return shown(self._store, number)

    def last(self) -> int:
        """The number of the last call whose changes are kept. Raises StoreError where there is none."""
        finish_begun(self._store)
        kept = [each.of.number for each in listed(self._store) if each.of.state == KEPT]
        if not kept:
            raise StoreError("there is nothing to undo in this project")
        return kept[-1]

    def plan(self, number: int) -> Plan:
        """What undoing a call would do. Raises StoreError."""
        return planned(self._store, self._store.checked(number), self._judged())

    def undo(self, number: int) -> Plan:
        """Takes back what a call changed, but for what has changed since and what policy protects, which is told.
        Raises StoreError where nothing was done."""
        return undo(self._store, number, self._judged())

    def keep(self, number: int, only: Collection[str] = (), *, rest: bool = False) -> Kept:
        """Makes what a call changed in a layer of its own the project's. `only`: these names, from the project's root,
        with what lies in them; `rest`: what nothing is in the way of, where something is. Raises StoreError where
        nothing was done."""
        finish_begun(self._store)
        names = tuple(os.path.join(self.root, name.rstrip("/")) for name in only) or None
        return keep(self._store, number, self._judged(), names, rest=rest)

    def discard(self, number: int) -> None:
        """Forgets what a call changed in a layer of its own. Raises StoreError."""
        discard(self._store, number)

    def _judged(self) -> Names:
        return Names(self._gateway)


class Names:
    """Why policy forbids that a name is changed by who runs no call: those that it protects from confined calls."""

    def __init__(self, gateway: Judge) -> None:
        from gateway.calls.planner import Planner
        from gateway.sandbox.survey import Surveyor

        self._verdict = gateway.check(RawCall("Bash", {"command": "true"}))
        self._surveyor = Planner(gateway, Surveyor(gateway, secrets.holds)).surveyor

    def __call__(self, path: str) -> str:
        rule = self._surveyor.rule_on(self._verdict, path)
        return f"rule `{rule}` protects it" if rule else ""
