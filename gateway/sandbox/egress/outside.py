"""What all connections of a call share."""

from __future__ import annotations

from gateway.sandbox.egress.idle_connections import Spare
from gateway.sandbox.egress.outbound_data import Said

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.asked_connections import Asking
    from gateway.sandbox.egress.authority import Authority
    from gateway.sandbox.egress.clusters import Clusters
    from gateway.sandbox.egress.decide import Rules
    from gateway.sandbox.egress.dial import Dialler
    from gateway.sandbox.egress.learned_names import Taught
    from gateway.sandbox.egress.report import Report


class Outside:
    """`named`: what stands behind an address inside the sandbox; `said`: what goes to hosts that are only read;
    `spare`: connections to hosts that no client uses now; `trusted`: what `trust` gave, once it was needed.
    `end`: ends the call's network for good, all connections but the one that asks for it; None where nothing may.
    `asking`: asks about what was not predicted; None where nobody is asked. `taught`: what its session has learnt.
    `trusting`: hosts as which a client of the call has believed our certificates. `clusters`: whose logins are sent
    from here; None where none is."""

    def __init__(
        self,
        rules: Rules,
        dialler: Dialler,
        report: Report,
        authority: Authority | None,
        trust: Callable[[], ssl.SSLContext],
        named: Callable[[str], Host | None],
        end: Callable[[], Awaitable[None]] | None = None,
        asking: Asking | None = None,
        taught: Taught | None = None,
        clusters: Clusters | None = None,
    ) -> None:
        self.rules, self.dialler, self.report, self.authority, self.trust = rules, dialler, report, authority, trust
        self.named, self.end, self.asking, self.clusters = named, end, asking, clusters
        self.said = Said(rules.network, taught)
        self.spare = Spare()
        self.trusted: ssl.SSLContext | None = None
        self.trusting: set[str] = set()
