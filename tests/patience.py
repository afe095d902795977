"""How long tests wait for what must happen. A limit is there so that a test that hangs ends; it says nothing of how
fast the product is, and must hold where ten programs want the same processor."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MOST = 20.0


def crowd() -> float:
    """How many programs there are for each processor, now or in the last minute; 1 where there is one for each."""
    running = os.getloadavg()[0]
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            running = max(running, int(file.read().split()[3].partition("/")[0]))
    except (OSError, ValueError, IndexError):
        pass  # only Linux tells
    return min(max(1.0, max(running, 1.0) / _processors()), MOST)


def _processors() -> float:
    """How many this process may use: a container is often given a part of one."""
    found = float(os.cpu_count() or 1)
    try:
        groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return found
    for _, controllers, path in groups:
        place = Path("/sys/fs/cgroup", "cpu" if controllers else "", path.lstrip("/"))
        with suppress(OSError, ValueError):  # no limit, or none that is told here
            if not controllers:
                quota, period = (place / "cpu.max").read_text(encoding="ascii").split()
            elif "cpu" in controllers.split(","):
                quota, period = ((place / f"cpu.cfs_{name}_us").read_text("ascii") for name in ("quota", "period"))
            else:
                continue
            if int(quota) > 0:
                found = min(found, int(quota) / int(period))
    return found


def patience(seconds: float) -> float:
    """So many seconds of a processor of one's own, as long as they may take here."""
    return seconds * crowd()
