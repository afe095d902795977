"""What the requests of a call say to hosts that may only be read from."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]  # widths of grammars

import pytest

from gateway.model.plan import Endpoint, Network
from gateway.sandbox.egress import named_files, reading
from gateway.sandbox.egress import outbound_data as saying
from gateway.sandbox.egress.addresses import Host
from gateway.sandbox.egress.http import request_of
from gateway.sandbox.egress.learned_names import MOST_SESSIONS, Sessions
from gateway.sandbox.egress.outbound_data import Said
from gateway.sandbox.egress.reading import NotReadingError

INDEX, FILES, OTHER = Host("index.example"), Host("files.example"), Host("other.example")
NETWORK = Network(
    "listed",
    (
        Endpoint("index.example", 0, "r", "read"),
        Endpoint("files.example", 0, "r", "read", ("index.example",)),
        Endpoint("other.example", 0, "r", "read"),
    ),
)
HTML = (b"content-type", b"text/html; charset=utf-8")
PAGE = b'<a href="https://files.example/p/aa/x-1.0+cu.whl#sha256=ab" data-core-metadata="sha256=cd">x</a>'


def ask(said: Said, host: Host, path: bytes, fields: bytes = b"") -> bytes:
    """The path that is sent; raises NotReadingError where none is."""
    line = b"GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (path, host.text.encode(), fields)
    request = said.judged(host, request_of(line)).request
    said.spend(host, request, None)
    return request.path


def page(said: Said, text: bytes, *fields: tuple[bytes, bytes], pieces: int = 1 << 20, status: int = 200) -> None:
    """The index answers with a page, in pieces."""
    ask(said, INDEX, b"/simple/x/")
    shown = said.answered(INDEX, status, fields or (HTML,))
    for at in range(0, len(text), pieces) if shown is not None else ():
        assert shown is not None
        shown(text[at : at + pieces])


@pytest.mark.parametrize("pieces", [1, 7, 1 << 20])
@pytest.mark.parametrize("packed", [False, True], ids=["as it is", "packed"])
def test_what_an_index_names_passes_free_and_as_it_was_named(pieces: int, packed: bool) -> None:
    said = Said(NETWORK)
    fields = (HTML, (b"content-encoding", b"gzip")) if packed else (HTML,)
    page(said, gzip.compress(PAGE) if packed else PAGE, *fields, pieces=pieces)
    assert ask(said, FILES, b"/p/aa/x-1.0%2Bcu.whl") == b"/p/aa/x-1.0+cu.whl"
    assert ask(said, FILES, b"/p/aa/x-1.0+cu.whl.metadata") == b"/p/aa/x-1.0+cu.whl.metadata"
    assert said.counts() == (("files.example", 2, 0), ("index.example", 1, len(b"/simple/x/")))


UNTAUGHT = {
    "another type": ((b"content-type", b"application/octet-stream"),),
    "no type": ((b"x", b"y"),),
    "two types": (HTML, HTML),
    "another packing": (HTML, (b"content-encoding", b"br")),
    "packed, it says": (HTML, (b"content-encoding", b"gzip")),
}


@pytest.mark.parametrize("name", UNTAUGHT)
def test_an_answer_that_is_no_page_names_nothing(name: str) -> None:
    said = Said(NETWORK)
    page(said, PAGE, *UNTAUGHT[name])
    ask(said, FILES, b"/p/aa/x-1.0+cu.whl")
    assert {host: chosen for host, _n, chosen in said.counts()}["files.example"] == len(b"/p/aa/x-1.0+cu.whl")


def test_an_error_or_another_host_names_nothing() -> None:
    said = Said(NETWORK)
    page(said, PAGE, status=404)
    assert said.answered(OTHER, 200, (HTML,)) is None
    ask(said, OTHER, b"/simple/x/")
    assert said.answered(OTHER, 200, (HTML,)) is None


def test_a_name_that_only_the_end_of_the_page_cuts_is_not_known() -> None:
    said = Said(NETWORK)
    page(said, PAGE[: PAGE.index(b"x-1.0")] + b"x-1")
    before = said.counts()
    ask(said, FILES, b"/p/aa/x-1")
    assert said.counts() != before
    assert {host: chosen for host, _n, chosen in said.counts()}["files.example"] == len(b"/p/aa/x-1")


@pytest.mark.parametrize(("values", "bits"), [(0, 1), (1, 2), (2, 3), (16, 6)])
def test_which_of_the_fields_of_before_is_sent_again_costs_the_bits_of_that(values: int, bits: int) -> None:
    """Of a file that an index has named, which costs nothing by itself."""
    said = Said(NETWORK)
    page(said, PAGE)

    def spent() -> int:
        return sum(chosen for _host, _requests, chosen in said.counts())

    for number in range(values):
        ask(said, FILES, b"/p/aa/x-1.0+cu.whl", b"Accept: a/%d\r\n" % number)
    before = spent()
    for number in range(800):
        ask(said, FILES, b"/p/aa/x-1.0+cu.whl", b"Accept: a/%d\r\n" % (number % values) if values else b"")
    named = 2  # which of one file, its description or neither
    assert spent() - before in ((bits + named) * 100, (bits + named) * 100 + 1)


def test_few_files_that_nobody_named_can_be_asked_for() -> None:
    said = Said(NETWORK)
    page(said, PAGE)
    for number in range(saying.MAX_UNNAMED):
        ask(said, FILES, b"/p/%d" % number)
    with pytest.raises(NotReadingError, match="no index has named"):
        ask(said, FILES, b"/p/more")
    assert ask(said, FILES, b"/p/aa/x-1.0+cu.whl") == b"/p/aa/x-1.0+cu.whl"
    assert ask(said, OTHER, b"/anything") == b"/anything"  # whose files nobody names


def test_few_things_can_be_asked_for_that_are_not_there() -> None:
    said = Said(NETWORK)
    for number in range(saying.MAX_ABSENT):
        ask(said, INDEX, b"/simple/secret-%d/" % number)
        said.answered(INDEX, 404, (HTML,))
    for host in (INDEX, OTHER, FILES):
        with pytest.raises(NotReadingError, match="do not have"):
            ask(said, host, b"/simple/more/")


def test_a_field_is_counted_once_and_again_where_it_is_another() -> None:
    said = Said(NETWORK)
    for fields in (b"Accept: text/html\r\n", b"Accept: text/html\r\n", b"Accept: text/plain\r\n"):
        ask(said, OTHER, b"/x", fields)
    assert said.counts() == (("other.example", 3, 3 * 2 + len(b"text/html") + len(b"text/plain")),)


def test_all_that_a_call_says_is_bounded() -> None:
    said = Said(NETWORK.replace(said=25))
    for host in (INDEX, OTHER):
        ask(said, host, b"/123456789")
    with pytest.raises(NotReadingError, match="have said"):
        ask(said, OTHER, b"/123456789")
    assert ask(said, OTHER, b"/1234") == b"/1234"
    assert sum(chosen for _host, _requests, chosen in said.counts()) == 25


def test_an_index_is_asked_for_pages_that_can_be_read_here() -> None:
    said = Said(NETWORK)
    line = b"GET /x HTTP/1.1\r\nHost: index.example\r\nAccept-Encoding: %s\r\n\r\n"
    found = [
        [
            value
            for name, value in said.judged(host, request_of(line % packing)).request.fields
            if name == b"accept-encoding"
        ]
        for host, packing in ((INDEX, b"br, gzip, zstd"), (INDEX, b"br"), (OTHER, b"br"))
    ]
    assert found == [[b"gzip"], [], [b"br"]]


def test_a_tag_of_one_host_is_not_another_ones() -> None:
    said = Said(NETWORK)
    ask(said, INDEX, b"/x")
    said.answered(INDEX, 200, ((b"etag", b'"given"'),))
    fields = b'If-None-Match: "given"\r\n'
    kept = [
        b"if-none-match"
        in dict(said.judged(host, request_of(b"GET /x HTTP/1.1\r\nHost: a\r\n" + fields + b"\r\n")).request.fields)
        for host in (INDEX, OTHER)
    ]
    assert kept == [True, False]


def test_a_page_that_unpacks_to_very_much_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.sandbox.egress.named_files.MAX_SHOWN", 1 << 21)
    said = Said(NETWORK)
    page(said, gzip.compress(b" " * (4 << 20) + PAGE), HTML, (b"content-encoding", b"gzip"))
    ask(said, FILES, b"/p/aa/x-1.0+cu.whl")
    assert said.counts()[0][2] > 0


def test_what_was_named_to_one_call_of_a_session_passes_free_in_the_next(monkeypatch) -> None:
    sessions = Sessions()
    page(Said(NETWORK, sessions.of("a")), PAGE, HTML, (b"etag", b'"v1"'))
    again = Said(NETWORK, sessions.of("a"))
    assert ask(again, FILES, b"/p/aa/x-1.0%2Bcu.whl") == b"/p/aa/x-1.0+cu.whl"
    assert again.counts() == (("files.example", 1, 0),)
    tagged = again.judged(INDEX, request_of(b'GET / HTTP/1.1\r\nHost: index.example\r\nIf-None-Match: "v1"\r\n\r\n'))
    assert (b"if-none-match", b'"v1"') in tagged.request.fields
    monkeypatch.setattr(saying, "MAX_UNNAMED", 0)
    others = NETWORK.replace(
        allow=tuple(each.replace(named_by=("other.example",)) if each.named_by else each for each in NETWORK.allow)
    )
    for said in (
        Said(NETWORK, sessions.of("b")),  # of another session
        Said(NETWORK, sessions.of("")), Said(NETWORK, sessions.of("")),  # of none
        Said(NETWORK),
        Said(others, sessions.of("a")),  # what this index named is nothing to who obeys another
    ):  # fmt: skip
        with pytest.raises(NotReadingError, match="no index has named this file"):
            ask(said, FILES, b"/p/aa/x-1.0+cu.whl")
    assert Said(NETWORK, sessions.of("b")).judged(
        INDEX, request_of(b'GET / HTTP/1.1\r\nHost: index.example\r\nIf-None-Match: "v1"\r\n\r\n')
    ).request.fields == ((b"user-agent", b"gateway"),)


@pytest.mark.parametrize(("names", "bits"), [(1, 2), (100, 8), (1000, 11)])
def test_which_of_the_named_files_is_asked_for_costs_the_bits_of_that(names: int, bits: int) -> None:
    said = Said(NETWORK)
    page(said, b"".join(b'<a href="https://files.example/p/x-%d.whl"></a>' % number for number in range(names)))
    for number in range(800):
        ask(said, FILES, b"/p/x-%d.whl" % (number % names))
    # and one bit each for the method
    assert {host: chosen for host, _n, chosen in said.counts()}["files.example"] in (
        (bits + 1) * 100,
        (bits + 1) * 100 + 1,
    )


def test_what_a_session_spends_is_counted_for_each_call(monkeypatch) -> None:
    monkeypatch.setattr(saying, "MAX_UNNAMED", 1)
    sessions = Sessions()
    for _ in range(2):
        said = Said(NETWORK, sessions.of("a"))
        ask(said, FILES, b"/one")
        with pytest.raises(NotReadingError, match="no index has named this file"):
            ask(said, FILES, b"/two")


def test_only_the_last_sessions_are_remembered_and_each_no_more_than_a_call_may_learn(monkeypatch) -> None:
    sessions = Sessions()
    page(Said(NETWORK, sessions.of("a")), PAGE)
    for at in range(MOST_SESSIONS - 1):
        sessions.of(f"s{at}")
    page(Said(NETWORK, sessions.of("a")), b"")  # used, so not the oldest
    sessions.of("more")
    assert sessions.of("a") is not sessions.of("s0")
    monkeypatch.setattr(saying, "MAX_UNNAMED", 0)
    assert ask(Said(NETWORK, sessions.of("a")), FILES, b"/p/aa/x-1.0+cu.whl")
    for at in range(MOST_SESSIONS):
        sessions.of(f"t{at}")
    with pytest.raises(NotReadingError):
        ask(Said(NETWORK, sessions.of("a")), FILES, b"/p/aa/x-1.0+cu.whl")
    monkeypatch.setattr(named_files, "MAX_NAMED", 2)
    for number in range(4):
        page(Said(NETWORK, sessions.of("full")), PAGE.replace(b"x-1.0", b"x-%d.0" % number))
    found = Said(NETWORK, sessions.of("full"))
    kept = [found._named.path_of(FILES, b"/p/aa/x-%d.0+cu.whl" % number) for number in range(4)]
    assert [bool(each) for each in kept] == [True, True, False, False]


PAGE_OF_DOCS = Path(__file__).parents[3] / "docs/sandbox.md"
BITS = re.compile(r"(?<=<!-- bits: begin, generated -->\n).*?(?=<!-- bits: end, generated -->)", re.DOTALL)


def most(grammar: re.Pattern[bytes]) -> int:
    """Bytes of the longest text of a grammar that passes."""
    return min(_parser.parse(grammar.pattern).getwidth()[1], reading.MAX_FIELD)


def bits_afterwards(fields: bytes) -> int:
    """What a request with these fields costs when such a one has been sent, for a file that an index has named."""
    said = Said(NETWORK)
    page(said, PAGE)
    for _ in range(9):
        ask(said, FILES, b"/p/aa/x-1.0+cu.whl", fields)
    before = saying_bits(said)
    ask(said, FILES, b"/p/aa/x-1.0+cu.whl", fields)
    return saying_bits(said) - before - 2  # which of two names


def saying_bits(said: Said) -> int:
    return 8 * sum(chosen for _host, _requests, chosen in said.counts()) + said._bits


def bits_table() -> str:
    """The table of the documentation, from the code."""
    named = named_files.NamedFiles([("files.example", ("index.example",))], Sessions().of(""))
    named._named["files.example"] = dict.fromkeys((b"%d" % at for at in range(named_files.MAX_NAMED)), b"x")
    rows = [
        ("part of a request", "the first time, at most", "once it was sent"),
        ("---", "---", "---"),
        ("GET or HEAD", 1, 1),
        (
            f"the path of a file that an index has named, of {named_files.MAX_NAMED:,} at most",
            named.bits(FILES),
            "as before",
        ),
        ("any other path", 8 * reading.MAX_PATH, "as before"),
    ]
    for name, grammar in {**reading.KEPT, **dict.fromkeys(reading.TAGS, reading.TAG)}.items():
        often = bits_afterwards(b"Accept: a/b\r\n") - bits_afterwards(b"")
        rows.append(
            (f"`{name.decode().title()}`", 8 * most(grammar), f"{often}, {often + 1} of two or three values, …")
        )
    usual = bits_afterwards(b"Accept: a/b\r\nAccept-Encoding: gzip\r\n")
    rows.append(("what pip and npm send beside the path, the same each time", "", usual))
    rows.append(("HTTP/1.0", 8 * len(b"HTTP/1.0"), "as a field"))
    rows.append(("which of 2, 3 or 8 connections of the call carries it", "1, 2, 3", "as before"))
    rows.append(("where the client breaks an answer off", 8 * saying.CUT, "as before"))
    rows.append(("a body of `git fetch` or `also`", "8 a byte", "as before"))
    rows.append(("**all requests of a call**", 8 * saying.MAX_OUT, ""))
    return "".join(
        "| " + " | ".join(f"{each:,}" if isinstance(each, int) else each for each in row) + " |\n" for row in rows
    )


def test_the_documentation_says_what_each_part_of_a_request_can_say() -> None:
    found = BITS.search(PAGE_OF_DOCS.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == bits_table(), "run `python tests/sandbox/egress/test_outbound_data.py` and look at the change"


if __name__ == "__main__":
    PAGE_OF_DOCS.write_text(
        BITS.sub(lambda _: bits_table(), PAGE_OF_DOCS.read_text(encoding="utf-8")), encoding="utf-8"
    )
