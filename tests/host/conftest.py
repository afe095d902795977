"""A real repository beside the home of its person, in which git itself is the oracle."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from gitplaces import Place


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """What each test gets a copy of: git is started for it once."""
    top = tmp_path_factory.mktemp("made")
    found = Place(top / "project", top / "home")
    found.root.mkdir()
    found.home.mkdir()
    found.git("init", "-q", "-b", "trunk")
    found.write("a.txt", "one\n")
    found.write("run", "#!/bin/sh\necho x > mark\n", runs=True)
    found.git("add", "a.txt", "run")
    found.git("commit", "-q", "-m", "first")
    return found


@pytest.fixture
def place(made: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    from gateway.host import git_settings

    # The tests' own folders lie in a temporary one, and what lies there is anybody's.
    monkeypatch.setattr(git_settings, "TEMPORARY", ())
    # The workspace and the home lie beside each other, neither in a temporary folder of the system's name.
    top = Path(os.path.realpath(tmp_path))
    found = Place(top / "project", top / "home")
    shutil.copytree(made.root, found.root, symlinks=True)
    found.home.mkdir()
    found.write("a.txt", "two\n")
    return found
