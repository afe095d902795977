"""Whether bubblewrap holds on this machine: found by running the real thing, with attempts to get out. That everything
holds is remembered."""

from __future__ import annotations

from gateway.model.limits import Limits
from gateway.model.plan import WRITE, Mount, Network, SandboxPlan
from gateway.sandbox import probe_cache as remembered
from gateway.sandbox.backends.bubblewrap_arguments import Given, arguments
from gateway.sandbox.backends.whole_attempts import REMEDY, SCRIPT, tried
from gateway.sandbox.base import Probe, SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.sandbox.backends.bubblewrap_program import Program
    from gateway.sandbox.base import Backend

_RECORD = "bubblewrap-holds"


def probe(backend: Backend, found: Callable[[], Program]) -> Probe:
    """Tries it, unless it is known to hold. `found` gives the bubblewrap that may be run. Never raises."""
    try:
        program = found()
    except SandboxError as error:
        return Probe(False, error.reason, error.remedy)
    degraded = () if program.nested else ("user namespaces inside are refused by the filter of system calls only",)
    if known(program.key):
        return Probe(True, f"{program.path}, tried earlier since the machine started")
    broken = tried(backend)
    if broken:
        return Probe(False, f"{program.path}: {broken}", REMEDY)
    if program.nested and program.by_descriptor:
        remember(program.key)
    return Probe(True, program.path, degraded=degraded)


def known(key: str) -> bool:
    """Whether everything held when this program was last tried."""
    return remembered.holds(_RECORD, _line(key))


def remember(key: str) -> None:
    """Keeps that everything held."""
    remembered.keep(_RECORD, _line(key))


def forget() -> None:
    """Has it tried again, by the next process that asks."""
    remembered.forget(_RECORD)


def _line(key: str) -> str:
    """What the answer depends on."""
    plan = SandboxPlan(
        (Mount("/a", WRITE),), (), private=("/b",), cwd="/a", environment=(), network=Network(), limits=Limits()
    )
    return remembered.line(key, arguments(plan, Given(3, 4, 5, (6,))), SCRIPT)
