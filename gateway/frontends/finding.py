"""What `gateway doctor` finds."""

from __future__ import annotations

from gateway.core.value import Value

OK, BETTER, BROKEN = "ok", "could be better", "broken"


class Finding(Value):
    """One thing that was looked at. `state`: ok, could be better, or broken. `remedy`: the one thing to do about it."""

    name: str
    state: str
    text: str
    remedy: str = ""
    details: tuple[str, ...] = ()
