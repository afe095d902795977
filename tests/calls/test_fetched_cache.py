"""What the steps that fetch keep for later ones: in bounds, and never taken away under one that uses it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gateway.calls import scratch
from gateway.calls.fetched_cache import CACHE, FOLDER, clean, held, place_of
from gateway.sandbox import layers

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def fill(state: str, fetcher: str = "pip") -> None:
    with held(state, fetcher) as folder, open(f"{folder}/kept", "wb") as file:
        file.write(bytes(8192))


def kept(state: str) -> list[str]:
    return sorted(
        f"{fetcher}/{name}"
        for fetcher in os.listdir(f"{state}/{CACHE}")
        if fetcher != "lock"
        for name in os.listdir(f"{state}/{CACHE}/{fetcher}")
    )


def test_each_fetcher_has_its_own_until_all_is_cleaned(state: str) -> None:
    assert clean(state) == 0
    fill(state, "pip")
    fill(state, "cargo")
    assert kept(state) == ["cargo/kept", "pip/kept"]
    assert clean(state) >= 2 * 8192
    assert kept(state) == []
    fill(state)
    assert kept(state) == ["pip/kept"]


def test_nothing_is_cleaned_under_a_step(state: str) -> None:
    fill(state)
    with held(state, "cargo"), held(state, "pip"):
        assert (clean(state), kept(state)) == (0, ["pip/kept"])
    assert (clean(state) > 0, kept(state)) == (True, [])


@pytest.mark.parametrize("used", [True, False])
def test_one_that_grew_too_large_begins_anew_unless_another_step_uses_it(
    state: str, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(state)
    monkeypatch.setattr(layers, "MOST", 4096)
    layers._measured.clear()  # as another process finds it
    if used:
        with held(state, "cargo"), held(state, "pip"):
            pass
    else:
        with held(state, "pip"):
            pass
    assert kept(state) == (["pip/kept"] if used else [])


def test_a_folder_of_a_process_that_is_gone_goes_with_the_next_one(state: str) -> None:
    used = place_of(state)
    os.mkdir(os.path.join(state, FOLDER, "gateway-" + "0" * 24), 0o700)
    scratch._swept.clear()  # as another process finds it
    own = place_of(state)
    assert sorted(os.listdir(f"{state}/{FOLDER}")) == sorted(map(os.path.basename, (used.path, own.path)))
    for each in (used, own):
        each.remove()
    assert os.listdir(f"{state}/{FOLDER}") == []
