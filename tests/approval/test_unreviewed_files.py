"""A question about a commit or a push names what runs later and was changed by code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sandbox.changes.worlds import changed
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.approval.unreviewed_files import MOST, changed_by_code
from gateway.config.layers import local_folder
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall
from gateway.sandbox.changes.store import UNDONE, Store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class World:
    def __init__(self, top: Path) -> None:
        self.root = top / "workspace"
        (self.root / ".git").mkdir(parents=True)
        (self.root / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (top / "home").mkdir()
        warm(top / "cache")
        places = Places(
            str(top / "etc"), str(top / "config"), state=str(top / "state"), cache=str(top / "cache"),
            home=str(top / "home"),
        )  # fmt: skip
        self.gateway = Gateway(Options(cwd=str(self.root), mode="default", binding=True), where=places)
        self.store = Store(local_folder(places, str(self.root)))

    def changes(self, call: str, names: Iterable[str], said: Iterable[str] = ()) -> int:
        """A call that writes files, having said of some of them beforehand that it does."""
        made = changed(self.store, self.root, call, names, said)
        assert made is not None
        return made.number

    def asked(self, command: str) -> tuple[str, ...]:
        return changed_by_code(self.gateway, self.gateway.check(RawCall("Bash", {"command": command})))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("git commit -am x", True),
        ("cd . && git -C . push origin main", True),
        ("git -c a.b=c commit", True),
        ("git status", False),
        ("npm test", False),
        ("echo git push", False),
    ],
)
def test_only_what_hands_on_names_them(world: World, command: str, told: bool) -> None:
    world.changes("python3 x.py", ["package.json", "src/a.py"])
    line = "package.json (builds and tests run it; changes 1: python3 x.py)"
    assert world.asked(command) == ((line,) if told else ())


def test_what_a_call_said_that_it_writes_is_no_work_of_code(world: World) -> None:
    world.changes("echo x > Makefile; ./y", ["Makefile", "conftest.py"], said=["Makefile"])
    assert world.asked("git commit") == (
        "conftest.py (builds and tests run it; changes 1: echo x > Makefile; ./y)",
    )  # fmt: skip


def test_a_program_that_was_there_is_named_too(world: World) -> None:
    (world.root / "tool").write_text("#!/bin/sh\n")
    (world.root / "tool").chmod(0o755)
    world.changes("./x", ["tool", "notes"])
    assert world.asked("git push") == ("tool (a program that was there; changes 1: ./x)",)


def test_the_last_change_counts_and_what_is_gone_or_undone_does_not(world: World) -> None:
    world.changes("./one", ["Makefile", "tox.ini"])
    world.changes("./two", ["Makefile", "setup.py"])
    undone = world.changes("./three", ["noxfile.py"])
    made = world.store.get(undone)
    assert made is not None
    world.store.put(made.replace(state=UNDONE))
    (world.root / "tox.ini").unlink()
    assert world.asked("git commit") == (
        "Makefile (builds and tests run it; changes 2: ./two)",
        "setup.py (builds and tests run it; changes 2: ./two)",
    )


def test_many_are_counted(world: World) -> None:
    world.changes("./x", [f"p{number}/package.json" for number in range(MOST + 2)])
    lines = world.asked("git commit")
    assert (len(lines), lines[-1]) == (MOST + 1, "and 2 more files")
