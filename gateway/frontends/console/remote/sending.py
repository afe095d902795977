"""Notices on their way: to the addresses that the setting names, looked up once, and nowhere that it does not allow."""

from __future__ import annotations

import socket
from time import monotonic

from gateway.calls.outgoing import Reply, RequestError, Watched, once
from gateway.sandbox.egress.addresses import PUBLIC, HostError, address_of, kind_of
from gateway.tools.paths import UnclearError
from gateway.tools.urls import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.frontends.console.remote.notices import Sent

SECONDS = 10.0
MOST_ANSWER = 16 << 10
MOST_BODY = 32 << 10
# What `private: true` adds to the public addresses. Not the ones that machines are asked about themselves at.
NEAR = ("loopback", "private", "shared")


def send(sent: Sent, cancelled: Callable[[], bool] = lambda: False) -> Reply:
    """Makes the request and follows no redirect. Raises RequestError."""
    try:
        where = parse(sent.url)
    except UnclearError as error:
        raise RequestError(f"the address {error.must}") from error
    if len(sent.body) > MOST_BODY:
        raise RequestError("it is longer than a notice may be")
    at = [(address, where.port) for address in _addresses(where.host, where.port, sent.private)]
    is_secure = where.text.startswith("https:")
    if not is_secure and any(_kind(address) == PUBLIC for address, _ in at):
        raise RequestError(f"{where.host} is a public address, which is only told over https")
    watched = Watched(monotonic() + SECONDS)
    return watched.run(
        lambda: once("POST", where, sent.headers, sent.body, at=at, watched=watched, take=_read), where.host, cancelled
    )


def _addresses(host: str, port: int, private: bool) -> list[str]:
    """Where a host leads; every one of them must be allowed."""
    try:
        told = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RequestError(f"{host} cannot be found: {error.strerror or error}") from error
    found = list(dict.fromkeys(str(each[4][0]) for each in told))
    for address in found:
        kind = _kind(address)
        if kind != PUBLIC and not (private and kind in NEAR):
            more = "; `private: true` allows it" if kind in NEAR else ""
            raise RequestError(f"{host} leads to {address}, which is no public address ({kind}){more}")
    return found


def _kind(address: str) -> str:
    try:
        return kind_of(address_of(address))
    except HostError as error:
        raise RequestError(f"it leads to an address that is none: {error}") from error


def _read(response: Any) -> Reply:
    found = bytearray()
    for chunk in response.iter_raw():
        found += chunk
        if len(found) > MOST_ANSWER:
            break
    return Reply(response.status_code, {}, bytes(found[:MOST_ANSWER]), cut=len(found) > MOST_ANSWER)
