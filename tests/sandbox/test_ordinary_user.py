"""Sandboxes are made in another way for whoever is not root, and hold all the same: one run of tests by such a user."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from fuzzing import THOROUGH

from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.contract import CHECKS

from .world import passes_for_nobody

HERE = Path(__file__).parent
CONTRACT, LANDLOCK, ROOMS = HERE / "test_contract.py", HERE / "backends/test_landlock.py", HERE / "test_rooms.py"
# One of each kind of what the fallback holds back.
HELD_BY_THE_FALLBACK = (
    "create-a-file-outside", "read-through-a-link", "move-a-file-in", "remove-a-folder-outside",
    "see-shared-temporary-files", "read-by-way-of-another-process", "signal-a-process-outside",
    "connect-over-the-loopback", "connect-to-a-local-socket", "connect-to-an-abstract-socket", "leave-a-set-id-file",
    "use-a-descriptor-of-the-gateway",
)  # fmt: skip


def tried() -> list[str]:
    """Whole files in a thorough run; else each theme of the contract, and each kind of what the fallback holds."""
    if THOROUGH:
        return [str(CONTRACT), str(LANDLOCK), str(ROOMS)]
    of_a_user = [check for check in CHECKS if "root" not in check.needs]
    themes = {check.theme: check for check in of_a_user} | {f"{each.theme}, too": each for each in reversed(of_a_user)}
    names = sorted({check.name for check in themes.values()})
    return [
        *[f"{CONTRACT}::test_a_whole_sandbox_holds_it[{Spaces.name}-{name}]" for name in names],
        *[
            f"{LANDLOCK}::test_an_attempt_fails_that_succeeds_without_the_sandbox[{name}]"
            for name in HELD_BY_THE_FALLBACK
        ],
        f"{LANDLOCK}::test_ordinary_use_goes_on_working",
        str(ROOMS),
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="what holds it is Linux")
@pytest.mark.skipif(os.geteuid() != 0, reason="this run is by an ordinary user already")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_what_holds_for_root_holds_for_an_ordinary_user() -> None:
    sys.stderr.write(f"as an ordinary user: {passes_for_nobody(tried(), 600)}\n")
