"""Places in which `gateway mcp` and servers run."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest
from fuzzing import share
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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`era`: the era that the client speaks. A test that does not say itself for which it is made has one of them in a
    run, about half of the tests each, and both in a thorough one."""
    written = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "era" in metafunc.fixturenames and not any(each == "era" or "era" in tuple(each) for each in written):
        metafunc.parametrize("era", share(ERAS, 2, crc32(metafunc.definition.name.encode())))
