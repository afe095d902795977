"""Whether a backend can lay what a project has changed over a cache, found by doing it."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from threading import Lock

from gateway.core.boot import boot
from gateway.model.limits import Limits
from gateway.model.plan import READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.base import SandboxError, Streams
from gateway.sandbox.layers import Layers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.sandbox.base import Backend

_TEXT = 'echo new > "$0/there" && rm "$0/old" && mkdir "$0/folder" && mv "$0/folder" "$0/moved" && test ! -e "$0/old"'
_FOUND = "laid-over"
_lock = Lock()
_known: dict[tuple[str, int], bool] = {}


@contextmanager
def kept_apart(plan: SandboxPlan, backend: Backend) -> Iterator[SandboxPlan]:
    """The plan by which what the call changes in caches is kept apart, as the backend can keep it. Raises SandboxError
    where it cannot be."""
    folder = os.path.dirname(os.path.dirname(plan.layers[0][1]))
    try:
        layers = Layers(plan, overlays=lays_over(backend, folder))
    except OSError as error:
        raise SandboxError(f"changes to caches cannot be kept apart: {error}") from error
    try:
        yield layers.plan
    except SandboxError:
        _forget(folder)
        raise
    finally:
        layers.close()


def lays_over(backend: Backend, folder: str) -> bool:
    """Whether it can, with layers that are kept below a folder. Tried once in a process for each file system."""
    if backend.name != "namespaces":
        return False
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        key = (backend.name, os.stat(folder).st_dev)
        with _lock:
            if key not in _known:
                _known[key] = _is_known(folder) or _tried(backend, folder)
                _write(folder, boot() if _known[key] else "")
            return _known[key]
    except OSError:
        return False


def _forget(folder: str) -> None:
    """What held until now has failed: the next call tries anew."""
    with _lock:
        _known.clear()
        _write(folder, "")


def _is_known(folder: str) -> bool:
    """Whether another process has found that it can, since the machine was started."""
    try:
        with open(f"{folder}/{_FOUND}", encoding="ascii") as file:
            return file.read() == boot() != ""
    except (OSError, ValueError):
        return False


def _write(folder: str, found: str) -> None:
    with suppress(OSError), open(f"{folder}/{_FOUND}", "w", encoding="ascii") as file:
        file.write(found)


def _tried(backend: Backend, folder: str) -> bool:
    import tempfile

    top = os.path.realpath(tempfile.mkdtemp(prefix="trial-", dir=folder))
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        cache, layer = f"{top}/cache", f"{top}/layer"
        for each in (cache, f"{layer}/upper", f"{layer}/work"):
            os.makedirs(each)
        with open(f"{cache}/old", "w", encoding="ascii"):
            pass
        system = [each for each in ("/bin", "/lib", "/lib32", "/lib64", "/usr") if os.path.isdir(each)]
        links = tuple([(each, os.readlink(each)) for each in system if os.path.islink(each)])
        mounts = {each: Mount(each, READ) for each in system if not os.path.islink(each)}
        mounts[cache] = Mount(cache, WRITE)
        plan = SandboxPlan(
            tuple(mounts[each] for each in sorted(mounts)),
            links,
            private=(),
            cwd="/",
            environment=(("PATH", "/usr/bin:/bin"),),
            network=Network(),
            limits=Limits(),
            layers=((cache, layer),),
        )
        running = backend.start(plan, ["sh", "-c", _TEXT, cache], Streams(nowhere, nowhere, nowhere))
        try:
            running.release()
            status = running.wait()
        finally:
            running.kill()
            running.wait()
            running.close()
        return status == 0 and os.listdir(cache) == ["old"] and os.path.exists(f"{layer}/upper/there")
    except (SandboxError, OSError):
        return False
    finally:
        os.close(nowhere)
        shutil.rmtree(top, ignore_errors=True)
