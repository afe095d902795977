"""A pool of connections to hosts: one carries the requests of one client at a time, and is reused for the next one
to the same place, of this client or another of the same call."""

from __future__ import annotations

import asyncio
from ssl import SSLCertVerificationError as CertificateError

from gateway.sandbox.egress import forward
from gateway.sandbox.egress.inject import ClusterError
from gateway.sandbox.egress.loop import in_thread
from gateway.sandbox.egress.streams import Plain, Stream, Tls, is_readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl

    from gateway.commands.steering.cluster_logins import Access
    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.forward import Made
    from gateway.sandbox.egress.http import Request
    from gateway.sandbox.egress.idle_connections import Open, To
    from gateway.sandbox.egress.outside import Outside

HANDSHAKE_SECONDS = 30.0


class WayOut:
    """Of one client; one request at a time. The caller closes it."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._kept: Open | None = None

    async def carry(
        self, client: Stream, request: Request, head: bytes, body: bytes | None, to: To, made: Made | None = None
    ) -> bool:
        """Sends a request to a host and a port, with TLS or without, and carries the answer back, or what `made` makes
        of its body: whether the client's connection goes on. Raises what `Dialler.dial` and `forward.exchange` raise.
        """
        server = self._still_open(to, lends=forward.repeats(request))
        if server is not None:
            try:
                return await self._exchanged(client, server, request, head, body, to[0], made, used=True)
            except forward.Unanswered:
                pass  # it had ended: once more, on a new one
        return await self._exchanged(client, await self._opened(to), request, head, body, to[0], made, used=False)

    def close(self) -> None:
        """Gives the connection up, for others of the call where it is whole. Does nothing the second time."""
        if self._kept is not None:
            self._outside.spare.put(self._kept)
            self._kept = None

    def _cut(self) -> None:
        if self._kept is not None:
            self._kept[2].close()
            self._kept = None

    def _still_open(self, to: To, *, lends: bool) -> Stream | None:
        """The connection that carried the last request, or one that nobody uses (`lends`: the request can be sent once
        more should that have ended), where it leads to the same place and nothing has come on it since: neither its
        end, nor an answer to nothing."""
        if self._kept is None or self._kept[0] != to:
            self.close()
            self._kept = self._outside.spare.take(to) if lends else None
        while self._kept is not None:
            _to, server, found = self._kept
            if not server.seen() and not is_readable(found):
                return server
            self._cut()
            self._kept = self._outside.spare.take(to) if lends else None
        return None

    async def _opened(self, to: To) -> Stream:
        self._cut()
        host, port, secure, access = to
        found = await self._outside.dialler.dial(self._outside.rules, host, port)
        server = Stream(Plain(found))
        self._kept = to, server, found
        try:
            if secure:
                inner = Tls(server.pipe, *await self._verifying(host, access))
                try:
                    async with asyncio.timeout(HANDSHAKE_SECONDS):
                        await inner.handshake()
                except CertificateError as error:
                    if access is None:
                        raise
                    why = f"it does not prove to be the one of the kubeconfig ({error.verify_message})"
                    raise ClusterError(why) from None
                server = Stream(inner)
                self._kept = to, server, found
        except BaseException:
            self._cut()
            raise
        return server

    async def _verifying(self, host: Host, access: Access | None) -> tuple[ssl.SSLContext, str]:
        """What a server is verified with, and the name it must have: made once for a call, away from the loop."""
        outside = self._outside
        if access is not None and outside.clusters is not None:
            known = outside.clusters.known(access)
            context = known if known is not None else await in_thread(outside.clusters.context, access)
            return context, outside.clusters.name_of(access, host)
        if outside.trusted is None:
            outside.trusted = await in_thread(outside.trust)
        return outside.trusted, host.text

    async def _exchanged(
        self,
        client: Stream,
        server: Stream,
        request: Request,
        head: bytes,
        body: bytes | None,
        host: Host,
        made: Made | None,
        *,
        used: bool,
    ) -> bool:
        goes = forward.Goes(client=False, server=False)
        try:
            client.answered = False
            goes = await forward.exchange(
                client, server, request, head, used=used, body=body, made=made,
                told=lambda status, fields: self._outside.said.answered(host, status, fields),
            )  # fmt: skip
        finally:
            if not goes.server:
                self._cut()
        return goes.client
