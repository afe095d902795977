"""Starting and ending a console, and what is said where it cannot start."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import starting
from consoles import Running
from patience import patience

if TYPE_CHECKING:
    from pathlib import Path

HIDING = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in ("starlette", "uvicorn") else found(name, package)
from gateway.frontends.main import run
sys.exit(run(["console"]))
"""


def said(running: Running, *words: str) -> tuple[str, int]:
    process = running.gateway("console", "--print", *words)
    return process.communicate(timeout=patience(5))[0], process.returncode


def test_a_second_console_says_that_one_runs_and_the_first_goes_on(running: Running):
    text, status = said(running)
    assert "a console runs already\n  help: press Enter in the terminal where it runs" in text
    assert (status, running.get("/live", running.reader).status) == (2, 200)


def test_ctrl_c_ends_it_with_all_that_it_gave_out(tmp_path: Path):
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "project").mkdir()
    one = Running(tmp_path / "home", tmp_path / "project")
    folder = tmp_path / "home" / ".local" / "state" / "gateway" / "console"
    assert sorted(each.name for each in folder.iterdir()) == ["desk", "lock"]
    assert [each.stat().st_mode & 0o077 for each in (folder, *folder.iterdir())] == [0, 0, 0]
    one.process.send_signal(signal.SIGINT)
    assert (one.process.communicate(timeout=patience(5))[0], one.process.returncode) == ("", 0)
    assert [each.name for each in folder.iterdir()] == ["lock"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--port", "70000"), "--port must be from 0 to 65535"),
        (("--port", "x"), "--port"),
        (("--cwd", "/nothing/there"), "--cwd must be a folder that exists"),
        (("--remote",), "--remote"),
    ],
)
def test_a_wrong_word_is_told(running: Running, words: tuple[str, ...], error: str):
    text, status = said(running, *words)
    assert (error in text, status, "Traceback" in text) == (True, 2, False)


def test_a_port_that_is_taken_and_a_folder_that_others_can_open_are_told(tmp_path: Path):
    (tmp_path / "home").mkdir(mode=0o700)
    with socket.create_server(("127.0.0.1", 0)) as server:
        environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
        folder = tmp_path / "home" / ".local" / "state" / "gateway" / "console"
        words = [sys.executable, "-m", "gateway", "console", "--print", "--port", str(server.getsockname()[1])]
        errors = []
        for mode in (0o700, 0o755):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(mode)
            done = starting.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
            errors.append((done.returncode, done.stderr.split("\n")[0]))
    assert [status for status, _ in errors] == [2, 2]
    assert "cannot be opened" in errors[0][1]
    assert "is not private" in errors[1][1]


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path):
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", HIDING], env=environment, cwd=tmp_path, capture_output=True, text=True,
                          check=False)  # fmt: skip
    remedy = "install `agent-gateway[console]`, in a checkout `.[console]`"
    wanted = f"gateway: the console needs starlette and uvicorn\n  help: {remedy}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", wanted)
