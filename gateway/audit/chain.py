"""How lines of the record hold together: each holds a number and the digest of the line before it.

The head (number and digest of the last line) and what was removed by rotation stand in the seal, a small file of fixed
size whose own digest is keyed. Pure.
"""

from __future__ import annotations

from _blake2 import blake2b

from gateway.core.plainjson import dumps, loads
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

START = "0" * 64
NEWLINE = b"\n"
# More lines behind the seal than writers can have left who were killed between a line and its seal: an older seal was
# put in its place. A writer writes at most `MOST_AT_ONCE` lines before it seals them.
MOST_AT_ONCE = 64
MOST_BEHIND = 256
_MAGIC = "gateway-audit-1"
_FRAMES_KEPT = 8
_frames: dict[tuple[Any, ...], tuple[str, str]] = {}


def digest(data: bytes) -> str:
    """Of a line with its end, or of what stands in the place of one."""
    return blake2b(data, digest_size=32).hexdigest()


def link(number: int, before: str, body: str) -> bytes:
    """The line of a JSON object's text (ASCII, not empty), as the one that follows that with the digest `before`."""
    return f'{{"n":{number},"prev":"{before}",{body[1:]}\n'.encode("ascii")


def follows(line: bytes, number: int, before: str) -> bool:
    """Whether a line is whole, is JSON, and says that it has this number and follows that digest."""
    if not line.startswith(_start(number, before)) or not line.endswith(NEWLINE):
        return False
    return read(line) is not None


def begins(piece: bytes, number: int, before: str) -> bool:
    """Whether bytes are as far as a writer may have got with the line of this number that follows that digest."""
    start = _start(number, before)
    return piece.startswith(start) or start.startswith(piece.removesuffix(NEWLINE))


def closes(line: bytes, torn: bytes) -> bool:
    """Whether a line is the mark that closed off what stands before it, which a killed writer left."""
    found, torn = read(line) or {}, torn.removesuffix(NEWLINE)
    said = (found.get("kind"), found.get("mark"), found.get("bytes"), found.get("digest"))
    return said == ("mark", "torn", len(torn), digest(torn))


def _start(number: int, before: str) -> bytes:
    return f'{{"n":{number},"prev":"{before}",'.encode("ascii")


def read(line: bytes) -> dict[str, Any] | None:
    """A line's content, or None for one that is no record."""
    try:
        found = loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or type(found.get("n")) is not int or not isinstance(found.get("prev"), str):
        return None
    return found if isinstance(found.get("kind"), str) else None


class Followed(Value):
    """How far a stretch of bytes goes on with the chain: the last number and digest, and how many bytes that took."""

    number: int
    head: str
    size: int


def follow(data: bytes, number: int, head: str) -> Followed:
    """Takes the lines from the start of `data` that go on behind (`number`, `head`)."""
    at = 0
    while True:
        end = data.find(NEWLINE, at) + 1
        if not end:
            return Followed(number, head, at)
        line = data[at:end]
        if not follows(line, number + 1, head):
            return Followed(number, head, at)
        number, head, at = number + 1, digest(line), end


def mark_body(mark: str, at: str, **more: Any) -> str:
    """The JSON object of a mark."""
    return dumps({"kind": "mark", "at": at, "mark": mark, **more})


class Seal(Value):
    """Where the record stands. `segment`: the number of the file that is written to, `size`: its bytes; `count` and
    `head`: number and digest of the last line. `first`: the oldest file that is kept; `base` and `base_head`: number
    and digest of the last line before it."""

    segment: int = 1
    size: int = 0
    count: int = 0
    head: str = START
    first: int = 1
    base: int = 0
    base_head: str = START


def pack(seal: Seal, key: bytes) -> bytes:
    """The seal's file, always of the same size, so that writing it never needs more of the disk."""
    start, end = _frame(seal.segment, seal.first, seal.base, seal.base_head)
    text = f"{start}{seal.size:014} {seal.count:014} {seal.head}{end}"
    return f"{text}{blake2b(text.encode(), key=key, digest_size=16).hexdigest()}\n".encode()


def _frame(*same: Any) -> tuple[str, str]:
    """What stays the same while one file is written to: its number, and what was removed."""
    found = _frames.get(same)
    if found is None:
        if len(_frames) >= _FRAMES_KEPT:
            _frames.clear()
        segment, first, base, base_head = same
        found = _frames[same] = f"{_MAGIC} {segment:010} ", f" {first:010} {base:014} {base_head} "
    return found


def unpack(data: bytes, key: bytes) -> Seal | None:
    """The seal, or None if this is not what `pack` made with this key."""
    words = data.split(b" ")
    if len(words) != 9 or len(data) != SEAL_SIZE:
        return None
    try:
        numbers = [int(words[place]) for place in (1, 2, 3, 5, 6)]
        heads = [words[place].decode("ascii") for place in (4, 7)]
    except (ValueError, UnicodeDecodeError):
        return None
    segment, size, count, first, base = numbers
    seal = Seal(segment, size, count=count, head=heads[0], first=first, base=base, base_head=heads[1])
    return seal if pack(seal, key) == data else None


SEAL_SIZE = len(pack(Seal(), b""))
