"""Which names the end of one call has restored, for the ends of other calls.

Where calls overlap, a later one may have found what an earlier one had made of a protected name, and remembers that as
what was there before. Before the end of a call puts a name back it is noted what that is; who remembers something else
from a time before goes by the latest of these notes.

    STATE/put-back/DIGEST   of each path that was ever put back: what it is, and when
"""

from __future__ import annotations

import os
from _blake2 import blake2b
from contextlib import suppress
from json import dumps, loads
from time import time_ns

from gateway.core.cache import replace_whole
from gateway.core.value import Value

MOST_BYTES = 1 << 20  # of a file: a larger one is not noted


class PutBack(Value):
    """`kind`: file or link; `content`: a file's bytes or a link's target; `at`: in nanoseconds since the epoch."""

    kind: str
    mode: int
    owner: tuple[int, int]
    content: bytes
    at: int


def note(quarantine: str, path: str, kind: str, mode: int, owner: tuple[int, int], content: bytes) -> None:
    """Says that this is about to be put back. `quarantine`: the folder of all, beside which it is kept. What cannot be
    noted is put back all the same."""
    if len(content) > MOST_BYTES:
        return
    with suppress(OSError):
        place = _place(quarantine, path)
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        replace_whole(place, dumps([kind, mode, *owner, content.hex(), time_ns()]).encode())


def latest(quarantine: str, path: str, since: int) -> PutBack | None:
    """What another call has put back at a path since then, None where none has."""
    try:
        descriptor = os.open(_place(quarantine, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            kind, mode, user, group, content, at = loads(file.read())
            found = PutBack(kind=kind, mode=mode, owner=(user, group), content=bytes.fromhex(content), at=at)
    except (OSError, ValueError, TypeError):
        return None
    return found if found.at >= since else None


def _place(quarantine: str, path: str) -> str:
    digest = blake2b(os.fsencode(path), digest_size=16).hexdigest()
    return os.path.join(os.path.dirname(quarantine), "put-back", digest)
