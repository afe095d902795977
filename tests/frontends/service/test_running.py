"""Seeing and ending the services that run for a user."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

import pytest
import starting

from gateway.frontends.service.running import Running, found, stop

if TYPE_CHECKING:
    import subprocess

    from conftest import Home

pytestmark = pytest.mark.usefixtures("linux")


def gateway(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    return starting.run(
        [sys.executable, "-m", "gateway", "service", *words], cwd=home.project, env=home.environment, text=True,
        capture_output=True, timeout=120,
    )  # fmt: skip


def test_where_none_runs_that_is_said_and_nothing_is_made(home: Home) -> None:
    assert found(home.bytes_environment) == ()
    shown, ended = gateway(home, "status"), gateway(home, "stop")
    assert (shown.stdout, shown.returncode) == ("no service runs; the next hook starts one\n", 0)
    assert (ended.stdout, ended.returncode) == ("no service runs\n", 0)
    assert not home.folder.exists()


def test_the_one_that_runs_is_shown_and_ended_and_the_next_hook_starts_another(home: Home) -> None:
    pid = home.serve()
    (one,) = found(home.bytes_environment)
    assert (one.pid, one.is_ours, os.path.dirname(one.socket)) == (pid, True, str(home.folder))
    assert gateway(home, "status").stdout == f"running, process {pid}\n  {one.socket}\n"
    assert json.loads(gateway(home, "stop", "--json").stdout) == {"services": [{**one.as_dict(), "ended": True}]}
    assert (home.services(), found(home.bytes_environment)) == ([], ())
    assert home.decision() == "allow"
    assert home.serve() != pid


def test_one_that_is_stopped_is_killed(home: Home) -> None:
    pid = home.serve()
    (one,) = found(home.bytes_environment)
    os.kill(pid, signal.SIGSTOP)
    assert stop(one, 0.2)
    assert home.services() == []
    assert stop(one, 0.2)  # and one that has ended already is no fault


def test_one_of_another_place_is_told_apart_and_what_only_looks_like_one_is_not_shown(home: Home) -> None:
    home.serve()
    (one,) = found(home.bytes_environment)
    elsewhere = home.bytes_environment | {b"XDG_CONFIG_HOME": os.fsencode(home.top / "c")}
    assert found(elsewhere) == (one.replace(is_ours=False),)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(home.folder / "0.sock"))
    (home.folder / "1.sock").write_text("", encoding="utf-8")
    assert found(home.bytes_environment) == (one,)


def test_a_folder_that_others_may_enter_is_not_looked_into(home: Home) -> None:
    home.serve()
    home.folder.chmod(0o755)
    assert found(home.bytes_environment) == ()
    home.folder.chmod(0o700)


def test_without_a_process_the_end_is_not_known(home: Home) -> None:
    home.folder.mkdir(parents=True, mode=0o700)
    path = home.folder / "2.sock"
    path.write_text("", encoding="utf-8")
    assert not stop(Running(str(path), 0, False), 0.1)
    assert not path.exists()
