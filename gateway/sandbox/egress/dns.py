"""DNS messages, as far as a resolver of names needs them. Pure."""

from __future__ import annotations

from gateway.core.value import Value

A, PTR, AAAA, IN = 1, 12, 28, 1
NO_ERROR, FORMAT_ERROR, SERVER_FAILURE, NO_NAME, NOT_IMPLEMENTED, REFUSED = 0, 1, 2, 3, 4, 5
TTL = 60
MAX_QUERY = 4096


class DnsError(ValueError):
    """A message that is no query of one question. `answer`: what to send back, if anything."""

    def __init__(self, reason: str, answer: bytes = b"") -> None:
        super().__init__(reason)
        self.answer = answer


class Query(Value):
    """`name`: as asked, without the last dot; `question`: its bytes, which an answer repeats."""

    number: bytes
    flags: int
    name: str
    kind: int
    question: bytes


def query_of(message: bytes) -> Query:
    """Raises DnsError."""
    if len(message) < 12 or len(message) > MAX_QUERY or message[2] & 0x80:
        raise DnsError("it is no query")
    number, flags = message[:2], message[2] & 0x01
    counts = [int.from_bytes(message[at : at + 2], "big") for at in (4, 6, 8, 10)]
    if message[2] & 0x78:
        raise DnsError("only plain queries are answered", _head(number, flags, NOT_IMPLEMENTED, 0, 0))
    broken = _head(number, flags, FORMAT_ERROR, 0, 0)
    if counts[0] != 1 or counts[1] or counts[2] or counts[3] > 2:
        raise DnsError("a query must ask one question", broken)
    labels: list[str] = []
    at = 12
    while True:
        size = message[at] if at < len(message) else 64
        if not size:
            break
        label = message[at + 1 : at + 1 + size]
        if size > 63 or len(label) != size or at - 12 > 253:
            raise DnsError("the name in a query is broken", broken)
        # Dots, spaces and controls inside a label would make another name of it.
        if not all(0x21 <= byte < 0x7F and byte not in b".\\" for byte in label):
            raise DnsError("the name in a query holds characters that no host has", broken)
        labels.append(label.decode("ascii"))
        at += 1 + size
    end = at + 5
    if end > len(message) or (end < len(message) and not counts[3]):
        raise DnsError("a query has the wrong length", broken)
    kind, of_class = (int.from_bytes(message[at + 1 + 2 * i : at + 3 + 2 * i], "big") for i in (0, 1))
    if of_class != IN:
        raise DnsError("only the internet's names are answered", _head(number, flags, REFUSED, 0, 0))
    return Query(number, flags, name=".".join(labels), kind=kind, question=message[12:end])


def answer(query: Query, code: int, records: tuple[tuple[int, bytes], ...] = ()) -> bytes:
    """An answer with records of some kinds for the very name that was asked."""
    body = b"".join(
        b"\xc0\x0c" + kind.to_bytes(2, "big") + b"\0\1" + TTL.to_bytes(4, "big") + len(data).to_bytes(2, "big") + data
        for kind, data in records
    )
    return _head(query.number, query.flags, code, 1, len(records)) + query.question + body


def name_data(name: str) -> bytes:
    """A name as the data of a record."""
    return b"".join(bytes((len(label),)) + label.encode("ascii") for label in name.split(".")) + b"\0"


def _head(number: bytes, flags: int, code: int, questions: int, answers: int) -> bytes:
    # Response, recursion available; whether it was desired is repeated.
    return number + bytes((0x80 | flags, 0x80 | code)) + bytes((0, questions, 0, answers, 0, 0, 0, 0))
