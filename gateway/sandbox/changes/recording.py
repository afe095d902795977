"""One call whose changes are saved: from before it starts to what it left."""

from __future__ import annotations

from contextlib import suppress
from time import time

from gateway.core.errors import StoreError
from gateway.core.value import Value
from gateway.sandbox.base import SandboxError
from gateway.sandbox.changes.area import Area, area_of, cannot_undo
from gateway.sandbox.changes.leaving import finish
from gateway.sandbox.changes.saver import Saver
from gateway.sandbox.changes.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.changes.listening import Listening
    from gateway.sandbox.changes.store import ChangeSet

BESIDE = "it changed while the call ran, by somebody else or unseen"
ASKED = "a person can let it run in the mode `default`, which asks first"
_MOST_SEEN = 10_000
_MOST_NAMED = 200


class Of(Value):
    """Whose changes they are. `folder`: the project's in the state folder; `project`: its root; `call`: as people read
    it; `key`: by which somebody else's call is known again; `named`: paths that it was predicted to write."""

    folder: str
    project: str
    call: str
    tool: str
    session: str = ""
    key: str = ""
    named: tuple[str, ...] = ()


def against(folder: str, plan: SandboxPlan, *, backend_tells: bool) -> str:
    """Why what a call may change could not be taken back, "" if it could, as far as that is known before it runs.
    `folder`: the project's in the state folder; `backend_tells`: whether what confines it tells of changes."""
    return cannot_undo(plan, backend_tells=backend_tells) or Store(folder).full()


class Recording:
    """Of a confined call (`gateway.sandbox.base.Saving`)."""

    def __init__(self, of: Of, plan: SandboxPlan, temp: Iterable[str] = (), *, must: bool = False) -> None:
        """`must`: the call changes nothing that cannot be taken back; what cannot be saved is refused to it. Raises
        StoreError where nothing can be saved."""
        self._must = must
        self._area = area_of(plan, temp)
        self._store = Store(of.folder)
        self._writing = self._store.begin(
            of.call, of.tool, of.session, of.project, self._area, named=of.named[:_MOST_NAMED]
        )
        self._saver = Saver(self._area, self._writing.old, self._writing.journal.hold, self._writing.room, apart=True)
        for file in self._area.files:
            self._saver.part(file)  # before it is mounted: then nothing else can take its place
        try:
            self._writing.journal.flush()
        except OSError as error:
            raise StoreError(f"changes cannot be saved ({error.strerror})") from error
        self._listening: Listening | None = None
        self._seen: set[str] = set()
        self.reason = "it did not start"
        self.made: ChangeSet | None = None

    def attend(self, listener: int) -> None:
        """Saves what the call is about to change, from now on. Raises SandboxError where it cannot."""
        from gateway.sandbox.changes.listening import Listening

        try:
            self._listening = Listening(listener, self._saver, self._writing.journal.flush, must=self._must)
        except (OSError, RuntimeError) as error:
            raise SandboxError(f"what the call changes cannot be saved: {error}") from error
        self.reason = ""

    def cannot(self, reason: str) -> None:
        """Nobody tells what the call changes. Raises SandboxError for one that may change nothing else."""
        self.reason = reason
        if self._must:
            raise SandboxError(f"what the call changes could not be undone: {reason}", ASKED)

    @property
    def refused(self) -> dict[str, str]:
        """What the call was not let change, with the reason."""
        return {**(self._saver.missed if self._must else {}), **self._saver.forbidden}

    @property
    def lost(self) -> tuple[str, ...]:
        """Files that it wrote where all is gone with it."""
        return tuple(self._saver.lost)

    def happened(self, folder: str, name: str, _concerned: bool) -> None:
        """A name came, went or was replaced, by whomever."""
        if len(self._seen) < _MOST_SEEN:
            self._seen.add(f"{folder.rstrip('/')}/{name}" if name else folder)

    def ended(self) -> None:
        """Nothing of the call runs any more."""
        if self._listening is not None:
            self._listening.stop()
            self._listening = None

    def finish(self) -> None:
        """Writes down what the call left. Never raises: what cannot be written down now is by who looks next."""
        with suppress(OSError):  # the disk may be full
            for path, reason in self._saver.missed.items():
                self._writing.journal.note(["missed", path, reason])  # it may have been while this was told
            for path in sorted(self._seen):
                if not self.reason and self._area.root(path) and not self._saver.knows(path):
                    self._saver.miss(path, BESIDE)
        self.close()

    def close(self) -> None:
        """Ends it, whatever has come of the call."""
        self.ended()
        if self.made is not None or self._writing.journal.is_closed:
            return
        with suppress(OSError):  # the disk may be full
            self._writing.journal.close()
        if self.reason:
            self._store.remove(self._writing.made.number)
            return
        with suppress(OSError, StoreError):
            self.made = finish(self._store, self._writing.made)


class Written:
    """Names that a tool is about to write by itself, each with the content it has."""

    def __init__(self, of: Of, paths: Iterable[str], roots: Iterable[str]) -> None:
        """Raises StoreError where nothing can be saved."""
        area = Area(roots)
        self._store = Store(of.folder)
        wanted = [path for path in paths if area.root(path)]
        self._writing = None
        if not wanted:
            return
        self._writing = self._store.begin(of.call, of.tool, of.session, of.project, area, of.key, wanted)
        saver = Saver(area, self._writing.old, self._writing.journal.note, self._writing.room)
        for path in wanted:
            try:
                saver.make_way(path)
                saver.content(path)
            except OSError as error:
                saver.miss(path, f"nobody can tell what it was ({error.strerror})")
        self._writing.journal.close()

    @property
    def number(self) -> int:
        """Of the set, 0 where nothing is saved."""
        return self._writing.made.number if self._writing is not None else 0

    def leave(self) -> None:
        """The tool belongs to somebody else: what it left is looked at when it is over, or when somebody asks."""
        if self._writing is not None:
            self._store.put(self._writing.made.replace(owner=(0, 0), time=time()))

    def finish(self) -> ChangeSet | None:
        """Writes down what the tool left. Never raises."""
        if self._writing is None:
            return None
        with suppress(OSError, StoreError):
            return finish(self._store, self._writing.made)
        return None


def finish_of(folder: str, key: str) -> None:
    """Somebody else's call has ended: what is there now is what it left. Never raises."""
    store = Store(folder)
    with suppress(OSError, StoreError):
        for each in store.waiting():
            if each.key == key:
                finish(store, each)
