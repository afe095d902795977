"""What client and service both know: messages, and for whom a service is."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.places import places
from gateway.frontends.service import wire

HOME = {b"HOME": b"/home/dev"}


@given(st.lists(st.binary(max_size=50), max_size=6))
def test_a_message_comes_back_as_it_was(parts: list[bytes]) -> None:
    message = wire.framed(tuple(parts))
    assert (wire.parts_of(message), wire.needed(message)) == (parts, len(message))


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=4), st.data())
def test_what_is_not_whole_is_no_message(parts: list[bytes], data: st.DataObject) -> None:
    message = wire.framed(tuple(parts))
    cut = data.draw(st.integers(0, len(message) - 1))
    assert wire.parts_of(message[:cut]) is None
    assert wire.parts_of(message + b"x") is None


@given(st.binary(max_size=200))
def test_garbage_is_no_message(data: bytes) -> None:
    assert wire.parts_of(data) is None
    assert wire.parts_of(wire.VERSION + data) in (None, [])


@pytest.mark.parametrize(
    "name",
    ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
     "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "OPENCODE_CONFIG_DIR"],
)  # fmt: skip
def test_other_places_are_another_identity(name: str) -> None:
    assert wire.identity({**HOME, name.encode(): b"/elsewhere"}) != wire.identity(HOME)


def test_all_that_places_are_read_from_is_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            asked.add(name)
            return super().get(name, default)

        def __contains__(self, name: object) -> bool:
            asked.add(str(name))
            return super().__contains__(name)

        def __getitem__(self, name: str) -> str:
            asked.add(name)
            return super().__getitem__(name)

    asked: set[str] = set()
    monkeypatch.setattr(os, "environ", Asked(HOME="/home/me"))
    places()
    assert "HOME" in asked
    assert len(asked) > 1
    same = {name for name in asked if wire.identity({**HOME, name.encode(): b"/x"}) == wire.identity(HOME)}
    assert same == set()


def test_another_user_process_or_code_is_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [wire.identity(HOME)]
    for name, value in (("HERE", "/other"), ("VERSION", b"gateway-service-2")):
        with monkeypatch.context() as patch:
            patch.setattr(wire, name, value)
            found.append(wire.identity(HOME))
    with monkeypatch.context() as patch:
        patch.setattr(wire.sys, "executable", "/other/python")
        found.append(wire.identity(HOME))
    with monkeypatch.context() as patch:
        patch.setattr(wire.posix, "geteuid", lambda: 12345)
        found.append(wire.identity(HOME))
    with monkeypatch.context() as patch:
        patch.setattr(wire.posix, "readlink", lambda _name: b"mnt:[1]")
        found.append(wire.identity(HOME))
    assert len(set(found)) == len(found)
