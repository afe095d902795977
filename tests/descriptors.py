"""How many files this process has open."""

from __future__ import annotations

import gc
import os


def open_descriptors() -> list[str]:
    """Their numbers. What other tests have left to the garbage collector is closed first: it would be gone at any time
    later."""
    gc.collect()
    return sorted(os.listdir("/dev/fd"))
