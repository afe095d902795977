"""Folders as a call sees them through its layers, for tools that work on files by themselves: nothing runs in it.

The sandbox of such a call is built as that of a command and never started. Its folders are held open meanwhile, so
that what is opened below one of them is read from the layers, and what is written lies in them.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from gateway.model.limits import Limits
from gateway.model.plan import WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.backends.choose import choose
from gateway.sandbox.base import SandboxError, Streams
from gateway.sandbox.drafts import laid
from gateway.sandbox.nested_paths import is_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTHING = (b"/nothing",)  # what would be started, which nobody does


class View:
    """Folders, each held open, by where they really lie."""

    def __init__(self, tops: dict[str, int]) -> None:
        self._tops = tops

    def start(self, real: str) -> tuple[int, str] | None:
        """The folder that a path lies in, held open, and the rest of the way; None for a path that lies elsewhere."""
        for top, descriptor in self._tops.items():
            if f"{real}/".startswith(f"{top}/"):
                return descriptor, real[len(top) + 1 :] or "."
        return None

    def kind(self, real: str) -> str:
        """What stands at a path of it, as facts tell it (`gateway.model.facts`); "" for one that lies elsewhere."""
        start = self.start(real)
        if start is None:
            return ""
        try:
            mode = os.stat(start[1], dir_fd=start[0], follow_symlinks=False).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "missing"
        except OSError:
            return "unknown"
        return "dir" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"


def plan_over(folders: Iterable[str]) -> SandboxPlan:
    """The plan of a call that changes these folders in layers, and nothing else. Pure."""
    every = {*folders}
    tops = tuple(sorted(each for each in every if not is_inside(each, every)))
    mounts = tuple([Mount(each, WRITE) for each in tops])
    return SandboxPlan(
        mounts, (), private=(), cwd=tops[0] if tops else "/", environment=(), network=Network(), limits=Limits(),
        drafted=tops,
    )  # fmt: skip


@contextmanager
def viewed(plan: SandboxPlan) -> Iterator[View]:
    """What a call sees of the folders of its layers, as long as it works on them. Raises SandboxError."""
    backend = choose(plan).backend
    plan = laid(plan)
    nowhere = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    try:
        running = backend.start(plan, _NOTHING, Streams(nowhere, nowhere, nowhere))
    finally:
        os.close(nowhere)
    tops: dict[str, int] = {}
    try:
        try:
            for path, _lowers, _layer in plan.laid:
                tops[path] = _opened(running.root, path)
        except OSError as error:
            raise SandboxError(f"what lies in the layers cannot be looked at: {error}") from error
        yield View(tops)
    finally:
        for descriptor in tops.values():
            os.close(descriptor)
        running.kill()
        running.wait()
        running.close()


def _opened(root: int, path: str) -> int:
    """A folder as that process sees it, no link on the way, which must be a layer's. Raises OSError and
    SandboxError."""
    here = os.open(f"/proc/{root}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in path.strip("/").split("/"):
        try:
            below = os.open(name, _FOLDER, dir_fd=here)
        finally:
            os.close(here)
        here = below
    if os.fstat(here).st_dev == os.stat(path).st_dev:
        os.close(here)
        raise SandboxError(f"no layer lies over `{path}`")
    return here
