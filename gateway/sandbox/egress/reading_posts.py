"""Requests with a body that only read: which they are, and what is sent instead of what came. Pure.

`git` is one everywhere. The others hold for a host where policy names them (`also`), since what a path means is the
server's own matter.
"""

from __future__ import annotations

import re
import zlib

from gateway.core.value import Value
from gateway.model.plan import CLUSTER
from gateway.sandbox.egress import advisories, aws_requests, cluster_requests, graphql
from gateway.sandbox.egress.git_requests import rewritten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.sandbox.egress.http import Request

GZIP = b"gzip"


class PostError(ValueError):
    """A body that does more than read, or cannot be read; the message says why."""


class ReadingPost(Value):
    """`path`: of the requests; `types`: what their body may be; `most`: bytes of it, packed or not; `made`: the body
    that is sent, from the one that came, unpacked, and the request; it raises ValueError. `fields`: those that pass
    beside the usual ones, each by its grammar, where the client has signed what it sends: then that is what came."""

    name: str
    path: re.Pattern[bytes]
    types: tuple[bytes, ...]
    most: int
    made: Callable[[bytes, Request], bytes]
    fields: Mapping[bytes, re.Pattern[bytes]] = {}


def _by_body(made: Callable[[bytes], bytes]) -> Callable[[bytes, Request], bytes]:
    return lambda body, _request: made(body)


JSON = (b"application/json", b"application/json; charset=utf-8", b"application/json;charset=utf-8")
GIT = ReadingPost(
    "git",
    re.compile(rb".*/git-upload-pack", re.DOTALL),
    types=(b"application/x-git-upload-pack-request",),
    most=1 << 20,
    made=_by_body(rewritten),
)
_GRAPHQL = ReadingPost(
    "graphql", re.compile(rb"(?:/api)?/graphql"), types=JSON, most=16 << 10, made=_by_body(graphql.rewritten)
)
_AUDIT = ReadingPost(
    "npm-audit",
    re.compile(rb"/-/npm/v1/security/advisories/bulk"),
    types=JSON,
    most=1 << 20,
    made=_by_body(advisories.rewritten),
)
_AWS = ReadingPost(
    "aws", re.compile(rb"/"), types=aws_requests.TYPES, most=64 << 10, made=aws_requests.checked,
    fields=aws_requests.FIELDS,
)  # fmt: skip
_CLUSTER = ReadingPost(
    CLUSTER, cluster_requests.REVIEWS, types=cluster_requests.TYPES, most=4 << 10,
    made=_by_body(bytes), fields=cluster_requests.FIELDS_OF_REVIEWS,
)  # fmt: skip
ALSO = {each.name: each for each in (_GRAPHQL, _AUDIT, _AWS, _CLUSTER)}
"""What policy may name for a host, by its name."""


def post_of(path: bytes, also: tuple[str, ...], base: str = "") -> ReadingPost | None:
    """Which of them a request is, by its path; None for none. `base`: the path below which a cluster's API is, where
    nothing else is read: what looks like git there is some service of the cluster."""
    if _CLUSTER.name in also:
        below = path.removeprefix(base.encode("ascii"))
        return _CLUSTER if len(below) == len(path) - len(base) and _CLUSTER.path.fullmatch(below) else None
    return next((each for each in (GIT, *(ALSO[name] for name in also)) if each.path.fullmatch(path)), None)


def objection(post: ReadingPost, request: Request) -> str:
    """Why the head of a request is none of such a one, "" if it is."""
    types = [value.lower() for name, value in request.fields if name == b"content-type"]
    if len(types) != 1 or types[0] not in post.types:
        return f"a POST to this place is one of `{post.name}`, and this is none"
    if _encodings(request) not in ([], [b"identity"], *(([GZIP],) if not post.fields else ())):
        return "the body is compressed in a way that is not read"
    if not request.length or request.length > post.most:
        return f"the body is empty, or has more than {post.most:,} bytes"
    return ""


def body_of(post: ReadingPost, request: Request, body: bytes) -> bytes:
    """What is sent instead of a body, not compressed. Raises PostError."""
    try:
        return post.made(_unpacked(body, post.most) if _encodings(request) == [GZIP] else body, request)
    except ValueError as error:
        raise PostError(str(error)) from None


def _encodings(request: Request) -> list[bytes]:
    return [value.lower() for name, value in request.fields if name == b"content-encoding"]


def _unpacked(body: bytes, most: int) -> bytes:
    reader = zlib.decompressobj(31)
    try:
        text = reader.decompress(body, most + 1)
    except zlib.error:
        raise PostError("the body is not compressed as it says") from None
    if len(text) > most or not reader.eof or reader.unused_data:
        raise PostError(f"the body is not whole, or has more than {most:,} bytes when it is unpacked")
    return text
