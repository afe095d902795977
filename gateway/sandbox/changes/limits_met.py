"""Whether a call on layers met what a layer cannot do where a folder can: rename a folder that was there before it, or
give a file that was there another name of the same inode. The kernel answers the first with an error (EXDEV) of which
nothing is left when the call has ended, and the other with a file that is another one to who compares them (`git clone`
of a repository into itself); so it is told of each such name before that is made.

A path is read in the memory of the process that calls, as everywhere here: who changes it meanwhile is not found out,
and has only kept something from itself.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from gateway.sandbox.changes.area import area_of
from gateway.sandbox.changes.state import FILE, FOLDER, Stamp
from gateway.sandbox.drafts import layers_in
from gateway.sandbox.joining import is_opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import EllipsisType

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.changes.listening import Listening


class Noticing:
    """Of one call (`gateway.sandbox.base.Saving`), which saves nothing."""

    def __init__(self, plan: SandboxPlan) -> None:
        """`plan`: with the room for its layers."""
        self._plan = plan
        self._listening: Listening | None = None
        self._names = _Names(plan)

    @property
    def has_met(self) -> bool:
        """Whether it could not rename a folder, as far as was seen."""
        return self._names.has_met

    @property
    def has_linked(self) -> bool:
        """Whether it gave a file from below another name, which only some programs mind."""
        return self._names.has_linked

    def attend(self, listener: int) -> None:
        """Looks at each such name, from now on, where that can be."""
        from gateway.sandbox.changes.listening import Listening

        self._names.layers = layers_in(self._plan.draft)
        self._listening = Listening(listener, self._names, lambda: None)  # type: ignore[arg-type]

    def cannot(self, reason: str) -> None:
        """Nobody tells of names: what the call says of them is all that is known."""

    def happened(self, folder: str, name: str, concerned: bool) -> None:
        """A name has changed."""

    def ended(self) -> None:
        """Nothing of the call runs any more."""
        if self._listening is not None:
            self._listening.stop()
            self._listening = None

    def finish(self) -> None:
        """It has left what it has left."""


class _Names:
    """What is told of names, in the place of a saver: of nothing else is anything told here."""

    def __init__(self, plan: SandboxPlan) -> None:
        self.area = area_of(plan)
        self.layers: list[tuple[str, str]] = []
        self.missed: dict[str, str] = {}
        self.misses = self.refusals = 0
        self.has_met = self.has_linked = False

    def move(self, one: str, _other: str, was: Stamp | EllipsisType | None, _then: object) -> None:
        """A name becomes another. What stands below the layers under the first one: a folder, if it is there still."""
        if was is None or was is ... or was.kind != FOLDER:
            return
        self.has_met = self.has_met or any(map(_is_from_below, self._places(one)))

    def link(self, path: str, was: Stamp | EllipsisType | None) -> None:
        """What stands under a name gets another one: a file from below that the layer has not."""
        if isinstance(was, Stamp) and was.kind == FILE:
            self.has_linked = self.has_linked or not all(map(os.path.lexists, self._places(path)))

    def name(self, _path: str, _was: object) -> None:
        """A name comes to be."""

    def has_only_new(self, _folder: str) -> bool:
        """Nothing is known of what came with the call."""
        return False

    def _places(self, path: str) -> list[str]:
        """Where the layer over it has what stands under a name, if it has."""
        return [f"{upper}{path[len(target) :]}" for upper, target in self.layers if path.startswith(f"{target}/")]

    def miss(self, path: str, reason: str) -> None:
        """What could not be understood."""
        self.missed[path] = reason


def _is_from_below(place: str) -> bool:
    """Whether a folder below is what stands under its name in the layer, too, be it with changes in it."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return stat.S_ISDIR(os.lstat(place).st_mode) and not is_opaque(place)
    return True
