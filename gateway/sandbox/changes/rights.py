"""What this user may not do to a name, known before it is tried. The kernel's rules for all but root: credentials(7),
unlink(2) for sticky folders, rename(2) for folders, proc_sys_fs(5) for `protected_hardlinks`."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from gateway.sandbox.changes.closed_folders import reached
from gateway.sandbox.changes.looking import NOTHING
from gateway.sandbox.changes.state import FILE, FOLDER, stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.changes.state import Stamp

CLOSED = "a folder on the way is closed, and somebody else's"
NOT_WRITABLE = "its folder is somebody else's, and cannot be written"
STICKY = "it is somebody else's, and its folder lets only owners change a name"
MODE = "it is somebody else's, who alone can change its mode"
FOLDER_OF_OTHERS = "it is somebody else's, and a folder that cannot be written cannot be moved away"
LINK_OF_OTHERS = "what it was is somebody else's, and can neither be given another name nor be read"


def against(path: str, was: Stamp | None, kept: str) -> str:
    """Why this user cannot make a name what it was, "" where nothing is known. `kept`: where the store has another name
    for the old file, "" for nowhere."""
    if not os.geteuid():
        return ""
    above = path.rpartition("/")[0]
    try:
        with reached(path):
            if os.path.realpath(above) != above:
                return ""  # a link is on the way: it goes first, or stays with all that would lie in it
            folder = os.lstat(above)
            now = None
            with suppress(FileNotFoundError):
                now = os.lstat(path)
            return _against(above, folder, path, now, was) or (_no_name(kept) if was is not None else "")
    except PermissionError:
        return CLOSED
    except OSError as error:
        return "" if error.errno in NOTHING else f"{error.strerror}"  # its folder comes back first


def _against(above: str, folder: os.stat_result, path: str, now: os.stat_result | None, was: Stamp | None) -> str:
    if now is not None and was is not None and _is_all_but_mode(stamp_of(now), was):
        return "" if _is_ours(now) or stamp_of(now).mode == was.mode else MODE
    if not _is_ours(folder):
        if not os.access(above, os.W_OK | os.X_OK):
            return NOT_WRITABLE
        if folder.st_mode & stat.S_ISVTX and now is not None and not _is_ours(now):
            return STICKY
    if now is not None and stat.S_ISDIR(now.st_mode) and not _is_ours(now) and not os.access(path, os.W_OK):
        return FOLDER_OF_OTHERS
    return ""


def _is_all_but_mode(now: Stamp, was: Stamp) -> bool:
    """Whether at most the permissions of what is there are others."""
    return now.kind in (FILE, FOLDER) and now.replace(mode=0, links=0) == was.replace(mode=0, links=0)


def _no_name(kept: str) -> str:
    with suppress(OSError):
        found = os.lstat(kept)
        if not _is_ours(found) and not os.access(kept, os.R_OK) and _are_protected():
            return LINK_OF_OTHERS
    return ""


def _are_protected() -> bool:
    try:
        with open("/proc/sys/fs/protected_hardlinks", encoding="utf-8") as file:
            return file.read().strip() != "0"
    except OSError:
        return False


def _is_ours(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid()
