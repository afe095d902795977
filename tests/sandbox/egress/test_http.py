"""Heads of HTTP messages: one reading, or none."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.sandbox.egress.addresses import Host, HostError
from gateway.sandbox.egress.http import (
    Head,
    HttpError,
    Request,
    authority_of,
    chunk_size,
    request_of,
    response_length,
    response_of,
)

A = Host("a.example")
SIX = Host("2606:4700::1", (6, 0x26064700 << 96 | 1))


def head(*lines: str) -> bytes:
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1") + b"\r\n"


def test_a_request_in_absolute_form_is_read_whole() -> None:
    text = head("POST http://A.example:8080/x?y=1 HTTP/1.1", "Host: a.example:8080", "Content-Length: 3", "X-A:  b ")
    fields = ((b"host", b"a.example:8080"), (b"content-length", b"3"), (b"x-a", b"b"))
    assert request_of(text) == Request(b"POST", b"HTTP/1.1", "http", A, 8080, b"/x?y=1", fields, 3)


@pytest.mark.parametrize(
    ("line", "host", "expected"),
    [
        ("GET /x HTTP/1.1", "a.example", ("", A, 0, b"/x")),
        ("GET /x HTTP/1.1", "a.example:81", ("", A, 81, b"/x")),
        ("OPTIONS * HTTP/1.1", "a.example", ("", A, 0, b"*")),
        ("GET http://a.example HTTP/1.1", "a.example", ("http", A, 80, b"/")),
        ("GET http://a.example?q HTTP/1.1", "a.example:80", ("http", A, 80, b"/?q")),
        ("GET HTTPS://a.example/ HTTP/1.1", "a.example:443", ("https", A, 443, b"/")),
        ("GET http://[2606:4700::1]:81/ HTTP/1.1", "[2606:4700::1]:81", ("http", SIX, 81, b"/")),
        ("CONNECT a.example:443 HTTP/1.1", "a.example:443", ("", A, 443, b"")),
        ("CONNECT a.example:443 HTTP/1.1", "a.example", ("", A, 443, b"")),
        ("CONNECT a.example:443 HTTP/1.0", None, ("", A, 443, b"")),
        ("GET http://a.example/ HTTP/1.0", None, ("http", A, 80, b"/")),
    ],
)  # fmt: skip
def test_where_a_request_wants_to_go(line: str, host: str | None, expected: tuple[str, Host, int, bytes]) -> None:
    found = request_of(head(line, *([f"Host: {host}"] if host else [])))
    assert (found.scheme, found.host, found.port, found.path) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"GET http://a.example/ HTTP/1.1\nHost: a.example\r\n\r\n", "CR LF"),
        (b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\nX: y\r\n\r\n", "CR LF"),
        (b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\rX: y\r\n\r\n", "CR LF"),
        (b"GET http://a.example/ HTTP/1.1\r\nHost: a.exa\0mple\r\n\r\n", "NUL"),
        (head("GET http://a.example/ HTTP/1.1", "Host: a.example", " folded"), "continued"),
        (head("GET http://a.example/ HTTP/1.1", "Host : a.example"), "a name, a colon"),
        (head("GET http://a.example/ HTTP/1.1", ": x", "Host: a.example"), "a name, a colon"),
        (head("GET http://a.example/ HTTP/1.1", "no colon", "Host: a.example"), "a name, a colon"),
        (head("GET http://a.example/ HTTP/1.1", "Host: a.example", "X: \x01"), "control"),
        (head("GET http://a.example/ HTTP/1.1"), "exactly one Host"),
        (head("GET http://a.example/ HTTP/1.1", "Host: a.example", "Host: a.example"), "exactly one Host"),
        (head("GET http://a.example/ HTTP/1.1", "Host: b.example"), "disagrees"),
        (head("GET http://a.example/ HTTP/1.1", "Host: a.example:81"), "disagrees"),
        (head("GET http://a.example:81/ HTTP/1.1", "Host: a.example"), "disagrees"),
        (head("CONNECT a.example:443 HTTP/1.1", "Host: b.example:443"), "disagrees"),
        (head("CONNECT a.example:443 HTTP/1.1", "Host: a.example:444"), "disagrees"),
        (head("GET /x HTTP/1.1", "Host: "), "empty"),
        (head("GET /x HTTP/1.1", "Host: a.example, b.example"), "letters"),
        (head("GET  http://a.example/ HTTP/1.1", "Host: a.example"), "single spaces"),
        (head(" GET http://a.example/ HTTP/1.1", "Host: a.example"), "single spaces"),
        (head("GET\thttp://a.example/\tHTTP/1.1", "Host: a.example"), "single spaces"),
        (head("GET http://a.example/", "Host: a.example"), "single spaces"),
        (head("G(T http://a.example/ HTTP/1.1", "Host: a.example"), "method"),
        (head("GET http://a.example/ HTTP/2.0", "Host: a.example"), "version"),
        (head("GET http://a.example/ HTTP/1.2", "Host: a.example"), "version"),
        (head("PRI * HTTP/2.0"), "version"),
        (head("GET http://a.example/\xe9 HTTP/1.1", "Host: a.example"), "visible ASCII"),
        (head("GET http://u@a.example/ HTTP/1.1", "Host: a.example"), "letters"),
        (head("GET http://a.example\\@b.example/ HTTP/1.1", "Host: a.example"), "letters"),
        (head("GET http://a.example#@b.example/ HTTP/1.1", "Host: a.example"), "fragment"),
        (head("GET http://a.example%2eb.example/ HTTP/1.1", "Host: a.example"), "letters"),
        (head("GET http://a.example./ HTTP/1.1", "Host: a.example."), "single dots"),
        (head("GET http://0x7f.1/ HTTP/1.1", "Host: 0x7f.1"), "four decimal"),
        (head("GET http://2130706433/ HTTP/1.1", "Host: 2130706433"), "four decimal"),
        (head("GET http://017700000001/ HTTP/1.1", "Host: 017700000001"), "four decimal"),
        (head("GET http://[::ffff:127.0.0.1]/ HTTP/1.1", "Host: [::ffff:127.0.0.1]"), "written as one"),
        (head("GET http://[fe80::1%25lo]/ HTTP/1.1", "Host: [fe80::1%25lo]"), "zone"),
        (head("GET http://::1/ HTTP/1.1", "Host: ::1"), "letters"),
        (head("GET http://a.example:0/ HTTP/1.1", "Host: a.example:0"), "port"),
        (head("GET http://a.example:080/ HTTP/1.1", "Host: a.example:80"), "port"),
        (head("GET http://a.example:65536/ HTTP/1.1", "Host: a.example"), "port"),
        (head("GET http://a.example:/ HTTP/1.1", "Host: a.example"), "port"),
        (head("GET http://a.example:80:81/ HTTP/1.1", "Host: a.example"), "letters"),
        (head("GET ftp://a.example/ HTTP/1.1", "Host: a.example"), "http or https"),
        (head("GET a.example:80 HTTP/1.1", "Host: a.example"), "http or https"),
        (head("GET * HTTP/1.1", "Host: a.example"), "http or https"),
        (head("CONNECT a.example HTTP/1.1", "Host: a.example"), "port"),
        (head("CONNECT http://a.example:443/ HTTP/1.1", "Host: a.example"), "port"),
        (head("CONNECT a.example:443/ HTTP/1.1", "Host: a.example"), "port"),
        (head("CONNECT a.example:443 HTTP/1.1", "Host: a.example:443", "Content-Length: 5"), "body"),
        (head("POST /x HTTP/1.1", "Host: a", "Content-Length: 5", "Transfer-Encoding: chunked"), "both"),
        (head("POST /x HTTP/1.1", "Host: a", "Content-Length: 5", "Content-Length: 5"), "at most one"),
        (head("POST /x HTTP/1.1", "Host: a", "Content-Length: 5, 5"), "decimal"),
        (head("POST /x HTTP/1.1", "Host: a", "Content-Length: +5"), "decimal"),
        (head("POST /x HTTP/1.1", "Host: a", "Content-Length: 0x5"), "decimal"),
        (head("POST /x HTTP/1.1", "Host: a", "Content-Length: " + "9" * 30), "decimal"),
        (head("POST /x HTTP/1.1", "Host: a", "Transfer-Encoding: gzip, chunked"), "chunked"),
        (head("POST /x HTTP/1.1", "Host: a", "Transfer-Encoding: xchunked"), "chunked"),
        (head("POST /x HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "chunked"),
        (head("POST /x HTTP/1.0", "Host: a", "Transfer-Encoding: chunked"), "chunked"),
        (head("POST /x HTTP/1.1", "Host: a", "Expect: tea"), "100-continue"),
        (head("GET /x HTTP/1.1", "Host: a", *(f"X: {i}" for i in range(250))), "more than"),
        (b"GET /x HTTP/1.1\r\nHost: a\r\n", "does not end"),
    ],
    ids=lambda value: value[:60].decode("latin-1") if isinstance(value, bytes) else value,
)
def test_what_servers_could_read_differently_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(HttpError, match=reason):
        request_of(text)


GOOD = head("GET http://a.example/ HTTP/1.1", "Host: a.example", "Content-Length: 0")


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=80).map(lambda tail: b"GET http://" + tail + b"\r\n\r\n")))
def test_any_bytes_are_a_request_or_refused(data: bytes) -> None:
    try:
        found = request_of(data)
    except HttpError:
        return
    assert found.host is not None


@given(st.integers(0, len(GOOD) - 5), st.binary(min_size=1, max_size=3))
@example(GOOD.find(b".example"), b"@")
def test_a_request_with_bytes_put_in_still_names_one_host_or_is_refused(at: int, put: bytes) -> None:
    try:
        found = request_of(GOOD[:at] + put + GOOD[at:])
    except HttpError:
        return
    named = [value for name, value in found.fields if name == b"host"]
    assert found.host is not None
    assert named[0].decode().lower().removesuffix(":80") == found.host.text


@pytest.mark.parametrize(
    ("line", "size"), [(b"0\r\n", 0), (b"1F\r\n", 31), (b"a;x=y\r\n", 10), (b"00a\r\n", 10)], ids=repr
)
def test_the_size_of_a_chunk(line: bytes, size: int) -> None:
    assert chunk_size(line) == size


@pytest.mark.parametrize(
    "line", [b"\r\n", b"-1\r\n", b"0x1\r\n", b"1 \r\n", b" 1\r\n", b"1\n", b"f" * 16 + b"\r\n", b"1\r\r\n"]
)
def test_a_size_that_could_be_read_differently_is_refused(line: bytes) -> None:
    with pytest.raises(HttpError):
        chunk_size(line)


@pytest.mark.parametrize(
    ("method", "status", "fields", "length"),
    [
        (b"GET", 200, ["Content-Length: 5"], 5),
        (b"GET", 200, ["Content-Length: 5", "Content-Length: 5"], 5),
        (b"GET", 200, ["Transfer-Encoding: chunked"], -1),
        (b"GET", 200, [], None),
        (b"HEAD", 200, ["Content-Length: 5"], 0),
        (b"GET", 204, [], 0),
        (b"GET", 304, ["Content-Length: 5"], 0),
        (b"GET", 100, [], 0),
    ],
)
def test_how_long_an_answer_is(method: bytes, status: int, fields: list[str], length: int | None) -> None:
    _status, found = response_of(head(f"HTTP/1.1 {status} OK", *fields))
    assert response_length(method, status, found) == length


@pytest.mark.parametrize(
    "fields", [["Content-Length: 5", "Content-Length: 6"], ["Content-Length: 5", "Transfer-Encoding: chunked"]], ids=str
)
def test_an_answer_with_two_lengths_is_refused(fields: list[str]) -> None:
    status, found = response_of(head("HTTP/1.1 200 OK", *fields))
    with pytest.raises(HttpError):
        response_length(b"GET", status, found)


def test_an_answer_is_read_whole() -> None:
    assert response_of(head("HTTP/1.0 404 Not Found", "A: b")) == (
        404,
        Head((b"HTTP/1.0", b"404", b"Not Found"), ((b"a", b"b"),)),
    )
    for bad in (b"HTTP/2 200\r\n\r\n", b"hello\r\n\r\n", b"HTTP/1.1 2000 x\r\n\r\n"):
        with pytest.raises(HttpError):
            response_of(bad)


def test_an_authority_needs_its_port() -> None:
    assert authority_of("a.example:1") == (A, 1)
    with pytest.raises(HostError):
        authority_of("a.example")
