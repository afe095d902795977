"""Merges what a call has written over a cache, in layers of its own, into what the calls of its project have
written there.

Only where nobody has written there since the call saw it: else it is dropped, as is all of it where it cannot be
moved. A cache that is half of one and half of another is started from scratch.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import contextmanager, suppress
from posixpath import basename, dirname

from gateway.core.plainjson import dumps, loads
from gateway.sandbox.launched.leftovers import remove
from gateway.sandbox.layers import JOINING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LISTED = "caches"  # in a draft's folder: of each cache its number there, what it lies over, and how that was


def note(draft: str, caches: Sequence[tuple[int, str]]) -> None:
    """Writes down over what the layers of a call lie: of each cache the number of its layer and the folder with what
    was written there before. What lies over something else than it did in a call before cannot join anything. Only
    while that is used by nobody else. Raises OSError and ValueError."""
    now: dict[str, list[str] | None] = {str(number): None for number, _upper in caches}
    for number, upper in caches:
        with suppress(FileNotFoundError):
            now[str(number)] = [upper, _stamp(upper)]
    if not caches:
        return
    before = _noted(draft)
    then = {number: None if before.get(number, each) != each else each for number, each in now.items()}
    if {**before, **then} != before:
        with open(f"{draft}/{_LISTED}.new", "w", encoding="utf-8") as file:
            file.write(dumps({**before, **then}))
        os.replace(f"{draft}/{_LISTED}.new", f"{draft}/{_LISTED}")


def join(draft: str) -> None:
    """Does it, for all caches that a call has written to, once nothing of it runs any more. Raises nothing."""
    with suppress(OSError, ValueError, TypeError):
        for number, over in _noted(draft).items():
            if over is None:
                continue
            upper, stamp = over
            with _alone(upper) as is_alone, suppress(FileNotFoundError):
                if is_alone and os.listdir(f"{draft}/{number}/upper") and _stamp(upper) == stamp:
                    _join(f"{draft}/{number}/upper", upper, f"{draft}/{number}/gone")


def _noted(draft: str) -> dict[str, list[str] | None]:
    try:
        with open(f"{draft}/{_LISTED}", encoding="utf-8") as file:
            return dict(loads(file.read()))
    except FileNotFoundError:
        return {}


def _lock(upper: str) -> str:
    slot = dirname(dirname(upper))
    return f"{dirname(slot)}/lock{basename(slot)}"


def _stamp(upper: str) -> str:
    """What is another once somebody has written there (`gateway.sandbox.layers`), or has begun it anew."""
    found = os.stat(upper)
    return f"{found.st_ino} {found.st_ctime_ns} {os.stat(_lock(upper)).st_mtime_ns}"


@contextmanager
def _alone(upper: str) -> Iterator[bool]:
    """Whether no call uses it, nor can before this ends."""
    lock = os.open(_lock(upper), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(lock)


def _join(source: str, target: str, gone: str) -> None:
    """Moves what lies in one layer into the one below it. `gone`: a folder for what that takes the place of."""
    mark = f"{dirname(target)}/{JOINING}"
    os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    try:
        os.mkdir(gone, 0o700)
        pending = [(source, target)]
        count = 0
        while pending:
            here, there = pending.pop()
            for name in os.listdir(here):
                one, other = f"{here}/{name}", f"{there}/{name}"
                now, was = os.lstat(one), _look(other)
                if was is not None and stat.S_ISDIR(was.st_mode) and stat.S_ISDIR(now.st_mode) and not is_opaque(one):
                    os.chmod(other, stat.S_IMODE(now.st_mode))
                    pending.append((one, other))
                    continue
                if was is not None:
                    count += 1
                    os.rename(other, f"{gone}/{count}")
                os.rename(one, other)
    except OSError:
        remove(os.fsencode(target))
    os.unlink(mark)


def _look(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def is_opaque(folder: str) -> bool:
    """Whether a folder of a layer hides all that is in the one below."""
    try:
        os.getxattr(folder, "user.overlay.opaque", follow_symlinks=False)
    except OSError:
        return False
    return True
