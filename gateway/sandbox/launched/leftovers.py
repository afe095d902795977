"""What a call may leave behind where no namespace takes it along: processes, and its private folder."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
from stat import S_ISDIR


def kill_below(top: int, spare: frozenset[int] = frozenset()) -> bool:
    """Kills every process below one, found through /proc, but those to spare; whether there was any."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue  # it has ended
            if state != b"Z":
                below.setdefault(int(parent), []).append(int(name))
    pending = [each for each in below.get(top, ()) if each not in spare]
    found = bool(pending)
    while pending:
        pid = pending.pop()
        pending += below.get(pid, ())
        try:
            os.kill(pid, _signal.SIGKILL)
        except ProcessLookupError:
            continue
    return found


def remove(path: bytes) -> None:
    """Removes a folder with all that a command may have left in it, however deep, without following links.

    Nothing may be running in it. What cannot be removed stays.
    """
    try:
        top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        number = 0
        pending = [name for name in os.listdir(top) if not _unlink(name, top)]
        while pending:
            folder = pending.pop()
            try:
                os.chmod(folder, 0o700, dir_fd=top)
                inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
            except OSError:
                continue
            try:
                for name in os.listdir(inside):
                    if not _unlink(name, inside):
                        number += 1
                        while _is_there(f".{number}", top):
                            number += 1
                        os.chmod(name, 0o700, dir_fd=inside)
                        os.rename(name, f".{number}", src_dir_fd=inside, dst_dir_fd=top)
                        pending.append(f".{number}")
                os.rmdir(folder, dir_fd=top)
            except OSError:
                continue
            finally:
                os.close(inside)
        os.rmdir(path)
    except OSError:
        return
    finally:
        os.close(top)


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _unlink(name: str, folder: int) -> bool:
    """Removes what is no folder; whether it is gone."""
    if S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return False
    os.unlink(name, dir_fd=folder)
    return True
