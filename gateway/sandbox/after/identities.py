"""What mounts hold in their places, told from what somebody has put there meanwhile.

A mount holds what it was made of. Where the name is given to something else on the host (an editor saves by renaming,
`git config` does), the kernel takes the mount off, and from then on a call could change or read what is new there.
Whether what a mount holds has changed in its place is compared, too: whoever could, the person is told.
"""

from __future__ import annotations

import os

from gateway.commands.steering.git_config import BadConfig, entries
from gateway.sandbox.after.new_repositories import content_of, tame_config
from gateway.sandbox.birth_time import born_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gateway.commands.steering.git_config import Entry
    from gateway.sandbox.after.quarantine import Quarantine


_MOST_INSIDE = 500  # names below one that is held, of which changes are looked for


class Identities:
    """What lay under some names before a call."""

    def __init__(self, names: Mapping[str, str], contents: Iterable[str] = ()) -> None:
        """`names`: path and rule of each; `contents`: those of them that nothing may have changed, with what lies in
        them."""
        self._contents = {path: _changes_of(path) for path in contents}
        self._known = {path: (_identity(path), rule) for path, rule in names.items()}
        self._said = {path: _content(path) for path in names if path.endswith(("/config", "/config.worktree"))}
        self._on_way: dict[str, list[str]] = {}
        for path in self._known:
            here = path
            while here not in ("/", ""):
                self._on_way.setdefault(here, []).append(path)
                here = here.rpartition("/")[0]

    def lost(self, name: str) -> str:
        """The first name that means something else than before, of those that something at `name` leads to; "" for
        none. An empty `name`: of all."""
        for path in self._on_way.get(name, ()) if name else self._known:
            if _identity(path) != self._known[path][0]:
                return path
        return ""

    def compare(self, quarantine: Quarantine, roots: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
        """What was replaced: path, rule and what was done. Of git's settings stays what was said before, and what is
        harmless."""
        for path, (identity, rule) in self._known.items():
            if _identity(path) == identity:
                if path in self._contents and _changes_of(path) != self._contents[path]:
                    yield (
                        path,
                        rule,
                        "its content was changed while the call ran, which the sandbox did not let the call do",
                    )
                continue
            told = ""
            if path in self._said and os.path.lexists(path):
                folder = path.rpartition("/")[0]
                done = tame_config(path, folder, roots, quarantine, rule, known=_entries(self._said[path]))
                told = "; ".join(what for _path, what in done)
            told = told or "the call may have changed it from then on: look at it"
            yield path, rule, f"it was replaced while the call ran, which took it out of what the sandbox holds; {told}"


def _identity(path: str) -> tuple[int, ...] | None:
    """What tells one file from another that took its name, and perhaps its number when that was free again."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mode & 0o170000, born_ns(path)


def _changes_of(path: str) -> list[tuple[object, ...]]:
    """What differs once the content of a file, or anything in a folder, has been changed: as the kernel keeps it, so
    that nobody can set it back."""
    found: list[tuple[object, ...]] = []
    pending = [path]
    while pending and len(found) < _MOST_INSIDE:
        here = pending.pop()
        try:
            state = os.lstat(here)
            found.append((here, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns))
            if state.st_mode & 0o170000 == 0o040000:
                pending += sorted(f"{here}/{name}" for name in os.listdir(here))
        except OSError:
            found.append((here,))
    return found


def _content(path: str) -> bytes:
    try:
        return content_of(path)
    except OSError:
        return b""


def _entries(content: bytes) -> list[Entry]:
    try:
        return entries(content.decode("utf-8", "surrogateescape"))
    except BadConfig:
        return []
