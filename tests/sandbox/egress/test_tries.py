"""Tries to send through a host that may only be read from, over the wire: a word of the client's own arrives nowhere,
or in the path and in fields of a grammar alone, where it is counted. The same bytes to the same host without that
bound bring the word there."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
import threading
from typing import TYPE_CHECKING

import pytest
from patience import patience

from gateway.model.plan import Endpoint, Network
from gateway.sandbox.egress import authority
from gateway.sandbox.egress import serve as serving
from gateway.sandbox.egress.addresses import Host
from gateway.sandbox.egress.authority import Authority
from gateway.sandbox.egress.decide import Rules
from gateway.sandbox.egress.dial import Dialler
from gateway.sandbox.egress.http import request_of
from gateway.sandbox.egress.outbound_data import CUT, Said
from gateway.sandbox.egress.outside import Outside as Shared
from gateway.sandbox.egress.report import Report

from .conftest import Outside

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "files.acme.com"
READS = Network("listed", (Endpoint(HOST, 0, "reads", "read"),))
FULL = Network("listed", (Endpoint(HOST, 0, "full"),))
WORD = b"s3cret"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def _is_whole(data: bytes) -> bool:
    """Whether a request has come with the body that its head speaks of."""
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return b"\n\n" in data
    told = re.search(rb"(?im)^content-length: *([0-9]+)\r?$", head)
    if told:
        return len(body) >= int(told[1])
    return b"chunked" not in head.lower() or body.endswith(b"0\r\n\r\n")


class Server:
    """Takes every connection and remembers each byte that comes."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.place = self._listener.getsockname()
        self._context = context
        self.got, self.connections = b"", 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _from = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection, contextlib.suppress(OSError):
                connection.settimeout(patience(5))
                secure = self._context
                with connection if secure is None else secure.wrap_socket(connection, server_side=True) as stream:
                    asked = b""
                    while data := stream.recv(65536):
                        self.got += data
                        asked += data
                        if _is_whole(asked):
                            asked = b""
                            stream.sendall(ANSWER)
                            stream.shutdown(socket.SHUT_WR)

    def taken(self) -> bytes:
        """What has come since this was last asked."""
        found, self.got = self.got, b""
        return found

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


class Wire:
    """A client, the proxy, and a server with TLS and one without."""

    def __init__(self, trusted: str, made: Authority) -> None:
        self._trust = ssl.create_default_context(cafile=trusted)
        self._made = made
        self.secure, self.plain = Server(made.context(HOST)), Server(None)
        self.outside = Outside()
        self.outside.serve(HOST, 443, self.secure.place)
        self.outside.serve(HOST, 80, self.plain.place)

    def send(self, network: Network, data: bytes, *, leaves: bool = False) -> tuple[bytes, int]:
        """All bytes that a server got of it, and how many of them were counted as the client's own choice. `leaves`:
        the client takes nothing of the answer."""
        ours, theirs = socket.socketpair()

        async def serve() -> int:
            dialler = Dialler(self.outside.resolve, self.outside.route)
            shared = Shared(
                Rules(network), dialler, Report(lambda _each: None), self._made, lambda: self._trust, {}.get
            )
            async with asyncio.timeout(patience(20)):
                await serving.Connection(shared, theirs).run(None)
            shared.spare.close()
            return sum(size for _host, _requests, size in shared.said.counts())

        with ours, theirs:
            ours.sendall(data)
            ours.close() if leaves else ours.shutdown(socket.SHUT_WR)
            said = asyncio.run(serve())
        return self.secure.taken() + self.plain.taken(), said

    def close(self) -> None:
        self.secure.close()
        self.plain.close()


@pytest.fixture(scope="module")
def wire(tmp_path_factory) -> Iterator[Wire]:
    if not authority.available():
        pytest.skip("the package cryptography is not installed")
    made = Authority()
    trusted = tmp_path_factory.mktemp("tries") / "trusted.pem"
    trusted.write_bytes(made.certificate())
    found = Wire(str(trusted), made)
    yield found
    found.close()
    made.close()


def request(
    *fields: bytes, method: bytes = b"GET", path: bytes = b"/x", body: bytes = b"", version: bytes = b"1.1"
) -> bytes:
    lines = [method + b" http://" + HOST.encode() + path + b" HTTP/" + version, b"Host: " + HOST.encode(), *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def field(name: bytes, value: bytes = WORD) -> bytes:
    return request(name + b": " + value)


CHUNKED = b"6\r\ns3cret\r\n0\r\n\r\n"
LENGTH, CHUNKS = b"Content-Length: 6", b"Transfer-Encoding: chunked"
# What a server gets that may be sent anything.
ARRIVES: dict[str, bytes] = {
    # Methods and bodies
    "post": request(LENGTH, method=b"POST", body=WORD), "put": request(LENGTH, method=b"PUT", body=WORD),
    "patch": request(LENGTH, method=b"PATCH", body=WORD), "delete": request(method=b"DELETE", path=b"/s3cret"),
    "options": request(method=b"OPTIONS", path=b"/s3cret"), "trace": request(b"X: s3cret", method=b"TRACE"),
    "propfind": request(LENGTH, method=b"PROPFIND", body=WORD), "a method as a word": request(method=WORD),
    "a body on get": request(LENGTH, body=WORD), "chunks on get": request(CHUNKS, body=CHUNKED),
    "chunks on head": request(CHUNKS, method=b"HEAD", body=CHUNKED),
    "a chunked post": request(CHUNKS, method=b"POST", body=CHUNKED),
    "graphql": request(b"Content-Type: application/json", b"Content-Length: 22", method=b"POST", path=b"/graphql",
                       body=b'{"query":"{s3cret(a)}"'),
    "a push": request(b"Content-Type: application/x-git-receive-pack-request", LENGTH, method=b"POST",
                      path=b"/r.git/git-receive-pack", body=WORD),
    "a fetch that is none": request(b"Content-Type: application/x-git-upload-pack-request", LENGTH, method=b"POST",
                                    path=b"/r.git/git-upload-pack", body=WORD),
    "refs to push": request(path=b"/r.git/info/refs?service=git-receive-pack&x=s3cret"),
    "advisories": request(b"Content-Type: application/json", LENGTH, method=b"POST",
                          path=b"/-/npm/v1/security/advisories/bulk", body=WORD),
    # Fields
    **{f"field {name.decode()}": field(name) for name in (
        b"Cookie", b"User-Agent", b"Referer", b"From", b"Origin", b"Authorization", b"X-Anything", b"If-None-Match",
        b"If-Match", b"If-Range", b"If-Modified-Since", b"If-Unmodified-Since", b"Accept", b"Accept-Language",
        b"Accept-Charset", b"Accept-Encoding", b"Range", b"Cache-Control", b"Pragma", b"Warning", b"DNT",
        b"Content-Type", b"Content-Encoding", b"Content-Language", b"Forwarded", b"X-Forwarded-For", b"Via", b"Date",
        b"Max-Forwards", b"Sec-Fetch-Site", b"Git-Protocol", b"npm-command", b"pacote-pkg-id", b"Expires", b"Link",
        b"X-Amz-Target", b"X-Amz-Date", b"Sec-WebSocket-Protocol",
    )},
    "a name of a field": field(b"x-s3cret", b"1"), "a field twice": request(b"Accept: */*", b"Accept: s3cret"),
    "two cookies": request(b"Cookie: a=1", b"Cookie: b=s3cret"), "a range of words": field(b"Range", b"words=s3cret"),
    "many ranges": field(b"Range", b"bytes=0-1,2-3,s3cret"),
    "a tag that nobody gave": field(b"If-None-Match", b'"s3cret"'),
    "a date with a word": field(b"If-Modified-Since", b"Mon, 01 Jan 2024 00:00:00 s3cret"),
    "an old version": request(b"Cookie: s3cret", version=b"1.0"),
    # Addresses
    "a query": request(path=b"/x?q=s3cret"), "a query without a name": request(path=b"/?s3cret"),
    "a query on a path of git": request(path=b"/info/refs?service=git-upload-pack&s3cret"),
    "two dots": request(path=b"/a/../s3cret"), "a dot": request(path=b"/./s3cret"),
    "two slashes": request(path=b"//s3cret"),
    "spelled dots": request(path=b"/%2e%2e/s3cret"), "a spelled slash": request(path=b"/a%2fs3cret"),
    "a spelled percent": request(path=b"/%252e/s3cret"), "a spelled end": request(path=b"/%00s3cret"),
    "a spelled line": request(path=b"/%0d%0as3cret"), "parameters": request(path=b"/x;s3cret"),
    "spelled parameters": request(path=b"/x%3bs3cret"), "a spelled mark": request(path=b"/x%23s3cret"),
    "a long path": request(path=b"/s3cret" + b"a" * 1_100), "the second of two": request() + request(b"Cookie: s3cret"),
    # What a client may write in more than one way, and what goes along with a message
    "a patched file": request(b"Content-Range: bytes 0-5/6", LENGTH, method=b"PUT", body=WORD),
    "a search with a body": request(LENGTH, method=b"QUERY", body=WORD),
    "a folder to make": request(method=b"MKCOL", path=b"/s3cret"),
    "a lock": request(b"Lock-Token: <s3cret>", method=b"UNLOCK"), "a depth": field(b"Depth"),
    "a method in lower case": request(LENGTH, method=b"get", body=WORD),
    "a method behind get": request(b"X-HTTP-Method-Override: PUT", b"X-Y: s3cret"),
    "a word in each of many fields": request(*[b"X-%d: %s" % (n, WORD[n:n + 1]) for n in range(6)], b"X: s3cret"),
    "a wish for a language": field(b"Accept-Language", b"en;q=0.5, x-s3cret"), "a weight": field(
        b"Accept-Encoding", b"gzip;q=0.123, s3cret;q=0"),
    "a parameter of a kind": field(b"Accept", b"text/html;level=s3cret"),
    "a tag among others": field(b"If-None-Match", b'W/"a", "s3cret", *'),
    "a date that is none": field(b"If-Unmodified-Since", b"Thu, 01 Jan 1970 00:00:00 GMT s3cret"),
    "a range of another unit": field(b"Range", b"bytes=0-1;s3cret"), "a version of a protocol": field(
        b"Git-Protocol", b"version=2:s3cret"),
    "a trace": field(b"Traceparent", b"00-s3cret-00-01"), "a priority": field(b"Priority", b"u=1, s3cret"),
    "a wish about uploads": field(b"Want-Digest"),
    "an early word": field(b"Early-Data"), "a spelled question": request(path=b"/x%3fs3cret"),
    "a spelled backslash": request(path=b"/a%5cs3cret"), "a backslash": request(path=b"/a\\s3cret"),
    "half a spelling": request(path=b"/%s3cret"),
    "three slashes within": request(path=b"/a///s3cret"), "an empty question": request(path=b"/x?&&s3cret"),
    "a web socket": request(b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13",
                            b"Sec-WebSocket-Key: s3cret"),
    "a body behind a whole one": request() + request(LENGTH, method=b"POST", body=WORD),
}  # fmt: skip
# What the proxy lets nobody send, wherever it goes.
REFUSED: dict[str, bytes] = {
    "two lengths": request(LENGTH, b"Content-Length: 0", body=WORD),
    "length and chunks": request(LENGTH, CHUNKS, body=CHUNKED),
    "another host in the header": request().replace(b"Host: files", b"Host: s3cret"),
    "a label of the name": request().replace(b"http://files", b"http://s3cret.files"),
    "a user before the host": request().replace(b"http://", b"http://s3cret@"),
    "another port": request().replace(b".com/", b".com:8443/s3cret"),
    "a line within a field": request(b"X: a\nCookie: s3cret"), "a folded field": request(b"X: a\r\n s3cret"),
    "a blank before the colon": request(b"Cookie : s3cret"), "no version": b"GET http://files.acme.com/s3cret\r\n\r\n",
    "the next protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\ns3cret", "another protocol": request(
        b"Connection: Upgrade", b"Upgrade: s3cret"),
    "a tunnel within": request(method=b"CONNECT", path=b"/s3cret"), "a blank in the path": request(path=b"/a s3cret"),
    "bytes in the path": request(path=b"/\xffs3cret"), "a part behind the mark": request(path=b"/x#s3cret"),
    "a host twice": request(b"Host: s3cret.files.acme.com"), "no host": request().replace(b"Host: ", b"Hos: s3cret"),
    "a port that is none": request().replace(b".com/", b".com:s3cret/"), "a zone of a name": request().replace(
        b"files.acme.com/", b"files.acme.com%25s3cret/"),
    "a name with a dot behind": request().replace(b"files.acme.com/", b"s3cret.acme.com./"),
    "an address of another kind": request().replace(b"http://", b"ftp://").replace(b"/x", b"/s3cret"),
    "a star as the target": b"OPTIONS * HTTP/1.1\r\nHost: files.acme.com\r\nX: s3cret\r\n\r\n",
    "a later version": request(b"X: s3cret", version=b"3.0"), "a null in a field": request(b"Accept: a\0s3cret"),
    "http/2 by upgrade": request(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: s3cret"),
    "a length with a sign": request(b"Content-Length: +6", method=b"POST", body=WORD),
    "a length in hex": request(b"Content-Length: 0x6", method=b"POST", body=WORD),
    "chunks in another spelling": request(b"Transfer-Encoding: xchunked", method=b"POST", body=CHUNKED),
    "a trailer": request(CHUNKS, b"Trailer: X", method=b"POST", body=b"1\r\na\r\n0\r\nX: s3cret\r\n\r\n"),
    "trailers that are taken": field(b"TE", b"trailers, s3cret"),
    "a trailer that is announced": field(b"Trailer"),
    "an extension of a chunk": request(CHUNKS, method=b"POST", body=b"1;s3cret\r\na\r\n0\r\n\r\n"),
    "a login of one's own": field(b"Proxy-Authenticate"),
    "an expectation": field(b"Expect", b"100-continue, s3cret"),
    "codings in a row": request(b"Transfer-Encoding: gzip, chunked", body=CHUNKED),
}  # fmt: skip
# What a client may choose by grammar, and what it costs.
COUNTED = {
    "the path": request(path=b"/s3cret"), "a scope": request(path=b"/@s3cret%2fx"),
    "a long spelling": request(path=b"/%c0%ae%c0%ae/s3cret"),
    "a kind of file": field(b"Accept", b"application/s3cret"),
}  # fmt: skip
# Two values of one field, or two spellings of one address, either of which a server would understand: a bit for each.
CHOICES = {
    "a day": (field(b"If-Modified-Since", b"Mon, 01 Jan 2024 00:00:00 GMT"),
              field(b"If-Modified-Since", b"Tue, 02 Jan 2024 00:00:00 GMT")),
    "a day of a part": (field(b"If-Range", b"Mon, 01 Jan 2024 00:00:00 GMT"), request()),
    "a tag": (field(b"If-None-Match", b'"a"'), field(b"If-None-Match", b'"b"')),
    "a part": (field(b"Range", b"bytes=1-"), field(b"Range", b"bytes=2-")),
    "the end of a part": (field(b"Range", b"bytes=-17"), field(b"Range", b"bytes=-18")),
    "a coding": (field(b"Accept-Encoding", b"gzip"), field(b"Accept-Encoding", b"br")),
    "a kind": (field(b"Accept", b"text/html"), field(b"Accept", b"text/plain")),
    "a weight": (field(b"Accept", b"*/*;q=0.1"), field(b"Accept", b"*/*;q=0.2")),
    "an order": (request(b"Accept: */*", b"Accept-Encoding: gzip"), request(b"Accept-Encoding: gzip", b"Accept: */*")),
    "case of a name": (field(b"Accept", b"*/*"), field(b"aCCEPT", b"*/*")),
    "blanks": (request(b"Accept:*/*"), request(b"Accept: \t */* \t")),
    "case of an escape": (request(path=b"/%c3%a4"), request(path=b"/%C3%A4")),
    "an escape that is none": (request(path=b"/a"), request(path=b"/%61")),
    "an end of the connection": (request(b"Connection: close"), request(b"Connection: keep-alive")),
    "a version of git": (field(b"Git-Protocol", b"version=2"), field(b"Git-Protocol", b"version=1")),
    "case of the host": (request(), request().replace(b"http://files", b"http://FILES")),
    "an older version": (request(version=b"1.0"), request()),
    "no length": (request(b"Content-Length: 0"), request()),
    "a mark without a query": (request(path=b"/x?"), request()),
    "a word of a version": (field(b"Accept", b"*/*;version=1"), field(b"Accept", b"*/*;version=2")),
    "a coding that nobody has": (field(b"Accept-Encoding", b"abcdefghij"), field(b"Accept-Encoding", b"abcdefghik")),
    "a login for the proxy": (request(b"Proxy-Authorization: Basic czM="), request()),
    "how long a connection is kept": (request(b"Keep-Alive: timeout=7"), request()),
    "the port as well": (request(), request().replace(b".com/", b".com:80/")),
}  # fmt: skip


def test_there_are_enough_of_them() -> None:
    assert len(ARRIVES) + len(REFUSED) >= 60


@pytest.mark.parametrize("name", ARRIVES)
def test_a_word_that_arrives_elsewhere_does_not_arrive(wire: Wire, name: str) -> None:
    twin, _said = wire.send(FULL, ARRIVES[name])
    assert WORD in twin, "the twin without the bound sends nothing"
    got, said = wire.send(READS, ARRIVES[name])
    assert WORD not in got
    assert said <= 32


def hello(**words: bytes) -> bytes:
    """What a client of TLS says first, with words of its own in places that nobody reads."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if protocol := words.get("protocol"):
        context.set_alpn_protocols([protocol.decode()])
    taken, given = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(taken, given, server_hostname=HOST).do_handshake()
    found = bytearray(given.read())
    for name, at in (("random", 11), ("session", 44)):  # behind a record's, a message's and a version's head
        if word := words.get(name):
            found[at : at + len(word)] = word
    return bytes(found)


TUNNEL = b"CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n" % (HOST.encode(), HOST.encode())
HANDSHAKES = {"the random": {"random": WORD}, "the session": {"session": WORD}, "a protocol": {"protocol": WORD}}


@pytest.mark.parametrize("name", HANDSHAKES)
def test_a_word_in_the_handshake_of_tls_goes_no_further_than_the_proxy(wire: Wire, name: str) -> None:
    data = TUNNEL + hello(**HANDSHAKES[name])
    wire.outside.serve(HOST, 443, wire.plain.place)
    try:
        assert WORD in wire.send(FULL, data)[0]
        assert wire.send(READS, data) == (b"", 0)
    finally:
        wire.outside.serve(HOST, 443, wire.secure.place)


def test_a_connection_without_a_request_is_not_seen(wire: Wire) -> None:
    for network, seen in ((FULL, 1), (READS, 0)):
        before = wire.secure.connections
        wire.send(network, TUNNEL + hello())
        assert wire.secure.connections - before == seen


def test_where_a_client_stops_to_take_an_answer_is_counted(wire: Wire) -> None:
    whole = wire.send(READS, request())[1]
    assert wire.send(READS, request(), leaves=True)[1] == whole + CUT


@pytest.mark.parametrize(("clients", "bits"), [(1, 0), (2, 1), (9, 4)])
def test_which_of_many_connections_carries_a_request_is_counted(clients: int, bits: int) -> None:
    spent = []
    for each in (1, clients):
        said = Said(READS)
        said.clients = each
        for _ in range(800):
            asked = said.judged(Host(HOST), request_of(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % HOST.encode())).request
            said.spend(Host(HOST), asked, None)
        spent.append(said.counts()[0][2])
    assert spent[1] - spent[0] == bits * 100


@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_may_send_brings_the_word_nowhere(wire: Wire, name: str) -> None:
    for network in (READS, FULL):
        assert WORD not in wire.send(network, REFUSED[name])[0]


@pytest.mark.parametrize("name", COUNTED)
def test_what_may_be_chosen_is_counted(wire: Wire, name: str) -> None:
    got, said = wire.send(READS, COUNTED[name])
    assert WORD in got
    assert len(WORD) < said <= 64


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_between_what_is_the_same_is_not_seen_or_is_counted(wire: Wire, name: str) -> None:
    (one, cost), (other, price) = (wire.send(READS, each) for each in CHOICES[name])
    bare = wire.send(READS, request(path=b""))[1]
    assert one == other or max(cost, price) > bare
    assert max(cost, price) <= 64
