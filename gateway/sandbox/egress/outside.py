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
        self.tags: set[bytes] = set()
        self._left = reading.MAX_OUT

    def told(self, fields: tuple[tuple[bytes, bytes], ...]) -> None:
        """The fields of an answer: what it calls its content, clients may repeat."""
        tag = reading.tag_of(fields)
        if tag and len(self.tags) < MAX_TAGS:
            self.tags.add(tag)

    def spend(self, size: int) -> None:
        """So many bytes go out to hosts that may only be read from. Raises NotReadingError when that is too much."""
        self._left -= size
        if self._left < 0:
            raise reading.NotReadingError(
                f"the requests of this call have said more than {reading.MAX_OUT >> 10} KiB to such hosts"
            )
