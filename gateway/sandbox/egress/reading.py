"""Requests to a host that may only be read from: what is let through, and in which form. Pure.

GET and HEAD, and the few requests with a body that read (`reading_posts`). A path is held to a grammar that servers
cannot read in two ways; of the header only what reading takes passes, each field by a grammar of its own; a query is
dropped, but at the API of a cluster (`cluster_requests`). What is left to choose is counted (`said`), because names and
order of what is asked for are always words to whoever reads the host's log.
"""

from __future__ import annotations

import re

from gateway.core.value import Value
from gateway.model.plan import CLUSTER, HELM
from gateway.sandbox.egress import cluster_requests, reading_posts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.sandbox.egress.http import Request
    from gateway.sandbox.egress.reading_posts import ReadingPost

MAX_PATH = MAX_FIELD = 1024
USER_AGENT = b"gateway"
OURS = frozenset((b"user-agent", b"content-type", b"content-length"))
"""Fields that a client does not choose."""

_SEGMENT = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%(?:2[0-9A-CF]|[3-6][0-9A-F]|7[0-9A-E]|[C-F89AB][0-9A-F]))*")
_SLASH = re.compile(rb"%2[Ff]")
_HIDDEN = re.compile(rb"%(?:2[Ee5]|5[Cc]|3[BFbf]|23)")  # dots, and what cuts a path, spelled otherwise
_DATE = rb"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
_MEDIA = rb"(?:[A-Za-z0-9*][A-Za-z0-9*+.-]{0,63})/(?:[A-Za-z0-9*][A-Za-z0-9*+.-]{0,63})"
_WEIGHT = rb"(?: ?; ?(?:q=[01](?:\.\d{1,3})?|charset=utf-8|version=[0-9.]{1,8}))*"
KEPT: dict[bytes, re.Pattern[bytes]] = {
    b"accept": re.compile(_MEDIA + _WEIGHT + rb"(?: ?, ?" + _MEDIA + _WEIGHT + rb"){0,9}"),
    b"accept-encoding": re.compile(rb"(?:[a-z*]{1,10}" + _WEIGHT + rb")(?: ?, ?[a-z*]{1,10}" + _WEIGHT + rb"){0,5}"),
    b"range": re.compile(rb"bytes=\d{1,12}-\d{0,12}|bytes=-\d{1,12}"),
    b"if-modified-since": re.compile(_DATE),
    b"git-protocol": re.compile(rb"version=[12]"),
}
# Tags that the host itself has given: anything else would be a text of the client's own.
TAGS = (b"if-none-match", b"if-range")
TAG = re.compile(rb'(?:W/)?"[!#-~]{1,128}"')
_NO_MORE: Mapping[bytes, re.Pattern[bytes]] = {}
_REFS, _REFS_QUERY = b"/info/refs", b"service=git-upload-pack"


class NotReadingError(ValueError):
    """A request that could do more than read, or say more than it needs to; the message says why."""


class Reading(Value):
    """A request as it may be sent. `post`: what its body is one of; it must be read and given to `with_body`. `made`:
    what the client gets of the body of an answer, None for all; it raises ValueError for one that is not read."""

    request: Request
    post: ReadingPost | None = None
    made: Callable[[bytes], bytes] | None = None


def reading(
    request: Request, tags: frozenset[bytes] | set[bytes] = frozenset(), also: tuple[str, ...] = (), base: str = ""
) -> Reading:
    """The request without what reading does not need. `tags`: the entity tags that the host has given; `also`: names of
    what reads there beside; `base`: the path below which a cluster's API is. Raises NotReadingError."""
    path, mark, query = request.path.partition(b"?")
    if request.upgrade or request.expects or any(name == b"upgrade" for name, _value in request.fields):
        raise NotReadingError("it asks to change to another protocol, or for leave to send a body")
    _check_path(path)
    if request.method == b"POST" and not mark and (post := reading_posts.post_of(path, also, base)) is not None:
        objection = reading_posts.objection(post, request)
        if objection:
            raise NotReadingError(objection)
        return Reading(request.replace(fields=_fields(request, frozenset(), post.fields)), post)
    if request.method not in (b"GET", b"HEAD"):
        raise NotReadingError(f"{request.method.decode('ascii')} is no way to read")
    if request.length:
        raise NotReadingError("a request that reads has no body")
    if CLUSTER in also:
        try:
            path = cluster_requests.target_of(path, query, base, helm=HELM in also)
        except cluster_requests.ClusterRequestError as error:
            raise NotReadingError(str(error)) from None
        return Reading(request.replace(path=path, fields=_fields(request, tags, cluster_requests.FIELDS)))
    if path.endswith(_REFS):
        if query != _REFS_QUERY:
            raise NotReadingError("git may only fetch from this host")
        path += b"?" + query
    return Reading(request.replace(path=path, fields=_fields(request, tags)))


def with_body(found: Reading, came: Request, body: bytes) -> tuple[Request, bytes]:
    """A request of a kind that has a body, and that body, as they may be sent. `came`: the request as it came. Raises
    NotReadingError."""
    assert found.post is not None
    try:
        made = reading_posts.body_of(found.post, came, body)
    except reading_posts.PostError as error:
        raise NotReadingError(str(error)) from None
    fields = found.request.fields
    if not found.post.fields:
        fields += ((b"content-type", found.post.types[0]),)
    fields += ((b"content-length", b"%d" % len(made)),)
    return found.request.replace(fields=fields, length=len(made)), made


def tag_of(fields: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """The entity tag of an answer, b"" for none."""
    found = [value for name, value in fields if name == b"etag"]
    return found[0] if len(found) == 1 and TAG.fullmatch(found[0]) else b""


def _check_path(path: bytes) -> None:
    if len(path) > MAX_PATH:
        raise NotReadingError(f"the path has more than {MAX_PATH:,} bytes")
    segments = path.split(b"/")[1:]
    for at, segment in enumerate(segments):
        if not segment and at < len(segments) - 1:
            raise NotReadingError("the path has an empty part")
        if segment in (b".", b".."):
            raise NotReadingError("the path has a part `.` or `..`")
        if not _SEGMENT.fullmatch(segment.upper() if b"%" in segment else segment):
            raise NotReadingError("the path has characters that servers read in different ways")
        parts = _SLASH.split(segment)
        if len(parts) > 1 and not (len(parts) == 2 and parts[0][:1] == b"@" and parts[1].strip(b".")):
            raise NotReadingError("the path spells a slash otherwise, which only a scope of npm does (`@a%2fb`)")
        if any(_HIDDEN.search(part) for part in parts):
            raise NotReadingError("the path spells a dot or a mark otherwise")


def _fields(
    request: Request, tags: frozenset[bytes] | set[bytes], also: Mapping[bytes, re.Pattern[bytes]] = _NO_MORE
) -> tuple[tuple[bytes, bytes], ...]:
    kept: dict[bytes, bytes] = {}
    for name, value in request.fields:
        grammar = also.get(name) or KEPT.get(name)
        fits = grammar.fullmatch(value) is not None if grammar is not None else name in TAGS and value in tags
        if fits and len(value) <= MAX_FIELD:
            kept.setdefault(name, value)
    # In one order: that would be a choice, too.
    return (*sorted(kept.items()), (b"user-agent", USER_AGENT))
