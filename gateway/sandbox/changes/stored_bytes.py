"""How many bytes saved changes take, and how old ones are removed."""

from __future__ import annotations

import os
from _thread import start_new_thread
from contextlib import suppress

from gateway.sandbox.drafts import GONE
from gateway.sandbox.launched.leftovers import remove


def size_of(folder: str) -> int:
    """Bytes that are kept only here: a second name of a file that has another costs none."""
    total = 0
    pending = [folder]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for each in entries:
                if each.is_dir(follow_symlinks=False):
                    pending.append(each.path)
                    continue
                with suppress(FileNotFoundError):
                    found = each.stat(follow_symlinks=False)
                    if found.st_nlink == 1:
                        total += found.st_blocks * 512
    return total


def remove_all(path: str) -> None:
    """All of a folder, also where modes forbid it; what cannot be removed stays."""
    with suppress(OSError):
        folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.chmod(f"/proc/self/fd/{folder}", 0o700)
        finally:
            os.close(folder)
    remove(os.fsencode(path))


def clear(folder: str) -> None:
    """Removes what has been set aside there (`gateway.sandbox.drafts.set_aside`), on a thread that nobody waits for.
    What is left, whoever comes next removes."""
    with suppress(RuntimeError):  # there can be no thread now
        start_new_thread(_clear, (folder,))


def _clear(folder: str) -> None:
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.endswith(GONE):
                remove_all(os.path.join(folder, name))
