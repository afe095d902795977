"""Tests leave nothing in the system's temporary folder, and no service."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from leftovers import TEMPORARY, end_rooms, end_services

from gateway.core.room_names import of_process
from gateway.sandbox.rooms import furnished

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("state", ["home/.local/state/gateway", ".local/state/gateway", "a/state/gateway"])
def test_the_room_of_a_client_that_lives_goes_with_its_test(tmp_path: Path, state: str) -> None:
    rooms = str(tmp_path / state / "rooms")
    ((_path, folder), *_others) = furnished(rooms, of_process(os.getpid()), [])
    place = os.path.dirname(folder)
    (tmp_path / "link").symlink_to(tmp_path)
    assert (os.path.isdir(place), os.path.dirname(place)) == (True, TEMPORARY)
    end_rooms([tmp_path])
    assert (os.path.lexists(place), os.listdir(rooms)) == (False, [])


def test_the_folders_of_a_deep_tree_are_not_all_looked_through(tmp_path: Path) -> None:
    deep = tmp_path / "/".join("d" * 9)
    deep.mkdir(parents=True)
    furnished(str(tmp_path / "gateway/rooms"), "name", [])
    end_rooms([tmp_path])
    assert os.listdir(tmp_path / "gateway/rooms") == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc here")
@pytest.mark.parametrize(
    ("home", "words", "ended"),
    [
        ("{top}/home", ["/x/client.py", "serve"], True),
        ("{top}er/home", ["/x/client.py", "serve"], False),
        ("{top}/home", ["/x/client.py", "hook"], False),
        ("{top}/home", ["/x/other.py", "serve"], False),
    ],
    ids=["a service of the tests", "of another place", "a hook", "another program"],
)
def test_a_service_whose_home_lies_below_goes(tmp_path: Path, home: str, words: list[str], ended: bool) -> None:
    environment = {"HOME": home.format(top=tmp_path)}
    line = ["/bin/sh", "-c", "echo; read x; :", *words]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it is what it is called by now
        assert end_services(tmp_path) == ([process.pid] if ended else [])
        process.communicate(b"\n")
        assert process.returncode == (-9 if ended else 0)
