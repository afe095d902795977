"""Which files a command changed: found by comparing afterwards the places that it could write to.

Seen are files below the workspace that were made, changed or renamed since the command started, and those that it was
predicted to delete. Not seen are other deletions, the insides of version control, and what lies outside of the
workspace unless the call names it. What somebody else changes meanwhile is seen as well, since the look tells by the
time of change that the kernel keeps and no command can set.
"""

from __future__ import annotations

import os
import stat
import sys
from time import clock_gettime_ns, monotonic, time_ns

from gateway.core.value import Value
from gateway.model.plan import WRITE
from gateway.sandbox.agreed import agreed_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict

MOST_NAMES = 100_000
MOST_SECONDS = 0.5
_SLACK_NS = 20_000_000
_CLOCK_OF_FILES = 5  # Linux: CLOCK_REALTIME_COARSE, which lags a little behind
_STORES = frozenset((".git", ".hg", ".svn", ".jj"))


class Changed(Value):
    """Real paths, sorted. `complete`: everything was looked at that this look can see."""

    paths: tuple[str, ...]
    complete: bool = True


class Watch:
    """One command: made before it starts, asked after it has ended."""

    def __init__(self, verdict: Verdict, plan: SandboxPlan) -> None:
        agreed = agreed_of(verdict)
        self._named = {path: _stamp(path) for path in agreed.writes | agreed.deletes if path == os.path.realpath(path)}
        folders = tuple(each.rstrip("/") + "/" for each in verdict.context.workspace)
        self._roots = [
            mount.path for mount in plan.mounts if mount.access == WRITE and (mount.path + "/").startswith(folders)
        ]
        self._fixed = {mount.path for mount in plan.mounts if mount.access != WRITE}
        self._began = clock_gettime_ns(_CLOCK_OF_FILES) if sys.platform == "linux" else time_ns() - _SLACK_NS

    def changed(self) -> Changed:
        """What is different now."""
        found = {path for path, before in self._named.items() if (now := _stamp(path)) != before and _is_told(now)}
        complete = True
        budget = [MOST_NAMES, monotonic() + MOST_SECONDS]
        for root in self._roots:
            for path in self._below(root, budget):
                if not path:
                    complete = False
                    break
                found.add(path)
        return Changed(tuple(sorted(found)), complete)

    def _below(self, root: str, budget: list[float]) -> Iterator[str]:
        """Files that changed since the start; "" where the look had to stop."""
        pending = [root]
        if not os.path.isdir(root):
            stamp = _stamp(root)
            if stamp is not None and stamp[-1] >= self._began:
                yield root
            return
        while pending:
            here = pending.pop()
            try:
                with os.scandir(here) as entries:
                    for entry in entries:
                        budget[0] -= 1
                        if entry.is_dir(follow_symlinks=False):
                            if entry.name not in _STORES and entry.path not in self._fixed:
                                pending.append(entry.path)
                            continue
                        state = entry.stat(follow_symlinks=False)
                        if state.st_ctime_ns >= self._began:
                            yield entry.path
            except OSError:
                stamp = _stamp(here)  # it went away, or has been closed, by this command or long before
                if stamp is not None and stamp[-1] >= self._began:
                    yield ""
                    return
            if budget[0] < 0 or monotonic() > budget[1]:
                yield ""
                return


def _stamp(path: str) -> tuple[int, ...] | None:
    """What changes with a file: None where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _is_told(stamp: tuple[int, ...] | None) -> bool:
    """Folders are not told, only what lies in them."""
    return stamp is None or not stat.S_ISDIR(stamp[0])
