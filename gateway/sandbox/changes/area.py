"""Which paths of a plan are saved: what a call can change and what policy does not hide from it. Pure."""

from __future__ import annotations

from gateway.model.plan import WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.model.plan import SandboxPlan


class Area:
    """Folders that are saved, without what is held, hidden or elsewhere below them, and single files. `roots`: all of
    these folders, and those that the files lie in."""

    def __init__(
        self, roots: Iterable[str], others: Iterable[str] = (), files: Iterable[str] = (), gone: Iterable[str] = ()
    ) -> None:
        """`others`: paths that are not saved, with all below, unless a root or a file lies deeper; `gone`: those of
        them that are gone with the call."""
        self._gone = tuple(f"{each}/" for each in gone)
        folders = {root.rstrip("/") for root in roots}
        self._files = {file: file.rpartition("/")[0] for file in files}
        self.roots = tuple(sorted(folders | set(self._files.values())))
        self._is_saved = dict.fromkeys((other.rstrip("/") for other in others), "")
        self._is_saved.update({root: root for root in folders})
        self._known: dict[str, str] = {}

    def root(self, path: str) -> str:
        """The root that a resolved path is saved under, "" if it is not saved. A root itself is not a name in it."""
        if path in self._files:
            return self._files[path]
        return "" if path in self._is_saved else self.below(path.rpartition("/")[0])

    @property
    def files(self) -> tuple[str, ...]:
        """The single files."""
        return tuple(self._files)

    def is_lost(self, path: str) -> bool:
        """Whether somebody may miss what is written there once the call is over: no hidden file of a tool, and nothing
        that lies deeper in what is held or hidden, where no call writes."""
        above = next((each for each in self._gone if path.startswith(each)), "")
        if not above or "/." in path[len(above) - 1 :] or path in self._files:
            return False
        while path and path not in self._is_saved:
            path = path.rpartition("/")[0]
        return f"{path}/" in self._gone

    def below(self, folder: str) -> str:
        """The same for whatever lies in a folder."""
        found = self._known.get(folder)
        if found is None:
            found = self._is_saved.get(folder)
            if found is None:
                above = folder.rpartition("/")[0]
                found = self.below(above) if above != folder else ""
            self._known[folder] = found
        return found


def area_of(plan: SandboxPlan, temp: Iterable[str] = ()) -> Area:
    """What a confined call can change for good. Caches of its own, the temporary folder and devices are not part of
    it: what lands there is gone, or nobody's work."""
    layers = [path for path, _folder in plan.layers]
    apart = (*layers, plan.packages, *temp, "/dev", "/proc")

    def is_kept(path: str) -> bool:
        return not any(f"{path}/".startswith(f"{each.rstrip('/')}/") for each in apart if each)

    written = [mount for mount in plan.mounts if mount.access == WRITE and is_kept(mount.path) and _is_some(mount.path)]
    roots = [mount.path for mount in written if mount.folder]
    files = [mount.path for mount in written if not mount.folder and mount.path.rpartition("/")[0]]
    others = [mount.path for mount in plan.mounts if mount not in written]
    kept = dict(plan.shared)
    gone = [path for path in plan.private if path not in kept]
    return Area(roots, (*others, *plan.private, *plan.held), files, gone)


def _is_some(path: str) -> bool:
    """Whether files are saved there: not in `/` as a whole, where too much lies."""
    return path != "/"


def cannot_undo(plan: SandboxPlan, *, backend_tells: bool = True) -> str:
    """Why what a call changes could not be taken back, "" if it could, as far as that is known before it runs.
    `backend_tells`: whether what confines it tells of changes before they are made."""
    if not backend_tells:
        return "this sandbox does not tell of changes before they are made"
    if "namespaces" in plan.permits:
        return "the call may mount and change its root folder, so that names do not say what they are"
    if any(mount.access == WRITE and mount.path == "/" for mount in plan.mounts):
        return "it may write everywhere"
    return ""
