"""The shipped descriptions, compiled once."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.config.compiling import shipped_sources
from gateway.spec.commands import compile_description


@pytest.fixture(scope="session")
def descriptions() -> dict[str, dict[str, Any]]:
    """Every name that a shipped description answers to."""
    found: dict[str, dict[str, Any]] = {}
    for source in shipped_sources():
        compiled = compile_description(source.content, source.path, parts=source.parts)
        for name in compiled["names"]:
            assert name not in found, f"{source.path}: {name} is described twice"
            found[name] = compiled
    return found
