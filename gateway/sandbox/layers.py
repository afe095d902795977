"""What a call changes in the caches of build tools, kept apart for each project: nothing that the person or another
project uses is written.

Where the kernel lays one folder over another, a project sees each cache as it is, with its own changes over it. Where
it does not, tools that can be told so keep a cache of the project's own, and the rest is to be read.

    STATE/layers/PROJECT/lock0          held by the call that uses what lies below `0`
    STATE/layers/PROJECT/0/NAME/upper   what calls of the project have changed in one cache
    STATE/layers/PROJECT/0/NAME/joining while what a call changed in layers of its own comes to it
    STATE/layers/PROJECT/own/NAME       instead of it, where nothing can be laid over it
    STATE/layers/PROJECT/own/python     packages that calls install (`gateway.sandbox.user_packages`)
"""

from __future__ import annotations

import fcntl
import os
from _blake2 import blake2b
from posixpath import basename, dirname

from gateway.model.plan import READ, WRITE, Mount
from gateway.sandbox.base import SandboxError
from gateway.sandbox.user_packages import without_packages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.plan import SandboxPlan

MOST = 8 << 30
JOINING = "joining"
_SLOTS = 16
# Caches that hold databases or journals of their own content: half of one and half of another is neither.
_JOURNALS = (
    "/.cargo/registry", "/.cargo/git", "/.gradle/caches", "/.gradle/daemon", "/.m2/repository", "/.ivy2", "/.sbt",
    "/.nuget/packages", "/.dotnet", "/.cache/pre-commit", "/.cache/pypoetry", "/.cache/bazel", "/.cache/Cypress",
    "/.mix", "/.hex", "/.stack", "/.pub-cache", "/.local/share/pnpm", "/.pnpm-store",
)  # fmt: skip
_DEPTH, _MOST_NAMES = 3, 20_000
# How a tool is told of a cache of its own: the end of the cache's path, then variables, each with the part of it. `{}`
# stands for the cache as the person has it.
_TOLD: dict[str, tuple[tuple[str, str], ...]] = {
    "/.cache": (
        ("PIP_CACHE_DIR", "pip"), ("GOCACHE", "go-build"), ("PRE_COMMIT_HOME", "pre-commit"), ("UV_CACHE_DIR", "uv"),
        ("POETRY_CACHE_DIR", "pypoetry"), ("YARN_CACHE_FOLDER", "yarn"), ("MYPY_CACHE_DIR", "mypy"),
    ),
    "/.npm": (("npm_config_cache", ""),),
    "/go/pkg": (("GOMODCACHE", "mod"),),
    "/.gradle/caches": (("GRADLE_USER_HOME", ""),),
    "/.nuget/packages": (("NUGET_PACKAGES", ""),),
    "/.composer/cache": (("COMPOSER_CACHE_DIR", ""),),
    "/.bun/install/cache": (("BUN_INSTALL_CACHE_DIR", ""),),
}  # fmt: skip
_BESIDE: dict[str, tuple[str, str]] = {
    "/go/pkg": ("GOPROXY", "file://{}/mod/cache/download,https://proxy.golang.org,direct"),
    "/.gradle/caches": ("GRADLE_RO_DEP_CACHE", "{}"),
}
_measured: set[str] = set()


def _digest(text: str) -> str:
    return blake2b(os.fsencode(text), digest_size=8).hexdigest()


class Layers:
    """Those of one call, from before it starts until it has ended."""

    def __init__(self, plan: SandboxPlan, *, overlays: bool) -> None:
        """`overlays`: whether one folder can be laid over another. `plan` is what is to be kept from now on. Raises
        OSError where nothing can be kept apart."""
        self.plan = plan
        self._lock = -1
        if not plan.layers:
            return
        project = dirname(plan.layers[0][1])
        os.makedirs(project, mode=0o700, exist_ok=True)
        slot = self._slot(project) if overlays else ""
        if slot:
            bound(slot)
            self.plan = plan.replace(layers=tuple([(path, _made(path, slot, layer)) for path, layer in plan.layers]))
        else:
            self.plan = without(plan)

    def _slot(self, project: str) -> str:
        """A folder that no other call uses, "" where there are too many: the kernel lays one over one thing only."""
        for number in range(_SLOTS):
            lock = os.open(f"{project}/lock{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            self._lock = lock
            if not self.plan.drafted:
                os.utime(lock)  # what lies there is written from now on
            return f"{project}/{number}"
        return ""

    def close(self) -> None:
        """Lets other calls use them."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def with_own(plan: SandboxPlan, *, whole: bool) -> SandboxPlan:
    """The plan with the folder in which the project's calls install, made for all of them; without it for a backend
    that does not hold the whole plan. Raises SandboxError."""
    if not whole:
        return without_packages(plan)
    try:
        if os.path.isdir(plan.packages):
            bound(plan.packages)
        os.makedirs(plan.packages, mode=0o700, exist_ok=True)
    except OSError as error:
        raise SandboxError(f"no layer can be made for what the project's calls install: {error}") from error
    return plan


def bound(folder: str) -> None:
    """Begins anew where more is kept than may be; looked at once by each process."""
    if folder not in _measured:
        _measured.add(folder)
        if sum(_sizes(folder)) > MOST:
            _remove(folder)


def removed(folder: str) -> int:
    """Removes one with all that it holds: how many bytes that were."""
    freed = sum(_sizes(folder))
    _remove(folder)
    return freed


def without(plan: SandboxPlan) -> SandboxPlan:
    """A plan that writes no cache of the person's: tools are told of one of the project's own, the rest is to be read.
    Makes the folders."""
    layers = dict(plan.layers)
    mounts = []
    environment = dict(plan.environment)
    for mount in plan.mounts:
        layer = layers.get(mount.path)
        if layer is None:
            under = any(mount.path.startswith(f"{path}/") for path in layers)
            mounts.append(mount.replace(access=READ) if under and mount.access == WRITE else mount)
            continue
        mounts.append(mount.replace(access=READ))
        end = next((end for end in _TOLD if mount.path.endswith(end)), "")
        own = f"{dirname(layer)}/own/{basename(layer)}"
        told = [(name, part) for name, part in _TOLD.get(end, ()) if name not in environment]
        for name, part in told:
            environment[name] = f"{own}/{part}".rstrip("/")
            os.makedirs(environment[name], mode=0o700, exist_ok=True)
        if told:
            mounts.append(Mount(own, WRITE, True, mount.rule))
            if end in _BESIDE:
                name, text = _BESIDE[end]
                environment.setdefault(name, text.format(mount.path))
    mounts.sort(key=lambda mount: mount.path)
    return plan.replace(mounts=tuple(mounts), environment=tuple(sorted(environment.items())), layers=())


def clean(layers: str) -> int:
    """Removes what no call uses, of all projects: how many bytes that were."""
    freed = 0
    for project in _folders(layers):
        for folder in _folders(project):
            if basename(folder) == "own" or _is_free(f"{project}/lock{basename(folder)}"):
                freed += removed(folder)
    return freed


def _is_free(lock: str) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [each.path for each in entries if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _made(path: str, slot: str, layer: str) -> str:
    """The folder of one cache in a slot, with what the kernel needs in it, begun anew where that is due."""
    folder = f"{slot}/{basename(layer)}"
    upper = f"{folder}/upper"
    if os.path.exists(f"{folder}/{JOINING}"):  # half of something has come there
        _remove(folder)
    os.makedirs(f"{folder}/work", mode=0o700, exist_ok=True)
    if not os.path.isdir(upper):
        os.mkdir(upper, os.stat(path).st_mode & 0o777)
    for end in _JOURNALS:
        at = f"{path}/".find(f"{end}/")
        if at >= 0:  # the cache itself, or what it lies in
            _renew(path, upper, f"{folder}/seen", folder)
            break
        above, _slash, name = end.rpartition("/")
        if path.endswith(above) and above and os.path.isdir(f"{path}/{name}"):
            _renew(f"{path}/{name}", f"{upper}/{name}", f"{folder}/seen-{name}", folder)
    return folder


def _renew(lower: str, upper: str, seen: str, folder: str) -> None:
    """Drops what was changed over a folder that has changed itself since."""
    now = _stamp(lower)
    try:
        with open(seen, encoding="ascii") as file:
            before = file.read()
    except OSError:
        before = ""
    if before == now:
        return
    if before and os.path.lexists(upper):
        _remove(upper)
        if upper == f"{folder}/upper":
            os.mkdir(upper, os.stat(lower).st_mode & 0o777)
    with open(seen, "w", encoding="ascii") as file:
        file.write(now)


def _stamp(folder: str) -> str:
    """What changes when a tool has written to a cache: times and sizes of all down to where their journals lie."""
    digest = blake2b(digest_size=16)
    pending = [(folder, 0)]
    left = _MOST_NAMES
    while pending and left > 0:
        here, depth = pending.pop()
        try:
            with os.scandir(here) as entries:
                found = sorted(entries, key=lambda each: each.name)
        except OSError:
            continue
        for each in found:
            left -= 1
            try:
                state = each.stat(follow_symlinks=False)
            except OSError:
                continue
            digest.update(os.fsencode(each.path) + b"\0%d %d %d\0" % (state.st_mtime_ns, state.st_size, state.st_ino))
            if depth < _DEPTH and each.is_dir(follow_symlinks=False):
                pending.append((each.path, depth + 1))
    return digest.hexdigest()


def _sizes(folder: str) -> Iterator[int]:
    for here, _folders, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(f"{here}/{name}").st_blocks * 512
            except OSError:
                continue


def _remove(folder: str) -> None:
    from gateway.sandbox.launched.leftovers import remove

    remove(os.fsencode(folder))
