"""The shipped descriptions, compiled once."""

from __future__ import annotations

from typing import Any

import pytest
from shipped import by_name


@pytest.fixture(scope="session")
def descriptions() -> dict[str, dict[str, Any]]:
    """Every name that a shipped description answers to."""
    return by_name()
