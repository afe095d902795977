# ruff: noqa: F811 - fixtures of another module
"""Looks at a tree that the kernel tells of: the same as looks at every folder, and only what changed is listed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from gateway.host.machine import Machine
from gateway.sandbox import inotify
from gateway.sandbox.changed_folders import ChangedFolders
from gateway.sandbox.index import Tree

from .test_index import CHANGES, Counting, protection, top  # noqa: F401  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells of changes")
MORE: dict[str, Any] = {
    **CHANGES,
    "a folder renamed over one of its name": lambda top: (
        (top / "src").rename(top / "x"),
        (top / "src").mkdir(),
        (top / "src" / ".env").write_text("", encoding="utf-8"),
        (top / "x" / "deep" / ".env").write_text("", encoding="utf-8"),
    ),
    "a folder renamed twice": lambda top: (
        (top / "src").rename(top / "x"),
        (top / "x").rename(top / "y"),
        (top / "y" / "deep" / ".env").write_text("", encoding="utf-8"),
    ),
    "a folder removed and made again": lambda top: (
        (top / "empty").rmdir(),
        (top / "empty").mkdir(),
        (top / "empty" / ".env").write_text("", encoding="utf-8"),
    ),
    "a git file": lambda top: (top / "empty" / ".git").write_text("gitdir: ../x\n", encoding="utf-8"),
    "a repository by another name": lambda top: [
        (top / "empty" / name).mkdir(parents=True) for name in ("objects", "refs", "HEAD", "hooks")
    ],
    "a folder that is closed": lambda top: (top / "src").chmod(0),
}


@pytest.fixture
def changes() -> Iterator[ChangedFolders]:
    made = ChangedFolders()
    yield made
    made.close()


@pytest.mark.parametrize("name", MORE)
def test_every_change_of_names_is_seen(top: Path, protection, changes: ChangedFolders, name: str) -> None:
    tree = Tree(str(top), Machine(), protection)
    tree.follow(changes)
    tree.marks()
    MORE[name](top)
    assert set(tree.marks()) == set(Tree(str(top), Machine(), protection).marks())
    (top / "src").chmod(0o755) if (top / "src").is_dir() else None
    (top / "later").mkdir()
    (top / "later" / ".env").write_text("", encoding="utf-8")
    assert set(tree.marks()) == set(Tree(str(top), Machine(), protection).marks())


@pytest.mark.parametrize("name", MORE)
def test_what_changed_before_it_was_followed_is_seen(top: Path, protection, changes: ChangedFolders, name: str) -> None:
    tree = Tree(str(top), Machine(), protection)
    tree.marks()
    MORE[name](top)
    tree.follow(changes)
    assert set(tree.marks()) == set(Tree(str(top), Machine(), protection).marks())
    (top / "src").chmod(0o755) if (top / "src").is_dir() else None


def test_what_was_listed_before_it_is_followed_is_not_listed_again(
    top: Path, protection, changes: ChangedFolders
) -> None:
    host = Counting()
    tree = Tree(str(top), host, protection)
    tree.marks()
    host.listed = []
    tree.follow(changes)
    tree.marks()
    (top / "empty" / ".env").write_text("", encoding="utf-8")
    tree.marks()
    assert [each for each in host.listed if ".git" not in each] == [str(top / "empty")]


def test_only_what_changed_is_listed(top: Path, protection, changes: ChangedFolders) -> None:
    host = Counting(age=0)
    tree = Tree(str(top), host, protection)
    tree.follow(changes)
    tree.marks()
    host.listed = []
    (top / "empty" / "a.py").write_text("", encoding="utf-8")
    tree.marks()
    unspoken = list(host.listed)
    (top / "empty" / ".env").write_text("", encoding="utf-8")
    tree.marks()
    assert (unspoken, host.listed) == ([], [str(top / "empty")])


def test_an_environment_that_comes_to_be_is_known_step_by_step(top: Path, protection, changes: ChangedFolders) -> None:
    tree = Tree(str(top), Machine(), protection)
    tree.follow(changes)
    tree.marks()
    packages = top / "empty/env/lib/python3.11/site-packages"
    steps = (
        lambda: packages.parents[2].mkdir(),
        lambda: (packages.parents[2] / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8"),
        lambda: packages.mkdir(parents=True),
        lambda: (packages.parents[2] / "bin").mkdir(),
        lambda: (packages / "a.pth").write_text("", encoding="utf-8"),
        lambda: (packages / "sitecustomize.py").symlink_to("nowhere"),
        lambda: (packages / "usercustomize").mkdir(),
        lambda: (packages / "a.pth").unlink(),
    )
    known = []
    for step in steps:
        step()
        assert set(tree.marks()) == set(Tree(str(top), Machine(), protection).marks())
        known.append(sorted(mark.path.rpartition("/")[2] for mark in tree.marks() if "/env/" in mark.path))
    assert known[-2] == ["a.pth", "bin", "pyvenv.cfg", "sitecustomize.py", "usercustomize"]


def test_where_no_watch_is_left_folders_are_asked(
    top: Path,
    protection,
    changes: ChangedFolders,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_arguments: object, **_named: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(inotify.Inotify, "add", refuse)
    tree = Tree(str(top), Machine(), protection)
    tree.follow(changes)
    tree.marks()
    (top / "empty" / ".env").write_text("", encoding="utf-8")
    assert set(tree.marks()) == set(Tree(str(top), Machine(), protection).marks())
    assert changes.unwatched


def test_what_overflows_is_looked_at_anew(top: Path, protection, changes: ChangedFolders) -> None:
    tree = Tree(str(top), Machine(), protection)
    tree.follow(changes)
    tree.marks()
    with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as file:
        most = int(file.read())
    for number in range(most // 2 + 1):
        path = f"{top}/empty/{number % 7}"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.unlink(path)
    (top / "src" / ".env").write_text("", encoding="utf-8")
    assert set(tree.marks()) == set(Tree(str(top), Machine(), protection).marks())
