"""The sandbox profile: what the settings say of confined calls. Pure."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.plan import Injection, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MEGABYTE = 1 << 20
# Of these every sandbox makes its own.
OF_THE_KERNEL = ("/dev", "/proc")
# What holds where no policy says otherwise.
USUAL_LIMITS = Limits(
    seconds=120.0,
    cpu_seconds=0.0,
    memory=4096 * MEGABYTE,
    processes=512,
    files=4096,
    file_size=2048 * MEGABYTE,
    disk=4096 * MEGABYTE,
    output=8 * MEGABYTE,
)


class Profile(Value):
    """The effective `sandbox` and `limits` settings, as plain data."""

    sandbox: Mapping[str, Any] = {}
    limits: Mapping[str, Any] = {}


def profile_of(settings: Mapping[str, Any]) -> Profile:
    """From the settings of a loaded policy (`Loaded.settings`)."""
    found = {name: settings[name].value for name in ("sandbox", "limits") if name in settings}
    return Profile(**found)


def limits_of(profile: Profile) -> Limits:
    """The bounds on every call."""
    given = profile.limits
    usual = USUAL_LIMITS
    return Limits(
        float(given.get("seconds", usual.seconds)),
        float(given.get("cpu_seconds", usual.cpu_seconds)),
        _bytes(given, "memory_mb", usual.memory),
        int(given.get("processes", usual.processes)),
        int(given.get("files", usual.files)),
        _bytes(given, "file_mb", usual.file_size),
        _bytes(given, "disk_mb", usual.disk),
        _bytes(given, "output_mb", usual.output),
    )


def _bytes(given: Mapping[str, Any], name: str, usual: int) -> int:
    return int(given[name]) * MEGABYTE if name in given else usual


def injections_of(profile: Profile) -> tuple[Injection, ...]:
    """The headers that are added outside of the sandbox."""
    return tuple(
        Injection(each["host"], each["header"], each["source"], each.get("template", "{}"))
        for each in profile.sandbox.get("inject", ())
    )
