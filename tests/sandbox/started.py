"""A call that a backend has started, and a plan that has everything that paths may have."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gateway.model.limits import Limits
from gateway.model.plan import FIXED, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.base import Streams

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.sandbox.backends.bubblewrap import Bubblewrap
    from gateway.sandbox.backends.spaces import Spaces

TOPS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
LINKS = tuple((f"/{name}", os.readlink(f"/{name}")) for name in TOPS if os.path.islink(f"/{name}"))
SYSTEM = tuple(
    Mount(f"/{name}", READ)
    for name in ("etc", "usr", *TOPS)
    if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}")
)


def odd_plan(tmp_path: Path) -> SandboxPlan:
    """One with a workspace whose path has everything that paths may have."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/w \n\\040#\xff")
    os.makedirs(f"{folder}/.git/hooks")
    mounts = (*SYSTEM, Mount(folder, WRITE), Mount(f"{folder}/.git/hooks", FIXED))
    environment = (("HOME", "/tmp"), ("PATH", "/usr/bin:/bin"))
    return SandboxPlan(tuple(sorted(mounts)), LINKS, ("/tmp",), folder, environment, Network(), Limits())


class Call:
    """A started call, its output, and what is to be closed afterwards."""

    def __init__(
        self, backend: Spaces | Bubblewrap, plan: SandboxPlan, argv: list[str], keep: tuple[int, ...] = ()
    ) -> None:
        self.nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.read, write = os.pipe()
        try:
            self.running = backend.start(plan, argv, Streams(self.nowhere, write, write), keep)
        except BaseException:
            os.close(self.read)
            os.close(self.nowhere)
            raise
        finally:
            os.close(write)

    def line(self) -> bytes:
        found = b""
        while not found.endswith(b"\n") and (more := os.read(self.read, 1)):
            found += more
        return found

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *_what: object) -> None:
        self.running.kill()
        self.running.wait()
        self.running.close()
        os.close(self.read)
        os.close(self.nowhere)


def shell(text: str) -> list[str]:
    return ["/bin/sh", "-c", text]
