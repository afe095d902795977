"""Whether namespaces of our own making hold on this machine: found by running the real thing, with attempts to get out.
That everything holds is remembered."""

from __future__ import annotations

import os
import sys

from gateway.model.plan import WRITE, Limits, Mount, Network, SandboxPlan
from gateway.sandbox import remembered
from gateway.sandbox.attempts import attempt
from gateway.sandbox.base import Probe
from gateway.sandbox.bubblewrap_probe import REMEDY, SCRIPT, world
from gateway.sandbox.spaces_order import order_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.spaces import Spaces

_RECORD = "namespaces-hold"


def probe(backend: Spaces) -> Probe:
    """Tries it, unless it is known to hold."""
    kernel = os.uname().release
    if known():
        return Probe(True, f"Linux {kernel}, tried earlier since the machine started")
    broken = attempt(backend, SCRIPT, world)
    if broken:
        return Probe(False, f"Linux {kernel}: {broken}", REMEDY)
    remembered.keep(_RECORD, _line())
    return Probe(True, f"Linux {kernel}")


def known() -> bool:
    """Whether everything held when it was last tried."""
    return remembered.holds(_RECORD, _line())


def forget() -> None:
    """Has it tried again, by the next process that asks."""
    remembered.forget(_RECORD)


def _line() -> str:
    """What the answer depends on: the kernel, the Python that the launcher runs on, and its code."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launched")
    files = [sys.executable, *(os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name[-3:] == ".py")]
    states = [(path, state.st_size, state.st_mtime_ns) for path in files for state in (os.stat(path),)]
    plan = SandboxPlan((Mount("/a", WRITE),), (), ("/b",), "/a", (), Network(), Limits())
    return remembered.line(os.uname().release, states, order_of(plan, ["true"], b""), SCRIPT)
