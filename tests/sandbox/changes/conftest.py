"""What tests of changes share."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sandbox.changes.drafts import layers_hold
from sandbox.changes.worlds import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def users_place() -> Iterator[Path]:
    """A folder that an ordinary user has and reaches."""
    with tempfile.TemporaryDirectory(prefix="gateway-closed-") as folder:
        if not os.geteuid():
            os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)
        for above, folders, _files in os.walk(folder):
            for name in folders:
                os.chmod(f"{above}/{name}", 0o700)


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Layers over folders are to be had here."""
    if not layers_hold(tmp_path_factory.mktemp("trial")):
        pytest.skip("no folder can be laid over another here")
