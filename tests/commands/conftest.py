"""The shipped descriptions, compiled once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gateway.commands
from gateway.spec.commands import compile_description

FOLDER = Path(gateway.commands.__file__).parent


@pytest.fixture(scope="session")
def descriptions() -> dict[str, dict[str, Any]]:
    """Every name that a shipped description answers to."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(FOLDER.glob("*.yaml")):
        compiled = compile_description(file.read_bytes(), file.name)
        for name in compiled["names"]:
            assert name not in found, f"{file.name}: {name} is described twice"
            found[name] = compiled
    return found
