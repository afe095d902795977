"""The sandbox profile: what the settings say of confined calls. Pure."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.plan import Injection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Of these every sandbox makes its own.
OF_THE_KERNEL = ("/dev", "/proc")


class Profile(Value):
    """The effective `sandbox` and `limits` settings, as plain data."""

    sandbox: Mapping[str, Any] = {}
    limits: Mapping[str, Any] = {}


def profile_of(settings: Mapping[str, Any]) -> Profile:
    """From the settings of a loaded policy (`Loaded.settings`)."""
    found = {name: settings[name].value for name in ("sandbox", "limits") if name in settings}
    return Profile(**found)


def injections_of(profile: Profile) -> tuple[Injection, ...]:
    """The headers that are added outside of the sandbox."""
    return tuple(
        Injection(each["host"], each["header"], each["source"], each.get("template", "{}"))
        for each in profile.sandbox.get("inject", ())
    )
