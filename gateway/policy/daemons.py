"""Calls that look at what a daemon of this machine tells, by its own client, and do nothing else. Pure.

Whoever has such a daemon's socket may do what the daemon can, which is all that root can. So the call never has it:
what its client asks goes through the proxy, which lets what shows pass (`gateway.sandbox.egress.docker_requests`).
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.effect import Code, Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from gateway.model.analysis import Analysis
    from gateway.model.command import Part

_HARMLESS = frozenset(("use", "exec", "read", "list", "write", "session"))
"""Kinds of effects that such a call may have beside those of the client."""


class Daemon(Value):
    """`host`: the name by which its client finds the proxy, one that no host can have; `variable`: by which the client
    is told. `shows`: what its client shows with a yes alone: the kind of that effect, what is said of it, and by which
    name the proxy knows it."""

    name: str
    host: str
    variable: str
    shows: tuple[tuple[str, str, str], ...] = ()


DOCKER = Daemon(
    "docker", "docker.invalid", "DOCKER_HOST",
    shows=(("env", "read", "docker-inspect"), ("code", "shows what `ps` is asked for", "docker-top")),
)  # fmt: skip
DAEMONS = {each.name: each for each in (DOCKER,)}
"""Those that calls can be let look at, by the name that policy uses, which is that of the client."""


class Look(Value):
    """`also`: what the proxy lets through, by its names."""

    daemon: Daemon
    also: tuple[str, ...]


def look_of(analysis: Analysis, names: Collection[str]) -> Look | None:
    """The look that a call takes, of those that policy names; None where it does anything else that could use it."""
    parts = {number: part.argv[0].rpartition("/")[2] for number, part in enumerate(analysis.parts) if part.argv}
    daemon = next((DAEMONS[name] for name in parts.values() if name in DAEMONS and name in names), None)
    if daemon is None or analysis.tokens:
        return None
    looks = {number for number, name in parts.items() if name == daemon.name}
    if not all(_is_plain(analysis.parts[number]) for number in looks):
        return None
    shown = {(kind, why): name for kind, why, name in daemon.shows}
    also = {daemon.name}
    for item in analysis.items:
        effect = item.effect
        told = effect.access if isinstance(effect, Env) else effect.why if isinstance(effect, Code) else ""
        found = shown.get((effect.kind, told)) if item.part in looks else None
        if found is not None:
            also.add(found)
        elif effect.kind not in _HARMLESS:
            return None
    return Look(daemon, tuple(sorted(also)))


def _is_plain(part: Part) -> bool:
    return part.literal and part.direct and part.trusted and not part.expanded
