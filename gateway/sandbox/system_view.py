"""The system as every call sees it: its folders, to read, without what only the superuser may read.

Secrets of the machine are kept by modes (`/etc/shadow`, keys, passwords of services), and to the superuser modes say
nothing. So what others may not read is hidden from his calls, unless a call names it and policy lets it be read.
"""

from __future__ import annotations

from time import monotonic

from gateway.core.boot import boot
from gateway.policy.modes import SYSTEM_VIEW
from gateway.sandbox.base import SandboxError
from gateway.sandbox.marks import Mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.core.cache import Cache
    from gateway.host.base import Host

    Links = tuple[tuple[str, str], ...]

PRIVATE_TO_ROOT = "private-to-root"
# Where such names are looked for, and how deep. The rest of the system comes from packages, and holds no secrets.
_DEEP = 100
DEPTHS = (("/etc", _DEEP), ("/private/etc", _DEEP), ("/opt", 2), ("/usr/local/etc", _DEEP))
MOST_ENTRIES = 50_000
_KEPT = "private-to-root-1"
_FRESH, _NEW = 1.0, 60.0  # seconds after which folders are compared, and after which all is looked at again


class SystemView:
    """Remembers what a look found for as long as nothing was added to the folders it was found in. One use at a
    time."""

    def __init__(self, host: Host, cache: Cache | None = None) -> None:
        """`cache`: where it is kept for other processes, as long as this one would believe it."""
        self._host = host
        self._cache = cache
        self._top: tuple[object, tuple[str, ...], Links] | None = None
        self._folders: dict[str, object] = {}
        self._found: tuple[Mark, ...] = ()
        self._compared = self._looked = float("-inf")

    def look(self) -> tuple[tuple[str, ...], Links]:
        """The folders that are there, and the links of the top folder to wherever they lead. Raises SandboxError."""
        now = tuple(stamp(each, self._host) for each in ("/", "/nix"))
        if self._top is None or self._top[0] != now:
            self._top = (now, *self._at_the_top())
        return self._top[1], self._top[2]

    def _at_the_top(self) -> tuple[tuple[str, ...], Links]:
        links = []
        try:
            top = self._host.entries("/")
        except OSError as error:
            raise SandboxError(f"the root of the file system cannot be listed: {error.strerror}") from error
        for name, kind in sorted(top):
            if kind == "link":
                fact = self._host.path(f"/{name}")
                if fact is not None and fact.kind != "missing":
                    links.append((f"/{name}", fact.real[1:]))
        linked = {link for link, _ in links}
        system = []
        for folder in SYSTEM_VIEW:
            if folder in linked or folder.startswith(("/dev/", "/proc/")):
                continue
            fact = self._host.path(folder)
            if fact is not None and fact.kind == "dir" and fact.real == folder:
                system.append(folder)
        return tuple(system), tuple(links)

    def private(self) -> tuple[Mark, ...]:
        """Names in it that only the superuser may read, if this is he."""
        if not self._host.is_superuser():
            return ()
        now = monotonic()
        if now - self._compared > _FRESH:
            if self._looked == float("-inf"):
                self._recall(now)
            if now - self._looked > _NEW or self._is_stale():
                self._folders.clear()
                self._found = tuple(self._closed(self.look()[0]))
                self._looked = now
                self._keep()
            self._compared = now
        return self._found

    def _is_stale(self) -> bool:
        return any(stamp(each, self._host) != was for each, was in self._folders.items())

    def _recall(self, now: float) -> None:
        """Takes up what another process has found since the machine started."""
        kept = self._cache.read(_KEPT) if self._cache is not None else None
        if isinstance(kept, dict) and kept["boot"] == boot() != "":
            self._looked = min(kept["looked"], now)
            self._folders = {path: was if was is None else tuple(was) for path, was in kept["folders"]}
            self._found = tuple(Mark(path, kind, PRIVATE_TO_ROOT) for path, kind in kept["found"])

    def _keep(self) -> None:
        if self._cache is not None:
            found = [[mark.path, mark.kind] for mark in self._found]
            folders = [[path, was] for path, was in self._folders.items()]
            self._cache.write(_KEPT, {"boot": boot(), "looked": self._looked, "folders": folders, "found": found})

    def _closed(self, system: tuple[str, ...]) -> Iterator[Mark]:
        for top, deepest in DEPTHS:
            pending = [(top, deepest)] if any((top + "/").startswith(each + "/") for each in system) else []
            left = MOST_ENTRIES
            while pending:
                folder, depth = pending.pop()
                self._folders[folder] = stamp(folder, self._host)
                try:
                    entries = self._host.entries(folder) if left > 0 else None
                except FileNotFoundError:
                    continue
                except OSError:
                    entries = None
                if entries is None:  # what nobody has looked at is not shown
                    yield Mark(folder, "dir", PRIVATE_TO_ROOT)
                    continue
                left -= len(entries)
                for name, kind in entries:
                    path = f"{folder}/{name}"
                    if kind == "link":
                        continue
                    if self._host.is_private(path):
                        yield Mark(path, kind, PRIVATE_TO_ROOT)
                    elif kind == "dir" and depth > 1:
                        pending.append((path, depth - 1))


def stamp(path: str, host: Host) -> object:
    """As `Host.stamp`, None where nothing is."""
    try:
        return host.stamp(path)
    except OSError:
        return None
