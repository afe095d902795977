"""Where notices may go. Names are looked up here by a list; what may be reached is asked of a server that is there."""

from __future__ import annotations

import http.server
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gateway.calls.outgoing import RequestError
from gateway.frontends.console.remote import sending
from gateway.frontends.console.remote.notices import Sent

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = {
    "public.example": ["93.184.216.34"], "near.example": ["192.168.1.5"], "tail.example": ["100.100.1.1"],
    "here.example": ["127.0.0.1"], "meta.example": ["169.254.169.254"], "both.example": ["93.184.216.34", "10.0.0.1"],
    "link.example": ["169.254.1.1"], "six.example": ["::ffff:169.254.169.254"], "all.example": ["0.0.0.0"],
    "cast.example": ["224.0.0.1"],
}  # fmt: skip


class Told(http.server.BaseHTTPRequestHandler):
    answer: tuple[int, dict[str, str], bytes] = (200, {}, b"")
    heard: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        self.heard.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        status, headers, body = self.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, type[Told]]]:
    kind = type("Kind", (Told,), {"heard": []})
    with http.server.HTTPServer(("127.0.0.1", 0), kind) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}", kind
        finally:
            listening.shutdown()
            thread.join()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Names lead where the list says; whatever would be connected to is noted, and refused."""
    tried: list[tuple[str, int]] = []

    def look(host: str, port: int, **_how: Any) -> Any:
        if host in NAMES:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in NAMES[host]]
        raise OSError(1, "no such host")

    def once(_method: str, _where: Any, _headers: Any, _body: bytes, *, at: Any, **_how: Any) -> Any:
        tried.extend(at)
        raise RequestError("reached")

    monkeypatch.setattr(socket, "getaddrinfo", look)
    monkeypatch.setattr(sending, "once", once)
    return tried


@pytest.mark.parametrize(
    ("url", "private", "reached"),
    [
        ("https://public.example/", False, True), ("https://public.example/", True, True),
        ("http://public.example/", False, False), ("http://public.example/", True, False),
        ("https://near.example/", False, False), ("https://near.example/", True, True),
        ("http://near.example/", True, True), ("https://tail.example/", True, True),
        ("http://here.example/", True, True), ("http://here.example/", False, False),
        ("https://meta.example/", True, False), ("http://meta.example/", True, False),
        ("https://six.example/", True, False), ("https://link.example/", True, False),
        ("https://both.example/", False, False), ("https://all.example/", True, False),
        ("https://cast.example/", True, False), ("https://nowhere.example/", True, False),
        ("ftp://public.example/", True, False), ("https://a@public.example/", True, False),
        ("https://public.example\\@meta.example/", True, False), ("", True, False),
    ],
)  # fmt: skip
def test_only_what_the_setting_allows_is_connected_to(
    names: list[tuple[str, int]], url: str, private: bool, reached: bool
):
    with pytest.raises(RequestError) as error:
        sending.send(Sent(url, {}, b"x", private))
    assert ("reached" in str(error.value), bool(names)) == (reached, reached)


def test_what_is_sent_arrives_and_the_answer_is_bounded(server: tuple[str, type[Told]]):
    origin, kind = server
    kind.answer = (200, {}, b"x" * (1 << 20))
    reply = sending.send(Sent(f"{origin}/hook", {"Content-Type": "text/plain"}, b"told", private=True))
    assert (kind.heard, reply.status, len(reply.body), reply.cut) == (
        [("/hook", b"told")], 200, sending.MOST_ANSWER, True,
    )  # fmt: skip


def test_a_redirect_is_not_followed(server: tuple[str, type[Told]]):
    origin, kind = server
    kind.answer = (307, {"Location": f"{origin}/elsewhere"}, b"")
    reply = sending.send(Sent(f"{origin}/hook", {}, b"told", private=True))
    assert (reply.status, [path for path, _ in kind.heard]) == (307, ["/hook"])


def test_what_is_too_long_is_not_sent():
    with pytest.raises(RequestError, match="longer"):
        sending.send(Sent("https://public.example/", {}, b"x" * (sending.MOST_BODY + 1)))
