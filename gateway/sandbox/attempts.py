"""Real attempts to get out, for probing a backend: what an ordinary shell tries and must not manage."""

from __future__ import annotations

import os
import select

from gateway.model.limits import Limits
from gateway.model.plan import READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.base import SandboxError, Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Each attempt that works prints its name; the last line shows that ordinary use works. Builtins only: one process.
_SCRIPT = """
{ echo x > "$OUTSIDE/new"; } 2>/dev/null && echo "write a file outside"
{ read -r line < "$OUTSIDE/secret"; } 2>/dev/null && echo "read a file outside"
kill -0 "$OUTSIDER" 2>/dev/null && echo "signal a process outside"
{ read -r line < "/proc/$OUTSIDER/environ"; } 2>/dev/null && echo "read the environment of a process outside"
{ echo x > "$INSIDE/new"; } 2>/dev/null && read -r line < "$INSIDE/new" && echo "ordinary use works"
"""
WORKS = "ordinary use works"
_PATIENCE_MS = 20_000


def attempt(backend: Any, script: str = _SCRIPT, world: Callable[[str], SandboxPlan] | None = None) -> str:
    """What is wrong with a backend that ought to hold, "" if nothing is. `script` prints what it could do that it must
    not, a line each, and last that ordinary use works; `world` fills a folder and gives the plan of the call."""
    import shutil
    import tempfile

    try:
        top = os.path.realpath(tempfile.mkdtemp(prefix="gateway-probe-"))
    except OSError as error:
        return f"it cannot be tried: {error}"
    try:
        said = _run(backend, (world or _world)(top), script)
    except (SandboxError, OSError) as error:
        return f"a call could not be confined: {error}"
    finally:
        shutil.rmtree(top, ignore_errors=True)
    if said[-1:] != [WORKS]:
        return "ordinary use does not work inside"
    return f"inside one can {', '.join(said[:-1])}" if said[1:] else ""


def _world(top: str) -> SandboxPlan:
    for name in ("inside", "outside"):
        os.mkdir(f"{top}/{name}")
    with open(f"{top}/outside/secret", "w", encoding="ascii") as file:
        file.write("secret\n")
    system = [path for path in ("/bin", "/lib", "/lib32", "/lib64", "/usr") if os.path.isdir(path)]
    mounts = {real: Mount(real, READ) for real in map(os.path.realpath, system)}
    mounts[f"{top}/inside"] = Mount(f"{top}/inside", WRITE)
    environment = {"INSIDE": f"{top}/inside", "OUTSIDE": f"{top}/outside", "OUTSIDER": str(os.getpid())}
    return SandboxPlan(
        tuple(mounts[path] for path in sorted(mounts)),
        (),
        private=(),
        cwd="/",
        environment=tuple(sorted(environment.items())),
        network=Network(),
        limits=Limits(),
        weaker=("landlock", "landlock-unscoped"),
    )


def _run(backend: Any, plan: SandboxPlan, script: str) -> list[str]:
    """What the script prints. Nothing when it does not end."""
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    answer, end = os.pipe()
    try:
        running = backend.start(plan, ["/bin/sh", "-c", script], Streams(nowhere, end, nowhere))
        os.close(end)
        end = -1
        try:
            running.release()
            poll = select.poll()
            poll.register(running.exited, select.POLLIN)
            if not poll.poll(_PATIENCE_MS):
                return []
        finally:
            running.kill()
            running.wait()
            running.close()
        with open(answer, "rb", closefd=False) as file:
            return file.read(65536).decode("ascii", "replace").splitlines()
    finally:
        for descriptor in (nowhere, answer, end):
            if descriptor >= 0:
                os.close(descriptor)
