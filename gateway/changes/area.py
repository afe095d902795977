"""Which paths of a plan are saved: what a call can change and what policy does not hide from it. Pure."""

from __future__ import annotations

from gateway.model.plan import WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.model.plan import SandboxPlan


class Area:
    """Folders that are saved, without what is held, hidden or elsewhere below them."""

    def __init__(self, roots: Iterable[str], others: Iterable[str] = ()) -> None:
        """`others`: paths that are not saved, with all below, unless a root lies deeper."""
        self.roots = tuple(sorted({root.rstrip("/") for root in roots}))
        self._is_saved = dict.fromkeys((other.rstrip("/") for other in others), "")
        self._is_saved.update({root: root for root in self.roots})
        self._known: dict[str, str] = {}

    def root(self, path: str) -> str:
        """The root that a resolved path is saved under, "" if it is not saved. A root itself is not a name in it."""
        return "" if path in self._is_saved else self.below(path.rpartition("/")[0])

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
    apart = (*layers, *temp, "/dev", "/proc")

    def is_kept(path: str) -> bool:
        return not any(f"{path}/".startswith(f"{each.rstrip('/')}/") for each in apart if each)

    roots = [mount.path for mount in plan.mounts if mount.access == WRITE and mount.folder and is_saved_at(mount.path)]
    roots = [path for path in roots if is_kept(path)]
    others = [mount.path for mount in plan.mounts if mount.path not in roots]
    return Area(roots, (*others, *plan.private, *plan.held))


def is_saved_at(path: str) -> bool:
    """Whether files are saved in a folder: `/` is not one, too much lies there."""
    return path.startswith("/") and path != "/"


def cannot_undo(plan: SandboxPlan, *, backend_tells: bool = True) -> str:
    """Why what a call changes could not be taken back, "" if it could, as far as that is known before it runs.
    `backend_tells`: whether what confines it tells of changes before they are made."""
    if not backend_tells:
        return "this sandbox does not tell of changes before they are made"
    if "namespaces" in plan.permits:
        return "the call may mount and change its root folder, so that names do not say what they are"
    if not any(mount.access == WRITE for mount in plan.mounts):
        return ""
    single = [mount.path for mount in plan.mounts if mount.access == WRITE and not mount.folder]
    single = [path for path in single if not path.startswith("/dev/")]
    if single:
        return f"`{single[0]}` may be written and lies outside of the folders that are saved"
    return ""
