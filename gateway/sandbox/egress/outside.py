"""What all connections of a call share."""

from __future__ import annotations

from gateway.sandbox.egress import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.authority import Authority
    from gateway.sandbox.egress.decide import Rules
    from gateway.sandbox.egress.dial import Dialler
    from gateway.sandbox.egress.report import Report

MAX_TAGS = 10_000


class Outside:
    """`named`: what stands behind an address inside the sandbox."""

    def __init__(
        self,
        rules: Rules,
        dialler: Dialler,
        report: Report,
        authority: Authority | None,
        trust: Callable[[], ssl.SSLContext],
        named: Callable[[str], Host | None],
    ) -> None:
        self.rules, self.dialler, self.report, self.authority, self.trust = rules, dialler, report, authority, trust
        self.named = named
        self._tags: set[tuple[str, bytes]] = set()
        self._left = reading.MAX_OUT

    def told(self, host: Host, fields: tuple[tuple[bytes, bytes], ...]) -> None:
        """The fields of a host's answer: what it calls its content, clients may repeat to it, and to no other."""
        tag = reading.tag_of(fields)
        if tag and len(self._tags) < MAX_TAGS:
            self._tags.add((host.text, tag))

    def tags_of(self, host: Host) -> frozenset[bytes]:
        """The tags that a host has given."""
        return frozenset(tag for each, tag in self._tags if each == host.text)

    def spend(self, size: int) -> None:
        """So many bytes go out to hosts that may only be read from. Raises NotReadingError when that is too much."""
        self._left -= size
        if self._left < 0:
            raise reading.NotReadingError(
                f"the requests of this call have said more than {reading.MAX_OUT >> 10} KiB to such hosts"
            )
