"""Where a request for a page may go: the host as policy judges it, and every address that its name leads to.

A name is resolved once for each fetch. Each address is looked at, and one that may not be reached refuses the whole
name; exactly those addresses are connected to, so that a later answer of the name server changes nothing.
"""

from __future__ import annotations

import socket

from gateway.calls.outgoing import RequestError
from gateway.core.value import Value
from gateway.policy import hosts
from gateway.sandbox.egress.addresses import PUBLIC, HostError, address_of, kind_of, text_at
from gateway.sandbox.egress.dial import MAX_ADDRESSES, is_own, resolve_with_system, straight
from gateway.tools.urls import PORTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.policy.addresses import Address
    from gateway.policy.hosts import Index
    from gateway.tools.urls import Url

WEB_PORTS = frozenset(PORTS.values())
_METADATA = "metadata"


class Hosts:
    """Hosts and ports that a setting names: `host` for the ports of the web, or `host:port`."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._ports = [hosts.host_and_port(entry) for entry in entries]
        self._index: Index = hosts.build((host, at) for at, (host, _port) in enumerate(self._ports))

    def names(self, host: str, port: int) -> bool:
        """Whether one of them is certainly this host, at this port."""
        return any(
            self._ports[at][1] == port or (not self._ports[at][1] and port in WEB_PORTS)
            for at in hosts.lookup_possible(self._index, host)[0]
        )


class Refusals:
    """Addresses that rules deny by themselves, whatever name leads to them: `(host pattern, port or 0, rule)`."""

    def __init__(self, entries: Sequence[tuple[str, int, str]]) -> None:
        # What holds for any host has been judged with the name, exceptions included.
        self._entries = [each for each in entries if each[0].strip("*")]
        self._index: Index = hosts.build((each[0], at) for at, each in enumerate(self._entries))

    def rule(self, address: str, port: int) -> str:
        """The rule that denies it, "" for none."""
        for at in hosts.lookup(self._index, address):
            _host, refused, rule = self._entries[at]
            if refused in (0, port):
                return rule
        return ""


class Reach(Value):
    """What one call may reach. `judge`: why policy does not let it fetch a URL, "" if it does; `refusals`: what rules
    deny of addresses; `private`: hosts that may lead to addresses that are not public; `plain`: hosts that are asked
    over http."""

    judge: Callable[[Url], str]
    refusals: Refusals
    private: Hosts
    plain: Hosts

    def resolved(self, url: Url) -> tuple[str, ...]:
        """The addresses of a host, each of which may be connected to. Raises RequestError."""
        found = []
        for text in _lookup(url.host):
            try:
                address = address_of(text)
            except (HostError, ValueError) as error:
                raise RequestError(f"{url.host} leads to an address that is none: {error}") from error
            self._check(url, address)
            found.append(text_at(address))
        if not found:
            raise RequestError(f"{url.host} has no address")
        return tuple(dict.fromkeys(found))

    def check(self, url: Url, addresses: Sequence[str]) -> None:
        """That addresses which were found before may be connected to for a URL. Raises RequestError."""
        for text in addresses:
            self._check(url, address_of(text))

    def _check(self, url: Url, address: Address) -> None:
        text = text_at(address)
        rule = self.refusals.rule(text, url.port)
        if rule:
            raise RequestError(f"{url.host} leads to {text}, which rule `{rule}` denies")
        kind = kind_of(address)
        if kind == PUBLIC and is_own(address):
            kind = "own"
        if kind == PUBLIC or (kind != _METADATA and self.private.names(url.host, url.port)):
            return
        what = "this machine's own address" if kind == "own" else f"no public address ({kind})"
        raise RequestError(f"{url.host} leads to {text}, which is {what}")


def places(addresses: Sequence[str], port: int) -> list[tuple[str, int]]:
    """Where to connect to for these addresses."""
    return [straight(address, port) for address in addresses]


def _lookup(host: str) -> list[str]:
    try:
        found = list(resolve_with_system(host))
    except socket.gaierror as error:
        raise RequestError(f"{host} cannot be found: {error.strerror}") from error
    except (OSError, UnicodeError) as error:
        raise RequestError(f"{host} cannot be found: {error}") from error
    if len(found) > MAX_ADDRESSES:
        raise RequestError(f"{host} has more than {MAX_ADDRESSES} addresses")
    return found
