"""From an allowed host to a connected socket: resolved once, each address judged, exactly those dialled."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import time

from gateway.sandbox.egress.addresses import PUBLIC, HostError, address_of, kind_of, text_at
from gateway.sandbox.egress.loop import in_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.policy.addresses import Address
    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.decide import Rules

    # The addresses of a name. Raises socket.gaierror.
    Resolve = Callable[[str], Sequence[str]]
    # Where to connect for an address and a port: the place for a proxy further out.
    Route = Callable[[str, int], tuple[str, int]]

RESOLVE_SECONDS = 20.0
CONNECT_SECONDS = 20.0
NEXT_ADDRESS_SECONDS = 0.3
REMEMBERED_SECONDS = 30.0
MAX_REMEMBERED = 1024
MAX_ADDRESSES = 16
MAX_RESOLVING = 32


class Refused(Exception):
    """Policy does not let the call go there. `dialled`: host:port. `remedy`: what would help, if not another rule."""

    def __init__(self, dialled: str, rule: str, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.dialled, self.rule, self.reason, self.remedy = dialled, rule, reason, remedy


class Unreachable(Exception):
    """It is allowed, but it did not work. `absent`: there is no such name."""

    def __init__(self, reason: str, absent: bool = False) -> None:
        super().__init__(reason)
        self.absent = absent


def resolve_with_system(name: str) -> list[str]:
    """The addresses of a name as this host finds them, its own hosts file included."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def straight(address: str, port: int) -> tuple[str, int]:
    """No way but the direct one."""
    return address, port


class Dialler:
    """Shared by all calls of a process; only used in the loop's thread."""

    def __init__(self, resolve: Resolve = resolve_with_system, route: Route = straight) -> None:
        self._resolve, self._route = resolve, route
        self._known: dict[str, tuple[float, list[Address]]] = {}
        self._under_way: asyncio.Semaphore | None = None

    async def dial(self, rules: Rules, host: Host, port: int) -> socket.socket:
        """A connected socket. Raises Refused or Unreachable."""
        ruling = rules.name(host, port)
        if not ruling.allowed:
            raise Refused(host.at(port), ruling.rule, ruling.reason)
        if path := rules.socket(host):
            return await _to_socket(path)
        return await self._connect_first(await self.addresses(rules, host, port), host, port)

    async def addresses(self, rules: Rules, host: Host, port: int) -> list[Address]:
        """The addresses of an allowed host that may be dialled, families taking turns. Raises Refused when policy
        leaves none, Unreachable when there is none."""
        if rules.socket(host):
            raise Unreachable("a daemon of this machine has no address, and is asked through the proxy")
        found = [host.address] if host.address is not None else await self._lookup(host.text)
        kept, refused = [], None
        for address in found:
            ruling = rules.address(host, address, port)
            if ruling.allowed and kind_of(address) == PUBLIC and is_own(address):
                ruling = rules.not_public(host, address, port, "own")
            if ruling.allowed:
                kept.append(address)
            else:
                refused = refused or ruling
        if not kept:
            if refused is None:
                raise Unreachable(f"{host.text} has no address", absent=True)
            raise Refused(host.at(port), refused.rule, refused.reason)
        return _in_turn(kept)

    async def _lookup(self, name: str) -> list[Address]:
        until, known = self._known.get(name, (0.0, []))
        if until > time.monotonic():
            return known
        if self._under_way is None:
            self._under_way = asyncio.Semaphore(MAX_RESOLVING)
        try:
            async with asyncio.timeout(RESOLVE_SECONDS), self._under_way:
                answers = await in_thread(self._resolve, name)
        except TimeoutError:
            raise Unreachable(f"{name} could not be resolved in time") from None
        except socket.gaierror as error:
            absent = error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
            raise Unreachable(f"{name} could not be resolved: {error.strerror}", absent) from None
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"{name} could not be resolved: {error}") from None
        found = []
        for text in answers[:MAX_ADDRESSES]:
            with contextlib.suppress(HostError, ValueError):
                found.append(address_of(text))
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
        if found:
            self._known[name] = (time.monotonic() + REMEMBERED_SECONDS, found)
        return found

    async def _connect_first(self, addresses: list[Address], host: Host, port: int) -> socket.socket:
        """Tries one address after the other, the next a moment after the last even when that has not failed yet."""
        trying: set[asyncio.Task[socket.socket]] = set()
        waiting = list(addresses)
        last: BaseException | None = None
        won: socket.socket | None = None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                while waiting or trying:
                    if waiting:
                        trying.add(asyncio.ensure_future(self._connect(waiting.pop(0), port)))
                    pause = NEXT_ADDRESS_SECONDS if waiting else None
                    done, trying = await asyncio.wait(trying, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        error = task.exception()
                        if error is not None:
                            last = error
                        elif won is None:
                            won = task.result()
                        else:
                            task.result().close()
                    if won is not None:
                        return won
        except TimeoutError:
            raise Unreachable(f"{host.at(port)} did not answer in time") from None
        finally:
            for task in trying:
                task.cancel()
            for outcome in await asyncio.gather(*trying, return_exceptions=True):
                if isinstance(outcome, socket.socket) and outcome is not won:
                    outcome.close()
        if isinstance(last, OSError):
            raise Unreachable(f"{host.at(port)} cannot be reached: {last.strerror or last}") from None
        raise last or Unreachable(f"{host.at(port)} cannot be reached")

    async def _connect(self, address: Address, port: int) -> socket.socket:
        where = self._route(text_at(address), port)
        family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        found = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().sock_connect(found, where)
        except BaseException:
            found.close()
            raise
        return found


async def _to_socket(path: str) -> socket.socket:
    """Raises Unreachable."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await asyncio.get_running_loop().sock_connect(found, path)
    except BaseException as error:
        found.close()
        if isinstance(error, OSError):  # TimeoutError is one
            raise Unreachable(f"{path} does not answer: {error.strerror or error}") from None
        raise
    return found


def is_own(address: Address) -> bool:
    """Whether an address belongs to this host: then the kernel would use it as the source as well. Nothing is sent."""
    text = text_at(address)
    family = socket.AF_INET6 if address[0] == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            probe.connect((text, 53))
        except OSError as error:
            # Unreachable is nobody's own; anything else is a doubt.
            return error.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
        return bool(probe.getsockname()[0] == text)


def _in_turn(addresses: list[Address]) -> list[Address]:
    """Both families alternately, in the order they came."""
    first = [each for each in addresses if each[0] == addresses[0][0]]
    other = [each for each in addresses if each[0] != addresses[0][0]]
    found: list[Address] = []
    while first or other:
        found += first[:1] + other[:1]
        del first[:1], other[:1]
    return found
