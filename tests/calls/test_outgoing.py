"""Requests of the gateway's own: to where they were judged, within bounds, and with secrets that nobody sees."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from gateway.calls.outgoing import CHARSETS, MOST_HEADERS, Reply, RequestError, filled, request
from gateway.core.secret_masking import hidden
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from collections.abc import Iterator


class Site:
    """Answers by path, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.asked.append((self.command, self.path, dict(self.headers), data))
                status, headers, body = outer.replies.get(self.path.partition("?")[0], (404, {}, b"nothing"))
                if callable(body):
                    body = body(self.headers)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = answer  # noqa: N815 - as the library calls them

            def log_message(self, *_any: object) -> None:
                """Quiet."""

        self.replies: dict[str, tuple[int, dict[str, str], Any]] = {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.server.shutdown()
    made.server.server_close()
    made.thread.join()


def test_a_named_host_is_asked(site: Site) -> None:
    site.replies["/x"] = (200, {"Content-Type": "text/plain; charset=latin-1"}, "é".encode("latin-1"))
    reply = request("POST", f"{site.url}/x?a=b", headers={"X-A": "1"}, body=b"data", named=True)
    assert (reply.status, reply.text, reply.cut, reply.elsewhere) == (200, "é", False, "")
    ((method, path, headers, body),) = site.asked
    assert (method, path, headers["X-A"], headers["Host"], body) == ("POST", "/x?a=b", "1", site.host, b"data")


@pytest.mark.parametrize(
    "url", ["{url}/x", "http://localhost:{port}/x", "http://0x7f.1:{port}/", "http://169.254.169.254/latest/meta-data"]
)
def test_private_addresses_are_refused_unless_somebody_named_them(site: Site, url: str) -> None:
    with pytest.raises(RequestError, match="no public address"):
        request("GET", url.format(url=site.url, port=site.server.server_port))
    assert site.asked == []


def test_a_redirect_to_the_same_host_is_followed_and_to_another_told(site: Site) -> None:
    site.replies["/a"] = (302, {"Location": "/b"}, b"")
    site.replies["/b"] = (200, {}, b"there")
    assert request("POST", f"{site.url}/a", body=b"x", named=True).body == b"there"
    assert [each[0] for each in site.asked] == ["POST", "GET"]
    for target in ("https://other.example/", f"https://{site.host}/b", "//other.example/", "http://127.0.0.1:1/"):
        site.replies["/a"] = (302, {"Location": target}, b"")
        reply = request("GET", f"{site.url}/a", named=True)
        assert reply.elsewhere
        assert reply.status == 302


@pytest.mark.parametrize("target", ["/a", "file:///etc/passwd", "http://[::bad/", "http://user@127.0.0.1/"])
def test_redirects_that_lead_nowhere_are_errors(site: Site, target: str) -> None:
    site.replies["/a"] = (302, {"Location": target}, b"")
    with pytest.raises(RequestError):
        request("GET", f"{site.url}/a", named=True)


def test_an_answer_is_read_up_to_its_bound(site: Site) -> None:
    site.replies["/big"] = (200, {}, b"x" * 100_000)
    reply = request("GET", f"{site.url}/big", most=1_000, named=True)
    assert (len(reply.body), reply.cut) == (1_000, True)


def test_an_answer_that_does_not_come_is_an_error(site: Site) -> None:
    wait = threading.Event()
    site.replies["/slow"] = (200, {}, lambda _headers: (wait.wait(30), b"")[1])
    with pytest.raises(RequestError, match="in time"):
        request("GET", f"{site.url}/slow", seconds=0.2, named=True)
    wait.set()


@pytest.fixture
def trickle() -> Iterator[Any]:
    """A server that sends one header after the other for as long as somebody listens. `began`: the first was sent."""

    class Trickle:
        def __init__(self) -> None:
            self.began, self.gone, self.stop = threading.Event(), threading.Event(), threading.Event()
            self.socket = socket.create_server(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
            self.thread = threading.Thread(target=self.serve, daemon=True)
            self.thread.start()

        def serve(self) -> None:
            try:
                connection, _ = self.socket.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\n")
                    while not self.stop.wait(0.02):
                        connection.sendall(b"X-More: y\r\n")
                        self.began.set()
            except OSError:
                self.gone.set()

    made = Trickle()
    yield made
    made.stop.set()
    made.thread.join()
    made.socket.close()


def test_headers_that_trickle_in_end_with_the_time(trickle: Any) -> None:
    with pytest.raises(RequestError, match="in time"):
        request("GET", trickle.url, seconds=0.3, named=True)
    assert trickle.gone.wait(10)  # the connection is closed, and nothing waits on


def test_headers_that_trickle_in_end_with_a_cancellation(trickle: Any) -> None:
    with pytest.raises(RequestError, match="it was cancelled"):
        request("GET", trickle.url, seconds=1_000, named=True, cancelled=trickle.began.is_set)
    assert trickle.gone.wait(10)


@pytest.mark.parametrize(("length", "fits"), [(MOST_HEADERS, False), (MOST_HEADERS // 2, True)])
def test_headers_are_read_up_to_their_bound(site: Site, length: int, fits: bool) -> None:
    site.replies["/x"] = (200, {"X-Long": "x" * length}, b"there")
    if fits:
        assert request("GET", f"{site.url}/x", named=True).body == b"there"
        return
    with pytest.raises(RequestError, match="headers are longer"):
        request("GET", f"{site.url}/x", named=True)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("gb18030", "\u4e2d"), ("GBK", "\u4e2d"), ("Shift_JIS", "\u4e2d"), ("euc-jp", "\u4e2d"), ("euc-kr", "\u4e2d"),
        ("big5", "\u4e2d"), ("utf-16", "\u4e2d"), ("\"UTF-8\"; x=y", "\u4e2d"), ("windows-1252", "\u20ac"),
        ("iso-8859-15", "\u20ac"), ("latin-1", "\u00e9"),
    ],
)  # fmt: skip
def test_an_answer_is_read_in_the_usual_encoding_that_it_names(said: str, text: str) -> None:
    body = text.encode(said.split(";")[0].strip('"'))
    assert Reply(200, {"content-type": f"text/plain; Charset={said}"}, body).text == text


def test_every_encoding_that_is_taken_is_there_and_reads_anything() -> None:
    for name in CHARSETS:
        assert isinstance(Reply(200, {"content-type": f"text/plain; charset={name}"}, bytes(range(256))).text, str)


@pytest.mark.parametrize("said", ["punycode", "idna", "undefined", "utf-7", "unicode_escape", "rot13", "zlib", "x", ""])
def test_any_other_encoding_is_taken_for_utf_8(said: str) -> None:
    body = "d\u00e9j\u00e0-\xff+AGE-".encode() + b"\xff"
    assert Reply(200, {"content-type": f"text/plain; charset={said}"}, body).text == body.decode("utf-8", "replace")


def test_nobody_there_is_an_error() -> None:
    with pytest.raises(RequestError, match="cannot be reached"):
        request("GET", "http://127.0.0.1:9/", named=True)


def test_a_secret_is_filled_in_and_hidden_where_it_is_said_back() -> None:
    value, secrets = filled([{"text": "Bearer "}, {"env": "T"}], {"T": "s3cr3t-value"})
    assert (value, secrets) == ("Bearer s3cr3t-value", ("s3cr3t-value",))
    assert hidden("you sent s3cr3t-value", secrets) == "you sent [secret]"
    for environment in ({}, {"T": ""}, {"T": "two\nlines"}, {"T": "caf\u00e9"}, {"T": "blank "}):
        with pytest.raises(RequestError):
            filled([{"env": "T"}], environment)


TOOLS = """\
version: 1
tools:
  Ask:
    summary: Ask the service.
    description: Asks the service.
    input:
      properties: {{word: {{type: string}}, count: {{type: integer}}}}
      required: [word]
    level: network
    handler:
      http:
        method: POST
        url: '{url}/find/{{word}}'
        headers: {{Authorization: 'Bearer {{env:SERVICE_TOKEN}}'}}
        body: {{query: '{{word}}', most: '{{count}}', fixed: [1, true, text]}}
    examples: [{{call: {{}}, complaint: [$.word]}}]
  Fetch:
    summary: Fetch.
    description: Fetches.
    input: {{properties: {{url: {{type: string}}}}, required: [url]}}
    level: network
    handler: {{http: {{method: GET, url: '{{url}}'}}}}
    examples: [{{call: {{}}, complaint: [$.url]}}]
"""


@pytest.fixture
def tools(ground, site: Site) -> None:
    ground.says(TOOLS.format(url=site.url), name="tools.yaml")
    ground.says({"rules": [{"id": "service", "allow": {"effect": "connect", "host": "*"}}]})


@pytest.fixture
def place(ground, tools: None) -> Any:  # noqa: ARG001 - they must be there before it opens
    return ground.open(environment={"PATH": "/usr/bin", "SERVICE_TOKEN": "s3cr3t-value"})


def test_an_http_tool_sends_each_field_where_it_belongs(ground, place: Any, site: Site) -> None:
    word = 'a/../b?c="d"'
    site.replies["/find/a%2F..%2Fb%3Fc%3D%22d%22"] = (200, {"Content-Type": "application/json"}, b'{"found": 1}')
    done = place.call(RawCall("Ask", {"word": word}))
    assert (done.text, done.output.data) == ('{"found": 1}', {"status": 200, "body": '{"found": 1}'})
    ((method, _path, headers, body),) = site.asked
    assert (method, headers["Authorization"], headers["Content-Type"]) == (
        "POST", "Bearer s3cr3t-value", "application/json",
    )  # fmt: skip
    assert body == b'{"query": "a/../b?c=\\"d\\"", "most": null, "fixed": [1, true, "text"]}'
    assert "s3cr3t-value" not in repr(done) + repr(ground.records())


def test_a_secret_that_a_server_says_back_is_hidden(place: Any, site: Site) -> None:
    site.replies["/find/x"] = (500, {"Content-Type": "text/plain"}, lambda headers: headers["Authorization"].encode())
    done = place.call(RawCall("Ask", {"word": "x"}))
    assert (done.output.is_error, done.text) == (True, "The server answered with status 500.\nBearer [secret]")


AWKWARD = 'p"a\\s+s/w&rd'


@pytest.mark.parametrize("spelled", [str, json.dumps, repr], ids=["as it is", "as JSON", "as a repr"])
@pytest.mark.usefixtures("tools")
def test_a_secret_of_odd_characters_is_hidden_however_it_is_said_back(ground, site: Site, spelled: Any) -> None:
    gateway = ground.open(environment={"PATH": "/usr/bin", "SERVICE_TOKEN": AWKWARD})
    said = spelled(AWKWARD)
    site.replies["/find/x"] = (200, {"Content-Type": "text/plain"}, f"you sent {said}".encode())
    done = gateway.call(RawCall("Ask", {"word": "x"}))
    quotes = said[0] if said[0] in "'\"" else ""
    text = f"you sent {quotes}[secret]{quotes}"
    assert (done.text, done.output.data) == (text, {"status": 200, "body": text})


def test_a_secret_in_a_redirect_is_hidden_in_the_text_and_in_the_data(place: Any, site: Site) -> None:
    site.replies["/find/x"] = (302, {"Location": "https://other.example/?t=s3cr3t-value"}, b"")
    done = place.call(RawCall("Ask", {"word": "x"}))
    there = "https://other.example/?t=[secret]"
    assert done.text == f"It redirects to another host, which was not followed: {there}"
    assert done.output.data == {"status": 302, "body": "", "redirect": there}


@pytest.mark.parametrize("value", ["caf\u00e9-\u20ac", "blank ", "two\nlines", "bell\a"])
@pytest.mark.usefixtures("tools")
def test_a_header_that_cannot_be_sent_is_named_without_its_value(ground, site: Site, value: str) -> None:
    gateway = ground.open(environment={"PATH": "/usr/bin", "SERVICE_TOKEN": value})
    done = gateway.call(RawCall("Ask", {"word": "x"}))
    assert (done.result.ended, done.output.is_error, site.asked) == ("exited", True, [])
    assert done.text == (
        "The header `Authorization` cannot be sent: a header's value must be one line of printable ASCII, without "
        "blanks at its ends."
    )


def test_an_http_tool_is_held_to_the_rules_for_hosts(ground, place: Any, site: Site) -> None:
    site.replies["/find/x"] = (200, {"Content-Type": "text/plain"}, b"fine")
    assert place.call(RawCall("Ask", {"word": "x"})).text == "fine"
    ground.says({"rules": [{"id": "no-hosts", "deny": {"effect": "connect", "host_not": ["example.com"]}}]})
    done = ground.open(environment={"PATH": "/usr/bin", "SERVICE_TOKEN": "x"}).call(RawCall("Ask", {"word": "x"}))
    assert (done.ran, done.verdict.reason.rule.id, len(site.asked)) == (False, "no-hosts", 1)


def test_an_address_that_the_model_chose_is_never_a_private_one(place: Any, site: Site) -> None:
    done = place.call(RawCall("Fetch", {"url": f"{site.url}/x"}))
    assert (done.ran, done.output.is_error, site.asked) == (True, True, [])
    assert "no public address" in done.text


def test_a_missing_secret_is_named_and_nothing_is_sent(ground, site: Site) -> None:
    ground.says(TOOLS.format(url=site.url), name="tools.yaml")
    ground.says({"rules": [{"id": "service", "allow": {"effect": "connect", "host": "*"}}]})
    done = ground.open(environment={"PATH": "/usr/bin"}).call(RawCall("Ask", {"word": "x"}))
    assert (done.output.is_error, site.asked) == (True, [])
    assert "SERVICE_TOKEN" in done.text
