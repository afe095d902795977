"""Messages between headers: bytes from a server cut into messages, and messages made bytes. Pure.

What comes may be split anywhere. What is no message of the protocol raises, and nothing after it is trusted.
"""

from __future__ import annotations

import json

from gateway.core.errors import GatewayError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

MOST_HEADERS = 4 << 10
MOST_MESSAGE = 32 << 20
_START, _END = b"content-", b"\r\n\r\n"
_UTF8 = ("utf-8", "utf8")


class FrameError(GatewayError):
    """What came is no message. The text goes on after "it sent"."""


class Frames:
    """Cuts what comes from one server into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length = -1  # of the message whose headers have come

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are whole by now. Raises FrameError."""
        self._buffer += data
        found: list[Message] = []
        while True:
            if self._length < 0 and not self._headers():
                return found
            if len(self._buffer) < self._length:
                return found
            body = bytes(self._buffer[: self._length])
            del self._buffer[: self._length]
            self._length = -1
            found.append(_message(body))

    def _headers(self) -> bool:
        """Whether the headers of the next message have come."""
        buffer = self._buffer
        start = bytes(buffer[: len(_START)]).lower()
        if not _START.startswith(start):
            raise FrameError("something that is no message of the protocol")
        end = buffer.find(_END, 0, MOST_HEADERS)
        if end < 0:
            if len(buffer) >= MOST_HEADERS:
                raise FrameError("headers without an end")
            return False
        self._length = _length(bytes(buffer[:end]))
        del buffer[: end + len(_END)]
        return True


def _length(headers: bytes) -> int:
    found: dict[bytes, bytes] = {}
    for line in headers.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        name = name.strip().lower()
        if not colon or name in found or name not in (b"content-length", b"content-type"):
            raise FrameError("headers that the protocol does not have")
        found[name] = value.strip()
    _, _, charset = found.get(b"content-type", b"").decode("latin-1").lower().partition("charset=")
    if charset.strip("\"' ") not in ("", *_UTF8):
        raise FrameError("a message that is not in UTF-8")
    digits = found.get(b"content-length", b"")
    if not digits.isdigit():
        raise FrameError("a message without its length")
    if len(digits) > 12 or int(digits) > MOST_MESSAGE:
        raise FrameError(f"a message of more than {MOST_MESSAGE >> 20} MB")
    return int(digits)


def _message(body: bytes) -> Message:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise FrameError("a message that is no JSON") from None
    if not isinstance(found, dict):
        raise FrameError("a message that is no object")
    return found


def framed(message: Message) -> bytes:
    """A message as it is sent. Halves of characters, which no UTF-8 has, stand there as escapes."""
    try:
        body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        body = json.dumps(message, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
