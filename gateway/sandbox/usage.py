"""What a tree of processes uses, read from /proc. A figure that cannot be read counts as nothing used: that is how a
process looks that has just ended."""

from __future__ import annotations

import os

from gateway.core.value import Value
from gateway.sandbox.mounts import MARKER

TICK = 1 / os.sysconf("SC_CLK_TCK")
_INODE = 1 << 10  # what the kernel keeps of a file in memory besides what is in it
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Times(Value):
    """Processor time of one process in seconds: its own, and that of all children that were waited for. `started`:
    tells it from another one of its number. `running`: whether it is on a processor, or waits for one."""

    started: int
    own: float
    waited_for: float
    running: bool


def times(pid: int) -> Times | None:
    """Of a process; None when it has ended."""
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) <= 19:
        return None
    own, waited_for = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return Times(int(fields[19]), own * TICK, waited_for * TICK, fields[0] == b"R")


def resident(pids: list[int]) -> int:
    """Bytes in memory, with what processes share counted for each: never less than what they use."""
    total = 0
    for pid in pids:
        fields = read(f"/proc/{pid}/statm").split()
        if len(fields) > 1:
            total += int(fields[1]) * _PAGE
    return total


def proportional(pids: list[int]) -> int:
    """Bytes in memory, with what processes share divided among them. Files that are merely mapped do not count: the
    kernel can drop them. Slow."""
    total = 0
    for pid in pids:
        for line in read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith((b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")):
                total += int(line.split()[1]) << 10
    return total


def page_tables(pids: list[int]) -> int:
    """Bytes that the kernel needs to know where these have their memory: much of it, where little is in it. Slow."""
    total = 0
    for pid in pids:
        for line in read(f"/proc/{pid}/status").splitlines():
            if line.startswith(b"VmPTE:"):
                total += int(line.split()[1]) << 10
    return total


def written(pids: list[int]) -> int | None:
    """Bytes that these and all children they have waited for caused to be written to disks; None where the kernel
    does not count."""
    total, known = 0, False
    for pid in pids:
        for line in read(f"/proc/{pid}/io").splitlines():
            if line.startswith(b"write_bytes:"):
                total, known = total + int(line.split()[1]), True
    return total if known else None


def filled(root: int, folders: tuple[str, ...]) -> int:
    """Bytes in the private folders of the sandbox whose first process is `root`, once that has its own root."""
    if not os.path.lexists(f"/proc/{root}/root{MARKER}"):
        return 0
    total = 0
    for folder in folders:
        try:
            state = os.statvfs(f"/proc/{root}/root{folder}")
        except OSError:
            continue
        total += (state.f_blocks - state.f_bfree) * state.f_frsize + (state.f_files - state.f_ffree) * _INODE
    return total


def free(folders: tuple[str, ...]) -> dict[int, int]:
    """Free bytes of each file system that these folders lie on, by device."""
    found: dict[int, int] = {}
    for folder in folders:
        try:
            device = os.stat(folder).st_dev
            if device not in found:
                state = os.statvfs(folder)
                found[device] = state.f_bfree * state.f_frsize
        except OSError:
            continue
    return found


def read(path: str) -> bytes:
    """A small file of the kernel's, empty where it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""
