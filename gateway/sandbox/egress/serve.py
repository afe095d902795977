"""What happens to one connection: proxy, SOCKS, or a tool that dialled as if there were no proxy."""

from __future__ import annotations

import asyncio
import contextlib

from gateway.sandbox.egress import forward, http, socks, tls
from gateway.sandbox.egress.authority import AuthorityError
from gateway.sandbox.egress.dial import Refused, Unreachable
from gateway.sandbox.egress.inject import InjectionError, headers_of
from gateway.sandbox.egress.loop import in_thread
from gateway.sandbox.egress.offline import OVER_SAID, ends_network
from gateway.sandbox.egress.only_reading import Sent, only_reading
from gateway.sandbox.egress.report import what_to_do
from gateway.sandbox.egress.streams import Plain, Stream, StreamError, Tls, relay
from gateway.sandbox.egress.surroundings import CERTIFICATES
from gateway.sandbox.egress.way_out import HANDSHAKE_SECONDS, WayOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable

    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.http import Request
    from gateway.sandbox.egress.outside import Outside

HTTP_PORT, TLS_PORT = 80, 443


class Connection:
    """One client. `run` ends when the connection has; the caller closes the client's socket."""

    def __init__(self, outside: Outside, client: socket.socket, program: Callable[[], str] = str) -> None:
        """`program`: finds out, blocking, who the client is."""
        self._outside = outside
        self._program = program
        self._plain = Plain(client)
        self._client = Stream(self._plain)
        self._servers: list[socket.socket] = []
        self._way_out = WayOut(outside)

    async def run(self, dialled: tuple[Host, int] | None) -> None:
        """`dialled`: by a tool that knows no proxy; None: the client speaks to the proxy."""
        said = self._outside.said
        said.clients += 1
        try:
            if dialled is None:
                await self._proxy()
            else:
                await self._captured(*dialled)
        except Refused as refused:
            self._report(refused)
            self._plain.abort()
        except (Unreachable, StreamError, TimeoutError, OSError):
            self._plain.abort()  # the client sees a broken connection, as it would without us
        finally:
            said.clients -= 1
            self._way_out.close()
            for each in self._servers:
                each.close()

    async def _proxy(self) -> None:
        async with asyncio.timeout(forward.HEAD_SECONDS):
            first = await self._client.first()
        if first == socks.VERSION:
            await self._socks()
        elif first == 4:
            self._malformed("proxy", "SOCKS4 is not offered, only SOCKS5 and HTTP")
            await self._client.send(b"\0\x5b" + bytes(6))
        elif first >= 0:
            await self._http()

    async def _http(self) -> None:
        request = await self._request("proxy")
        while request is not None and request.method != b"CONNECT" and request.scheme:
            assert request.host is not None
            if not await self._one_request(request, request.host, request.port, request.scheme == "https"):
                return
            request = await self._next("proxy")
        if request is None:
            return
        if self._outside.end is not None and ends_network(request):
            await self._outside.end()
            await self._client.send(OVER_SAID)
            return
        if request.method != b"CONNECT":
            self._malformed("proxy", "a request to the proxy must name the whole URL")
            await forward.refuse(
                self._client, 400, "Bad Request", "This is a proxy: the request must name the whole URL."
            )
            return
        assert request.host is not None
        host = self._meant(request.host)
        try:
            server = await self._open(host, request.port)
        except (Refused, Unreachable) as error:
            await self._explain(error)
            return
        await self._client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await self._tunnel(host, request.port, server)

    async def _socks(self) -> None:
        client = self._client
        async with asyncio.timeout(forward.HEAD_SECONDS):
            _version, count = await client.exactly(2)
            chosen = socks.method(await client.exactly(count))
            await client.send(chosen)
            if chosen == socks.NO_METHOD:
                self._malformed("proxy", "SOCKS5 is offered without authentication only")
                return
            head = await client.exactly(5)
            try:
                host, port = socks.target(head + await client.exactly(socks.rest_of(head)))
                host = self._meant(host)
            except socks.SocksError as error:
                self._malformed("proxy", str(error))
                await client.send(socks.reply(error.reply))
                return
        try:
            server = await self._open(host, port)
        except Refused as refused:
            self._report(refused)
            await client.send(socks.reply(socks.REFUSED))
            return
        except Unreachable:
            await client.send(socks.reply(socks.UNREACHABLE))
            return
        await client.send(socks.reply(socks.GRANTED))
        await self._tunnel(host, port, server)

    async def _captured(self, host: Host, port: int) -> None:
        """A tool dialled the host by itself: a refusal is explained where its protocol has words for it."""
        try:
            await self._admit(host, port)
        except Refused as refused:
            if port != HTTP_PORT:
                raise
            await self._request(host.at(port))
            await self._explain(refused)
            return
        await self._tunnel(host, port, None if self._reads(host, port) else await self._open(host, port))

    def _reads(self, host: Host, port: int) -> bool:
        """Whether requests to this port are read here, each dialled by itself."""
        return port == HTTP_PORT or self._ends_tls(host, port)

    def _ends_tls(self, host: Host, port: int) -> bool:
        """Whether the client's TLS is answered here: a header is added, or only reading is let through."""
        rules = self._outside.rules
        if port == HTTP_PORT:
            return False
        adds = port == TLS_PORT and self._outside.authority is not None and bool(rules.injections(host))
        return adds or rules.reads_only(host, port)

    def _meant(self, host: Host) -> Host:
        """Clients that look names up before they ask the proxy name an address of ours."""
        return (host.address is not None and self._outside.named(host.text)) or host

    async def _admit(self, host: Host, port: int) -> None:
        """Raises Refused unless policy lets the call go there, or somebody does who is asked while the client waits."""
        outside = self._outside
        ruling = outside.rules.name(host, port)
        if not ruling.allowed and outside.asking is not None and outside.rules.leaves_open(host, port):
            ruling = await outside.asking.ruling(host, port, self._program)
        if not ruling.allowed:
            raise Refused(host.at(port), ruling.rule, ruling.reason)

    async def _open(self, host: Host, port: int) -> socket.socket | None:
        """The way out for a tunnel; None, once it is clear that there may be one, where requests are read."""
        await self._admit(host, port)
        dialler, rules = self._outside.dialler, self._outside.rules
        if self._reads(host, port):
            await dialler.addresses(rules, host, port)
            return None
        found = await dialler.dial(rules, host, port)
        self._servers.append(found)
        return found

    async def _tunnel(self, host: Host, port: int, server: socket.socket | None) -> None:
        if server is not None:
            way_out = Stream(Plain(server))
            if port == TLS_PORT:
                await self._check_name(host, port)
                await relay(self._client, way_out)
            else:
                await relay(self._client, way_out, self._checked_if_tls(host, port))
            return
        secure = self._ends_tls(host, port)
        if secure:
            await self._take_over(host, port)
        request = await self._request(host.at(port))
        while request is not None:
            if (request.host, request.port or port, request.scheme or "http") != (host, port, "http"):
                self._malformed(host.at(port), "Host disagrees with the name that was dialled")
                await forward.refuse(self._client, 400, "Bad Request", "Host must be the name that was dialled.")
                return
            if not await self._one_request(request, host, port, secure):
                return
            request = await self._next(host.at(port))

    def _checked_if_tls(self, host: Host, port: int) -> Callable[[], Awaitable[None]]:
        async def check() -> None:
            if await self._client.first() == tls.HANDSHAKE:
                await self._check_name(host, port)

        return check

    async def _check_name(self, host: Host, port: int) -> None:
        """The name in the TLS handshake must be the one that was dialled. Raises Refused."""
        reason = ""
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            while not reason:
                try:
                    hello = tls.hello_of(self._client.seen())
                except tls.TlsError as error:
                    reason = f"on port {port} only TLS is let through: {error}"
                    break
                if hello is not None:
                    reason = _objection(hello, host)
                    break
                if not await self._client.fill():
                    raise StreamError("the connection ended during the TLS handshake")
        if reason:
            with contextlib.suppress(OSError):
                await self._client.send(tls.ACCESS_DENIED)
                await self._plain.finish()
            raise Refused(host.at(port), "", reason, "use TLS, with the name that is dialled in its handshake")

    async def _take_over(self, host: Host, port: int) -> None:
        """Answers the client's TLS handshake in the host's stead, so that a header can be added."""
        authority = self._outside.authority
        why = "a header must be added" if self._outside.rules.injections(host) else "this host may only be read from"
        if authority is None:
            raise Refused(host.at(port), "", f"{why}, and there can be no certificates for that here")
        await self._check_name(host, port)
        try:
            known = authority.known(host.text)
            context = known if known is not None else await in_thread(authority.context, host.text)
        except AuthorityError as error:
            raise Refused(host.at(port), "", f"{why}, and its requests cannot be looked at: {error}") from None
        inner = Tls(self._plain, context, None, self._client.rest())
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await inner.handshake()
            self._client = Stream(inner)
            if host.text not in self._outside.trusting and await self._silent():
                raise StreamError("it ended without a request")
        except (OSError, StreamError) as error:  # ssl.SSLError is one; some clients only hang up
            reason = f"{why}, and the client does not trust the certificate that this takes ({_reason(error)})"
            remedy = (
                f"have the client trust {CERTIFICATES}, or send a plain request for http://{host.text}/ to the proxy"
            )
            raise Refused(host.at(port), "", reason, remedy) from None
        self._outside.trusting.add(host.text)

    async def _silent(self) -> bool:
        """Whether the client ends with nothing said, as those do that look at a certificate after the handshake."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(forward.HEAD_SECONDS):
                return await self._client.first() < 0
        return False

    async def _request(self, where: str) -> Request | None:
        try:
            return await forward.read_request(self._client)
        except http.HttpError as error:
            self._malformed(where, str(error))
            await forward.refuse(self._client, 400, "Bad Request", f"The gateway refused this request: {error}.")
        except TimeoutError:
            await forward.refuse(self._client, 408, "Request Timeout", "The request did not come in time.")
        except StreamError as error:
            if len(self._client.seen()) >= http.MAX_HEAD:
                self._malformed(where, str(error))
                await forward.refuse(
                    self._client, 431, "Request Header Fields Too Large", f"The head is too long: {error}."
                )
        return None

    async def _next(self, where: str) -> Request | None:
        """Another request on the same connection; None where none comes any more."""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(forward.IDLE_SECONDS):
                if await self._client.first() >= 0:
                    return await self._request(where)
        await self._client.pipe.finish()
        return None

    async def _one_request(self, request: Request, host: Host, port: int, secure: bool) -> bool:
        """Forwards one request to the host it was judged for: whether the client's connection may carry another."""
        outside, client = self._outside, self._client
        injections = outside.rules.injections(host)
        reads_only = outside.rules.reads_only(host, port)
        # What is added, or asked for, never travels in the clear where there is TLS.
        if (injections or reads_only) and not outside.rules.socket(host):
            port = TLS_PORT if not secure and port == HTTP_PORT else port
            secure = secure or reads_only or port == TLS_PORT
        sent = Sent(request)
        goes_on = forward.keeps(request)  # as the client said it, of which little is kept for a host that is only read
        try:
            if reads_only:
                sent = await only_reading(outside, client, request, host, port)
            if injections and request.method == b"TRACE":
                reason = "TRACE would show the header that is added for this host"
                raise Refused(host.at(port), "", reason, "use another method")
            added = headers_of(injections)
            if sent.access is not None and outside.clusters is not None:
                added += outside.clusters.headers(sent.access)
            head = forward.request_head(sent.request, _host_field(host, port, secure), added)
            await self._admit(host, port)
            kept = await self._way_out.carry(
                client, sent.request, head, sent.body, (host, port, secure, sent.access), sent.made
            )
            if kept and not goes_on:
                await client.pipe.finish()
            return kept and goes_on
        except (Refused, Unreachable) as error:
            await self._explain(error)
        except InjectionError as error:
            outside.report.add("net", host.at(port), "", "proxy", f"{host.at(port)}: {error}.")
            await forward.refuse(client, 502, "Bad Gateway", f"The gateway could not {error.what}: {error}.")
        except (http.HttpError, StreamError, OSError) as error:
            if client.answered:
                outside.said.cut(host)
                self._plain.abort()  # a part must not pass for the whole
            else:
                text = f"{host.at(port)} did not answer as it should: {_reason(error)}."
                await forward.refuse(client, 502, "Bad Gateway", text)
        return False

    async def _explain(self, error: Refused | Unreachable) -> None:
        if isinstance(error, Unreachable):
            await forward.refuse(self._client, 502, "Bad Gateway", f"The gateway allows it, but {error}.")
            return
        self._report(error)
        rule = error.rule or "none allows it"
        text = (
            "The gateway refused this connection.\n"
            f"host: {error.dialled}\nrule: {rule}\nreason: {error.reason}\n"
            f"what to do: {what_to_do(error.dialled, error.rule, error.reason, error.remedy)}"
        )
        await forward.refuse(self._client, 403, f"Refused by gateway: {error.dialled} (rule: {rule})", text)

    def _report(self, refused: Refused) -> None:
        report = self._outside.report
        report.refused("net", refused.dialled, refused.rule, "proxy", refused.reason, refused.remedy)

    def _malformed(self, where: str, reason: str) -> None:
        self._outside.report.add("net", where, "", "proxy", f"A request was refused: {reason}.")


def _host_field(host: Host, port: int, secure: bool) -> bytes:
    name = host.text if ":" not in host.text else f"[{host.text}]"
    return (name if port == (TLS_PORT if secure else HTTP_PORT) else f"{name}:{port}").encode("ascii")


def _objection(hello: tls.Hello, host: Host) -> str:
    if hello.hidden:
        return "part of the TLS handshake is encrypted (ECH), so the name that is asked for cannot be checked"
    if hello.name == host.text or (not hello.name and host.address is not None):
        return ""
    if not hello.name:
        return "the TLS handshake asks for no name (SNI), so it cannot be checked"
    return f"the TLS handshake asks for another name ({hello.name})"


def _reason(error: BaseException) -> str:
    """Why, without what a message of the TLS library adds about places in its source."""
    return str(getattr(error, "verify_message", "") or getattr(error, "reason", "") or error or type(error).__name__)
