"""Places in which `gateway mcp` and servers run."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest
from fuzzing import share
from running import Ground
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
    _needs_namespaces()
    place.says()
    return place


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes places that several tests of a module share."""
    made: list[Place] = []

    def make(*, confined: bool = True) -> Place:
        if confined:
            _needs_namespaces()
        with pytest.MonkeyPatch.context() as patched:
            made.append(Place(Ground(tmp_path_factory.mktemp("shared"), patched)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def _needs_namespaces() -> None:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`era`: the era that the client speaks. A test that does not say itself for which it is made has one of them in a
    run, about half of the tests each, and both in a thorough one."""
    written = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "era" in metafunc.fixturenames and not any(each == "era" or "era" in tuple(each) for each in written):
        metafunc.parametrize("era", share(ERAS, 2, crc32(metafunc.definition.name.encode())))
