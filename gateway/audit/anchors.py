"""Heads of the record stored where its writer cannot change them: they show that an older copy was put in its place, or
that it was made anew.

Two keepers, each where there is one: the system's journal, and a file of root's that can only be added to. Every head
names the record by its key, and is signed with it, so that nobody else can say something of this record.
"""

from __future__ import annotations

import os
import stat
from _blake2 import blake2b

from gateway.core.errors import AuditError
from gateway.core.plainjson import dumps, loads
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

JOURNAL = "/run/systemd/journal/socket"
FILE = "/var/log/gateway/heads"
# A head is kept of every record of which the number is a multiple of this, and of the first after a pause.
EVERY = 32
PAUSE_SECONDS = 30.0
_NAME = "gateway-record"
_MOST_BYTES = 256 << 20
_MOST_LINE = 4_096
_GET_FLAGS = 0x80086601  # FS_IOC_GETFLAGS
_ONLY_APPEND = 0x20  # FS_APPEND_FL


class Heads(Value):
    """What is kept of a record. `known`: by number the digests that were kept of it, one where all is well; `strange`:
    how many heads say that they are of this folder and are not of this record; `keepers`: who could be asked."""

    known: dict[int, tuple[str, ...]]
    strange: int = 0
    keepers: tuple[str, ...] = ()


def is_due(number: int, written: int, idle_seconds: float) -> bool:
    """Whether a head is to be kept, once this many lines were written and `number` is that of the last one.
    `idle_seconds`: for how long nothing had been written before."""
    return number // EVERY != (number - written) // EVERY or idle_seconds > PAUSE_SECONDS


def keep(folder: str, number: int, head: str, at: str, key: bytes) -> None:
    """Hands a head to every keeper there is. Never raises and never waits: the record stands without."""
    said = _said(folder, number, head, at, key)
    _to_journal(said)
    _to_file(said)


def kept(folder: str, key: bytes) -> Heads:
    """All heads that are kept of the record with this key, or of its folder. Raises AuditError for a keeper that is
    there and cannot be asked."""
    keepers: list[str] = []
    lines: list[bytes] = []
    found = _from_file()
    if found is not None:
        keepers.append(FILE)
        lines += found
    found = _from_journal()
    if found is not None:
        keepers.append("the system's journal")
        lines += found
    return sorted_out(lines, folder, key).replace(keepers=tuple(keepers))


def sorted_out(lines: Iterable[bytes], folder: str, key: bytes) -> Heads:
    """Heads as they were kept, those of other records left out."""
    known: dict[int, dict[str, None]] = {}
    strange = 0
    name, real = _name_of(key), os.path.realpath(folder)
    for line in lines:
        try:
            said = loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(said, dict) or said.get("gateway") != _NAME:
            continue
        number, head = said.get("n"), said.get("head")
        if type(number) is int and isinstance(head, str) and _is_signed(said, key):
            known.setdefault(number, {})[head] = None
        elif said.get("folder") == real or said.get("record") == name:
            strange += 1
    return Heads({number: tuple(heads) for number, heads in known.items()}, strange)


def _said(folder: str, number: int, head: str, at: str, key: bytes) -> bytes:
    body = {
        "gateway": _NAME,
        "record": _name_of(key),
        "folder": os.path.realpath(folder),
        "n": number,
        "head": head,
        "at": at,
    }
    return dumps({**body, "signed": _signature(body, key)}).encode("ascii", "backslashreplace")


def _name_of(key: bytes) -> str:
    return blake2b(key, digest_size=12, person=b"name-of-record").hexdigest()


def _signature(body: dict[str, Any], key: bytes) -> str:
    text = dumps([body.get(name) for name in ("record", "folder", "n", "head", "at")])
    data = text.encode("ascii", "backslashreplace")
    return blake2b(data, key=key, digest_size=16, person=b"head-of-record").hexdigest()


def _is_signed(said: dict[str, Any], key: bytes) -> bool:
    return said.get("record") == _name_of(key) and said.get("signed") == _signature(said, key)


def _to_journal(said: bytes) -> None:
    """By the journal's own protocol: one datagram with a field a line."""
    if not os.path.exists(JOURNAL):
        return
    from _socket import AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, socket  # lazy: one record in many

    try:
        line = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC)
    except OSError:
        return
    try:
        line.setblocking(False)
        line.sendto(b"PRIORITY=6\nSYSLOG_IDENTIFIER=" + _NAME.encode() + b"\nMESSAGE=" + said + b"\n", JOURNAL)
    except OSError:
        pass  # it is full, or gone: the next head tells no less
    finally:
        line.close()


def _to_file(said: bytes) -> None:
    file = _opened(os.O_WRONLY | os.O_APPEND)
    if file is None:
        return
    try:
        os.write(file, said + b"\n")
    except OSError:
        pass
    finally:
        os.close(file)


def _from_file() -> list[bytes] | None:
    file = _opened(os.O_RDONLY)
    if file is None:
        return None
    with os.fdopen(file, "rb") as lines:
        size = os.fstat(file).st_size
        lines.seek(max(size - _MOST_BYTES, 0))
        return [line for line in lines.read(_MOST_BYTES).split(b"\n") if line and len(line) <= _MOST_LINE]


def _from_journal() -> list[bytes] | None:
    """What this user has said there, which the journal itself attests."""
    if not os.path.exists(JOURNAL):
        return None
    from gateway.core.programs import Untrusted, said  # lazy: only to verify

    try:
        asked = (f"_UID={os.geteuid()}", f"SYSLOG_IDENTIFIER={_NAME}")
        text = said("journalctl", "--quiet", "--no-pager", "--output=cat", *asked)
    except Untrusted:
        return None
    except OSError as error:
        raise AuditError(f"the system's journal does not answer ({error})", "ask `journalctl` yourself") from error
    return [line for line in text.encode("utf-8", "replace").split(b"\n") if len(line) <= _MOST_LINE]


def _opened(flags: int) -> int | None:
    """The file of heads, where it is what only root can take anything away from; None where it is not."""
    try:
        file = os.open(FILE, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if _is_safe(file):
            return file
    except OSError:
        pass
    os.close(file)
    return None


def _is_safe(file: int) -> bool:
    """Whether an open file is root's own, can only be added to, and lies where nobody but root replaces it."""
    import fcntl

    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != 0:
        return False
    flags = int.from_bytes(fcntl.ioctl(file, _GET_FLAGS, b"\0" * 8), "little")
    if not flags & _ONLY_APPEND:
        return False
    folder = os.path.dirname(FILE)
    while True:
        found = os.lstat(folder)
        shared = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0 or shared:
            return False
        if folder == "/":
            return True
        folder = os.path.dirname(folder)
