"""What the tests of the web share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from webworld import World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[World]:
    made = World(monkeypatch, tmp_path)
    yield made
    made.close()
