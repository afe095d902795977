"""The holder of a session's loopback, found again by whoever comes after."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from gateway.core import processes
from gateway.sandbox.backends import spaces_room

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/ns"), reason="there is no /proc here")


@pytest.fixture
def holder() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def opens(monkeypatch: pytest.MonkeyPatch, error: type[OSError], meanwhile: Any) -> None:
    """Opening the holder's namespaces fails, and something else happens just before."""
    real = os.open

    def open_(path: Any, *more: Any, **named: Any) -> int:
        if str(path).startswith("/proc/") and "/ns/" in str(path):
            meanwhile()
            raise error(0, "", path)
        return real(path, *more, **named)

    monkeypatch.setattr(spaces_room.os, "open", open_)


@pytest.mark.parametrize("error", [FileNotFoundError, ProcessLookupError, PermissionError])
def test_a_holder_that_ends_while_it_is_looked_at_is_gone(
    error: type[OSError], holder: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux says any of the three then."""
    file = tmp_path / "holder"
    file.write_text(f"{holder.pid} {processes.started(holder.pid)}")

    def ends() -> None:
        holder.kill()
        holder.wait()

    with monkeypatch.context() as patch:
        opens(patch, error, ends)
        assert spaces_room._held(str(file)) is None


def test_one_that_lives_and_may_not_be_looked_at_is_an_error(
    holder: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "holder"
    file.write_text(f"{holder.pid} {processes.started(holder.pid)}")
    with monkeypatch.context() as patch:
        opens(patch, PermissionError, lambda: None)
        with pytest.raises(PermissionError):
            spaces_room._held(str(file))
