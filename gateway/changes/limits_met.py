"""Whether a call on layers met what a layer cannot do where a folder can: rename a folder that was there before it. The
kernel answers that with an error (EXDEV) of which nothing is left when the call has ended, so it is told of each rename
before that is made.

A path is read in the memory of the process that calls, as everywhere here: who changes it meanwhile is not found out,
and has only kept something from itself.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from gateway.changes.area import area_of
from gateway.changes.state import FOLDER
from gateway.sandbox.drafts import layers_in
from gateway.sandbox.joining import is_opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import EllipsisType

    from gateway.changes.listening import Listening
    from gateway.changes.state import Stamp
    from gateway.model.plan import SandboxPlan


class Noticing:
    """Of one call (`gateway.sandbox.base.Saving`), which saves nothing."""

    def __init__(self, plan: SandboxPlan) -> None:
        """`plan`: with the room for its layers."""
        self._plan = plan
        self._listening: Listening | None = None
        self._renames = _Renames(plan)

    @property
    def has_met(self) -> bool:
        """Whether it did, as far as was seen."""
        return self._renames.has_met

    def attend(self, listener: int) -> None:
        """Looks at each rename, from now on, where that can be."""
        from gateway.changes.listening import Listening

        self._renames.layers = layers_in(self._plan.draft)
        self._listening = Listening(listener, self._renames, lambda: None)  # type: ignore[arg-type]

    def cannot(self, reason: str) -> None:
        """Nobody tells of renames: what the call says of them is all that is known."""

    def happened(self, folder: str, name: str, concerned: bool) -> None:
        """A name has changed."""

    def ended(self) -> None:
        """Nothing of the call runs any more."""
        if self._listening is not None:
            self._listening.stop()
            self._listening = None

    def finish(self) -> None:
        """It has left what it has left."""


class _Renames:
    """What is told of renames, in the place of a saver: of nothing else is anything told here."""

    def __init__(self, plan: SandboxPlan) -> None:
        self.area = area_of(plan)
        self.layers: list[tuple[str, str]] = []
        self.missed: dict[str, str] = {}
        self.refusals = 0
        self.has_met = False

    def move(self, one: str, _other: str, was: Stamp | EllipsisType | None, _then: object) -> None:
        """A name becomes another. What stands below the layers under the first one: a folder, if it is there still."""
        if was is None or was is ... or was.kind != FOLDER:
            return
        for upper, target in self.layers:
            if one.startswith(f"{target}/"):
                self.has_met = self.has_met or _is_from_below(f"{upper}{one[len(target) :]}")

    def miss(self, path: str, reason: str) -> None:
        """What could not be understood."""
        self.missed[path] = reason


def _is_from_below(place: str) -> bool:
    """Whether a folder below is what stands under its name in the layer, too, be it with changes in it."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return stat.S_ISDIR(os.lstat(place).st_mode) and not is_opaque(place)
    return True
