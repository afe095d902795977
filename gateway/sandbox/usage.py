"""What a tree of processes uses, read from /proc. A figure that cannot be read counts as nothing used: that is how a
process looks that has just ended."""

from __future__ import annotations

import os
import stat

from gateway.sandbox.mounts import MARKER

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pids: list[int]) -> float:
    """Time on a processor of these and of all children that they have waited for."""
    total = 0
    for pid in pids:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if len(fields) > 14:
            total += sum(map(int, fields[11:15]))
    return total / _TICKS


def resident(pids: list[int]) -> int:
    """Bytes in memory, with what processes share counted for each: never less than what they use."""
    total = 0
    for pid in pids:
        fields = _read(f"/proc/{pid}/statm").split()
        if len(fields) > 1:
            total += int(fields[1]) * _PAGE
    return total


def proportional(pids: list[int]) -> int:
    """Bytes in memory, with what processes share divided among them. Files that are merely mapped do not count: the
    kernel can drop them. Slow."""
    total = 0
    for pid in pids:
        for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith((b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")):
                total += int(line.split()[1]) << 10
    return total


def anonymous_files(pids: list[int]) -> int:
    """Bytes of files that exist in memory only and that these hold open, each counted once. Slow."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        folder = f"/proc/{pid}/fd"
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            try:
                if not os.readlink(f"{folder}/{name}").startswith("/memfd:"):
                    continue
                state = os.stat(f"{folder}/{name}")
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode):
                found[state.st_dev, state.st_ino] = state.st_blocks << 9
    return sum(found.values())


def written(pids: list[int]) -> int | None:
    """Bytes that these and all children they have waited for caused to be written to disks; None where the kernel
    does not count."""
    total, known = 0, False
    for pid in pids:
        for line in _read(f"/proc/{pid}/io").splitlines():
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
        total += (state.f_blocks - state.f_bfree) * state.f_frsize
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


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""
