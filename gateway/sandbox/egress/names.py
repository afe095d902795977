"""Names for tools that know no proxy: an address inside the sandbox for each, and listeners there."""

from __future__ import annotations

from gateway.sandbox.base import SandboxError
from gateway.sandbox.egress import dns
from gateway.sandbox.egress.addresses import HostError, host_at, name_of
from gateway.sandbox.egress.loop import in_thread
from gateway.sandbox.egress.surroundings import ALONE, OWN_ADDRESS, Place, own_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable, Sequence

    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.decide import Rules
    from gateway.sandbox.egress.dial import Dialler
    from gateway.sandbox.egress.listeners import Wanted
    from gateway.sandbox.egress.report import Report

    Open = Callable[[Sequence[Wanted]], list[socket.socket | None]]
    Opened = Callable[[socket.socket], None]
    # A code of DNS, the address inside, and what to report: kind of refusal by rule and reason.
    Found = tuple[int, str, tuple[str, str] | None]

MAX_NAMES = 4096
MAX_LISTENERS = 256
# Where what nobody predicted is listened for, so that somebody can be asked when it is dialled: at more ports of fewer
# names.
ASKED_PORTS = (22, 80, 443, 5432, 8080, 8443, 9418)
MAX_ASKED = 24
# Below this port the command, which has no capabilities, cannot listen by itself: there one listener for all addresses
# takes nothing away from it.
FIRST_ORDINARY = 1024
EVERYWHERE = "0.0.0.0"
_NAMES_OF_OURSELVES = {dns.A: bytes((127, 0, 0, 1)), dns.AAAA: bytes(15) + b"\1"}


class Names:
    """Of one call; only used in the loop's thread."""

    def __init__(
        self,
        rules: Rules,
        dialler: Callable[[], Dialler],
        report: Report,
        enter: Open,
        opened: Opened,
        place: Place = ALONE,
        *,
        asks: bool = False,
    ) -> None:
        """`asks`: names that nobody predicted are given addresses without being resolved, because somebody is asked
        when these are dialled."""
        self._place, self._asks = place, asks
        self._rules, self._dialler, self._report = rules, dialler, report
        self._enter, self._opened = enter, opened
        self._known: dict[str, asyncio.Task[Found]] = {}
        self._asked: dict[tuple[str, int], int] = {}
        self._refused: dict[str, int] = {}
        self._openings: set[asyncio.Task[None]] = set()
        self._hosts: dict[str, Host] = {}
        self._bound: set[tuple[str, int]] = set()
        self._opening: asyncio.Lock | None = None
        self._given = self._stand_ins = 0

    def host_at(self, address: str) -> Host | None:
        """What was dialled when a client came to one of our addresses."""
        return self._hosts.get(address)

    def literals(self) -> list[Wanted]:
        """What to open for addresses that policy names one by one: programs dial them without asking for a name."""
        wanted: list[Wanted] = []
        for address, port in self._rules.literals():
            host = host_at(address)
            if host.text not in self._hosts:
                self._hosts[host.text] = host
                wanted.append(("+", host.text, 0))
            self._want(wanted, host.text, port)
        return wanted

    async def answer(self, message: bytes) -> bytes:
        """The answer to a DNS query; empty when there is none to give."""
        try:
            query = dns.query_of(message)
        except dns.DnsError as error:
            if error.answer:
                self._report.add("dns", "?", "", "dns", f"A DNS query was refused: {error}.")
            return error.answer
        name = query.name.lower()
        if name == "localhost" or name.endswith(".localhost"):
            data = _NAMES_OF_OURSELVES.get(query.kind)
            return dns.answer(query, dns.NO_ERROR, ((query.kind, data),) if data else ())
        if name in own_names():  # programs ask for both families, and the hosts file has only one
            own = bytes(map(int, OWN_ADDRESS.split(".")))
            return dns.answer(query, dns.NO_ERROR, ((dns.A, own),) if query.kind == dns.A else ())
        if name.endswith((".in-addr.arpa", ".ip6.arpa")):
            return self._reverse(query, name)
        code, address = await self._look(name, query.kind)
        if code or query.kind != dns.A:
            return dns.answer(query, code)
        return dns.answer(query, dns.NO_ERROR, ((dns.A, bytes(map(int, address.split(".")))),))

    def end(self, rules: Rules) -> None:
        """From now on other rules hold, also for names that were asked before."""
        self._rules = rules
        self._known.clear()

    def close(self) -> None:
        """Gives up what is under way; `finish` waits for its end."""
        for task in self._known.values():
            task.cancel()

    async def finish(self) -> None:
        """Waits until nothing is under way; listeners that were just being opened are handed over first."""
        import asyncio

        await asyncio.gather(*self._known.values(), *self._openings, return_exceptions=True)

    def _reverse(self, query: dns.Query, name: str) -> bytes:
        host = self._hosts.get(".".join(reversed(name.removesuffix(".in-addr.arpa").split("."))))
        if host is None or host.address is not None:
            return dns.answer(query, dns.NO_NAME)
        return dns.answer(query, dns.NO_ERROR, ((dns.PTR, dns.name_data(host.text)),) if query.kind == dns.PTR else ())

    async def _look(self, name: str, kind: int) -> tuple[int, str]:
        """One look for each name, whatever is asked about it and however often; each refusal counts."""
        import asyncio

        task = self._known.get(name)
        if task is None:
            if len(self._known) >= MAX_NAMES:
                self._report.add(
                    "dns", name, "", "dns", f"{name}: this call has asked for more than {MAX_NAMES} names."
                )
                return dns.REFUSED, ""
            task = self._known[name] = asyncio.ensure_future(self._decide(name))
        try:
            code, address, refused = await asyncio.shield(task)
        except SandboxError as error:
            code, address, refused = dns.SERVER_FAILURE, "", ("", str(error))
        if code == dns.SERVER_FAILURE:
            self._known.pop(name, None)  # another time it may work
        if refused:
            # Programs ask for both families at once: that is one refusal.
            times = self._asked[name, kind] = self._asked.get((name, kind), 0) + 1
            if times > self._refused.get(name, 0):
                self._refused[name] = times
                self._report.refused("dns", name, refused[0], "dns", refused[1])
        return code, address

    async def _decide(self, name: str) -> Found:
        from gateway.sandbox.egress.dial import Refused, Unreachable

        try:
            host = name_of(name)
        except HostError as error:
            return dns.NO_NAME, "", ("", str(error))
        ports = self._rules.ports(host)
        if not ports and self._asks and (ports := self._open_ports(host)):
            return await self._stand_in(host, ports)
        if not ports:
            ruling = self._rules.name(host, 443)
            return dns.NO_NAME, "", (ruling.rule, ruling.reason)
        allowed = next(port for port in ports if self._rules.name(host, port).allowed)
        try:
            await self._dialler().addresses(self._rules, host, allowed)
        except Refused as refused:
            return dns.NO_NAME, "", (refused.rule, refused.reason)
        except Unreachable as error:
            return (dns.NO_NAME if error.absent else dns.SERVER_FAILURE), "", None
        return await self._stand_in(host, ports)

    def _open_ports(self, host: Host) -> tuple[int, ...]:
        """Those at which somebody could be asked about a host; not of more than a few."""
        from gateway.sandbox.egress.asked_connections import is_public_name

        ports = [port for port in ASKED_PORTS if self._rules.leaves_open(host, port)]
        if not ports or not is_public_name(host) or self._stand_ins >= MAX_ASKED:
            return ()
        self._stand_ins += 1
        return tuple(ports)

    async def _stand_in(self, host: Host, ports: tuple[int, ...]) -> Found:
        """An address of ours for a host, with listeners at these ports."""
        self._given += 1
        address = self._place.address_of(self._given)
        if not address:
            return dns.NO_NAME, "", ("", "this call has asked for too many names")
        self._hosts[address] = host
        await self._listen(address, ports)
        return dns.NO_ERROR, address, None

    async def _listen(self, address: str, ports: tuple[int, ...]) -> None:
        import asyncio

        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            wanted: list[Wanted] = []
            for port in ports:
                self._want(wanted, address, port)
            if wanted:
                # Never cancelled: what the helper hands over must find an owner.
                task = asyncio.ensure_future(self._open(wanted))
                self._openings.add(task)
                await asyncio.shield(task)

    async def _open(self, wanted: list[Wanted]) -> None:
        for (_kind, where, port), found in zip(wanted, await in_thread(self._enter, wanted), strict=True):
            if found is not None:
                self._opened(found)
            else:
                hint = f"Port {port} is taken by a program in the sandbox, so that no other host is found there."
                self._report.add("net", f"{where}:{port}", "", "dns", hint)

    def _want(self, wanted: list[Wanted], address: str, port: int) -> None:
        everywhere = self._place.alone and port < FIRST_ORDINARY and ":" not in address
        where = EVERYWHERE if everywhere else address
        if (where, port) not in self._bound and len(self._bound) < MAX_LISTENERS:
            self._bound.add((where, port))
            wanted.append(("t", where, port))
