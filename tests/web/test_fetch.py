"""One page fetched: which redirects are followed, how much is read, how long is waited, and what is sent."""

from __future__ import annotations

import gzip
import threading
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from webworld import OTHER, PUBLIC, QUICK, needs_openssl

from gateway.calls.outgoing import MOST_HEADERS, RequestError
from gateway.web.fetch import REDIRECTS, Fetched, Step
from gateway.web.unpack import Body

if TYPE_CHECKING:
    import socket

    from webworld import World


def test_a_page_is_fetched_as_it_is(world: World) -> None:
    site = world.serve("good.example")
    site.says("/a", "hello", "text/plain; charset=utf-8")
    assert world.get("http://good.example/a?b=c") == Fetched(
        (Step("http://good.example/a?b=c", (PUBLIC,)),), 200, "text/plain; charset=utf-8", b"hello", 5
    )
    assert world.told == ["fetching good.example"]


def test_nothing_is_sent_that_says_who_asks(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / ".netrc").write_text("machine good.example login me password hunter22\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1/")
    site = world.serve("good.example")
    site.pages["/"] = (302, {"Location": "/b", "Set-Cookie": "session=1; Path=/"}, b"")
    site.says("/b", "hello")
    assert world.get("http://good.example/").body == b"hello"
    for method, _path, headers, body in site.asked:
        assert (method, body) == ("GET", b"")
        assert set(headers) == {
            "host", "accept", "accept-encoding", "accept-language", "connection", "user-agent"
        }  # fmt: skip
        assert headers["host"] == "good.example"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_on_the_same_host_is_followed(world: World, status: int) -> None:
    site = world.serve("good.example")
    site.redirects("/a", "../b?x=1#y", status)
    site.says("/b", "there")
    found = world.get("http://good.example/a")
    assert (found.body, found.elsewhere, site.paths) == (b"there", "", ["/a", "/b?x=1"])
    assert [step.url for step in found.steps] == ["http://good.example/a", "http://good.example/b?x=1#y"]


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("http://other.example/x", "http://other.example/x"),
        ("//other.example/x", "http://other.example/x"),
        ("http://www.good.example/", "http://www.good.example/"),
        ("http://good.example:8080/", "http://good.example:8080/"),
        ("http://good.example.evil.example/", "http://good.example.evil.example/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://0x7f000001/", "http://127.0.0.1/"),
        ("http://[::ffff:169.254.169.254]/latest", "http://169.254.169.254/latest"),
    ],
)
def test_a_redirect_to_another_place_is_told_and_not_followed(world: World, target: str, told: str) -> None:
    site, other = world.serve("good.example"), world.serve("other.example", address=OTHER)
    other.says("/x", "elsewhere")
    site.redirects("/a", target)
    found = world.get("http://good.example/a")
    assert (found.elsewhere, found.body, found.status) == (told, b"", 302)
    assert (site.paths, other.connections, world.resolved) == (["/a"], 0, ["good.example"])
    assert world.get("http://other.example/x").body == b"elsewhere"  # by itself it is there


@pytest.mark.parametrize(
    "target",
    [
        "file:///etc/passwd", "gopher://good.example/", "javascript:alert(1)", "http://me:pw@good.example/",
        "http://good.example\\@evil.example/", "http://[::1", "http://good.example:99999/", "http://a b/",
    ],
)  # fmt: skip
def test_a_redirect_to_what_is_no_address_is_an_error(world: World, target: str) -> None:
    site = world.serve("good.example")
    site.redirects("/a", target)
    with pytest.raises(RequestError, match=r"redirects to|cannot be asked"):
        world.get("http://good.example/a")
    assert site.paths == ["/a"]


def test_redirects_in_a_circle_end(world: World) -> None:
    site = world.serve("good.example")
    site.redirects("/a", "/b")
    site.redirects("/b", "/a")
    with pytest.raises(RequestError, match="in a circle"):
        world.get("http://good.example/a")
    assert site.paths == ["/a", "/b"]


@pytest.mark.parametrize(("hops", "fits"), [(REDIRECTS, True), (REDIRECTS + 1, False)])
def test_redirects_are_followed_up_to_their_bound(world: World, hops: int, fits: bool) -> None:
    site = world.serve("good.example")
    for number in range(hops):
        site.redirects(f"/{number}", f"/{number + 1}")
    site.says(f"/{hops}", "there")
    if fits:
        assert world.get("http://good.example/0").body == b"there"
        return
    with pytest.raises(RequestError, match=f"more than {REDIRECTS} times"):
        world.get("http://good.example/0")


def test_each_step_is_judged(world: World) -> None:
    site = world.serve("good.example")
    site.redirects("/a", "/secret/b")
    site.says("/secret/b", "there")
    judged: list[str] = []

    def judge(url: Any) -> str:
        judged.append(url.text)
        return "rule `no-secrets` says no" if "secret" in url.text else ""

    with pytest.raises(RequestError, match="no-secrets"):
        world.get("http://good.example/a", judge=judge)
    assert (site.paths, judged[-1]) == (["/a"], "http://good.example/secret/b")
    assert world.get("http://good.example/a").body == b"there"


# ------------------------------------------------------------------------------------------------------ encryption


@needs_openssl
def test_http_becomes_https(world: World) -> None:
    plain, secure = world.serve("good.example"), world.serve("good.example", 443, tls=True)
    secure.says("/", "secure")
    assert world.get("http://good.example/", plain=()).body == b"secure"
    assert (plain.connections, world.dialled) == (0, [(PUBLIC, 443)])


@needs_openssl
def test_a_host_without_encryption_is_never_fallen_back_to(world: World) -> None:
    plain = world.serve("good.example")
    plain.says("/", "plain")
    with pytest.raises(RequestError, match="cannot be reached"):
        world.get("http://good.example/", plain=())
    assert plain.connections == 0
    assert world.get("http://good.example/", plain=("good.example",)).body == b"plain"


@needs_openssl
def test_a_certificate_for_another_name_is_refused(world: World) -> None:
    site = world.serve("good.example", 443, tls=True, cert="other.example")
    site.says("/", "secure")
    with pytest.raises(RequestError, match="CERTIFICATE_VERIFY_FAILED"):
        world.get("https://good.example/", plain=())
    assert site.asked == []


@needs_openssl
def test_a_certificate_of_nobody_known_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    site = world.serve("good.example", 443, tls=True)
    site.says("/", "secure")
    assert world.get("https://good.example/", plain=()).body == b"secure"
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(RequestError, match="CERTIFICATE_VERIFY_FAILED"):
        world.get("https://good.example/", plain=())


@needs_openssl
def test_from_http_to_https_on_the_same_host_is_followed_and_never_back(world: World) -> None:
    plain, secure = world.serve("good.example"), world.serve("good.example", 443, tls=True)
    plain.redirects("/a", "https://good.example/b")
    secure.says("/b", "secure")
    found = world.get("http://good.example/a", plain=("good.example:80",))
    assert (found.body, [step.url for step in found.steps]) == (
        b"secure", ["http://good.example/a", "https://good.example/b"]
    )  # fmt: skip
    secure.redirects("/c", "http://good.example/b")
    assert world.get("https://good.example/c", plain=()).body == b"secure"
    secure.redirects("/d", "http://good.example/d")
    with pytest.raises(RequestError, match="in a circle"):
        world.get("https://good.example/d", plain=())
    assert plain.paths == ["/a"]


# ---------------------------------------------------------------------------------------------------------- bounds


def test_a_long_body_is_cut(world: World) -> None:
    site = world.serve("good.example")
    site.says("/", b"x" * 300_000)
    found = world.get("http://good.example/")
    assert (len(found.body), found.packed, found.cut) == (200_000, 200_000, True)
    site.says("/", b"x" * 200_000)
    found = world.get("http://good.example/")
    assert (len(found.body), found.cut) == (200_000, False)


def test_an_endless_body_is_cut(world: World) -> None:
    site = world.serve("good.example")

    def endless(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while not site.done.is_set():
            connection.sendall(b"y" * 65536)

    site.pages["/"] = endless
    found = world.get("http://good.example/")
    assert (len(found.body), found.cut) == (200_000, True)


PACKED = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress}


def raw(data: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-15)
    return packing.compress(data) + packing.flush()


@pytest.mark.parametrize("size", [65_536, 65_537, 200_000])
@pytest.mark.parametrize("pack", [*PACKED.values(), raw], ids=[*PACKED, "deflate without a header"])
def test_what_comes_out_after_all_of_it_came_in_is_not_lost(pack: Any, size: int) -> None:
    data = b"a" * size
    body = Body("deflate" if pack in (raw, zlib.compress) else "gzip", 1 << 20, size)
    for byte in pack(data):
        assert body.add(bytes((byte,)))
    assert body.end() == data
    bomb = Body("deflate" if pack in (raw, zlib.compress) else "gzip", 1 << 20, size - 1)
    with pytest.raises(RequestError, match="unpacks to more than"):
        bomb.add(pack(data))


@pytest.mark.parametrize(
    ("encoding", "pack"), [*PACKED.items(), ("deflate", raw), ("GZIP", gzip.compress)],
    ids=["gzip", "x-gzip", "deflate", "deflate without a header", "in capitals"],
)  # fmt: skip
def test_packed_bodies_are_unpacked_and_bombs_are_not(world: World, encoding: str, pack: Any) -> None:
    site = world.serve("good.example")
    site.says("/", pack(b"hello " * 1000), Content_Encoding=encoding)
    assert world.get("http://good.example/").body == b"hello " * 1000
    site.says("/", pack(b"\0" * 5_000_000), Content_Encoding=encoding)
    with pytest.raises(RequestError, match="unpacks to more than 400,000 bytes"):
        world.get("http://good.example/")


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip", "gzip,br", "x" * 500])
def test_what_nothing_unpacks_is_refused_unread(world: World, encoding: str) -> None:
    site = world.serve("good.example")
    site.says("/", gzip.compress(gzip.compress(b"x")), Content_Encoding=encoding)
    with pytest.raises(RequestError, match="packed in a way"):
        world.get("http://good.example/")
    assert site.asked[0][2]["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (gzip.compress(b"hello" * 100)[:-12], "ended too early"),
        (b"no gzip at all", "damaged"),
        (gzip.compress(b"hello")[:-8] + b"\0" * 8, "damaged"),
    ],
    ids=["cut off", "something else", "a false checksum"],
)
def test_packed_bodies_that_are_not_whole_are_errors(world: World, data: bytes, why: str) -> None:
    site = world.serve("good.example")
    site.says("/", data, Content_Encoding="gzip")
    with pytest.raises(RequestError, match=why):
        world.get("http://good.example/")


def test_several_packed_parts_are_one_body_and_what_follows_is_none(world: World) -> None:
    site = world.serve("good.example")
    site.says("/", gzip.compress(b"one ") + gzip.compress(b"two") + b"rubbish", Content_Encoding="gzip")
    assert world.get("http://good.example/").body == b"one two"
    site.says("/", gzip.compress(b"\0" * 390_000) + gzip.compress(b"\0" * 390_000), Content_Encoding="gzip")
    with pytest.raises(RequestError, match="unpacks to more"):
        world.get("http://good.example/")


def test_a_body_that_ends_before_its_length_is_an_error(world: World) -> None:
    site = world.serve("good.example")
    site.says("/", b"half", Content_Length="100")
    with pytest.raises(RequestError, match="cannot be asked"):
        world.get("http://good.example/")
    site.says("/", b"whole", Content_Length="5")
    assert world.get("http://good.example/").body == b"whole"


def test_a_chunked_body_that_is_cut_off_is_an_error(world: World) -> None:
    site = world.serve("good.example")
    site.says("/", b"5\r\nhello\r\n", Transfer_Encoding="chunked")
    with pytest.raises(RequestError, match="cannot be asked"):
        world.get("http://good.example/")
    site.says("/", b"5\r\nhello\r\n0\r\n\r\n", Transfer_Encoding="chunked")
    assert world.get("http://good.example/").body == b"hello"


@pytest.mark.parametrize(("length", "fits"), [(MOST_HEADERS // 2, True), (MOST_HEADERS, False), (1_000_000, False)])
def test_headers_are_read_up_to_their_bound(world: World, length: int, fits: bool) -> None:
    site = world.serve("good.example")
    site.says("/", "there", X_Long="x" * length)
    if fits:
        assert world.get("http://good.example/").body == b"there"
        return
    with pytest.raises(RequestError, match=r"headers are longer|cannot be asked"):
        world.get("http://good.example/")


# ------------------------------------------------------------------------------------------------------------ time


def waits(site: Any, said: bytes, more: bytes = b"") -> Any:
    """Says something, then `more` again and again, until the test is over."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(said)
        while not site.done.wait(0.01 if more else 30):
            connection.sendall(more)

    return serve


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
SILENT = [
    pytest.param(b"", id="no answer"),
    pytest.param(OK, id="no end of the headers"),
    pytest.param(OK + b"\r\nhel", id="no end of the body"),
]


@pytest.mark.parametrize("said", SILENT)
def test_silence_ends_the_fetch_after_a_pause(world: World, said: bytes) -> None:
    site = world.serve("good.example")
    site.pages["/"] = waits(site, said)
    with pytest.raises(RequestError, match="in time"):
        world.get("http://good.example/", limits=QUICK.replace(pause=0.2))


@pytest.mark.parametrize(
    ("said", "more"), [(OK, b"X-More: y\r\n"), (OK + b"\r\n", b"y")], ids=["headers", "body"]
)  # fmt: skip
def test_a_slow_drip_ends_with_the_whole_time(world: World, said: bytes, more: bytes) -> None:
    site = world.serve("good.example")
    site.pages["/"] = waits(site, said, more)
    with pytest.raises(RequestError, match="in time"):
        world.get("http://good.example/", limits=QUICK.replace(seconds=0.5))


def test_redirects_together_have_one_time(world: World) -> None:
    site = world.serve("good.example")
    site.redirects("/a", "/b")
    site.pages["/b"] = waits(site, OK)
    with pytest.raises(RequestError, match="in time"):
        world.get("http://good.example/a", limits=QUICK.replace(seconds=0.5))
    assert site.paths == ["/a", "/b"]


def test_a_name_server_that_does_not_answer_ends_with_the_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = threading.Event()

    def never(_name: str) -> list[str]:
        wait.wait(30)
        return []

    monkeypatch.setattr("gateway.web.reach.resolve_with_system", never)
    with pytest.raises(RequestError, match="in time"):
        world.get("http://good.example/", limits=QUICK.replace(seconds=0.2))
    wait.set()


def test_a_cancellation_ends_the_fetch(world: World) -> None:
    site = world.serve("good.example")
    began = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.sendall(OK + b"\r\nbegin")
        began.set()
        site.done.wait(30)

    site.pages["/"] = serve
    with pytest.raises(RequestError, match="it was cancelled"):
        world.get("http://good.example/", cancelled=began.is_set)


def test_what_comes_is_told_as_it_comes(world: World) -> None:
    site = world.serve("good.example")
    site.says("/", b"x" * 1_000_000)
    world.get("http://good.example/", limits=QUICK.replace(most=2_000_000))
    assert world.told[0] == "fetching good.example"
    assert [each for each in world.told[1:] if not each.endswith(" kB came")] == []
    assert 1 <= len(world.told[1:]) <= 3


@pytest.mark.parametrize(("said", "passing"), [("no-store", True), ("private, NO-STORE", True), ("max-age=0", False)])
def test_what_must_not_be_kept_is_marked(world: World, said: str, passing: bool) -> None:
    site = world.serve("good.example")
    site.says("/", "hello", Cache_Control=said)
    assert world.get("http://good.example/").passing is passing
