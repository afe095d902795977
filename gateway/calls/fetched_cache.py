"""What the steps that fetch keep for later ones, of all projects: a folder for each fetcher, in bounds.

STATE/fetched-cache/lock    held by every step that uses what lies beside it, alone by whoever removes it
STATE/fetched-cache/NAME    the cache of one fetcher, which no call sees
STATE/fetched/gateway-…     what one call installs, for as long as it runs
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager

from gateway.calls.scratch import PREFIX, Scratch
from gateway.core.temporary import DIGITS
from gateway.sandbox.layers import bound, removed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER, CACHE = "fetched", "fetched-cache"


def place_of(state: str) -> Scratch:
    """A folder for what one call installs. Those of processes that are gone are removed. Raises OSError, Failure."""
    above = os.path.realpath(f"{state}/{FOLDER}")
    os.makedirs(above, mode=0o700, exist_ok=True)
    return Scratch(f"{above}/{PREFIX}{os.urandom(DIGITS // 2).hex()}")


@contextmanager
def held(state: str, fetcher: str) -> Iterator[str]:
    """The folder that a fetcher keeps, which nobody removes meanwhile; begun anew first where more is kept than may be
    and no other step uses it. Raises OSError."""
    folder = os.path.realpath(f"{state}/{CACHE}")
    own = f"{folder}/{fetcher}"
    os.makedirs(own, mode=0o700, exist_ok=True)
    with _opened(folder) as lock:
        if _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
            bound(own)
        _locked(lock, fcntl.LOCK_SH)  # another step's at most: then it is at hand
        os.makedirs(own, mode=0o700, exist_ok=True)
        yield own


def clean(state: str) -> int:
    """Removes what no step uses: how many bytes that were."""
    folder = os.path.realpath(f"{state}/{CACHE}")
    if not os.path.isdir(folder):
        return 0
    with _opened(folder) as lock:
        if not _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return 0
        with os.scandir(folder) as entries:
            return sum([removed(each.path) for each in entries if each.is_dir(follow_symlinks=False)])


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    lock = os.open(f"{folder}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield lock
    finally:
        os.close(lock)


def _locked(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how)
    except BlockingIOError:
        return False
    return True
