"""Whether namespaces of our own making hold on this machine: found by running the real thing, with attempts to get out.
That everything holds is remembered."""

from __future__ import annotations

import errno
import os
import sys

from gateway.core.places import PACKAGE
from gateway.model.limits import Limits
from gateway.model.plan import WRITE, Mount, Network, SandboxPlan
from gateway.sandbox import probe_cache as remembered
from gateway.sandbox.backends.spaces_order import order_of
from gateway.sandbox.backends.whole_attempts import REMEDY, SCRIPT, tried
from gateway.sandbox.base import Probe, SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.base import Backend

_RECORD, _REFUSED = "namespaces-hold", "namespaces-refused"
_A_WHILE = 600.0
# What a kernel or a policy of the machine says that does not permit it; anything else may be of the moment.
_TOO_MANY = "this user has as many as `user.max_user_namespaces` permits"
_FORBIDDEN = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EINVAL)


def probe(backend: Backend) -> Probe:
    """Tries it, unless it is known to hold, or was refused a short while ago where bubblewrap is known to hold."""
    kernel, line = os.uname().release, _line()
    held = known(line)
    if held is not None:
        return held
    if remembered.holds(_REFUSED, line, _A_WHILE) and _bubblewrap_holds():
        return Probe(False, f"Linux {kernel}: it was refused within the last ten minutes", REMEDY)
    broken = tried(backend)
    if broken:
        if any(os.strerror(each) in broken for each in _FORBIDDEN):
            remembered.keep(_REFUSED, line)
        return Probe(False, f"Linux {kernel}: {_in_words(broken)}", REMEDY)
    remembered.keep(_RECORD, line)
    return Probe(True, f"Linux {kernel}")


def _in_words(broken: str) -> str:
    """What is broken, without a word for disks that the kernel has for numbers of namespaces too."""
    return broken.replace(f"namespaces: {os.strerror(errno.ENOSPC)}", f"namespaces: {_TOO_MANY}")


def _bubblewrap_holds() -> bool:
    from gateway.sandbox.backends import bubblewrap_probe
    from gateway.sandbox.backends.bubblewrap_program import find

    try:
        return bubblewrap_probe.known(find(known=bubblewrap_probe.known).key)
    except SandboxError:
        return False


def known(line: str = "") -> Probe | None:
    """That everything held when it was last tried, None where it did not. `line`: what the answer depends on."""
    if not remembered.holds(_RECORD, line or _line()):
        return None
    return Probe(True, f"Linux {os.uname().release}, tried earlier since the machine started")


def forget() -> None:
    """Has it tried again, by the next process that asks."""
    remembered.forget(_RECORD)
    remembered.forget(_REFUSED)


def _line() -> str:
    """What the answer depends on: the kernel, the Python that the launcher runs on, and its code."""
    folder = os.path.join(PACKAGE, "sandbox", "launched")
    files = [sys.executable, *(os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name[-3:] == ".py")]
    # By what it is: a program that has several names is tried once.
    states = [(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns) for found in map(os.stat, files)]
    plan = SandboxPlan(
        (Mount("/a", WRITE),), (), private=("/b",), cwd="/a", environment=(), network=Network(), limits=Limits()
    )
    return remembered.line(os.uname().release, states, order_of(plan, ["true"], b""), SCRIPT)
