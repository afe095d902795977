"""What passes to a host that may only be read from, and in which form."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sandbox.egress import reading
from gateway.sandbox.egress.git_requests import GitError, rewritten
from gateway.sandbox.egress.graphql import asked
from gateway.sandbox.egress.http import HttpError, request_of
from gateway.sandbox.egress.reading_posts import ALSO, GIT
from gateway.spec.sandbox import ALSO as NAMED

if TYPE_CHECKING:
    from pathlib import Path

HOST = b"Host: good.example\r\n"
TAG = b'"v1"'
FETCH = b"content-type: application/x-git-upload-pack-request\r\n"


def judged(line: bytes, fields: bytes = b"", also: tuple[str, ...] = ()) -> reading.Reading | str:
    """The request as it may be sent, or why it may not."""
    try:
        return reading.reading(request_of(line + b" HTTP/1.1\r\n" + HOST + fields + b"\r\n"), {TAG}, also)
    except (reading.NotReadingError, HttpError) as error:
        return str(error)


@pytest.mark.parametrize(
    ("target", "sent"),
    [
        (b"/simple/requests/", b"/simple/requests/"),
        (b"/@types%2fnode", b"/@types%2fnode"),
        (b"/@types%2Fnode/-/node-1.0.0.tgz", b"/@types%2Fnode/-/node-1.0.0.tgz"),
        (b"/packages/a-1.0+cu121-py3-none-any.whl", b"/packages/a-1.0+cu121-py3-none-any.whl"),
        (b"/a%20b/%C3%A4", b"/a%20b/%C3%A4"),
        (b"/maven2/g/a/1.0/a-1.0.pom", b"/maven2/g/a/1.0/a-1.0.pom"),
        (b"/x/@v/v1.2.3.info", b"/x/@v/v1.2.3.info"),
        (b"/simple/?secret=1", b"/simple/"),
        (b"/x/info/refs?service=git-upload-pack", b"/x/info/refs?service=git-upload-pack"),
    ],
)
def test_paths_pass_as_they_are_and_queries_do_not(target: bytes, sent: bytes) -> None:
    for method in (b"GET", b"HEAD"):
        found = judged(method + b" " + target)
        assert isinstance(found, reading.Reading), found
        assert (found.request.path, found.request.method, found.post) == (sent, method, None)


TRICKS = {
    "a path upwards": b"/a/../b", "a dot": b"/a/./b", "a path upwards at the end": b"/a/..",
    "an empty part": b"/a//b", "two slashes to begin with": b"//evil.example/x",
    "an encoded dot": b"/a/%2e%2e/b", "a dot encoded once": b"/a/.%2e/b", "in upper case": b"/a/%2E./b",
    "an encoded slash": b"/a%2fb", "a path upwards in a scope": b"/@a%2f..", "deeper": b"/@a%2f..%2fb",
    "two slashes in a scope": b"/@a%2f%2fb", "a scope without a name": b"/@a%2f", "encoded twice": b"/a%252e%252e/b",
    "a parameter of a path": b"/a;b=c/d", "encoded": b"/a%3bb", "a question mark": b"/a%3fb", "a hash": b"/a%23b",
    "a backslash": b"/a\\b", "encoded backslash": b"/a%5c..%5cb", "a zero byte": b"/a%00", "a line": b"/a%0d%0aX:y",
    "half an escape": b"/a%2", "no escape": b"/a%zz", "a delete": b"/a%7f", "quotes": b'/a"b', "a brace": b"/a{b}",
    "a bar": b"/a|b", "a caret": b"/a^b", "a bracket": b"/a[b]", "too long": b"/" + b"a" * 1025,
    "a push": b"/x/info/refs?service=git-receive-pack", "no service": b"/x/info/refs",
    "two services": b"/x/info/refs?service=git-upload-pack&service=git-receive-pack",
    "a service spelled otherwise": b"/x/info/refs?service=git-upload%2dpack",
}  # fmt: skip


@pytest.mark.parametrize("name", TRICKS)
def test_a_path_that_can_be_read_in_two_ways_does_not_pass(name: str) -> None:
    assert isinstance(judged(b"GET " + TRICKS[name]), str)


@pytest.mark.parametrize("method", [b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE", b"PROPFIND", b"get"])
def test_other_methods_do_not_pass(method: bytes) -> None:
    assert judged(method + b" /x", b"Content-Length: 0\r\n") == f"{method.decode()} is no way to read"


@pytest.mark.parametrize(
    "fields",
    [
        b"Content-Length: 2\r\n", b"Transfer-Encoding: chunked\r\n", b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
        b"Upgrade: h2c\r\nConnection: Upgrade\r\n", b"Expect: 100-continue\r\n",
        b"Upgrade: websocket\r\nContent-Length: 5\r\n",
    ],
)  # fmt: skip
def test_a_body_or_another_protocol_does_not_pass(fields: bytes) -> None:
    assert isinstance(judged(b"GET /x", fields), str)


FIELDS: list[tuple[bytes, bytes]] = [
    (b"Accept: application/vnd.pypi.simple.v1+json, text/html; q=0.1", b"same"),
    (b"Accept-Encoding: gzip, deflate, br;q=0.5", b"same"),
    (b"Range: bytes=0-1023", b"same"), (b"Range: bytes=-512", b"same"),
    (b"If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", b"same"),
    (b'If-None-Match: "v1"', b"same"), (b"Git-Protocol: version=2", b"same"),
    (b"Accept: secret in words", b""), (b"Accept: text/html; secret=abc", b""), (b"Accept: " + b"a" * 65 + b"/b", b""),
    (b"Range: bytes=0-1,5-6", b""), (b"Range: secret=1-2", b""), (b"Range: bytes=0-" + b"1" * 13, b""),
    (b"If-Modified-Since: secret", b""), (b'If-None-Match: "secret"', b""), (b'If-Range: "secret"', b""),
    (b"Git-Protocol: version=2:secret=1", b""), (b"Cookie: a=secret", b""), (b"Authorization: Bearer secret", b""),
    (b"Proxy-Authorization: Basic secret", b""), (b"User-Agent: secret", b""), (b"X-Secret: secret", b""),
    (b"Referer: https://secret.example/", b""), (b"Accept-Language: secret", b""), (b"Origin: https://secret", b""),
    (b"Npm-Command: secret", b""), (b"Cache-Control: secret", b""), (b"From: secret@example.com", b""),
    (b"Content-Type: secret/secret", b""), (b"Forwarded: for=secret", b""), (b"X-Http-Method-Override: DELETE", b""),
    (b"TE: trailers", b""), (b"Via: 1.1 secret", b""), (b"If-Match: *", b""), (b"Pragma: secret", b""),
]  # fmt: skip


@pytest.mark.parametrize(("field", "kept"), FIELDS)
def test_of_the_header_only_what_reading_takes_passes(field: bytes, kept: bytes) -> None:
    found = judged(b"GET /x", field + b"\r\n")
    assert isinstance(found, reading.Reading), found
    name, _, value = field.partition(b": ")
    expected = [(name.lower(), value)] if kept else []
    assert list(found.request.fields) == [*expected, (b"user-agent", b"gateway")]


def test_a_field_that_stands_twice_passes_once() -> None:
    found = judged(b"GET /x", b"Accept: text/html\r\nAccept: text/plain\r\n")
    assert isinstance(found, reading.Reading)
    assert found.request.fields == ((b"accept", b"text/html"), (b"user-agent", b"gateway"))


@given(st.binary(max_size=60))
def test_whatever_passes_is_as_servers_read_it(noise: bytes) -> None:
    found = judged(b"GET /" + noise.replace(b" ", b"").replace(b"\r", b"").replace(b"\n", b""))
    if isinstance(found, reading.Reading):
        plain = re.sub(rb"%2[Ff]", b"/", found.request.path)
        assert not re.search(rb"//|/\.{1,2}(/|$)|%2[eE]|%5[cC]|[\\;?#\0]", plain)


# ------------------------------------------------------------------------------------------------------------ git


def lines(*texts: bytes) -> bytes:
    return b"".join(text if len(text) == 4 and text.isdigit() else b"%04x%s" % (len(text) + 4, text) for text in texts)


A, B = b"a" * 40, b"b" * 40
FETCHES = {
    "refs": (
        lines(b"command=ls-refs\n", b"agent=git/secret", b"object-format=sha1", b"0001", b"peel\n", b"symrefs\n",
              b"ref-prefix refs/heads/\n", b"0000"),
        lines(b"command=ls-refs\n", b"object-format=sha1", b"0001", b"peel\n", b"symrefs\n",
              b"ref-prefix refs/heads/\n", b"0000"),
    ),
    "objects": (
        lines(b"command=fetch", b"session-id=secret", b"0001", b"thin-pack", b"want " + A + b"\n", b"have " + B + b"\n",
              b"deepen 1", b"filter blob:none", b"done\n", b"0000"),
        lines(b"command=fetch", b"0001", b"thin-pack", b"want " + A + b"\n", b"have " + B + b"\n", b"deepen 1",
              b"filter blob:none", b"done\n", b"0000"),
    ),
    "the old protocol": (
        lines(b"want " + A + b" multi_ack_detailed no-done side-band-64k thin-pack ofs-delta agent=secret\n", b"0000",
              b"done\n"),
        lines(b"want " + A + b" multi_ack_detailed no-done side-band-64k thin-pack ofs-delta\n", b"0000", b"done\n"),
    ),
    "a flush": (b"0000", b"0000"),
}  # fmt: skip


def sent_for(name: str, body: bytes, path: bytes = b"/x/git-upload-pack", packed: bool = False) -> bytes | str:
    """What is sent instead of a body of a request that reads, or why none is."""
    kind = GIT if name == "git" else ALSO[name]
    encoding = b"Content-Encoding: gzip\r\n" if packed else b""
    head = b"POST %s HTTP/1.1\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n"
    came = request_of(head % (path, HOST, kind.types[0], len(body), encoding))
    try:
        request, made = reading.with_body(reading.reading(came, (), (name,) if name != "git" else ()), came, body)
    except reading.NotReadingError as error:
        return str(error)
    assert [value for field, value in request.fields if field in (b"content-length", b"content-encoding")] == [
        b"%d" % len(made)
    ]
    return made


@pytest.mark.parametrize("name", FETCHES)
@pytest.mark.parametrize("packed", [False, True])
def test_what_git_says_of_itself_is_left_out(name: str, packed: bool) -> None:
    body, sent = FETCHES[name]
    assert sent_for("git", gzip.compress(body) if packed else body, packed=packed) == sent


@pytest.mark.parametrize(
    "body",
    [
        lines(b"command=push", b"0000"), lines(b"command=object-info", b"0000"), lines(A + b" " + B + b" refs/heads/x"),
        lines(b"server-option=secret"), lines(b"want secret"), lines(b"have " + A + b" secret"), b"0003", b"0004",
        b"zzzz", b"00ffshort", b"PACK", lines(b"ref-prefix refs/heads/" + b"x" * 300), lines(b"agent=a b"),
        lines(b"filter sparse:oid=secret"), lines(b"command=fetch\n\n"), b"0008ab", lines(b"want " + A + b" agent"),
    ],
)  # fmt: skip
def test_what_is_more_than_a_fetch_or_none_is_refused(body: bytes) -> None:
    with pytest.raises(GitError):
        rewritten(body)


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(b"0000" * 500_000), gzip.compress(b"0000") + b"secret", gzip.compress(b"0000")[:-3], b"0000",
        gzip.compress(b"0000") * 2,
    ],
    ids=["a bomb", "something behind it", "not whole", "not compressed", "two of them"],
)  # fmt: skip
def test_a_compressed_body_is_read_whole_or_refused(body: bytes) -> None:
    assert isinstance(sent_for("git", body, packed=True), str)


@pytest.mark.parametrize(
    ("line", "fields", "passes"),
    [
        (b"POST /x/git-upload-pack", FETCH + b"Content-Length: 4\r\n", True),
        (b"POST /x/git-upload-pack", FETCH + b"Content-Length: 4\r\nContent-Encoding: gzip\r\n", True),
        (b"POST /x/git-upload-pack", FETCH + b"Content-Length: 4\r\nContent-Encoding: br\r\n", False),
        (b"POST /x/git-upload-pack", FETCH + b"Content-Length: 1048577\r\n", False),
        (b"POST /x/git-upload-pack", FETCH + b"Transfer-Encoding: chunked\r\n", True),
        (b"POST /x/git-upload-pack", FETCH, False),
        (b"POST /x/git-upload-pack", b"Content-Type: text/plain\r\nContent-Length: 4\r\n", False),
        (b"POST /x/git-upload-pack", b"Content-Length: 4\r\n", False),
        (b"POST /x/git-upload-pack?secret", FETCH + b"Content-Length: 4\r\n", False),
        (b"POST /x/git-receive-pack", FETCH + b"Content-Length: 4\r\n", False),
        (b"POST /x/git-upload-pack/y", FETCH + b"Content-Length: 4\r\n", False),
        (b"PUT /x/git-upload-pack", FETCH + b"Content-Length: 4\r\n", False),
    ],
)
def test_only_a_fetch_of_git_has_a_body(line: bytes, fields: bytes, passes: bool) -> None:
    found = judged(line, fields)
    assert isinstance(found, reading.Reading) == passes, found
    if isinstance(found, reading.Reading):
        assert found.post is GIT


@pytest.mark.skipif(shutil.which("git") is None, reason="the oracle is git")
@pytest.mark.parametrize("version", ["0", "2"])
def test_what_git_really_sends_passes(tmp_path: Path, version: str) -> None:
    """Recorded between git and its own server program; the server answers what is left as it would the original."""
    environment = {
        "HOME": str(tmp_path), "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
    }  # fmt: skip

    def git(*words: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["git", *words], cwd=tmp_path, env=environment | more, check=True, capture_output=True)

    git("init", "-q", "-b", "main", "work")
    for number in range(3):
        git("-C", "work", "commit", "-q", "--allow-empty", "-m", str(number))
    trace = str(tmp_path / "trace")
    protocol = f"protocol.version={version}"
    git(
        "-c", protocol, "clone", "-q", "--no-local", "--depth=1", f"file://{tmp_path}/work", "x", GIT_TRACE_PACKET=trace
    )
    git("-C", "x", "-c", protocol, "fetch", "-q", "--unshallow", "origin", GIT_TRACE_PACKET=trace)
    with open(trace, encoding="utf-8") as file:
        said = re.findall(r"packet:\s+(?:clone|fetch(?:-pack)?|ls-remote)> (.*)$", file.read(), re.MULTILINE)
    assert any(line.startswith("want ") for line in said)
    body = lines(*(line.encode() for line in said))
    left = rewritten(body)
    assert (b"want " in left, b"agent=" in left) == (True, False)


# ----------------------------------------------------------------------------------------------- queries and questions


def query(text: str, **more: object) -> bytes:
    return json.dumps({"query": text, **more}).encode()


QUERIES = [
    ("{ a }", "{ a }"),
    ("query Q($n: Int = 3, $o: In = {a: [1, \"}\"]}) @d(x: {y: 1}) { a(b: $n) { c } # said\n }",
     'query Q ( $ n : Int = 3 $ o : In = { a : [ 1 "}" ] } ) @ d ( x : { y : 1 } ) { a ( b : $ n ) { c } }'),
    ("query { a } fragment F on T { ...F mutation }", "query { a } fragment F on T { ... F mutation }"),
    ('{ a(b: """mutation { x }""", c: -1.5e3) }', '{ a ( b : """mutation { x }""" c : -1.5e3 ) }'),
    ("\ufeff query A { a } query B { b }", "query A { a } query B { b }"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sent"), QUERIES)
def test_a_query_is_sent_token_by_token(text: str, sent: str) -> None:
    body = query(text, variables={"a": 1}, operationName="A")
    assert (
        sent_for("graphql", body, b"/graphql")
        == json.dumps({"query": sent, "operationName": "A", "variables": {"a": 1}}, separators=(",", ":")).encode()
    )


MUTATIONS = {
    "a mutation": query("mutation { a }"), "behind a query": query("query { a } mutation { b }"),
    "behind a fragment": query("fragment F on T { a } mutation { b }"), "a subscription": query("subscription { a }"),
    "behind a comment": query("# query { a }\nmutation { a }"), "behind a comma": query(",,, mutation { a }"),
    "in the middle": query("query A { a } mutation M { b } query C { c }"), "a type": query("type T { a: Int }"),
    "only a fragment": query("fragment F on T { a }"), "nothing": query(""), "not whole": query("query { a"),
    "closed too often": query("{ a } }"), "wrong brackets": query("{ a ( ] }"),
    "a text that does not end": query('{ a(b: "'),
    "a text over lines": query('{ a(b: "x\n") }'), "no token": query("{ a ? }"), "a zero": query("{ a \0 }"),
    "a string in a string": query('{ a } """" mutation { b } "'),
    "a batch": b"[" + query("{ a }") + b"]", "a persisted one": json.dumps({"id": "abc"}).encode(),
    "with extensions": query("{ a }", extensions={"persistedQuery": {"sha256Hash": "secret"}}),
    "no JSON": b"query=mutation", "no UTF-8": b'{"query": "\xff"}', "deep": b'{"a":' * 100_000,
    "a key twice": b'{"query": "{ a }", "query": "mutation { a }"}',
    "no number": b'{"query":"{ a }","variables":{"a":NaN}}',
    "a number that some take for another": b'{"query":"{ a }","variables":{"a":1e999}}',
    "a key twice below": b'{"query": "{ a }", "variables": {"a": 1, "a": 2}}',
    "a name that is none": query("{ a }", operationName="a b"),
    "variables in words": query("{ a }", variables="secret"),
    "a query that is no text": b'{"query": ["mutation { a }"]}', "too long": query("{ a }" + " " * 20_000),
    "two values": query("{ a }") + b" {}",
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_what_does_more_than_ask_is_refused(name: str) -> None:
    assert isinstance(sent_for("graphql", MUTATIONS[name], b"/graphql"), str)


@given(st.text(alphabet='{}()[]"#\\\n ,amutionqery$:!.1', max_size=60))
def test_no_text_hides_a_mutation_among_queries(noise: str) -> None:
    with contextlib.suppress(ValueError):
        tokens = asked(noise + " mutation { x } query { y }")
        # It stands inside of something else, and what is sent reads back as itself.
        assert asked(tokens) == tokens
        depth, starts, last = 0, [], ""
        for at, token in enumerate(re.findall(r'"""(?:\\"""|.)*?"""|"(?:\\.|[^"])*"|\S+', tokens, re.DOTALL)):
            starts += [token] if depth == 0 and (at == 0 or last == "}") else []
            depth += (token in "({[") - (token in ")}]")
            last = token
        assert "mutation" not in starts


def test_a_question_about_packages_is_their_names_and_versions() -> None:
    path = b"/-/npm/v1/security/advisories/bulk"
    asked_for = {"left-pad": ["1.3.0"], "@types/node": ["20.1.0", "1.0.0-rc.1"]}
    body = json.dumps(asked_for).encode()
    assert (
        sent_for("npm-audit", gzip.compress(body), path, packed=True)
        == json.dumps(asked_for, separators=(",", ":")).encode()
    )
    for other in ({"a": ["secret"]}, {"a b": ["1.0.0"]}, {"a": []}, {"a": "1.0.0"}, {"a": [{"x": 1}]}, ["a"]):
        assert isinstance(sent_for("npm-audit", json.dumps(other).encode(), path), str)


@pytest.mark.parametrize("path", [b"/graphql", b"/api/graphql", b"/-/npm/v1/security/advisories/bulk"])
def test_what_policy_does_not_name_for_a_host_is_no_way_to_read(path: bytes) -> None:
    fields = b"Content-Type: application/json\r\nContent-Length: 10\r\n"
    assert judged(b"POST " + path, fields) == "POST is no way to read"
    assert judged(b"POST " + path + b"?query=x", fields, ("graphql", "npm-audit")) == "POST is no way to read"
    assert isinstance(judged(b"POST " + path, fields, ("graphql", "npm-audit")), reading.Reading)


def test_policy_can_name_each_of_them() -> None:
    assert set(ALSO) == set(NAMED)
