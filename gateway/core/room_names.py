"""What the room of a session is called, by who uses it (`gateway.sandbox.rooms`)."""

from __future__ import annotations

import os
from _blake2 import blake2b

from gateway.core import processes

CLIENT = "client-"


def of_client(agent: str, session: str) -> str:
    """That of a client's session, by what the client calls it; "" where it has no name for it."""
    return f"{CLIENT}{_digest(f'{agent} {session}')}" if session else ""


def of_process(pid: int, *, anew: bool = False) -> str:
    """That of a process, which ends with it; "" where there is no such process, or nobody can tell it from a later
    one. `anew`: one more, that no other call of this function names."""
    began, among = processes.started(pid), processes.numbered_by()
    if pid <= 1 or began <= 0 or not among:
        return ""
    return f"{pid}-{began}-{_digest(among)}" + (f"-{os.urandom(6).hex()}" if anew else "")


def has_gone(name: str) -> bool | None:
    """Whether the process that a room is called after has ended; None where its name does not tell."""
    pid, began, among = (*name.split("-"), "", "")[:3]
    if pid.isdigit() and began.isdigit() and among == _digest(processes.numbered_by()):
        return processes.started(int(pid)) != int(began)
    return None


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
