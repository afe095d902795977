"""The name that a TLS client asks for, read off its first message. Pure."""

from __future__ import annotations

from gateway.core.value import Value

MAX_HELLO = 20480
HANDSHAKE, ALERT, CLIENT_HELLO = 22, 21, 1
SERVER_NAME, ENCRYPTED_HELLO = 0, 0xFE0D
# Fatal alerts: the client is told rather than cut off.
ACCESS_DENIED = bytes((ALERT, 3, 3, 0, 2, 2, 49))


class TlsError(ValueError):
    """What came is no ClientHello that can be judged; the message says why."""


class Hello(Value):
    """`name`: of the server, in lower case, "" when none is asked for; `hidden`: part of it is encrypted (ECH)."""

    name: str
    hidden: bool


def hello_of(data: bytes) -> Hello | None:
    """The ClientHello that `data` begins with; None while more of it must come. Raises TlsError."""
    message = bytearray()
    at = 0
    while True:
        if len(message) >= 4:
            size = 4 + int.from_bytes(message[1:4], "big")
            if size > MAX_HELLO:
                raise TlsError("the first message is too long")
            if len(message) > size:
                raise TlsError("something is packed together with the first message")
            if len(message) == size:
                return _hello(_Reader(bytes(message[4:])))
        head = data[at : at + 5]
        if (head and head[0] != HANDSHAKE) or (len(head) > 1 and head[1] != 3):
            raise TlsError("what was sent is not TLS")
        if len(head) < 5:
            return None
        length = int.from_bytes(head[3:], "big")
        if not 0 < length <= 16384:
            raise TlsError("a TLS record has a wrong length")
        part = data[at + 5 : at + 5 + length]
        if not message and part and part[0] != CLIENT_HELLO:
            raise TlsError("the first message is no ClientHello")
        if len(part) < length:
            return None
        message += part
        at += 5 + length


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, size: int) -> bytes:
        if len(self.data) < size:
            raise TlsError("the first message is broken")
        found, self.data = self.data[:size], self.data[size:]
        return found

    def block(self, width: int) -> bytes:
        return self.take(int.from_bytes(self.take(width), "big"))


def _hello(reader: _Reader) -> Hello:
    reader.take(2 + 32)
    reader.block(1)  # session
    reader.block(2)  # ciphers
    reader.block(1)  # compressions
    if not reader.data:
        return Hello("", False)
    extensions = _Reader(reader.block(2))
    if reader.data:
        raise TlsError("the first message is broken")
    name, seen = "", set()
    while extensions.data:
        kind, body = int.from_bytes(extensions.take(2), "big"), extensions.block(2)
        if kind in seen:
            raise TlsError("the first message says something twice")
        seen.add(kind)
        if kind == SERVER_NAME:
            name = _name(_Reader(body))
    return Hello(name, ENCRYPTED_HELLO in seen)


def _name(reader: _Reader) -> str:
    names = _Reader(reader.block(2))
    kind, name = names.take(1), names.block(2)
    if names.data or reader.data or kind != b"\0":
        raise TlsError("the first message must ask for one name")
    if not name.isascii() or not name or not all(0x21 <= byte < 0x7F for byte in name):
        raise TlsError("the name that is asked for is broken")
    return name.decode("ascii").lower()
