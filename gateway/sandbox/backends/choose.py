"""Which backend holds a call: the first that works here and keeps the whole plan, and why the better ones do not.

Never a weaker form than policy permits, and never none because one is missing: then nothing runs.
"""

from __future__ import annotations

import sys
import threading

from gateway.core.value import Value
from gateway.sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.base import Backend, Probe

# Backends that hold less than the whole plan: each runs only where policy names it.
WEAKER = ("landlock", "none")
_FREE = "none"
# Those that hold all of it, best first.
BEST = {"linux": ("namespaces", "bubblewrap"), "darwin": ("seatbelt",)}


class Passed(Value):
    """A backend that comes before the one chosen, and why it was not taken. `remedy`: what would bring it back."""

    name: str
    reason: str
    remedy: str = ""


class Choice(Value):
    """`backend` keeps the plan. `reason`: what it runs on. `degraded`: what it does not hold by itself. `passed`: those
    before it. `better`: the one thing to do for a better one, "" when this is the best."""

    backend: Backend
    reason: str
    degraded: tuple[str, ...] = ()
    passed: tuple[Passed, ...] = ()
    better: str = ""


# Where each is, best first; one that is never come to is never loaded.
_OFFERED = {
    "linux": ("spaces.Spaces", "bubblewrap.Bubblewrap", "landlock.Landlock", "unconfined.Unconfined"),
    "darwin": ("seatbelt.Seatbelt", "unconfined.Unconfined"),
}
_lock = threading.Lock()
_known: dict[str, Backend] = {}


def backends() -> Iterator[Backend]:
    """What this platform may offer, best first; the same objects for the life of the process, with their probes."""
    for each in _OFFERED.get(sys.platform, ("unconfined.Unconfined",)):
        module, _dot, name = each.partition(".")
        with _lock:
            if each not in _known:
                found = __import__(f"gateway.sandbox.backends.{module}", fromlist=[name])
                _known[each] = getattr(found, name)()
        yield _known[each]


def prepare() -> None:
    """Starts beforehand what the first call of this process will most likely need. Waits for nothing, and never fails:
    whatever is wrong is told when there is a call."""
    if sys.platform == "linux":
        from gateway.sandbox.backends.spaces import Spaces

        first = next(backends())
        if isinstance(first, Spaces):
            first.prepare()


def try_again() -> None:
    """Has the next look try what was refused, whenever that was."""
    if sys.platform == "linux":
        from gateway.sandbox.backends.spaces_probe import forget

        forget()


def why_none(weaker: Collection[str] = (), *, only: Collection[str] = ()) -> str:
    """Why no sandbox holds commands here, each with its reason, "" if one does. `weaker`: those of `WEAKER` that count
    too; `only`: the names of the only ones that count."""
    reasons = []
    for backend in backends():
        if (backend.name in WEAKER and backend.name not in weaker) or (only and backend.name not in only):
            continue
        probe = backend.probe()
        if probe.works:
            return ""
        reasons.append(f"{backend.name}: {probe.reason}")
    return "; ".join(reasons) or "this platform has no such sandbox"


def choose(plan: SandboxPlan, offered: Sequence[Backend] = ()) -> Choice:
    """The backend for a plan. Raises SandboxError, with every reason, when there is none."""
    passed: list[Passed] = []
    if plan.free:
        offered = [each for each in backends() if each.name == _FREE]
    for backend in offered or backends():
        why = ""
        remedy = ""
        if backend.name in WEAKER and backend.name not in plan.weaker and not plan.free:
            why = f"policy does not permit the weaker form `{backend.name}`"
        else:
            probe = backend.probe()
            if probe.works:
                gaps = backend.missing(plan)
                why = "; ".join(gaps)
                if plan.drafted and not getattr(backend, "lays", False):
                    why = why or "it lays no layer over a workspace"
            else:
                why, remedy = probe.reason, probe.remedy
        if not why:
            better = next((each.remedy for each in passed if each.remedy), "")
            return Choice(
                backend, probe.reason, degraded=_degraded(backend, plan, probe), passed=tuple(passed), better=better
            )
        passed.append(Passed(backend.name, why, remedy))
    reasons = "; ".join(f"{each.name}: {each.reason}" for each in passed)
    remedy = next((each.remedy for each in passed if each.remedy), "see `gateway doctor`")
    raise SandboxError(f"no sandbox can hold this call, so it does not run ({reasons})", remedy)


def _degraded(backend: Backend, plan: SandboxPlan, probe: Probe) -> tuple[str, ...]:
    """What the backend does not hold by itself: for this plan, where it can tell."""
    of_plan = getattr(backend, "degraded", None)
    return probe.degraded if of_plan is None else tuple(of_plan(plan))
