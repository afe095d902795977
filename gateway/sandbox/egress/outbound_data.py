"""The data that one call's requests carry to read-only hosts: counted, bounded, reported.

What is counted is what the client can choose: which path, a field it has not sent before, a body. The name of a file
that an index has named costs the bits of choosing among those that it named, a field that was sent before the bits of
choosing among its values. What nobody named, and what a host does not have, can be asked for a few times.
"""

from __future__ import annotations

from gateway.sandbox.egress import docker_requests, reading
from gateway.sandbox.egress.learned_names import Taught
from gateway.sandbox.egress.named_files import NamedFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.model.plan import Network
    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.http import Request

MAX_OUT = 256 << 10
"""Bytes that the requests of one call may choose: paths, fields and bodies together."""
MAX_UNNAMED = 50
"""Files that a call may ask for of a host whose files are named by an index, and that none of its answers named."""
MAX_ABSENT = 50
"""Answers of such hosts by which there is no such thing."""
MAX_TAGS = 10_000
CUT = 5
"""Bytes that tell of each byte of an answer of a terabyte whether it is the last that the client took."""
_ABSENT = frozenset((404, 410, 451))
_PACKED_ONLY_SO = (b"accept-encoding", b"gzip")


class Said:
    """Of one call; used in the loop's thread alone, but for `counts`. `clients`: connections that may carry one."""

    def __init__(self, network: Network, taught: Taught | None = None) -> None:
        """`taught`: what the call's session has learnt so far, and learns from it."""
        taught = taught or Taught()
        self._named = NamedFiles(tuple((each.host, each.named_by) for each in network.allow if each.named_by), taught)
        self._daemons = frozenset(each.host for each in network.allow if each.socket)
        self._tags = taught.tags
        self._fields: dict[bytes, set[bytes]] = {}  # by their name what was sent
        self._bits = 0  # that make no whole byte yet
        self._counts: dict[str, tuple[int, int]] = {}
        self._most = network.said or MAX_OUT
        self._chosen = self._unnamed = self._absent = 0
        self.clients = 0

    def judged(self, host: Host, request: Request, also: tuple[str, ...] = (), base: str = "") -> reading.Reading:
        """A request as it may be sent to a host, but for its body. `also`, `base`: as for `reading.reading`. Raises
        reading.NotReadingError."""
        if host.text in self._daemons:
            return docker_requests.reading(request, also)
        tags = frozenset(tag for each, tag in self._tags if each == host.text)
        found = reading.reading(request, tags, also, base)
        if self._named.teaches(host):
            # What names files must be readable here.
            fields = found.request.fields
            packed = any(name == b"accept-encoding" and b"gzip" in value for name, value in fields)
            kept = tuple(each for each in fields if each[0] != b"accept-encoding")
            found = found.replace(
                request=found.request.replace(fields=(*kept, *((_PACKED_ONLY_SO,) if packed else ())))
            )
        path = self._named.path_of(host, found.request.path)
        return found.replace(request=found.request.replace(path=path)) if path else found

    def spend(self, host: Host, request: Request, body: bytes | None) -> None:
        """A request that `judged` gave is about to be sent. Raises reading.NotReadingError when that is too much."""
        named = bool(self._named.path_of(host, request.path))
        if self._named.knows(host) and not named:
            self._unnamed += 1
            if self._unnamed > MAX_UNNAMED:
                raise reading.NotReadingError(
                    f"no index has named this file to this call, and only {MAX_UNNAMED} such files can be asked for"
                )
        if self._absent >= MAX_ABSENT:
            raise reading.NotReadingError(f"this call has asked for {MAX_ABSENT} things that such hosts do not have")
        size = (0 if named else len(request.path)) + len(body or b"")
        # What has been said before is a choice among that, and whether to say it: bits, as GET or HEAD is.
        self._bits += self._named.bits(host) if named else 0
        self._bits += 1 + sum(len(values).bit_length() for values in self._fields.values())
        self._bits += max(self.clients - 1, 0).bit_length()  # whose connection carries it
        older = () if request.version == b"HTTP/1.1" else ((b"", request.version),)
        for name, value in (*request.fields, *older):
            values = self._fields.setdefault(name, set()) if name not in reading.OURS else {value}
            if value not in values:
                size += len(value)
                values.add(value)
        size += self._bits // 8
        self._bits %= 8
        requests, chosen = self._counts.get(host.text, (0, 0))
        if self._chosen + size > self._most:
            raise reading.NotReadingError(
                f"the requests of this call have said {self._most >> 10} KiB to such hosts (the limit `said_kb`)"
            )
        self._chosen += size
        self._counts[host.text] = (requests + 1, chosen + size)

    def answered(
        self, host: Host, status: int, fields: tuple[tuple[bytes, bytes], ...]
    ) -> Callable[[bytes], None] | None:
        """A host has begun to answer; gives who is to be shown the rest. What it calls its content, clients may repeat
        to it, and to no other."""
        if host.text not in self._counts:
            return None
        self._absent += status in _ABSENT
        tag = reading.tag_of(fields)
        if tag and len(self._tags) < MAX_TAGS:
            self._tags.add((host.text, tag))
        return self._named.reader(host, fields) if status == 200 else None

    def cut(self, host: Host) -> None:
        """The client has gone in the midst of an answer: the host sees where."""
        if host.text in self._counts:
            requests, chosen = self._counts[host.text]
            self._chosen += CUT
            self._counts[host.text] = (requests, chosen + CUT)

    def counts(self) -> tuple[tuple[str, int, int], ...]:
        """Hosts, each with the requests it got and the bytes of them that the call has chosen."""
        return tuple((host, *found) for host, found in sorted(self._counts.items()))
