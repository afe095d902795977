"""Whether a call may reach a host and a port. Pure: the whole answer follows from the plan's `Network`.

The name that is dialled is judged first, and after resolving each address it leads to.
"""

from __future__ import annotations

from functools import lru_cache

from gateway.core.value import Value
from gateway.model.plan import ASKED, CLUSTER, READ, Network
from gateway.policy import hosts
from gateway.policy.addresses import network as network_in
from gateway.sandbox.egress.addresses import PUBLIC, Host, kind_of, text_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.plan import Endpoint, Injection
    from gateway.policy.addresses import Address
    from gateway.policy.hosts import Index

WEB = (80, 443)
# Where everything public may be reached, tools that know no proxy find these ports of a name.
OPEN_PORTS = (22, 80, 443, 9418)
MAX_PORTS = 32


class Ruling(Value):
    """`rule`: id of the rule behind it, "" when nothing grants it. `reason`: why not, as a sentence."""

    allowed: bool
    rule: str = ""
    reason: str = ""


class Rules:
    """A `Network`, indexed. Raises ValueError for a pattern that is none: then nothing may be reached at all."""

    def __init__(self, network: Network, off: str = "this call has no network") -> None:
        """`off`: what is said where there is none."""
        self._off = off
        if network.mode not in ("off", "listed", "open"):
            raise ValueError(f"the mode of a network must be off, listed or open (got `{network.mode}`)")
        self.network = network
        self._web = frozenset((*WEB, *network.ports))
        self._allow = _index(network.allow)
        self._deny = _index(network.deny)
        # What names a host or an address itself: no `*`. Only that lifts the refusal of addresses that are not public.
        self._named = hosts.build(
            (each.host, at) for at, each in enumerate(network.allow) if "*" not in each.host and each.access != ASKED
        )
        metadata = hosts.build([("metadata", 0)])
        self._metadata = frozenset(
            at
            for at, each in enumerate(network.allow)
            if each.access != ASKED
            and (
                each.host.lower() == "metadata"
                or ("*" not in each.host and hosts.lookup_possible(metadata, each.host)[0])
            )
        )
        for granted in network.allow:
            if granted.access == ASKED and granted.port:
                continue
            if granted.access not in ("", READ) or (granted.access and not _is_read_alone(granted)):
                raise ValueError(f"only one host can be granted to read (got `{granted.host}`)")
        for each in network.inject:
            if set(each.host) <= {"*", "."}:
                raise ValueError("a header must name the hosts it is for (got `*`)")
        self._sockets = {each.host: each.socket for each in network.allow if each.socket}
        self._inject = hosts.build((each.host, at) for at, each in enumerate(network.inject))

    def name(self, host: Host, port: int) -> Ruling:
        """On the host as it is dialled, before anything is resolved."""
        mode = self.network.mode
        if mode == "off":
            return Ruling(False, "", self._off)
        denied = self._denied(host.text, port)
        if denied is not None:
            return denied
        if not 0 < port < 65536:
            return Ruling(False, "", "there is no such port")
        if port != WEB[0] and self.socket(host):
            return Ruling(False, "", "what a daemon of this machine shows is asked for without TLS, at port 80")
        found = self._granted(self._allow, host.text, port)
        if found is not None:
            return Ruling(True, found.rule)
        if self._is_read(host):
            return Ruling(False, "", f"this host may only be read from, and not on port {port}")
        if mode == "open":
            return Ruling(True)
        if self._possible(host.text):
            return Ruling(False, "", f"port {port} of this host is not among those that this call may reach")
        return Ruling(False, "", "this host is not among those that this call may reach")

    def leaves_open(self, host: Host, port: int) -> bool:
        """Whether no rule speaks of it, so that somebody could be asked. Never of a host that is lent a login."""
        network = self.network
        if network.mode != "listed" or network.installer or not 0 < port < 65536:
            return False
        if self._is_read(host) or self.injections(host):
            return False
        return self._denied(host.text, port) is None and self._granted(self._allow, host.text, port) is None

    def address(self, host: Host, address: Address, port: int) -> Ruling:
        """On one address that an allowed host leads to."""
        text = text_at(address)
        denied = self._denied(text, port)
        if denied is not None:
            return denied
        kind = kind_of(address)
        if kind == PUBLIC:
            return Ruling(True)
        return self.not_public(host, address, port, kind)

    def not_public(self, host: Host, address: Address, port: int, kind: str) -> Ruling:
        """On an address that is not an ordinary public one: `allow` must name that very host or address."""
        text = text_at(address)
        for each in (host.text, text):
            for at in hosts.lookup_possible(self._named, each)[0]:
                # A name that somebody else's DNS leads to the metadata service must not open it.
                if self._covers(self.network.allow[at], port) and (kind != "metadata" or at in self._metadata):
                    return Ruling(True, self.network.allow[at].rule)
        what = "this host's own address" if kind == "own" else f"a {kind} address"
        return Ruling(False, "", f"it leads to {what} ({text}), and no rule names that host or address")

    def ports(self, host: Host) -> tuple[int, ...]:
        """The ports at which tools that know no proxy find a name; () when no port of it may be reached. Those of the
        web are always among them, so that a refusal there can be explained."""
        mode = self.network.mode
        wanted = {*self._web, *(each.port for each in self.network.allow if each.port)}
        if mode == "open":
            wanted.update(OPEN_PORTS)
        granted = [port for port in sorted(wanted) if self.name(host, port).allowed]
        return tuple(sorted({*WEB, *granted[:MAX_PORTS]})) if granted else ()

    def literals(self) -> tuple[tuple[Address, int], ...]:
        """Addresses that `allow` names one by one, with their ports: programs dial these without asking for a name."""
        found: dict[tuple[Address, int], None] = {}
        for each in self.network.allow:
            parsed = network_in(each.host) if "/" not in each.host else None
            if parsed is not None and parsed[1] >> 24 != (127 if parsed[0] == 4 else -1):
                version, value, _bits = parsed
                for port in (each.port,) if each.port else sorted(self._web):
                    found[(version, value), port] = None
        return tuple(found)[:MAX_PORTS]

    def injections(self, host: Host) -> tuple[Injection, ...]:
        """The headers that requests to a host get."""
        return tuple(self.network.inject[at] for at in hosts.lookup_possible(self._inject, host.text)[0])

    def reads_only(self, host: Host, port: int) -> bool:
        """Whether requests to a host and a port may only read: nothing that grants them says otherwise."""
        granted = [each for each in self._of(host) if self._covers(each, port)]
        if any(CLUSTER in each.also for each in granted):
            return True  # a login is added, whatever else opens the host
        return any(each.access == READ for each in granted) and all(each.access == READ for each in granted)

    def socket(self, host: Host) -> str:
        """Where a daemon of this machine listens that a name stands for, "" for a host."""
        return self._sockets.get(host.text, "")

    def also(self, host: Host, port: int) -> tuple[str, ...]:
        """What reads there beside the usual."""
        granted = [each.also for each in self._of(host) if each.access == READ and self._covers(each, port)]
        return next((each for each in granted if CLUSTER in each), granted[0] if granted else ())

    def _of(self, host: Host) -> list[Endpoint]:
        return [self.network.allow[at] for at in hosts.lookup_possible(self._allow, host.text)[0]]

    def _is_read(self, host: Host) -> bool:
        return any(each.access == READ for each in self._of(host))

    def _denied(self, text: str, port: int) -> Ruling | None:
        for at in hosts.lookup(self._deny, text):
            each = self.network.deny[at]
            if each.port in (0, port):  # a deny without a port is meant for all of them
                return Ruling(False, each.rule, f"rule `{each.rule}` denies it" if each.rule else "a rule denies it")
        return None

    def _granted(self, index: Index, text: str, port: int) -> Endpoint | None:
        for at in hosts.lookup_possible(index, text)[0]:
            if self._covers(self.network.allow[at], port):
                return self.network.allow[at]
        return None

    def _possible(self, text: str) -> bool:
        return bool(hosts.lookup_possible(self._allow, text)[0])

    def _covers(self, each: Endpoint, port: int) -> bool:
        if each.access == READ and not each.port:
            return port in WEB
        return each.port == port or (not each.port and port in self._web)


@lru_cache(maxsize=64)
def rules_of(network: Network) -> Rules:
    """The rules of a network, indexed once. Raises ValueError."""
    return Rules(network)


def _is_read_alone(granted: Endpoint) -> bool:
    """Whether it is one host, at the ports of the web, or the API of a cluster at its port, never in the clear."""
    host = granted.host
    if {"*", "/"} & set(host):
        return False
    if CLUSTER in granted.also:
        return granted.port not in (0, WEB[0]) and host not in hosts.GROUPS
    return not granted.port and "." in host


def _index(endpoints: tuple[Endpoint, ...]) -> Index:
    return hosts.build((each.host, at) for at, each in enumerate(endpoints))


OVER = Rules(Network(), "the network of an install ends when the first script of a package or of the project runs")
"""Of a call from then on."""
