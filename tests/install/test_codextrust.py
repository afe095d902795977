"""What Codex says of its hooks is asked for a bounded time, and nothing that was started for it stays."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from gateway.core.errors import GatewayError
from gateway.frontends import doctor_agents
from gateway.install import codextrust

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOOK = {"key": "k", "currentHash": "h", "eventName": "e", "command": "gateway hook codex", "trustStatus": "trusted"}
ANSWER = {"id": 2, "result": {"data": [{"hooks": [HOOK]}]}}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd_open to see a process end")
# A script that starts the program itself, as package managers install them.
SILENT = "sleep 600 &\nwait\n"


def program(folder: Path, text: str) -> str:
    path = folder / "codex"
    path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


class Late(threading.Thread):
    """The time is over as soon as a process has said who it is."""

    def __init__(self, said: Path, does: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._said, self._does = said, does

    def run(self) -> None:
        while not (self._said.exists() and self._said.read_text().endswith("\n")):
            threading.Event().wait(0.01)
        self._does()

    def cancel(self) -> None:
        """It was not needed any more."""


def test_what_codex_says_is_taken(tmp_path: Path) -> None:
    answers = f"read line\necho garbage\necho '{json.dumps({'id': 1})}'\nread line\necho '{json.dumps(ANSWER)}'\n"
    (found,) = codextrust.listed(program(tmp_path, answers + SILENT), str(tmp_path), os.environ)
    assert (found.key, found.hash, found.runs, found.is_own) == ("k", "h", True, True)


@pytest.mark.parametrize("says", ["wait\n", "tr '\\0' x </dev/zero\n"], ids=["nothing", "one line without end"])
def test_one_that_never_answers_is_ended_with_what_it_started(tmp_path: Path, monkeypatch, says: str) -> None:
    pids = tmp_path / "pids"
    monkeypatch.setattr("gateway.install.codextrust.threading.Timer", lambda _seconds, does: Late(pids, does))
    with pytest.raises(GatewayError, match=r"codex app-server (did not answer|ended)"):
        codextrust.listed(program(tmp_path, f"sleep 600 &\necho $! >{pids}\n{says}"), str(tmp_path), os.environ)
    _is_gone(int(pids.read_text()))


def test_a_hook_that_never_answers_doctor_is_ended_with_what_it_started(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(doctor_agents, "SECONDS", 3)
    pids = tmp_path / "pids"
    line = [program(tmp_path, f"sleep 600 &\necho $! >{pids}\nwait\n")]
    with pytest.raises(subprocess.TimeoutExpired):
        doctor_agents.ran(line, b"", str(tmp_path), os.environ)
    _is_gone(int(pids.read_text()))
    quick = [program(tmp_path, "cat\necho said >&2\nexit 3\n")]
    assert doctor_agents.ran(quick, b"given", str(tmp_path), os.environ) == (3, b"given", b"said\n")


def _is_gone(process: int) -> None:
    """Waits for its end, whether anybody looks at that or not."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 30)[0]
    finally:
        os.close(handle)
