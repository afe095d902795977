"""SOCKS requests, DNS queries and TLS greetings: read strictly, whatever the bytes."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sandbox.egress import dns, socks, tls
from gateway.sandbox.egress.addresses import Host


def named(name: bytes, port: int = 443) -> bytes:
    return b"\5\1\0\3" + bytes((len(name),)) + name + port.to_bytes(2, "big")


@pytest.mark.parametrize(
    ("request_", "target"),
    [
        (named(b"A.example", 22), (Host("a.example"), 22)),
        (named(b"192.0.2.1", 80), (Host("192.0.2.1", (4, 0xC0000201)), 80)),
        (b"\5\1\0\1\xc0\0\2\1\0\x50", (Host("192.0.2.1", (4, 0xC0000201)), 80)),
        (b"\5\1\0\4\x20\1" + bytes(13) + b"\1\0\x50", (Host("2001::1", (6, 0x2001 << 112 | 1)), 80)),
    ],
    ids=["name", "quad as a name", "IPv4", "IPv6"],
)
def test_a_socks_request_names_host_and_port(request_: bytes, target: tuple[Host, int]) -> None:
    assert socks.target(request_) == target


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        (named(b"good.example\0.evil.example"), socks.FAILED),
        (named(b"a@b.example"), socks.FAILED),
        (named(b"a.example."), socks.FAILED),
        (named(b"0x7f.1"), socks.FAILED),
        (named(b"[::1]x"), socks.FAILED),
        (named("é.example".encode()), socks.FAILED),
        (named(b"a.example", 0), socks.FAILED),
        (named(b"a.example") + b"x", socks.FAILED),
        (b"\5\1\0\3\0\1\1", socks.FAILED),
        (b"\5\1\1" + named(b"a.example")[3:], socks.FAILED),
        (b"\4\1\0" + named(b"a.example")[3:], socks.FAILED),
        (b"\5\2\0" + named(b"a.example")[3:], socks.NO_COMMAND),
        (b"\5\3\0" + named(b"a.example")[3:], socks.NO_COMMAND),
        (b"\5\1\0\2" + named(b"a.example")[4:], socks.NO_ADDRESS_TYPE),
        (b"\5\1\0\4" + bytes(10) + b"\xff\xff\x7f\0\0\1\0\x50", socks.FAILED),
    ],
    ids=[
        "NUL", "user name", "trailing dot", "odd number", "bracket and more", "not ASCII", "port 0", "too long",
        "no name", "reserved byte", "SOCKS4", "BIND", "UDP", "unknown kind of address", "wrapped IPv4",
    ],
)  # fmt: skip
def test_a_socks_request_that_is_not_clear_is_refused(request_: bytes, reply: int) -> None:
    with pytest.raises(socks.SocksError) as caught:
        socks.target(request_)
    assert caught.value.reply == reply


@given(st.binary(max_size=300))
def test_any_bytes_are_a_socks_request_or_refused(data: bytes) -> None:
    try:
        host, port = socks.target(data)
    except socks.SocksError:
        return
    assert host.text
    assert 0 < port < 65536


def test_only_no_authentication_is_offered() -> None:
    assert (socks.method(b"\2\0"), socks.method(b"\2"), socks.method(b"")) == (b"\5\0", b"\5\xff", b"\5\xff")


def query(
    name: bytes, kind: int = 1, flags: bytes = b"\1\0", counts: bytes = b"\0\1\0\0\0\0\0\0", rest: bytes = b""
) -> bytes:
    return b"\x12\x34" + flags + counts + name + kind.to_bytes(2, "big") + b"\0\1" + rest


GOOD = b"\3wWw\7example\0"
WITH_OPTIONS = b"\0\1\0\0\0\0\0\1"


@pytest.mark.parametrize(
    "message",
    [query(GOOD), query(GOOD, counts=WITH_OPTIONS, rest=b"\0\0\x29\4\xd0\0\0\0\0\0\0")],
    ids=["plain", "EDNS"],
)
def test_a_query_of_one_question_is_read(message: bytes) -> None:
    assert dns.query_of(message) == dns.Query(b"\x12\x34", 1, "wWw.example", 1, GOOD + b"\0\1\0\1")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"", None),
        (query(GOOD)[:11], None),
        (query(GOOD, flags=b"\x81\0"), None),
        (query(GOOD, flags=b"\x29\0"), dns.NOT_IMPLEMENTED),
        (query(GOOD, counts=b"\0\2\0\0\0\0\0\0"), dns.FORMAT_ERROR),
        (query(GOOD, counts=b"\0\0\0\0\0\0\0\0"), dns.FORMAT_ERROR),
        (query(GOOD, counts=b"\0\1\0\1\0\0\0\0"), dns.FORMAT_ERROR),
        (query(GOOD)[:-1], dns.FORMAT_ERROR),
        (query(GOOD) + b"x", dns.FORMAT_ERROR),
        (query(b"\3www\xc0\x0c"), dns.FORMAT_ERROR),
        (query(b"\x03a\0b\0"), dns.FORMAT_ERROR),
        (query(b"\x03a.b\0"), dns.FORMAT_ERROR),
        (query(b"\x40" + b"a" * 64 + b"\0"), dns.FORMAT_ERROR),
        (query(b"\x3f" + b"a" * 63 + (b"\x3f" + b"a" * 63) * 4 + b"\0"), dns.FORMAT_ERROR),
        (query(GOOD)[:-1] + b"\3", dns.REFUSED),
    ],
    ids=[
        "nothing", "half a head", "an answer", "another operation", "two questions", "no question", "answers inside",
        "cut off", "bytes behind", "a pointer", "a NUL in a label", "a dot in a label", "a long label", "a long name",
        "another class",
    ],
)  # fmt: skip
def test_a_query_that_is_not_clear_is_refused(message: bytes, code: int | None) -> None:
    with pytest.raises(dns.DnsError) as caught:
        dns.query_of(message)
    assert (caught.value.answer[3] & 15 if caught.value.answer else None) == code


@given(st.one_of(st.binary(max_size=100), st.binary(max_size=60).map(lambda tail: query(b"")[:12] + tail)))
def test_any_bytes_are_a_query_or_refused(data: bytes) -> None:
    try:
        found = dns.query_of(data)
    except dns.DnsError:
        return
    assert found.question in data


def test_an_answer_repeats_the_question() -> None:
    found = dns.answer(dns.query_of(query(GOOD)), dns.NO_ERROR, ((dns.A, b"\x7f\1\0\1"),))
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\1\0\1"
    assert found == b"\x12\x34\x81\x80\0\1\0\1\0\0\0\0" + GOOD + b"\0\1\0\1" + record


def hello(name: str | None) -> bytes:
    """What a real client sends first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    given, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(given, sent, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def with_extension(kind: int, body: bytes, base: bytes | None = None) -> bytes:
    """The same, with one extension more."""
    message = bytearray((base or hello("a.example"))[9:])
    at = 34
    at += 1 + message[at]
    at += 2 + int.from_bytes(message[at : at + 2], "big")
    at += 1 + message[at]
    size = int.from_bytes(message[at : at + 2], "big") + 4 + len(body)
    message[at : at + 2] = size.to_bytes(2, "big")
    message += kind.to_bytes(2, "big") + len(body).to_bytes(2, "big") + body
    handshake = b"\1" + len(message).to_bytes(3, "big") + message
    return b"\x16\3\1" + len(handshake).to_bytes(2, "big") + handshake


def in_records(data: bytes, size: int) -> bytes:
    """The same handshake in many records."""
    body = data[5:]
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"\x16\3\1" + len(part).to_bytes(2, "big") + part for part in parts)


def test_the_name_in_a_real_greeting_is_found() -> None:
    assert tls.hello_of(hello("A.example")) == tls.Hello("a.example", False)
    assert tls.hello_of(hello(None)) == tls.Hello("", False)
    assert tls.hello_of(in_records(hello("a.example"), 7)) == tls.Hello("a.example", False)
    assert tls.hello_of(with_extension(tls.ENCRYPTED_HELLO, b"x")) == tls.Hello("a.example", True)


def test_what_follows_a_greeting_is_not_read() -> None:
    assert tls.hello_of(hello("a.example") + b"\x14\3\3\0\1\1" + b"\x17\3\3\0\1x") == tls.Hello("a.example", False)


def test_every_beginning_of_a_greeting_waits_for_more() -> None:
    whole = in_records(hello("a.example"), 100)
    assert [tls.hello_of(whole[:size]) for size in range(len(whole))] == [None] * len(whole)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-x\r\n",
        b"\x16\2\0\0\1\1",
        b"\x16\3\1\0\0",
        b"\x16\3\1\xff\xff",
        b"\x16\3\1\0\4\2\0\0\0",
        b"\x16\3\1\0\4\1\xff\xff\xff",
        hello("a.example")[:5] + b"\1\0\0\x05" + hello("a.example")[9:],
        with_extension(tls.SERVER_NAME, b"\0\x0c\0\0\x09b.example"),
        with_extension(tls.SERVER_NAME, b"\0\x18\0\0\x09b.example\0\0\x09c.example", hello(None)),
        with_extension(tls.SERVER_NAME, b"\0\x0c\0\0\x09b\0example", hello(None)),
        with_extension(tls.SERVER_NAME, b"\0\x0c\0\0\xff\xffb.exampl", hello(None)),
    ],
    ids=[
        "HTTP", "SSH", "SSL 2", "an empty record", "a long record", "another message", "a long message", "two messages",
        "two name extensions", "two names", "a NUL in the name", "a wrong length",
    ],
)  # fmt: skip
def test_a_greeting_that_is_not_clear_is_refused(data: bytes) -> None:
    with pytest.raises(tls.TlsError):
        tls.hello_of(data)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_a_greeting_with_bytes_changed_is_read_waits_or_is_refused(at: int, put: bytes) -> None:
    data = bytearray(hello("a.example"))
    data[at : at + len(put)] = put
    try:
        found = tls.hello_of(bytes(data))
    except tls.TlsError:
        return
    assert found is None or found.name.isascii()
