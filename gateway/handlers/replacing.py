"""Replaces a file atomically, in a folder that is held open.

The new content is written to a spare file beside the old one, brought to the disk, and only then given the name:
whoever looks, at any moment and after any kill or power cut, finds the old file or the new one. The spare's name
follows from the file's, and it is locked while its writer lives: two writers of one file take turns, and what a killed
one left is removed by the next.

The new file has the mode, owner, group, access list and extended attributes of the old one, as far as this user may
give them. Set-user-id and set-group-id bits and file capabilities are not carried over to new content; the kernel takes
them from a file that is written, too. Other hard links of the old file keep the old content.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from _blake2 import blake2b
from contextlib import suppress

from gateway.calls.output import Failure
from gateway.calls.reads import stamp_of
from gateway.core.value import Value
from gateway.files.opening import Changed, failure
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.reads import Stamp
    from gateway.core.cancel import Cancel
    from gateway.files.opening import Way

PATIENCE = 5.0
_SPARE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LEFT = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ACCESS_LIST = "system.posix_acl_access"
# Seals over a content, and rights that were given to it.
_NOT_KEPT = frozenset({"security.capability", "security.ima", "security.evm"})
_NO_LINKS_HERE = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})


class Placed(Value):
    """What came of it. `stamp`: of the new file; `lost`: what of the old one's attributes could not be kept, in words;
    `links`: how many other names the old file had, which keep its content."""

    stamp: Stamp
    lost: tuple[str, ...] = ()
    links: int = 0


def spare_name(name: str) -> str:
    """The name of the spare file for a file of this name."""
    return f".gateway-{blake2b(os.fsencode(name), digest_size=10).hexdigest()}.tmp"


def put(way: Way, data: bytes, expected: Stamp | None, cancel: Cancel | None = None) -> Placed:
    """Gives a name a content. `expected`: the version that is replaced, None where there must be none.

    Raises Changed when something else is there, Failure or OSError when it cannot be done; then the name holds what it
    held, and no spare is left.
    """
    spare = spare_name(way.name)
    old: int | None = None
    descriptor, was_left = _spare(way, spare, 0o666 if expected is None else 0o600, cancel)
    try:
        if was_left and expected is not None:
            expected = _without_its_twin(way, expected)
        lost: tuple[str, ...] = ()
        found = _check(way, expected)
        if found is not None:
            old = os.open(way.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=way.folder)
            if stamp_of(os.fstat(old)) != expected:
                raise Changed(way.place, "another file stands there")
        _write(descriptor, data)
        if found is not None and old is not None:
            lost = _dress(descriptor, old, found)
        os.fsync(descriptor)
        _check(way, expected)
        if found is None:
            _give_new_name(way, spare)
        else:
            os.rename(spare, way.name, src_dir_fd=way.folder, dst_dir_fd=way.folder)
        _sync_folder(way.folder)
        return Placed(stamp_of(os.fstat(descriptor)), lost, found.st_nlink - 1 if found is not None else 0)
    except BaseException:
        _remove(way, spare, descriptor)
        raise
    finally:
        os.close(descriptor)  # and with it goes the lock
        if old is not None:
            os.close(old)


def _check(way: Way, expected: Stamp | None) -> os.stat_result | None:
    """What stands under the name, if it is what is expected there. Raises Changed and Failure."""
    found = way.look()
    if found is None:
        if expected is not None:
            raise Changed(way.place, "it is gone")
        return None
    way.refuse_special(found.st_mode)
    if expected is None:
        raise Changed(way.place, "there is a file now")
    if stamp_of(found) != expected:
        raise Changed(way.place, "somebody else has written it")
    return found


def _without_its_twin(way: Way, expected: Stamp) -> Stamp:
    """The version as it is when a second name of it was removed, which a killed writer had not come to."""
    found = way.look()
    if found is None:
        return expected
    now = stamp_of(found)
    return now if now.replace(ctime_ns=expected.ctime_ns) == expected else expected


def _spare(way: Way, spare: str, mode: int, cancel: Cancel | None) -> tuple[int, bool]:
    """The locked spare file, empty, and whether one had been left."""
    until = time.monotonic() + PATIENCE
    was_left = False
    while True:
        try:
            descriptor = os.open(spare, _SPARE, mode, dir_fd=way.folder)
        except FileExistsError:
            if _clear(way, spare):
                was_left = True
                continue
            if time.monotonic() > until or (cancel is not None and cancel.is_set):
                raise Failure(f"{way.place.shown} is being written by somebody else.", "Try again.") from None
            time.sleep(0.005)
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # taken for left over before it was locked; whoever did removes it
            os.close(descriptor)
            continue
        if _is_still(way, spare, descriptor):
            return descriptor, was_left
        os.close(descriptor)


def _clear(way: Way, spare: str) -> bool:
    """Removes a spare file that a killed writer left; False while its writer lives. Raises Failure for anything else
    that bears the name."""
    try:
        found = os.stat(spare, dir_fd=way.folder, follow_symlinks=False)
        target = way.look()
        is_named = target is not None and (target.st_dev, target.st_ino) == (found.st_dev, found.st_ino)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 + is_named:
            raise Failure(
                f"{way.place.shown} cannot be written: `{visible(spare)}` in the same folder is in the way.",
                "Remove that; the gateway needs the name for the new content.",
            )
        descriptor = os.open(spare, _LEFT, dir_fd=way.folder)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_still(way, spare, descriptor):
            os.unlink(spare, dir_fd=way.folder)
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return True
    finally:
        os.close(descriptor)
    return True


def _is_still(way: Way, spare: str, descriptor: int) -> bool:
    try:
        named = os.stat(spare, dir_fd=way.folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    held = os.fstat(descriptor)
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


def _remove(way: Way, spare: str, descriptor: int) -> None:
    # What cannot be removed now is removed by the next writer; what went wrong before that is what must be told.
    with suppress(OSError):
        if _is_still(way, spare, descriptor):
            os.unlink(spare, dir_fd=way.folder)


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest[: 1 << 24]) :]


def _dress(descriptor: int, old: int, found: os.stat_result) -> tuple[str, ...]:
    """Gives the new file what the old one had beside its content; says what could not be given."""
    lost = []
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (found.st_uid, found.st_gid):
        try:
            os.fchown(descriptor, found.st_uid, found.st_gid)
        except PermissionError:
            lost.append("its owner")
            with suppress(PermissionError):  # the group alone may be one of ours
                os.fchown(descriptor, -1, found.st_gid)
    mode = stat.S_IMODE(found.st_mode) & 0o1777
    if os.fstat(descriptor).st_gid != found.st_gid:
        # Another group must not get what the old one had.
        mode &= ~0o070 | (mode & 0o007) << 3
        lost.append("its group")
    os.fchmod(descriptor, mode)
    if hasattr(os, "listxattr"):
        lost += _copy_attributes(descriptor, old)
    return tuple(lost)


def _copy_attributes(descriptor: int, old: int) -> list[str]:
    lost = []
    try:
        names = os.listxattr(old)
        inherited = os.listxattr(descriptor)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EOPNOTSUPP):
            return []
        return ["its extended attributes"]
    if _ACCESS_LIST in inherited and _ACCESS_LIST not in names:  # from the folder's default list
        os.removexattr(descriptor, _ACCESS_LIST)
    for name in names:
        if name in _NOT_KEPT:
            continue
        try:
            value = os.getxattr(old, name)
            if name not in inherited or os.getxattr(descriptor, name) != value:
                os.setxattr(descriptor, name, value)
        except OSError:
            lost.append(f"its attribute {name}")
    return lost


def _give_new_name(way: Way, spare: str) -> None:
    """Gives the spare file a name that nothing bears, without ever replacing anything."""
    try:
        os.link(spare, way.name, src_dir_fd=way.folder, dst_dir_fd=way.folder, follow_symlinks=False)
    except FileExistsError:
        raise Changed(way.place, "there is a file now") from None
    except OSError as error:
        if error.errno not in _NO_LINKS_HERE:
            raise
        os.rename(spare, way.name, src_dir_fd=way.folder, dst_dir_fd=way.folder)  # just seen to be free
        return
    os.unlink(spare, dir_fd=way.folder)


def _sync_folder(folder: int) -> None:
    # The new name is there for everybody; only whether a power cut may take it back is left to know.
    with suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def told(error: OSError, way: Way) -> Failure:
    """One sentence for a failed replacement; a folder that takes no new names is named as the reason."""
    if error.errno in (errno.EACCES, errno.EPERM) and not os.access(
        ".", os.W_OK | os.X_OK, dir_fd=way.folder, effective_ids=os.access in os.supports_effective_ids
    ):
        return Failure(
            f"{way.place.shown} cannot be written: its folder takes no new files from this user, so it cannot be "
            "replaced at once and whole; nothing was changed."
        )
    return failure(error, way.place, "written")
