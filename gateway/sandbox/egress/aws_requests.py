"""Requests to services of AWS by which an operation is named in the header or the body: `X-Amz-Target` or `Action`.

Pure but for the list, a file beside this one: the operations of which the models of botocore say by their names that
they read, without those that hand out secrets (`scripts/describe aws`). The client has signed what it sends, so that
what is sent is what came.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

from gateway.core.places import PACKAGE
from gateway.core.plain_files import open_plain
from gateway.sandbox.egress.strict_json import object_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.egress.http import Request

FORM = b"application/x-www-form-urlencoded; charset=utf-8"
TYPES = (FORM, b"application/x-www-form-urlencoded", b"application/x-amz-json-1.1", b"application/x-amz-json-1.0")
MOST_FIELDS = 1_000

_TOKEN = rb"[A-Za-z0-9/+=._-]"
FIELDS: dict[bytes, re.Pattern[bytes]] = {
    b"authorization": re.compile(
        rb"AWS4-HMAC-SHA256 Credential=[A-Z0-9]{4,128}/\d{8}/[a-z0-9-]{1,32}/[a-z0-9-]{1,64}/aws4_request, "
        rb"SignedHeaders=[a-z0-9;-]{1,256}, Signature=[0-9a-f]{64}"
    ),
    b"content-type": re.compile(b"|".join(map(re.escape, TYPES)), re.IGNORECASE),
    b"x-amz-target": re.compile(rb"[A-Za-z0-9_]{1,80}\.[A-Za-z0-9]{1,80}"),
    b"x-amz-date": re.compile(rb"\d{8}T\d{6}Z"),
    b"x-amz-content-sha256": re.compile(rb"[0-9a-f]{64}"),
    b"x-amz-security-token": re.compile(_TOKEN + rb"{1,4096}"),
    b"x-amzn-query-mode": re.compile(rb"true"),
    b"amz-sdk-invocation-id": re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    b"amz-sdk-request": re.compile(rb"(?:ttl=\d{8}T\d{6}Z; )?attempt=\d{1,2}(?:; max=\d{1,2})?"),
}
"""What a signature may speak of, each by its grammar."""

_PAIR = re.compile(rb"(?:[A-Za-z0-9_.~*+-]|%[0-9A-Fa-f]{2})+=(?:[A-Za-z0-9_.~*+-]|%[0-9A-Fa-f]{2})*")
_reads: dict[str, frozenset[str]] = {}


class AwsError(ValueError):
    """A request that does more than read, or of which servers could read more than one operation."""


def checked(body: bytes, request: Request) -> bytes:
    """The body as it came, of a request of one operation that reads. Raises ValueError."""
    types = [value.lower() for name, value in request.fields if name == b"content-type"]
    targets = [value for name, value in request.fields if name == b"x-amz-target"]
    if types and types[0].startswith(b"application/x-amz-json"):
        if len(targets) != 1 or not FIELDS[b"x-amz-target"].fullmatch(targets[0]):
            raise AwsError("it names no operation, or several")
        object_of(body)
        service, _, operation = targets[0].decode("ascii").partition(".")
    else:
        if targets:
            raise AwsError("it names an operation in two ways")
        service, operation = _of_form(body)
    if operation not in listed().get(service, frozenset()):
        raise AwsError(f"`{operation}` is not among the operations that only read, or it hands out secrets")
    return body


def _of_form(body: bytes) -> tuple[str, str]:
    """Version and operation of a form, each of which stands there once."""
    pairs = body.split(b"&")
    if len(pairs) > MOST_FIELDS or not all(map(_PAIR.fullmatch, pairs)):
        raise AwsError("the body is no form as the clients of AWS write it")
    said: dict[str, str] = {}
    for pair in pairs:
        name, _, value = pair.decode("ascii").partition("=")
        name = unquote_plus(name).lower()
        if name in said:
            raise AwsError(f"`{name[:40]}` stands twice")
        said[name] = value
    return said.get("version", ""), said.get("action", "")


def listed() -> dict[str, frozenset[str]]:
    """By what names a service, a target's prefix or a version, the operations that only read."""
    if not _reads:
        with open_plain(f"{PACKAGE}/sandbox/egress/aws_reads.txt") as file:
            lines = file.read().decode("ascii").splitlines()
        for service, *operations in map(str.split, lines):
            _reads[service] = frozenset(operations)
    return _reads
