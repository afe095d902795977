"""Connections that were not predicted, held while a person is asked.

Nothing of such a connection leaves before the answer: no name is resolved, no address dialled. One question for each
host and port of a call, few of them, none twice.
"""

from __future__ import annotations

import asyncio
import threading
from time import monotonic

from gateway.core.value import Value
from gateway.model.plan import ASKED, Endpoint
from gateway.sandbox.egress.addresses import PUBLIC, kind_of
from gateway.sandbox.egress.decide import Ruling
from gateway.sandbox.egress.held_connection import Answered, Dial
from gateway.sandbox.egress.loop import in_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.held_connection import Asks


SECONDS = 60.0
"""How long a connection is held at most."""
MOST = 3
"""How often somebody is asked for one call."""
MOST_JUDGED = 64
TOLD = 300
_MOST_SAID = f"somebody was asked about {MOST} connections of this call already, and nobody is asked about more"
# Names that no public host has: nobody is asked about them. Special uses (RFC 6761, 6762, 7686, 8375, 9476), and what
# is widely used inside of networks.
_NOT_PUBLIC = frozenset((
    "alt", "arpa", "corp", "example", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain",
    "localhost", "onion", "private", "test",
))  # fmt: skip


class Told(Value):
    """What became of one connection that was not predicted, as the record has it. `answer`: allowed or refused."""

    where: str
    program: str
    answer: str
    by: str


def is_public_name(host: Host) -> bool:
    """Whether a host may be one that everybody finds: others are never asked about."""
    if host.address is not None:
        return kind_of(host.address) == PUBLIC
    return "." in host.text and host.text.rpartition(".")[2] not in _NOT_PUBLIC


class Asking:
    """Of one call; only used in the loop's thread, but for `told` and `seconds`."""

    def __init__(self, asks: Asks, admit: Callable[[Endpoint], None]) -> None:
        """`admit`: has the rules of the call let it go to a host from now on."""
        self._asks = asks
        self._admit = admit
        self._known: dict[tuple[str, int], asyncio.Task[Ruling]] = {}
        self._asked = 0
        self._one_at_a_time = asyncio.Lock()
        self._over = threading.Event()
        self._told: list[Told] = []
        self._seconds = 0.0
        self._since = 0.0

    def told(self) -> tuple[Told, ...]:
        """What became of each, in the order of the answers."""
        return tuple(self._told)

    def seconds(self) -> float:
        """How long questions have stood by now, all together: time that the call could not use."""
        since = self._since
        return self._seconds + (monotonic() - since if since else 0.0)

    async def ruling(self, host: Host, port: int, program: Callable[[], str]) -> Ruling:
        """On a connection that the rules leave open. Everyone who dials the same waits for the same answer."""
        key = (host.text, port)
        task = self._known.get(key)
        if task is None:
            if self._over.is_set():
                return Ruling(False, "", "the call has ended")
            if not is_public_name(host):
                return Ruling(False, "", "it is no public host, and nobody is asked about others while a call runs")
            if len(self._known) >= MOST_JUDGED:
                return Ruling(False, "", f"this call has dialled more than {MOST_JUDGED} hosts that nobody predicted")
            task = self._known[key] = asyncio.ensure_future(self._decided(host, port, program))
        return await asyncio.shield(task)

    def close(self) -> None:
        """Withdraws what is asked."""
        self._over.set()
        for task in self._known.values():
            task.cancel()

    async def finish(self) -> None:
        """Waits until nothing is under way."""
        await asyncio.gather(*self._known.values(), return_exceptions=True)

    async def _decided(self, host: Host, port: int, program: Callable[[], str]) -> Ruling:
        withdrawn = threading.Event()
        who = ""
        try:
            async with asyncio.timeout(SECONDS):
                found = await in_thread(self._asks.judged, host.text, port)
                if found is None:
                    if self._asked >= MOST:
                        return Ruling(False, "", _MOST_SAID)
                    self._asked += 1
                    who = await in_thread(program)
                    async with self._one_at_a_time:
                        found = await self._answer(Dial(host.text, port, who), withdrawn)
        except TimeoutError:
            found = Answered(False, "nobody", reason=f"nobody has answered within {SECONDS:.0f} s")
        except asyncio.CancelledError:
            self._tell(host.at(port), who, Answered(False, "nobody"))
            raise
        finally:
            withdrawn.set()
        self._tell(host.at(port), who, found)
        if not found.allow:
            return Ruling(False, found.rule, found.reason or "it was refused")
        self._admit(Endpoint(host.text, port, found.rule, ASKED))
        return Ruling(True, found.rule)

    def _tell(self, where: str, program: str, found: Answered) -> None:
        if len(self._told) < TOLD:
            self._told.append(Told(where, program, "allowed" if found.allow else "refused", found.by or found.rule))

    async def _answer(self, dial: Dial, withdrawn: threading.Event) -> Answered:
        self._since = monotonic()
        try:
            return await in_thread(self._asks.ask, dial, lambda: withdrawn.is_set() or self._over.is_set())
        finally:
            self._seconds, self._since = self.seconds(), 0.0
