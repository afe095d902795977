"""What ships, compiled: from the cache where it can be kept, else once in a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.config import shipped
from gateway.config.shipped import load_descriptions
from gateway.core.packed import pack
from gateway.core.places import Places

if TYPE_CHECKING:
    from pathlib import Path

CAT = {"name": "cat", "names": ["cat"], "subcommands": {}, "nested": []}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each time that the descriptions are compiled, as one program."""
    times: list[int] = []

    def make() -> bytes:
        times.append(1)
        return pack([CAT])

    monkeypatch.setattr(shipped, "_pack_descriptions", make)
    monkeypatch.setattr(shipped, "_unkept", {})
    return times


def places(cache: str) -> Places:
    return Places("/nonexistent", "/nonexistent", "/nonexistent", cache, "/nonexistent")


def test_where_nothing_can_be_kept_a_process_compiles_once(compiled: list[int]) -> None:
    found = [load_descriptions(places("/nonexistent/of/gateway")).names() for _ in range(3)]
    assert (found, len(compiled)) == ([("cat",)] * 3, 1)


def test_other_descriptions_are_compiled_all_the_same(compiled: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    for stamp in ("one", "another"):
        monkeypatch.setitem(shipped._stamps, shipped.COMMANDS, stamp)
        load_descriptions(places("/nonexistent/of/gateway")).names()
    assert len(compiled) == 2


def test_what_a_cache_holds_is_not_kept_beside_it(compiled: list[int], tmp_path: Path) -> None:
    cache = str(tmp_path / "cache" / "gateway")
    found = [load_descriptions(places(cache)).names() for _ in range(2)]
    assert (found, len(compiled), shipped._unkept) == ([("cat",)] * 2, 1, {})
