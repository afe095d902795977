"""How long tests wait for what must happen. A limit is there so that a test that hangs ends; it says nothing of how
fast the product is, and must hold where ten programs want the same processor."""

from __future__ import annotations

import os

MOST = 20.0


def crowd() -> float:
    """How many programs there are for each processor, now or in the last minute; 1 where there is one for each."""
    running = os.getloadavg()[0]
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            running = max(running, int(file.read().split()[3].partition("/")[0]))
    except (OSError, ValueError, IndexError):
        pass  # only Linux tells
    return min(max(running / (os.cpu_count() or 1), 1.0), MOST)


def patience(seconds: float) -> float:
    """So many seconds of a processor of one's own, as long as they may take here."""
    return seconds * crowd()
