"""Places in which `gateway mcp` and servers run."""

from __future__ import annotations

from typing import Any

import pytest
from wired import ERAS, Place

from gateway.sandbox.backends.spaces import Spaces

pytest.importorskip("mcp", reason="the package mcp is not installed")


@pytest.fixture
def place(ground: Any) -> Any:
    made = Place(ground)
    yield made
    made.close()


@pytest.fixture
def confined(place: Place) -> Place:
    """A place where servers can start."""
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    place.says()
    return place


@pytest.fixture(params=ERAS)
def era(request: Any) -> str:
    """The era that the client speaks."""
    found: str = request.param
    return found
