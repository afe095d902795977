"""One engine for all tests of translation: what it knows of a call is the same in each."""

from __future__ import annotations

import pytest

from gateway.config.shipped import load_tools
from gateway.core.places import places
from gateway.install.translation.engine import Engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    return Engine(load_tools(places()), places())
