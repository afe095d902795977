"""Values that stay are made without collections, and nothing of anybody else's collecting changes."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from gateway.core import gc_pause as uncollected
from gateway.core.gc_pause import Uncollected, keep

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    enabled = gc.isenabled()
    monkeypatch.setattr(uncollected, "_is_kept", False)
    yield
    (gc.enable if enabled else gc.disable)()


@pytest.fixture
def unfrozen() -> Iterator[None]:
    """With all as it is in a small program: what was frozen for other tests is so afterwards."""
    was_frozen = gc.get_freeze_count()
    gc.unfreeze()
    yield
    assert gc.get_freeze_count() == 0
    if was_frozen:
        gc.freeze()


def test_nothing_is_collected_inside_and_everything_later() -> None:
    gc.enable()
    with Uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_collects_nothing_goes_on_so() -> None:
    gc.disable()
    with Uncollected():
        pass
    assert not gc.isenabled()


def test_an_error_leaves_no_trace() -> None:
    gc.enable()
    with pytest.raises(ValueError, match="x"), Uncollected():
        raise ValueError("x")
    assert gc.isenabled()


@pytest.mark.usefixtures("unfrozen")
def test_what_was_made_counts_as_old() -> None:
    gc.enable()
    with Uncollected():
        kept = [[] for _ in range(100)]
    young = {id(each) for each in gc.get_objects(generation=0)}
    assert not young & {id(each) for each in kept}


def test_what_is_kept_stays_so() -> None:
    gc.enable()
    keep()
    before = gc.get_freeze_count()
    with Uncollected():
        kept = [[]]
    assert (gc.get_freeze_count(), kept, gc.isenabled()) == (before, [[]], True)


def test_what_others_froze_stays_frozen() -> None:
    gc.enable()
    gc.freeze()
    before = gc.get_freeze_count()
    with Uncollected():
        kept = [[]]
    assert (gc.get_freeze_count(), kept) == (before, [[]])
