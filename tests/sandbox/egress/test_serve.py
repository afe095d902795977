"""One connection of a client: what it sends, what it gets, what is dialled, and what is reported."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import patience

from gateway.model.plan import Endpoint, Injection, Network
from gateway.model.result import Violation
from gateway.sandbox.egress import authority
from gateway.sandbox.egress import serve as serving
from gateway.sandbox.egress.addresses import Host
from gateway.sandbox.egress.authority import Authority
from gateway.sandbox.egress.decide import Rules
from gateway.sandbox.egress.dial import Dialler
from gateway.sandbox.egress.idle_connections import MOST_SPARE, SPARE_SECONDS, Spare
from gateway.sandbox.egress.outside import Outside as Shared
from gateway.sandbox.egress.report import Report
from gateway.sandbox.egress.streams import Plain, Stream

from .conftest import PUBLIC, Outside
from .test_protocols import hello, named, with_extension

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

GOOD = Network("listed", (Endpoint("good.example", 0, "good"), Endpoint("good.example", 9000, "raw")))
GET = b"GET http://good.example/x HTTP/1.1\r\nHost: good.example\r\n\r\n"
WHO = Host("good.example")


class Talk:
    """What a client got, and what was reported."""

    def __init__(self, got: bytes, violations: tuple[Violation, ...]) -> None:
        self.got, self.violations = got, violations
        self.status = int(got.split(b" ")[1]) if got.startswith(b"HTTP/") else 0

    def reported(self) -> list[tuple[str, str, str]]:
        return [(each.kind, each.target, each.rule) for each in self.violations]


@pytest.fixture
def speak(outside: Outside) -> Callable[..., Talk]:
    """Sends bytes over a connection to the proxy, or to a host that was dialled, and reads to the end."""

    def talk(
        network: Network,
        sent: bytes,
        dialled: tuple[Host, int] | None = None,
        client: Callable[[socket.socket], bytes] | None = None,
        *,
        maker: Authority | None = None,
        trust: Callable[[], ssl.SSLContext] = ssl.create_default_context,
        inside: dict[str, Host] | None = None,
        after: tuple[bytes, ...] = (),
    ) -> Talk:
        """`after`: what further clients of the same call send, one after another."""
        named = inside or {}
        pairs = [socket.socketpair() for _ in (sent, *after)]
        report = Report(lambda _violation: None)
        got: list[bytes] = []

        def run() -> None:
            for (ours, _theirs), text in zip(pairs, (sent, *after), strict=True):
                ours.settimeout(patience(20))
                if client is not None:
                    got.append(client(ours))
                    continue
                with contextlib.suppress(ConnectionError):  # some are cut off
                    ours.sendall(text)
                    ours.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionError):
                    while data := ours.recv(65536):
                        got.append(data)

        async def serve() -> None:
            async with asyncio.timeout(patience(20)):
                shared = Shared(
                    Rules(network), Dialler(outside.resolve, outside.route), report, maker, trust, named.get
                )
                for _ours, theirs in pairs:
                    await serving.Connection(shared, theirs).run(dialled)
                    theirs.close()
                shared.spare.close()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            asyncio.run(serve())
        finally:
            for _ours, theirs in pairs:
                theirs.close()
            thread.join()
            for ours, _theirs in pairs:
                ours.close()
        return Talk(b"".join(got), report.all())

    return talk


@pytest.fixture
def kept() -> Iterator[Callable[..., tuple[tuple[str, int], list[int]]]]:
    """Servers that answer the requests of a connection one after another, then end it; how many each was sent."""
    listeners = []

    def start(
        answers: list[bytes], context: ssl.SSLContext | None = None, got: list[bytes] | None = None
    ) -> tuple[tuple[str, int], list[int]]:
        listener = socket.create_server(("127.0.0.1", 0))
        seen: list[int] = []

        def answer_all(connection: socket.socket, number: int) -> None:
            with contextlib.suppress(OSError):
                if context is not None:
                    connection = context.wrap_socket(connection, server_side=True)
                with connection:
                    connection.settimeout(patience(10))
                    for answer in answers:
                        data = b""
                        while not data.endswith((b"\r\n\r\n", b"hi")):
                            more = connection.recv(65536)
                            if not more:
                                break
                            data += more
                        if not data:
                            break
                        seen[number] += 1
                        if got is not None:
                            got.append(data)
                        connection.sendall(answer)

        def run() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _from = listener.accept()
                    seen.append(0)
                    threading.Thread(target=answer_all, args=(connection, len(seen) - 1), daemon=True).start()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        listeners.append((listener, thread))
        return listener.getsockname(), seen

    yield start
    for listener, thread in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


@pytest.fixture
def raw() -> Iterator[Callable[[bytes], tuple[tuple[str, int], list[bytes]]]]:
    """Servers that read one whole stream or head, and answer with given bytes."""
    listeners = []
    threads = []

    def start(answer: bytes) -> tuple[tuple[str, int], list[bytes]]:
        listener = socket.create_server(("127.0.0.1", 0))
        got: list[bytes] = []

        def run() -> None:
            while True:
                try:
                    connection, _from = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(patience(10))
                    data = b""
                    try:
                        while not (data.endswith((b"\r\n\r\n", b"END"))) and (more := connection.recv(65536)):
                            data += more
                        got.append(data)
                        connection.sendall(answer)
                    except OSError:
                        got.append(data)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        listeners.append(listener)
        threads.append(thread)
        return listener.getsockname(), got

    yield start
    for each in listeners:
        each.shutdown(socket.SHUT_RDWR)
        each.close()
    for thread in threads:
        thread.join(10)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello"


def test_an_allowed_request_is_forwarded_in_origin_form(speak, outside, raw) -> None:
    place, got = raw(OK)
    outside.serve("good.example", 80, place)
    sent = (
        b"GET http://good.example/x?y HTTP/1.1\r\nHost: good.example\r\n"
        b"Proxy-Authorization: x\r\nProxy-Connection: y\r\n"
        b"Connection: keep-alive, x-mine\r\nX-Mine: 1\r\nAccept: */*\r\n\r\n"
    )
    talk = speak(GOOD, sent)
    assert talk.got == b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
    assert got == [b"GET /x?y HTTP/1.1\r\nHost: good.example\r\naccept: */*\r\n\r\n"]
    assert (talk.violations, outside.dialled) == ((), [(PUBLIC, 80)])


def test_a_request_behind_the_first_one_is_judged_by_itself(speak, outside, raw) -> None:
    place, got = raw(OK)
    outside.serve("good.example", 80, place)
    assert speak(GOOD, GET + GET.replace(b"/x", b"/second")).got.count(b"hello") == 2
    other = speak(GOOD, GET + b"GET http://bad.example/ HTTP/1.1\r\nHost: bad.example\r\n\r\n")
    assert (other.got.count(b"hello"), b"403 Refused by gateway" in other.got) == (1, True)
    assert other.reported() == [("net", "bad.example:80", "")]
    closed = speak(GOOD, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + GET)
    assert (closed.got.count(b"hello"), b"Connection: close" in closed.got) == (1, True)
    assert [each.split(b" ")[1] for each in got] == [b"/x", b"/second", b"/x", b"/x"]


def test_a_request_that_changes_the_host_within_a_tunnel_is_refused(speak, outside, web) -> None:
    outside.serve("good.example", 80, web())
    inner = b"GET /x HTTP/1.1\r\nHost: good.example\r\n\r\n"
    talk = speak(GOOD, inner + inner.replace(b"good", b"bad"), (WHO, 80))
    assert (talk.got.count(b"hello"), talk.got.count(b"400 Bad Request")) == (1, 1)
    assert talk.reported() == [("net", "good.example:80", "")]


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", [3]),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", [3]),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: Close\r\n\r\nhello", [1, 1, 1]),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", [1, 1, 1]),
    ],
    ids=["length", "chunks", "the server ends it", "an old server"],
)
def test_a_client_goes_on_whether_its_server_does_or_not(speak, outside, kept, answer: bytes, sent: list[int]) -> None:
    place, seen = kept([answer] * 3)
    outside.serve("good.example", 80, place)
    assert speak(GOOD, GET * 3).got.count(b"hello") == 3
    assert (seen, len(outside.dialled)) == (sent, len(sent))


def test_another_client_of_the_call_takes_the_connection_that_the_last_one_left(speak, outside, kept) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    place, seen = kept([answer] * 4)
    outside.serve("good.example", 80, place)
    assert speak(GOOD, GET, after=(GET, GET * 2)).got.count(b"hello") == 4
    assert (seen, outside.dialled) == ([4], [(PUBLIC, 80)])


@pytest.mark.parametrize(
    "first",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
    ],
    ids=["half an answer", "more than one", "the last one"],
)
def test_one_that_is_not_whole_is_taken_by_nobody(speak, outside, kept, first: bytes) -> None:
    place, seen = kept([first])
    outside.serve("good.example", 80, place)
    got = speak(GOOD, GET, after=(GET,)).got
    assert (seen, len(outside.dialled), b"other" in got) == ([1, 1], 2, False)


def test_what_cannot_be_sent_twice_takes_none_that_another_client_left(speak, outside, kept) -> None:
    place, seen = kept([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"] * 3)
    outside.serve("good.example", 80, place)
    post = b"POST http://good.example/x HTTP/1.1\r\nHost: good.example\r\nContent-Length: 0\r\n\r\n"
    assert speak(GOOD, GET, after=(post,)).got.count(b"hello") == 2
    assert (seen, len(outside.dialled)) == ([1, 1], 2)


def test_few_are_left_to_others_and_none_for_long() -> None:
    """Each is there for who goes to the same place, and the oldest are ended."""
    at = [0.0]
    spare = Spare(lambda: at[0])
    made = []
    for number in range(MOST_SPARE + 2):
        ours, theirs = socket.socketpair()
        made.append((ours, theirs))
        spare.put(((WHO, number, False), Stream(Plain(ours)), ours))
    assert [theirs.recv(1) for _ours, theirs in made[:2]] == [b"", b""]
    assert spare.take((WHO, 0, False)) is None
    assert spare.take((WHO, 3, True)) is None
    found = spare.take((WHO, 3, False))
    assert found is not None
    at[0] = SPARE_SECONDS + 1
    assert spare.take((WHO, 4, False)) is None
    spare.put(found)
    assert [theirs.recv(1) for _ours, theirs in made[4:]] == [b""] * (MOST_SPARE - 2)
    spare.close()
    assert made[3][1].recv(1) == b""
    for ours, theirs in made:
        ours.close()
        theirs.close()


def test_an_answer_that_ends_with_its_connection_ends_the_clients(speak, outside, raw) -> None:
    place, _got = raw(b"HTTP/1.1 200 OK\r\n\r\nhello")
    outside.serve("good.example", 80, place)
    assert speak(GOOD, GET * 2).got == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"


def test_a_kept_connection_that_has_ended_is_made_anew_and_nothing_is_sent_twice(speak, outside, kept) -> None:
    place, seen = kept([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"])  # one answer, then the end
    outside.serve("good.example", 80, place)
    assert speak(GOOD, GET * 3).got.count(b"hello") == 3
    assert seen == [1, 1, 1]
    post = b"POST http://good.example/x HTTP/1.1\r\nHost: good.example\r\nContent-Length: 2\r\n\r\nhi"
    talk = speak(GOOD, GET + post)
    assert (seen[3], sum(seen[4:]) <= 1, talk.got.count(b"hello") >= 1) == (1, True, True)


def test_an_answer_to_nothing_is_never_taken_for_one_to_the_next_request(speak, outside, kept) -> None:
    two = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother"
    place, seen = kept([two])
    outside.serve("good.example", 80, place)
    talk = speak(GOOD, GET * 2)
    assert (talk.got.count(b"hello"), talk.got.count(b"other"), seen) == (2, 0, [1, 1])


def test_a_denied_host_is_refused_in_words_and_never_resolved(speak, outside) -> None:
    talk = speak(GOOD, b"GET http://bad.example/ HTTP/1.1\r\nHost: bad.example\r\n\r\n")
    head, _, body = talk.got.partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"HTTP/1.1 403 Refused by gateway: bad.example:80 (rule: none allows it)"
    assert body.decode() == (
        "The gateway refused this connection.\nhost: bad.example:80\nrule: none allows it\n"
        "reason: this host is not among those that this call may reach\n"
        "what to do: bad.example:80: this host is not among those that this call may reach; "
        "do without it, or ask for a rule that allows the command, with "
        "`settings: {sandbox: {hosts: [bad.example]}}`.\n"
    )
    hint = "bad.example:80: this host is not among those that this call may reach; "
    hint += (
        "do without it, or ask for a rule that allows the command, with `settings: {sandbox: {hosts: [bad.example]}}`."
    )
    assert talk.violations == (Violation("net", "bad.example:80", "", "proxy", hint),)
    assert (outside.asked, outside.dialled) == ([], [])


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"CONNECT bad.example:443 HTTP/1.1\r\nHost: bad.example:443\r\n\r\n", b"HTTP/1.1 403 "),
        (b"CONNECT good.example:25 HTTP/1.1\r\nHost: good.example:25\r\n\r\n", b"HTTP/1.1 403 "),
        (b"GET https://bad.example/ HTTP/1.1\r\nHost: bad.example\r\n\r\n", b"HTTP/1.1 403 "),
        (b"\5\1\0" + named(b"bad.example"), b"\5\0\5\2"),
        (b"\5\1\0\5\1\0\1\1\1\1\1\0\x50", b"\5\0\5\2"),
    ],
    ids=["CONNECT", "another port", "https to the proxy", "SOCKS name", "SOCKS address"],
)
def test_each_way_to_a_denied_host_is_refused(speak, outside, sent: bytes, answer: bytes) -> None:
    outside.names["good.example"] = [PUBLIC]
    talk = speak(GOOD, sent)
    assert talk.got.startswith(answer)
    assert [each.kind for each in talk.violations] == ["net"]
    assert outside.dialled == []


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"GET http://good.example/ HTTP/1.1\r\nHost: bad.example\r\n\r\n", b"HTTP/1.1 400 "),
        (b"GET http://good.example@bad.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n", b"HTTP/1.1 400 "),
        (b"GET /x HTTP/1.1\r\nHost: good.example\r\n\r\n", b"HTTP/1.1 400 "),
        (GET[:-2] + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", b"HTTP/1.1 400 "),
        (GET.replace(b"\r\n", b"\n") + b"\r\n\r\n", b"HTTP/1.1 400 "),
        (b"GET http://good.example/ HTTP/1.1\r\nX: " + b"a" * 70000, b"HTTP/1.1 431 "),
        (b"\4\1\0\x50\1\1\1\1\0", b"\0\x5b"),
        (b"\5\1\2", b"\5\xff"),
        (b"\5\1\0" + named(b"good.example\0.bad.example"), b"\5\0\5\1"),
        (b"\5\1\0\5\2\0\1\1\1\1\1\0\x50", b"\5\0\5\7"),
    ],
    ids=[
        "Host disagrees", "user name", "no URL", "two lengths", "bare LF", "endless head", "SOCKS4", "password", "NUL",
        "BIND",
    ],
)  # fmt: skip
def test_each_malformed_request_is_refused_and_reported(speak, outside, sent: bytes, answer: bytes) -> None:
    outside.names["good.example"] = [PUBLIC]
    talk = speak(GOOD, sent)
    assert talk.got.startswith(answer)
    assert talk.reported() == [("net", "proxy", "")]
    assert outside.dialled == []


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.1"])
def test_a_name_that_leads_inside_is_refused(speak, outside, address: str) -> None:
    outside.names["a.good.example"] = [address]
    talk = speak(Network("listed", (Endpoint("*.good.example", 0, "below"),)), GET.replace(b"good", b"a.good"))
    assert (talk.status, outside.dialled) == (403, [])
    assert [each.target for each in talk.violations] == ["a.good.example:80"]
    assert "no rule names that host or address" in talk.violations[0].hint


def test_the_own_address_of_this_host_counts_as_inside(speak, outside, raw, monkeypatch) -> None:
    place, _got = raw(OK)
    outside.serve("good.example", 80, place)
    wide = Network("listed", (Endpoint("*.example", 0, "below"),))
    assert speak(wide, GET).status == 200
    monkeypatch.setattr("gateway.sandbox.egress.dial.is_own", lambda _address: True)
    refused = speak(wide, GET)
    assert (refused.status, "this host's own address" in refused.violations[0].hint) == (403, True)
    assert speak(GOOD, GET).status == 200  # named


def test_only_public_addresses_of_a_name_are_dialled_the_next_when_one_fails(speak, outside, raw) -> None:
    place, _got = raw(OK)
    outside.names["a.good.example"] = ["10.0.0.1", "93.184.216.35", PUBLIC]
    outside.places[PUBLIC, 80] = place
    talk = speak(Network("listed", (Endpoint("*.good.example"),)), GET.replace(b"good", b"a.good"))
    assert talk.status == 200
    assert outside.dialled == [("93.184.216.35", 80), (PUBLIC, 80)]


@pytest.mark.parametrize(
    ("names", "why"),
    [({}, "could not be resolved"), ({"good.example": [PUBLIC]}, "cannot be reached")],
    ids=["absent", "down"],
)
def test_a_host_that_does_not_answer_is_no_violation(speak, outside, names: dict[str, list[str]], why: str) -> None:
    outside.names = names
    talk = speak(GOOD, GET)
    assert (talk.status, why in talk.got.decode(), talk.violations) == (502, True, ())


BODY = b"POST http://good.example/x HTTP/1.1\r\nHost: good.example\r\n"


@pytest.mark.parametrize(
    ("sent", "arrived"),
    [
        (BODY + b"Content-Length: 3\r\n\r\nEND more", b"END"),
        (BODY + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nEND\r\n0\r\nT: x\r\n\r\nmore", b"3\r\nEND\r\n0\r\n\r\n"),
    ],
    ids=["by length", "in chunks"],
)
def test_a_body_is_forwarded_and_nothing_behind_it(speak, outside, raw, sent: bytes, arrived: bytes) -> None:
    place, got = raw(OK)
    outside.serve("good.example", 80, place)
    assert speak(GOOD, sent).status == 200
    assert arrived.startswith(got[0].partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize(
    "sent",
    [
        BODY + b"Content-Length: 9\r\n\r\nEND",
        BODY + b"Transfer-Encoding: chunked\r\n\r\n3\r\nENDx\r\n0\r\n\r\n",
        BODY + b"Transfer-Encoding: chunked\r\n\r\n0x3\r\nEND\r\n0\r\n\r\n",
    ],
    ids=["cut off", "chunk too long", "odd size"],
)
def test_a_broken_body_is_never_passed_off_as_whole(speak, outside, sent: bytes) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(patience(20))
    outside.serve("good.example", 80, listener.getsockname())
    got = []

    def read() -> None:
        with listener.accept()[0] as connection:
            data = b""
            while more := connection.recv(65536):
                data += more
            got.append(data)

    thread = threading.Thread(target=read)
    thread.start()
    talk = speak(GOOD, sent)
    thread.join(10)
    listener.close()
    assert talk.status == 502
    assert not got[0].endswith(b"0\r\n\r\n")
    assert len(got[0].partition(b"\r\n\r\n")[2]) < 9


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"", 502),
        (b"garbage\r\n\r\n", 502),
        (b"HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\n", 502),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 502),
        (b"HTTP/1.1 103 Early\r\n\r\n" + OK, 103),
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", 200),
    ],
    ids=["nothing", "no HTTP", "another protocol", "two lengths", "a word before", "no length"],
)
def test_what_servers_answer_is_read_strictly_too(speak, outside, raw, answer: bytes, status: int) -> None:
    outside.serve("good.example", 80, raw(answer)[0])
    assert speak(GOOD, GET).status == status


def test_web_sockets_go_on_after_the_server_agreed(speak, outside, raw) -> None:
    place, got = raw(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nframes")
    outside.serve("good.example", 80, place)
    talk = speak(GOOD, GET[:-2] + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    assert talk.got.endswith(b"Connection: Upgrade\r\n\r\nframes")
    assert b"Upgrade: websocket\r\n" in got[0]


@pytest.mark.parametrize(
    "sent",
    [
        b"CONNECT good.example:9000 HTTP/1.1\r\nHost: good.example:9000\r\n\r\nDATA END",
        b"\5\1\0" + named(b"good.example", 9000) + b"DATA END",
    ],
    ids=["CONNECT", "SOCKS"],
)
def test_a_tunnel_carries_bytes_both_ways(speak, outside, raw, sent: bytes) -> None:
    place, got = raw(b"BACK")
    outside.serve("good.example", 9000, place)
    assert speak(GOOD, sent).got.endswith(b"BACK")
    assert got == [b"DATA END"]


@pytest.mark.parametrize("target", [b"127.1.0.1:9000", b"127.1.0.2:9000"], ids=["ours", "nobody's"])
def test_a_client_that_looked_the_name_up_first_reaches_that_name(speak, outside, raw, target: bytes) -> None:
    place, got = raw(b"BACK")
    outside.serve("good.example", 9000, place)
    sent = b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target + b"\r\n\r\nDATA END"
    talk = speak(GOOD, sent, inside={"127.1.0.1": WHO})
    ours = target == b"127.1.0.1:9000"
    assert (talk.got.endswith(b"BACK"), talk.status, len(got), len(talk.violations)) == (
        (True, 200, 1, 0) if ours else (False, 403, 0, 1)
    )


def test_a_server_that_speaks_first_is_heard(speak, outside) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(patience(20))
    outside.serve("good.example", 9000, listener.getsockname())

    def server() -> None:
        with listener.accept()[0] as connection:
            connection.sendall(b"220 hello\r\n")
            connection.recv(100)

    thread = threading.Thread(target=server)
    thread.start()

    def client(connection: socket.socket) -> bytes:
        connection.sendall(b"CONNECT good.example:9000 HTTP/1.1\r\nHost: good.example:9000\r\n\r\n")
        data = b""
        while not data.endswith(b"hello\r\n"):
            data += connection.recv(100)
        connection.sendall(b"QUIT")
        connection.shutdown(socket.SHUT_WR)
        return data

    talk = speak(GOOD, b"", client=client)
    thread.join(10)
    listener.close()
    assert talk.got.endswith(b"\r\n\r\n220 hello\r\n")


TUNNEL = b"CONNECT good.example:%d HTTP/1.1\r\nHost: good.example:%d\r\n\r\n"


@pytest.mark.parametrize("port", [443, 9000])
def test_the_name_in_a_handshake_must_be_the_one_that_was_dialled(speak, outside, raw, port: int) -> None:
    place, got = raw(b"SERVER")
    outside.serve("good.example", port, place)
    talk = speak(GOOD, TUNNEL % (port, port) + hello("good.example"))
    assert (talk.got[-6:], len(got[0]), talk.violations) == (b"SERVER", len(hello("good.example")), ())
    for other, why in (
        (hello("bad.example"), "asks for another name (bad.example)"),
        (hello(None), "asks for no name"),
        (with_extension(0xFE0D, b"x", hello("good.example")), "encrypted (ECH)"),
    ):
        got.clear()
        talk = speak(GOOD, TUNNEL % (port, port) + other)
        assert talk.got.endswith(b"\x15\3\3\0\2\2\x31")  # the alert: access denied
        assert talk.reported() == [("net", f"good.example:{port}", "")]
        assert why in talk.violations[0].hint
        assert b"".join(got) == b""


def test_only_tls_goes_through_port_443(speak, outside, raw) -> None:
    place, got = raw(b"SERVER")
    outside.serve("good.example", 443, place)
    talk = speak(GOOD, TUNNEL % (443, 443) + b"SSH-2.0-x\r\nEND")
    assert "only TLS is let through" in talk.violations[0].hint
    assert b"".join(got) == b""


@pytest.mark.parametrize(
    ("sent", "status", "reported"),
    [
        (b"GET /x HTTP/1.1\r\nHost: good.example\r\n\r\n", 200, []),
        (b"GET http://good.example/x HTTP/1.1\r\nHost: good.example\r\n\r\n", 200, []),
        (b"GET /x HTTP/1.1\r\nHost: bad.example\r\n\r\n", 400, [("net", "good.example:80", "")]),
        (b"GET /x HTTP/1.1\r\nHost: good.example:81\r\n\r\n", 400, [("net", "good.example:80", "")]),
        (b"GET http://bad.example/x HTTP/1.1\r\nHost: bad.example\r\n\r\n", 400, [("net", "good.example:80", "")]),
        (b"GET https://good.example/x HTTP/1.1\r\nHost: good.example\r\n\r\n", 400, [("net", "good.example:80", "")]),
        (b"CONNECT good.example:443 HTTP/1.1\r\nHost: good.example\r\n\r\n", 400, [("net", "good.example:80", "")]),
        (hello("good.example") + b"\r\n\r\n", 400, [("net", "good.example:80", "")]),
    ],
    ids=["plain", "absolute", "Host disagrees", "port disagrees", "URL disagrees", "https", "CONNECT", "TLS"],
)
@pytest.mark.parametrize("way", ["dialled", "CONNECT", "SOCKS"])
def test_port_80_is_read_as_http_for_the_dialled_name(
    speak, outside, raw, way: str, sent: bytes, status: int, reported: list[tuple[str, str, str]]
) -> None:
    place, got = raw(OK)
    outside.serve("good.example", 80, place)
    before = {"dialled": b"", "CONNECT": TUNNEL % (80, 80), "SOCKS": b"\5\1\0" + named(b"good.example", 80)}[way]
    talk = speak(GOOD, before + sent, dialled=(WHO, 80) if way == "dialled" else None)
    assert f"HTTP/1.1 {status} ".encode() in talk.got
    assert talk.reported() == reported
    assert len(got) == (status == 200)


def test_a_refused_port_of_a_dialled_name_is_explained_or_cut(speak) -> None:
    only_tls = Network("listed", (Endpoint("good.example", 443, "tls"),))
    talk = speak(only_tls, b"GET /x HTTP/1.1\r\nHost: good.example\r\n\r\n", dialled=(WHO, 80))
    assert (talk.status, talk.reported()) == (403, [("net", "good.example:80", "")])
    talk = speak(only_tls, b"SSH-2.0", dialled=(WHO, 22))
    assert (talk.got, talk.reported()) == (b"", [("net", "good.example:22", "")])


def test_the_same_refusal_is_counted_not_repeated() -> None:
    told: list[Violation] = []
    report = Report(told.append)
    for _ in range(3):
        report.refused("net", "bad.example:80", "r", "proxy", "why")
    for number in range(300):
        report.add("dns", f"n{number}", "", "dns", "h")
    found = report.all()
    assert told[0] == found[0].replace(count=1)
    assert (found[0].count, len(found), found[-1].target, found[-1].count) == (3, 101, "…", 201)
    assert len(told) == 101


def test_nothing_in_a_report_can_paint_a_terminal() -> None:
    report = Report(lambda _violation: None)
    report.add("dns", "a\x1b[2Jb\n", "", "dns", "x\r")
    assert (report.all()[0].target, report.all()[0].hint) == ("a\\x1b[2Jb\\x0a", "x\\x0d")


@given(
    st.one_of(
        st.binary(max_size=200),
        st.binary(max_size=60).map(lambda tail: b"\5\1\0\5\1\0" + tail),
        st.binary(max_size=60).map(lambda tail: b"CONNECT " + tail + b"\r\n\r\n"),
    )
)
def test_no_bytes_open_a_way_out(speak, outside, data: bytes) -> None:
    speak(Network("listed", (Endpoint("never.example", 1, "never"),)), data)
    assert outside.dialled == []


needs_certificates = pytest.mark.skipif(not authority.available(), reason="the package cryptography is not installed")
SECRET = Injection("good.example", "X-Api-Key", "env:GATEWAY_TEST_SECRET", "Key {}")
WITH_SECRET = GOOD.replace(inject=(SECRET,))


@pytest.fixture(scope="module")
def maker() -> Iterator[Authority]:
    made = Authority()
    yield made
    made.close()


@pytest.fixture
def trust(maker: Authority, tmp_path: Path) -> Callable[[], ssl.SSLContext]:
    path = tmp_path / "ca.pem"
    path.write_bytes(maker.certificate())
    return lambda: ssl.create_default_context(cafile=str(path))


@needs_certificates
@pytest.mark.parametrize("url", ["http", "https"])
def test_a_header_is_added_outside_and_never_in_the_clear(
    speak, outside, web, maker, trust, monkeypatch, url: str
) -> None:
    monkeypatch.setenv("GATEWAY_TEST_SECRET", "s3cret\n")
    seen: list[dict[str, str]] = []
    outside.serve("good.example", 443, web(context=maker.context("good.example"), seen=seen))
    outside.serve("good.example", 80, web(seen=seen))
    sent = f"GET {url}://good.example/x HTTP/1.1\r\nHost: good.example\r\nx-api-key: mine\r\nX_Api_Key: mine\r\n\r\n"
    talk = speak(WITH_SECRET, sent.encode(), trust=trust)
    assert talk.got.endswith(b"\r\n\r\nhello")
    assert outside.dialled == [(PUBLIC, 443)]
    assert seen == [{"line": "GET /x HTTP/1.1", "body": "", "Host": "good.example", "X-Api-Key": "Key s3cret"}]
    assert speak(GOOD, sent.encode(), trust=trust).status == 200  # the same without the injection
    assert "mine" in str(seen[1])


@needs_certificates
@pytest.mark.parametrize("way", ["CONNECT", "dialled"])
def test_a_header_is_added_to_encrypted_requests(speak, outside, web, maker, trust, monkeypatch, way: str) -> None:
    monkeypatch.setenv("GATEWAY_TEST_SECRET", "s3cret")
    seen: list[dict[str, str]] = []
    outside.serve("good.example", 443, web(context=maker.context("good.example"), seen=seen))

    def client(connection: socket.socket) -> bytes:
        if way == "CONNECT":
            connection.sendall(TUNNEL % (443, 443))
            assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
        with trust().wrap_socket(connection, server_hostname="good.example") as secure:
            post = b"POST /x HTTP/1.1\r\nHost: good.example\r\nContent-Length: 2\r\n"
            secure.sendall(post + b"\r\nhi" + post + b"Connection: close\r\n\r\nho")
            data = b""
            while more := secure.recv(1000):
                data += more
            return data

    talk = speak(WITH_SECRET, b"", (WHO, 443) if way == "dialled" else None, client, maker=maker, trust=trust)
    assert talk.got.endswith(b"\r\n\r\nhello")
    assert [(each["body"], each["X-Api-Key"]) for each in seen] == [("hi", "Key s3cret"), ("ho", "Key s3cret")]
    assert outside.dialled == [(PUBLIC, 443)]


@needs_certificates
def test_a_host_in_an_encrypted_request_must_be_the_dialled_one_too(speak, outside, maker, trust) -> None:
    outside.names["good.example"] = [PUBLIC]

    def client(connection: socket.socket) -> bytes:
        with trust().wrap_socket(connection, server_hostname="good.example") as secure:
            secure.sendall(b"GET /x HTTP/1.1\r\nHost: bad.example\r\n\r\n")
            return secure.recv(1000)

    talk = speak(WITH_SECRET, b"", (WHO, 443), client, maker=maker, trust=trust)
    assert (talk.status, talk.reported(), outside.dialled) == (400, [("net", "good.example:443", "")], [])


@needs_certificates
def test_a_server_with_another_certificate_never_gets_the_header(
    speak, outside, web, maker, trust, monkeypatch
) -> None:
    monkeypatch.setenv("GATEWAY_TEST_SECRET", "s3cret")
    seen: list[dict[str, str]] = []
    outside.serve("good.example", 443, web(context=maker.context("bad.example"), seen=seen))
    talk = speak(WITH_SECRET, GET, trust=trust)
    assert (talk.status, seen) == (502, [])
    assert b"did not answer as it should" in talk.got


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"source": "env:GATEWAY_TEST_MISSING"}, "env:GATEWAY_TEST_MISSING: it is not set"),
        ({"source": "file:/nonexistent/key"}, "file:/nonexistent/key: No such file or directory"),
        ({"source": "cmd:date"}, "is no source"),
        ({"header": "Host"}, "`Host` is no header that can be added"),
        ({"header": "A: b"}, "`A: b` is no header that can be added"),
        ({"source": "env:GATEWAY_TEST_BROKEN"}, "cannot be sent in a header"),
        ({"source": "env:GATEWAY_TEST_EMPTY"}, "cannot be sent in a header"),
    ],
    ids=["no variable", "no file", "no source", "framing", "no name", "a line break inside", "empty"],
)
def test_a_header_that_cannot_be_added_stops_the_request(
    speak, outside, monkeypatch, change: dict[str, str], why: str
) -> None:
    monkeypatch.setenv("GATEWAY_TEST_SECRET", "s3cret")
    monkeypatch.setenv("GATEWAY_TEST_BROKEN", "hush\r\nX: y")
    monkeypatch.setenv("GATEWAY_TEST_EMPTY", " ")
    outside.names["good.example"] = [PUBLIC]
    talk = speak(GOOD.replace(inject=(SECRET.replace(**change),)), GET)
    assert (talk.status, outside.dialled) == (502, [])
    assert why in talk.violations[0].hint
    assert b"hush" not in talk.got
    assert "hush" not in talk.violations[0].hint


def test_a_header_from_a_file_is_read_when_it_is_sent(speak, outside, raw, tmp_path) -> None:
    place, got = raw(OK)
    outside.serve("good.example", 9000, place)
    (tmp_path / "key").write_text("first\n")
    network = GOOD.replace(inject=(SECRET.replace(source=f"file:{tmp_path}/key", template="{}"),))
    sent = GET.replace(b"good.example", b"good.example:9000")
    speak(network, sent)
    (tmp_path / "key").write_text("second")
    speak(network, sent)
    assert [each.split(b"X-Api-Key: ")[1].split(b"\r\n")[0] for each in got] == [b"first", b"second"]


def test_trace_would_show_the_header(speak, outside) -> None:
    outside.names["good.example"] = [PUBLIC]
    talk = speak(WITH_SECRET, GET.replace(b"GET", b"TRACE"))
    assert (talk.status, outside.dialled) == (403, [])


READS = Network("listed", (Endpoint("good.example", 0, "reads", "read"),))


def inside_tls(trust: Callable[[], ssl.SSLContext], *requests: bytes) -> Callable[[socket.socket], bytes]:
    """A client that speaks TLS at once and reads until as many answers have come."""

    def client(connection: socket.socket) -> bytes:
        with trust().wrap_socket(connection, server_hostname="good.example") as secure:
            data = b""
            for request in requests:
                secure.sendall(request)
                answers = data.count(b"hello")
                while data.count(b"hello") == answers:
                    more = secure.recv(65536)
                    if not more:  # refused
                        return data
                    data += more
            return data

    return client


@needs_certificates
@pytest.mark.parametrize("way", ["CONNECT", "dialled", "proxy"])
def test_a_host_that_may_only_be_read_from_gets_what_reading_takes(speak, outside, web, maker, trust, way: str) -> None:
    seen: list[dict[str, str]] = []
    outside.serve("good.example", 443, web(context=maker.context("good.example"), seen=seen))
    fields = b"Host: good.example\r\nUser-Agent: secret\r\nCookie: a=secret\r\nAccept: */*\r\n"
    if way == "proxy":
        talk = speak(
            READS, b"GET http://good.example/x?secret HTTP/1.1\r\n" + fields + b"\r\n", maker=maker, trust=trust
        )
    else:
        inner = inside_tls(trust, b"GET /x?secret HTTP/1.1\r\n" + fields + b"\r\n")

        def client(connection: socket.socket) -> bytes:
            if way == "CONNECT":
                connection.sendall(TUNNEL % (443, 443))
                assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
            return inner(connection)

        talk = speak(READS, b"", (WHO, 443) if way == "dialled" else None, client, maker=maker, trust=trust)
    assert b"hello" in talk.got
    assert seen == [
        {"line": "GET /x HTTP/1.1", "body": "", "Host": "good.example", "accept": "*/*", "user-agent": "gateway"}
    ]
    assert (talk.violations, outside.dialled) == ((), [(PUBLIC, 443)])


@needs_certificates
@pytest.mark.parametrize(
    "sent",
    [
        b"POST /x HTTP/1.1\r\nHost: good.example\r\nContent-Length: 6\r\n\r\nsecret",
        b"DELETE /x HTTP/1.1\r\nHost: good.example\r\n\r\n",
        b"GET /exec HTTP/1.1\r\nHost: good.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"GET /a/%2e%2e/b HTTP/1.1\r\nHost: good.example\r\n\r\n",
        b"CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n",
        b"GET https://bad.example/ HTTP/1.1\r\nHost: bad.example\r\n\r\n",
        b"GET /x HTTP/1.1\r\nHost: bad.example\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /" + b"a" * 2000 + b" HTTP/1.1\r\nHost: good.example\r\n\r\n",
        b"GET /x/info/refs?service=git-receive-pack HTTP/1.1\r\nHost: good.example\r\n\r\n",
    ],
)
def test_what_does_more_than_read_is_refused_before_the_host_is_dialled(
    speak, outside, web, maker, trust, sent: bytes
) -> None:
    seen: list[dict[str, str]] = []
    outside.serve("good.example", 443, web(context=maker.context("good.example"), seen=seen))
    client = inside_tls(trust, sent)
    talk = speak(READS, b"", (WHO, 443), client, maker=maker, trust=trust)
    assert (talk.status in (400, 403), seen, outside.dialled) == (True, [], [])
    assert len(talk.violations) == 1
    # The twin: where the host may be used in full, what is a whole request arrives.
    full = speak(GOOD, b"", (WHO, 443), client, maker=maker, trust=trust)
    assert full.violations == ()


@needs_certificates
def test_plain_text_on_the_port_of_tls_and_other_ports_are_refused(speak, outside, maker, trust) -> None:
    outside.names["good.example"] = [PUBLIC]
    plain = speak(READS, b"GET /x HTTP/1.1\r\nHost: good.example\r\n\r\n", (WHO, 443), maker=maker, trust=trust)
    other = speak(READS.replace(mode="open"), b"secret", (WHO, 22), maker=maker, trust=trust)
    assert [each.target for talk in (plain, other) for each in talk.violations] == [
        "good.example:443",
        "good.example:22",
    ]
    assert outside.dialled == []


def test_without_certificates_such_a_host_is_not_reached(speak, outside) -> None:
    outside.names["good.example"] = [PUBLIC]
    talk = speak(READS, hello("good.example"), (WHO, 443))
    assert ["there can be no certificates" in each.hint for each in talk.violations] == [True]
    assert outside.dialled == []


@needs_certificates
def test_a_client_that_only_hangs_up_on_our_certificate_is_told_of_too(speak, outside, maker, trust) -> None:
    outside.names["good.example"] = [PUBLIC]

    def client(connection: socket.socket) -> bytes:
        connection.sendall(hello("good.example"))
        connection.recv(100_000)
        connection.shutdown(socket.SHUT_RDWR)
        return b""

    talk = speak(READS, b"", (WHO, 443), client, maker=maker, trust=trust)
    assert ["does not trust the certificate" in each.hint for each in talk.violations] == [True]


@needs_certificates
@pytest.mark.parametrize(("trusted", "told"), [(0, 1), (1, 0)], ids=["nobody has trusted it", "others have"])
def test_a_client_that_asks_nothing_after_the_handshake_is_told_of_unless_others_trust(
    speak, outside, kept, maker, trust, trusted: int, told: int
) -> None:
    place, _seen = kept([OK], context=maker.context("good.example"))
    outside.serve("good.example", 443, place)
    request = b"GET /x HTTP/1.1\r\nHost: good.example\r\n\r\n"
    clients = iter([*[inside_tls(trust, request)] * trusted, inside_tls(trust)])
    talk = speak(
        READS, b"", (WHO, 443), lambda connection: next(clients)(connection), maker=maker, trust=trust,
        after=(b"",) * trusted,
    )  # fmt: skip
    assert ["does not trust the certificate" in each.hint for each in talk.violations] == [True] * told


@needs_certificates
def test_a_client_that_ends_its_connection_with_the_answer_sees_its_end(speak, outside, kept, maker, trust) -> None:
    place, seen = kept([OK] * 2, context=maker.context("good.example"))
    outside.serve("good.example", 443, place)

    def client(connection: socket.socket) -> bytes:
        with trust().wrap_socket(connection, server_hostname="good.example") as secure:
            secure.sendall(b"GET /x HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\n\r\n")
            return b"".join(iter(lambda: secure.recv(65536), b""))

    talk = speak(READS, b"", (WHO, 443), client, maker=maker, trust=trust, after=(b"",))
    assert (talk.got.count(b"hello"), talk.violations, seen) == (2, (), [2])


@needs_certificates
def test_what_the_requests_of_a_call_may_say_is_bounded(speak, outside, web, maker, trust, monkeypatch) -> None:
    monkeypatch.setattr("gateway.sandbox.egress.outbound_data.MAX_OUT", 100)
    seen: list[dict[str, str]] = []
    outside.serve("good.example", 443, web(context=maker.context("good.example"), seen=seen))
    request = b"GET /" + b"a" * 30 + b" HTTP/1.1\r\nHost: good.example\r\n\r\n"
    talk = speak(READS, b"", (WHO, 443), inside_tls(trust, *[request] * 4), maker=maker, trust=trust)
    assert (len(seen), b"403 Refused by gateway" in talk.got) == (3, True)


@needs_certificates
def test_tags_pass_only_if_the_host_has_given_them(speak, outside, kept, maker, trust) -> None:
    made = b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "given"\r\n\r\nhello'
    sent: list[bytes] = []
    place, _seen = kept([made] * 3, context=maker.context("good.example"), got=sent)
    outside.serve("good.example", 443, place)
    ask = b"GET /x HTTP/1.1\r\nHost: good.example\r\nIf-None-Match: %s\r\n\r\n"
    speak(READS, b"", (WHO, 443), inside_tls(trust, *(ask % tag for tag in (b'"given"', b'"secret"', b'"given"'))),
          maker=maker, trust=trust)  # fmt: skip
    assert [b'"given"' in each for each in sent] == [False, False, True]
    assert not any(b"secret" in each for each in sent)
