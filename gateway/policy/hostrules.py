"""What a policy's rules on hosts leave of a confined call's network: they hold for code too, which nobody predicted.

A deny that cannot be said in this form is widened, never dropped: exceptions that are not a plain list of hosts do not
count, and a rule on one direction holds for both, because code's connections do not say which way data goes.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.policy import hosts
from gateway.policy.path_protection import could_apply, runs_unseen
from gateway.policy.predicates import PREDICATES
from gateway.policy.table import EXCEPT, EXPIRES, ID, LANE, LEVEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.verdict import Verdict
    from gateway.policy.table import Policy

_ON_HOSTS = ("effect", "host", "host_not", "port", "direction")


class Refused(Value):
    """A host pattern, as policies write them, that must not be reached. `port` 0: at any port."""

    host: str
    port: int
    rule: str


class Only(Value):
    """Nothing but these host patterns may be reached."""

    hosts: tuple[str, ...]
    rule: str


class HostRules:
    """The denies on hosts of one policy. Immutable; safe to use from several threads."""

    def __init__(self, policy: Policy) -> None:
        patterns: dict[int, list[str]] = {}
        for pattern, number in policy.hosts["written"]:
            patterns.setdefault(number, []).append(pattern)
        self._clauses = [
            found
            for number in policy.forbidding
            if (found := _clause(policy, number, patterns.get(number))) is not None
        ]

    def in_force(self, verdict: Verdict, *, directed: bool = False) -> tuple[tuple[Refused, ...], tuple[Only, ...]]:
        """The hosts that a call must not reach, and those to which each of some rules holds it. Pure. `directed`: also
        rules on one direction, where more is connected to than was judged."""
        refused: dict[Refused, None] = {}
        only: dict[Only, None] = {}
        for each in self._clauses:
            if 0 < each.expires <= verdict.context.now:
                continue
            if each.directed and not directed and not runs_unseen(verdict):
                continue  # the verdict judged every connection there is
            if could_apply(each.conditions, each.of_part, verdict.context, verdict):
                refused.update(dict.fromkeys(each.refused))
                if each.only is not None:
                    only[each.only] = None
        return tuple(refused), tuple(only)


class _Clause(Value):
    refused: tuple[Refused, ...]
    only: Only | None
    directed: bool
    conditions: tuple[Any, ...]
    of_part: tuple[Any, ...]
    expires: float


def _clause(policy: Policy, number: int, indexed: list[str] | None) -> _Clause | None:
    rule, tests, of_part = policy.clauses[number]
    row = policy.rules[rule]
    if row[LANE] != "deny" or row[LEVEL]:
        return None
    own = {name: argument for name, argument in tests if PREDICATES[name].scope == "effect"}
    speaks = indexed is not None or not {"host", "host_not"}.isdisjoint(own) or "connect" in own.get("effect", ())
    if not speaks or any(name not in _ON_HOSTS for name in own) or "connect" not in own.get("effect", ("connect",)):
        return None
    directions = own.get("direction", ())
    if directions and set(directions) <= {"listen"}:
        return None  # the call listens on a loopback of its own
    named = indexed or ([pattern for pattern, _ in own["host"]["written"]] if "host" in own else None)
    if of_part and named is None and "host_not" not in own:
        return None  # it speaks of a program's connections, not of hosts
    ports = own.get("port") or (0,)
    spared = [pattern for pattern, _ in own["host_not"]["written"]] if "host_not" in own else None
    excepted = _hosts_of(row[EXCEPT])
    if spared is None and excepted is not None and (named is None or "*" in named):
        named, spared = None, excepted
    if spared is not None and named is None and ports == (0,):
        refused: tuple[Refused, ...] = ()
        only = Only(tuple(dict.fromkeys([*spared, *(excepted or ())])), row[ID])
    else:
        refused = tuple(Refused(host, port, row[ID]) for host in dict.fromkeys(named or ("*",)) for port in ports)
        only = None
    conditions = tuple(test for test in tests if PREDICATES[test[0]].scope == "call")
    return _Clause(
        refused, only, directed=bool(directions), conditions=conditions, of_part=tuple(of_part), expires=row[EXPIRES]
    )


def _hosts_of(exceptions: list[list[list[Any]]]) -> list[str] | None:
    """The hosts that exceptions name, if they name nothing else; None where there are none or others."""
    found: list[str] = []
    for tests in exceptions:
        arguments = {name: argument for name, argument in tests if name != "effect"}
        if set(arguments) != {"host"}:
            return None
        found += [pattern for pattern, _ in arguments["host"]["written"]]
    return found or None


def within(host: str, patterns: tuple[str, ...]) -> bool:
    """Whether everything that a host or host pattern stands for is certainly matched by one of these patterns."""
    if host in patterns or "*" in patterns:
        return True
    if "*" not in host and host not in hosts.GROUPS and "/" not in host:
        return bool(hosts.lookup_possible(hosts.build((pattern, 0) for pattern in patterns), host)[0])
    if not host.startswith("*.") or "*" in host[1:]:
        return False
    return any(
        pattern.startswith("*.") and "*" not in pattern[1:] and host.endswith(pattern[1:]) for pattern in patterns
    )
