"""Remembers, for later processes, that a backend passed all its probes.

It is remembered for this boot, user, program and form of what is asked. Only the best answer is: a record that is stale
or was tampered with leads to a start that fails, never to a weaker sandbox. That one was refused is remembered for a
while where another holds as much.
"""

from __future__ import annotations

import os
from _blake2 import blake2b
from time import time

from gateway.core.boot import boot
from gateway.sandbox.base import SandboxError
from gateway.sandbox.filter_here import filter_here


def holds(name: str, line: str, seconds: float = float("inf")) -> bool:
    """Whether this very line is on record, and was put there within so many seconds."""
    try:
        with open(_record(name), encoding="utf-8") as file:
            return file.read() == line and 0 <= time() - os.fstat(file.fileno()).st_mtime < seconds
    except (OSError, UnicodeDecodeError):
        return False


def keep(name: str, line: str) -> None:
    """Puts it on record. Nothing is kept where nothing can be written."""
    path = _record(name)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        new = f"{path}.{os.getpid()}"
        with open(new, "w", encoding="utf-8") as file:
            file.write(line)
        os.replace(new, path)
    except OSError:
        return


def forget(name: str) -> None:
    """Has it tried again, by the next process that asks."""
    try:
        os.unlink(_record(name))
    except OSError:
        return


def line(key: str, *form: object) -> str:
    """What an answer depends on. `key`: changes with the program; `form`: what it is asked, and how it was tried."""
    try:
        filtered = filter_here(())
    except SandboxError:  # nothing holds on such a machine, and trying it says so
        filtered = b""
    digest = blake2b(repr(form).encode(), digest_size=32)
    digest.update(filtered)
    return f"{boot()} {os.geteuid()} {key} {digest.hexdigest()}\n"


def _record(name: str) -> str:
    from gateway.core.places import places

    return os.path.join(places().state, "run", name)
