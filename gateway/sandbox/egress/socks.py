"""SOCKS5 (RFC 1928) without authentication, CONNECT only. Pure."""

from __future__ import annotations

from gateway.sandbox.egress.addresses import HostError, host_at, host_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.egress.addresses import Host

VERSION = 5
NO_METHOD, NO_AUTHENTICATION = b"\x05\xff", b"\x05\x00"
GRANTED, FAILED, REFUSED, UNREACHABLE, NO_COMMAND, NO_ADDRESS_TYPE = 0, 1, 2, 4, 7, 8


class SocksError(ValueError):
    """A request that is refused before any policy is asked. `reply`: the code that says so to the client."""

    def __init__(self, reason: str, reply: int = FAILED) -> None:
        super().__init__(reason)
        self.reply = reply


def reply(code: int) -> bytes:
    """The answer to a request. The address that a server would give here means nothing to a client of ours."""
    return bytes((VERSION, code, 0, 1)) + bytes(6)


def method(methods: bytes) -> bytes:
    """The answer to a greeting that offers some methods of authentication."""
    return NO_AUTHENTICATION if 0 in methods else NO_METHOD


def rest_of(head: bytes) -> int:
    """How many bytes follow the first five of a request. Raises SocksError."""
    version, command, reserved, kind, first = head
    if version != VERSION or reserved:
        raise SocksError("this is no SOCKS5 request")
    if command != 1:
        raise SocksError("only CONNECT is offered, not BIND or UDP", NO_COMMAND)
    if kind == 1:
        return 3 + 2
    if kind == 3:
        if not first:
            raise SocksError("the host is missing")
        return first + 2
    if kind == 4:
        return 15 + 2
    raise SocksError("this kind of address does not exist", NO_ADDRESS_TYPE)


def target(request: bytes) -> tuple[Host, int]:
    """Host and port of a whole request. Raises SocksError."""
    if len(request) < 5 or len(request) != 5 + rest_of(request[:5]):
        raise SocksError("the request has the wrong length")
    port = int.from_bytes(request[-2:], "big")
    if not port:
        raise SocksError("there is no port 0")
    try:
        if request[3] == 3:
            name = request[5:-2]
            if not name.isascii():
                raise HostError("a host must be made of letters, digits, `-`, `_` and dots")
            return host_of(name.decode("ascii")), port
        return host_at((4 if request[3] == 1 else 6, int.from_bytes(request[4:-2], "big"))), port
    except HostError as error:
        raise SocksError(str(error)) from None
