"""Which process is which: a number alone is given again."""

from __future__ import annotations

import os


def started(pid: int) -> int:
    """When a process started, in the system's ticks; 0 where it has ended, -1 where nobody tells."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return 0
    except OSError:
        return 0
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return 0
    except PermissionError:
        return -1
    return -1


def numbered_by() -> str:
    """What numbers of processes are unique in: this start of the machine, and this space of processes; "" where nobody
    can tell."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""
