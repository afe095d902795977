"""Headers that are added outside the sandbox: where their values come from, and when.

A value is read when the request is sent, goes to the dialled host only, and is never logged or put into a message.
A server that repeats what it was sent can still show it to the command: that cannot be held here.
"""

from __future__ import annotations

import os

from gateway.sandbox.egress.http import TOKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.plan import Injection

MAX_VALUE = 16384
# What says where a message ends and who reads it is not for adding.
_FRAMING = frozenset((b"host", b"content-length", b"transfer-encoding", b"connection", b"upgrade", b"te", b"trailer"))


class InjectionError(Exception):
    """A header cannot be added; the message names its source, never its value."""

    what = "add a header"


class ClusterError(InjectionError):
    """A login for a cluster that is not sent, or cannot be; the message says why, and holds nothing of it."""

    what = "log in to the cluster"


def headers_of(injections: tuple[Injection, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """Names and values of the headers to add, read now. Raises InjectionError."""
    return tuple((_name(each), _value(each)) for each in injections)


def _name(injection: Injection) -> bytes:
    name = injection.header.encode("ascii", "replace")
    if not name or not TOKEN.issuperset(name) or name.lower() in _FRAMING:
        raise InjectionError(f"`{injection.header}` is no header that can be added")
    return name


def _value(injection: Injection) -> bytes:
    kind, _colon, where = injection.source.partition(":")
    try:
        if kind == "env" and where:
            found = os.environb[os.fsencode(where)]
        elif kind == "file" and where:
            with open(where, "rb") as file:
                found = file.read(MAX_VALUE + 1)
        else:
            raise InjectionError(f"`{injection.source}` is no source: it must be `env:NAME` or `file:PATH`")
    except (OSError, KeyError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not set"
        raise InjectionError(f"the value of `{injection.header}` is missing: {injection.source}: {why}") from None
    found = found.strip(b" \t\r\n")
    value = injection.template.encode("utf-8").replace(b"{}", found)
    if not found or len(value) > MAX_VALUE or any(byte < 0x20 or byte == 0x7F for byte in value):
        raise InjectionError(f"the value of `{injection.header}` from {injection.source} cannot be sent in a header")
    return value
