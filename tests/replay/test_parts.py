"""Parts of work done in this process and in several."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from patience import patience

from gateway.replay.parts import POOL, PROCESS, map_parts

if TYPE_CHECKING:
    from collections.abc import Callable


def _doubling() -> Callable[[int], int]:
    return lambda part: part * 2


@pytest.mark.parametrize("how", [PROCESS, POOL])
def test_results_come_in_the_order_of_the_parts(how: str) -> None:
    assert list(map_parts(_doubling, range(40), how=how, workers=2)) == [part * 2 for part in range(40)]


def test_a_pool_that_is_left_early_ends_though_whoever_started_it_handles_the_signal_that_ends_it() -> None:
    # In a process of its own: what fails here would wait for ever.
    program = (
        "import signal\n"
        "from gateway.replay.parts import map_parts\n"
        "signal.signal(signal.SIGTERM, lambda *_: None)\n"
        "for _ in range(5):\n"
        "    came = map_parts(lambda: abs, range(-20_000, 0), workers=2)\n"
        "    print(next(came))\n"
        "    came.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=patience(60))
    assert (done.stdout, done.stderr) == ("20000\n" * 5, "")
