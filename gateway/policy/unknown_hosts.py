"""Rules on hosts, where the host of a confined call is not known before the run. Pure.

Such a host is never granted: the proxy lets nothing out but to hosts that were predicted, or that the settings open,
and it refuses addresses that are not public, whatever name leads to them. So a rule that would only speak of the host
if it turned out to have such an address says nothing about the call.
"""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.policy import hosts
from gateway.policy.predicates import PREDICATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.effect import Effect
    from gateway.policy.table import Policy

_SAID = frozenset(("effect", "host"))
_CLOSED = frozenset(hosts.GROUPS)
"""Groups of addresses that no name opens, only the setting that names the very host."""


def is_unknown(effect: Effect) -> bool:
    """Whether nobody knows which host is contacted."""
    found: Any = effect
    return effect.kind == "connect" and HOLE in found.host


def is_held(policy: Policy, clause: int) -> bool:
    """Whether the proxy holds what a clause that forbids says of hosts, whichever host is contacted."""
    # What exceptions spare is forbidden less, and not more.
    _rule, tests, _of_part = policy.clauses[clause]
    if any(PREDICATES[name].scope == "effect" and name not in _SAID for name, _argument in tests):
        return False
    named = {pattern for pattern, number in policy.hosts["written"] if number == clause}
    return bool(named) and named <= _CLOSED
