"""A call that is made to stand still: all of it, threads and late children included, and no longer than it must."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from patience import patience

from gateway.sandbox import paused_call as stopping
from gateway.sandbox.paused_call import stopped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The first process only waits, as process 1 of a sandbox does. Below it: one that starts others all the time, and one
# whose first thread has ended while another one writes.
TREE = """
import os, sys, threading, time
def write(name):
    while True:
        with open(name, "a") as file: file.write("x")
        time.sleep(0.001)
def spawner():
    while True:
        if os.fork() == 0:
            with open("n1", "a") as file: file.write("x")
            os._exit(0)
        os.wait()
def headless():
    threading.Thread(target=write, args=("n2",)).start()
    import ctypes; ctypes.CDLL(None).pthread_exit(None)
for each in (spawner, headless):
    if os.fork() == 0:
        each()
time.sleep(1000)
"""


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", TREE], cwd=tmp_path, start_new_session=True)
    end = time.monotonic() + patience(20)
    while not all(sizes(tmp_path)) and time.monotonic() < end:
        time.sleep(0.01)
    yield process.pid
    subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
    process.wait()


def sizes(folder: Path) -> list[int]:
    return [(folder / name).stat().st_size if (folder / name).exists() else 0 for name in ("n1", "n2")]


def test_nothing_of_it_goes_on_meanwhile_and_all_of_it_after(root: int, tmp_path: Path) -> None:
    with stopped(root) as stands:
        assert stands
        before = sizes(tmp_path)
        time.sleep(0.05)
        assert sizes(tmp_path) == before
    end = time.monotonic() + patience(20)
    while any(now <= then for now, then in zip(sizes(tmp_path), before, strict=True)) and time.monotonic() < end:
        time.sleep(0.01)
    assert all(now > then for now, then in zip(sizes(tmp_path), before, strict=True))


def test_where_it_cannot_be_had_nothing_stays_stopped(root: int, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(stopping, "SECONDS", 0.1)
    monkeypatch.setattr(stopping, "_STANDING", frozenset())
    with stopped(root) as stands:
        assert not stands
        before = sizes(tmp_path)
        end = time.monotonic() + patience(20)
        while sizes(tmp_path)[1] == before[1] and time.monotonic() < end:
            time.sleep(0.01)
        assert sizes(tmp_path)[1] > before[1]
