"""The backend `landlock`: the fallback for hosts that refuse namespaces, where policy permits this weaker form.

What the kernel is told is in `landlock_rules`, which says what cannot be expressed and what is held in another way;
`launched.supervisor` makes the process that confines itself and becomes the command.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import cache

from gateway.sandbox.backends.landlock_rules import (
    ALWAYS_DEGRADED,
    DEVICES,
    FULL_ABI,
    KNOWN_ABI,
    LEAST_ABI,
    MOST_RULES,
    UNSCOPED_DEGRADED,
    WRITES,
    carved,
    degraded,
    missing,
    rules_of,
)
from gateway.sandbox.base import Probe, SandboxError
from gateway.sandbox.placeholders import private_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.backends.landlock_rules import Ruleset
    from gateway.sandbox.backends.launcher import Held, Launcher
    from gateway.sandbox.base import Streams

_REMEDY = "install bubblewrap and allow user namespaces, or run a kernel of 6.12 or later with Landlock enabled"


class Landlock:
    """Confines by Landlock, a filter of system calls without sockets, and without any capability."""

    name = "landlock"
    whole = False

    def __init__(self, launcher: Launcher | None = None) -> None:
        self._trying = threading.Lock()
        self._launcher = launcher
        self._probe: Probe | None = None
        self._abi = -1

    def probe(self) -> Probe:
        """Tries to break out of a real call, and remembers for this process what came of it."""
        with self._trying:
            if self._probe is None:
                self._probe = self._try()
            return self._probe

    def missing(self, plan: SandboxPlan) -> tuple[str, ...]:
        """What of the plan cannot be expressed, each as a sentence."""
        return missing(plan, self.abi())

    def degraded(self, plan: SandboxPlan) -> tuple[str, ...]:
        """What of the plan is not held by the kernel during the call, each as a sentence."""
        return degraded(plan, self.abi())

    def abi(self) -> int:
        """The version of Landlock that this kernel offers, 0 if none."""
        if self._abi < 0:
            if sys.platform != "linux":
                self._abi = 0
            else:
                from gateway.sandbox.launched.kernel import landlock_abi

                self._abi = landlock_abi()
        return self._abi

    def start(self, plan: SandboxPlan, argv: Sequence[str | bytes], streams: Streams, keep: Sequence[int] = ()) -> Held:
        """Confines a call, with the command waiting. Raises SandboxError; then nothing runs and nothing is left."""
        gaps = self.missing(plan)
        if gaps:
            raise SandboxError(f"Landlock cannot enforce this plan: {'; '.join(gaps)}", _REMEDY)
        if self.abi() < LEAST_ABI:
            raise SandboxError(f"this kernel offers no Landlock that holds (version {self.abi()})", _REMEDY)
        rules = rules_of(plan, self.abi(), {folder: _entries(folder) for folder in carved(plan)})
        if len(rules.paths) > MOST_RULES:
            raise SandboxError(
                f"hiding {rules.held[0]} in part would take {len(rules.paths)} rules (at most {MOST_RULES})"
            )
        from gateway.sandbox.backends.launcher import SHARED

        with private_for(plan) as private:
            return (self._launcher or SHARED).start(
                plan,
                argv,
                streams,
                keep,
                private,
                rules=_granted(plan, rules, private),
                handled=rules.handled,
                network=rules.network,
                scoped=rules.scoped,
                filters=filters(plan.permits),
            )

    def _try(self) -> Probe:
        version = self.abi()
        if version < LEAST_ABI:
            found = f"has Landlock version {version}" if version else "has no Landlock, or it is switched off"
            return Probe(False, f"this kernel {found}", _REMEDY)
        from gateway.sandbox.attempts import attempt

        broken = attempt(self)
        if broken:
            return Probe(False, broken, _REMEDY)
        lacking = () if version >= FULL_ABI else (UNSCOPED_DEGRADED,)
        return Probe(True, f"Landlock version {min(version, KNOWN_ABI)}", degraded=ALWAYS_DEGRADED + lacking)


def _granted(plan: SandboxPlan, rules: Ruleset, private: str) -> list[tuple[bytes, int]]:
    """Paths with what is granted below them, devices and the private folder included."""
    granted = [(os.fsencode(path), rights) for path, rights in rules.paths]
    known = {mount.path for mount in plan.mounts}
    granted += [
        (os.fsencode(path), rights & rules.handled)
        for path, rights in DEVICES
        if path not in known and os.path.exists(path)
    ]
    if private:
        granted.append((os.fsencode(private), WRITES & rules.handled))
    return granted


@cache
def filters(permits: tuple[str, ...]) -> list[bytes]:
    """The filters of system calls, all of which hold. Raises SandboxError for a machine that is not known."""
    from gateway.sandbox.backends.landlock_filter import filters_of

    machine = os.uname().machine
    try:
        return list(filters_of(machine, permits))
    except (KeyError, ValueError) as error:
        raise SandboxError(f"no filter of system calls is known for {machine}: {error}", _REMEDY) from error


def _entries(folder: str) -> tuple[tuple[str, bool], ...]:
    try:
        with os.scandir(folder) as entries:
            return tuple(
                sorted((each.name, each.is_dir(follow_symlinks=False)) for each in entries if not each.is_symlink())
            )
    except PermissionError:
        return ()  # nothing can be granted in it, and nothing need be
    except OSError as error:
        raise SandboxError(f"{folder}: {error.strerror}") from error
