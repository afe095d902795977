"""The files of the record's folder, opened so that only a file of this user's own is ever written or believed."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from time import monotonic, sleep

from gateway.audit import chain
from gateway.core.errors import AuditError

SEAL, KEY, INDEX = "seal", "key", "index.sqlite"
ENDING = ".jsonl"
# Of what lies beside a file of lines and goes with it (`gateway.audit.shared_texts`, `gateway.replay.columns`).
BESIDE = TEXTS, KNOWN, CALLS, USES = (".facts", ".known", ".calls", ".uses")
KEY_SIZE = 32
LINES = os.O_RDWR | os.O_APPEND
# Writers hold the lock for less than a millisecond, one that mends what another left for a second or two.
MOST_SECONDS_LOCKED = 15.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.0002, 0.005
_ALWAYS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def name_of(segment: int) -> str:
    """The name of the file of this number."""
    return stem_of(segment) + ENDING


def stem_of(segment: int) -> str:
    """The same without its ending: what lies beside the file has others."""
    return f"{segment:06d}"


def segments(folder: str) -> list[int]:
    """The numbers of the files that are there, in order."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    found = [int(stem) for name in names if (stem := name.removesuffix(ENDING)) != name and stem.isdecimal()]
    return sorted(number for number in found if name_of(number) in names)


def make_folder(folder: str) -> None:
    """Makes sure of a folder that is this user's own. Raises AuditError and OSError."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(folder))))
    if not os.path.isdir(home or "/"):  # a home that is not there is not ours to make
        raise AuditError(f"the record has no place: {home} is not there", "set HOME or XDG_STATE_HOME")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.stat(folder)
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        remedy = "its folder must be yours, and writable by nobody else"
        raise AuditError(f"the record in {folder} can be changed by others", remedy)


def open_own(path: str, flags: int) -> int:
    """A regular file of this user, made private where it is not. Raises AuditError and OSError."""
    file = os.open(path, flags | _ALWAYS, 0o600)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            remedy = "look at who did that, then move it away"
            raise AuditError(f"{path} must be a file of yours that nobody else can write", remedy)
        if stat.S_IMODE(found.st_mode) != 0o600:
            os.fchmod(file, 0o600)
    except BaseException:
        os.close(file)
        raise
    return file


def read_between(file: int, start: int, end: int) -> bytes:
    """The bytes of an open file from `start` on, up to `end` or where it ends."""
    chunks = []
    while start < end:
        chunk = os.pread(file, min(end - start, 1 << 22), start)
        if not chunk:
            break
        chunks.append(chunk)
        start += len(chunk)
    return b"".join(chunks)


def start_of(folder: str, segment: int) -> tuple[int, str] | None:
    """Number and digest of the last line before a file, as its first line says; None where it does not say."""
    try:
        with open(os.path.join(folder, name_of(segment)), "rb") as file:
            found = chain.read(file.readline())
    except FileNotFoundError:
        return None
    return None if found is None else (found["n"] - 1, found["prev"])


def remove_before(folder: str, first: int) -> None:
    """Removes the files that rotation has left behind."""
    for number in segments(folder):
        if number < first:
            os.unlink(os.path.join(folder, name_of(number)))
            for ending in BESIDE:
                with_it = os.path.join(folder, stem_of(number) + ending)
                if os.path.lexists(with_it):
                    os.unlink(with_it)


def lock(file: int, kind: int, folder: str) -> None:
    """Takes a lock on a file of the record, shared or alone. Raises AuditError where it is not to be had: a writer that
    was stopped while it holds one would stop everybody else."""
    pause, until = _SHORTEST_PAUSE, 0.0
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            now = monotonic()
        until = until or now + MOST_SECONDS_LOCKED
        if now >= until:
            reason = f"the record in {folder} is kept locked by another process"
            raise AuditError(reason, f"let go on or end the one that `fuser {folder}/{SEAL}` names")
        sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def read_key(folder: str) -> bytes:
    """The folder's key, made on the first use. Raises AuditError and OSError."""
    file = open_own(os.path.join(folder, KEY), os.O_RDWR | os.O_CREAT)
    try:
        lock(file, fcntl.LOCK_EX, folder)
        key = os.pread(file, KEY_SIZE + 1, 0)
        if len(key) != KEY_SIZE:
            key = os.urandom(KEY_SIZE)
            os.ftruncate(file, 0)
            if os.pwrite(file, key, 0) != KEY_SIZE:
                raise full()
        return key
    finally:
        os.close(file)


def sync_folder(folder: str) -> None:
    """Waits until the disk knows the names in a folder."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def full() -> OSError:
    """What a write that took less than it was given amounts to."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
