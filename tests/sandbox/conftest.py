"""What tests of namespaces share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.sandbox.backends.launcher import SPACES, Launcher
from gateway.sandbox.backends.spaces import Spaces

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def own() -> Iterator[Launcher]:
    """A launcher of the test's own."""
    made = Launcher(SPACES)
    yield made
    made.stop()


@pytest.fixture
def backend(own: Launcher) -> Spaces:
    """Namespaces, made by that launcher."""
    probe = Spaces().probe()
    if not probe.works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    return Spaces(own)
