"""An ordinary user's changes are taken back as root's are: in folders that are closed to them, too. What is somebody
else's is named before anything is touched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sandbox.changes.worlds import World, as_user

from gateway.sandbox.changes.closed_folders import opened, reached
from gateway.sandbox.changes.looking import below, look
from gateway.sandbox.changes.rights import CLOSED, FOLDER_OF_OTHERS, LINK_OF_OTHERS, MODE, NOT_WRITABLE, STICKY
from gateway.sandbox.changes.undo import undo
from gateway.sandbox.changes.undoing import IN_THE_WAY, SINCE, UNSEEN, planned

if TYPE_CHECKING:
    from collections.abc import Callable

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def filled(users_place: Path) -> World:
    world = World(users_place)
    for folder in ("src/deep", "other"):
        (world.top / folder).mkdir(parents=True)
    (world.top / "src/a").write_text("one\n")
    (world.top / "src/deep/b").write_text("two\n")
    (world.top / "data").write_text("data\n")
    (world.top / "run").write_text("#!/bin/sh\n")
    (world.top / "run").chmod(0o755)
    os.link(world.top / "data", world.top / "other/data")
    os.link(world.top / "data", world.top / "src/deep/data")
    return world


@pytest.fixture
def world(users_place: Path) -> World:
    as_user(lambda: filled(users_place) and None)
    return World(users_place)


def text(path: str, content: str) -> None:
    Path(path).write_text(content)


def in_it(path: str, closes: str) -> None:
    os.chdir(path)
    os.chmod(closes, 0)


def by_folder(name: str) -> None:
    """Writes, makes, moves and removes in a folder that it has open, and that lies in one that is closed."""
    folder = os.open("src/deep", os.O_RDONLY)
    os.chmod("src", 0)
    os.close(os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.mkdir("folder", dir_fd=folder)
    os.rename(name, "folder/moved", src_dir_fd=folder, dst_dir_fd=folder)
    with open(os.open("folder/moved", os.O_RDWR, dir_fd=folder), "w") as file:
        file.write("new")
    os.unlink("data", dir_fd=folder)


def by_file(does: Callable[[int], object]) -> None:
    file = os.open("src/a", os.O_RDONLY)
    os.chmod("src", 0)
    does(file)


def close(*folders: str) -> None:
    for folder in folders:
        os.chmod(folder, 0)


PROGRAMS: dict[str, Callable[[], object]] = {
    "another name of what is written lies in a folder that can only be listed": lambda: (
        os.chmod("other", 0o644),
        text("data", "n"),
    ),
    "another name of what is written lies in a folder that cannot be listed": lambda: (
        os.chmod("other", 0o311),
        text("data", "n"),
    ),
    "another name of what is written lies in a closed folder of a closed one": lambda: (
        close("src/deep", "src"),
        text("data", "n"),
    ),
    "it works where it is, below what it has closed": lambda: (
        in_it("src/deep", ".."),
        text("b", "n"),
        text("n", "n"),
        os.chmod("data", 0o600),
    ),
    "it works by a folder that it has open": lambda: by_folder("b"),
    "the mode of what it has open is changed": lambda: by_file(lambda file: os.fchmod(file, 0o600)),
    "what it has open is written": lambda: by_file(lambda file: text(f"/proc/self/fd/{file}", "n")),
    "a closed folder is moved, opened and written in": lambda: (
        close("src"),
        os.rename("src", "z"),
        os.chmod("z", 0o755),
        text("z/deep/b", "n"),
        text("z/a", "n"),
    ),
    "a closed folder of one that is moved is opened and written in": lambda: (
        close("src/deep"),
        os.rename("src", "z"),
        os.chmod("z/deep", 0o755),
        text("z/deep/b", "n"),
        shutil.rmtree("z/deep"),
    ),
    "what was written is closed": lambda: (text("src/a", "n"), close("src")),
    "what was made is closed": lambda: (text("src/n", "n"), close("src")),
    "what was deleted is closed": lambda: (os.unlink("src/a"), close("src")),
    "a new folder is closed": lambda: (os.makedirs("n/m"), text("n/m/x", "n"), close("n/m", "n")),
    "what is old goes to a new folder that is closed": lambda: (
        os.mkdir("n"),
        os.rename("src/deep", "n/deep"),
        os.rename("src/a", "n/a"),
        text("n/a", "n"),
        text("n/deep/b", "n"),
        close("n/deep", "n"),
    ),
    "a folder can be read and not written any more": lambda: (text("src/n", ""), os.chmod("src", 0o555)),
}


def done_and_undone(users_place: Path, program: Callable[[], object]) -> dict[str, str]:
    world = World(users_place)
    made = world.run(lambda: program() and None)
    assert made is not None
    return undo(world.store, made.number).stays


@pytest.mark.parametrize("what", PROGRAMS)
def test_what_an_ordinary_user_closed_is_what_it_was(what: str, users_place: Path, world: World) -> None:
    before = world.tree()
    assert as_user(lambda: done_and_undone(users_place, PROGRAMS[what])) == {}
    assert world.tree() == before


@pytest.mark.parametrize("mode", [0o000, 0o311, 0o555, 0o644])
def test_a_folder_that_was_closed_before_is_closed_afterwards_and_what_lies_in_it_is_what_it_was(
    mode: int, users_place: Path, world: World
) -> None:
    before = world.tree()
    (world.top / "other").chmod(mode)
    assert as_user(lambda: done_and_undone(users_place, lambda: text("data", "n"))) == {}
    assert (world.top / "other").stat().st_mode & 0o777 == mode
    (world.top / "other").chmod(0o755)
    assert world.tree() == before


def test_killed_at_any_step_the_next_one_closes_what_was_opened(users_place: Path, world: World) -> None:
    class Killed(BaseException):
        pass

    def killed_at_each() -> int:
        world = World(users_place)
        for at in range(100):
            made = world.run(PROGRAMS["another name of what is written lies in a closed folder of a closed one"])
            assert made is not None
            left = [at]

            def step(_what: str, left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] < 0:
                    raise Killed

            try:
                undo(world.store, made.number, step=step)
            except Killed:
                assert undo(world.store, made.number).stays == {}
            else:
                return at
            assert world.tree() == before
        raise AssertionError("it takes more steps than that")

    before = world.tree()
    assert as_user(killed_at_each) > 3
    assert world.tree() == before


def test_what_somebody_puts_in_a_closed_folder_is_not_lost(users_place: Path, world: World) -> None:
    def program() -> None:
        os.mkdir("new")
        text("new/x", "")
        os.unlink("src/a")
        close("new", "src")

    def made() -> int:
        found = World(users_place).run(program)
        assert found is not None
        return found.number

    number = as_user(made)
    for name in ("new/mine", "src/a"):
        folder = (world.top / name).parent
        folder.chmod(0o700)
        (world.top / name).write_text("mine")
        folder.chmod(0)
    stays = as_user(lambda: undo(World(users_place).store, number).stays)
    assert stays == {str(world.top / "new/mine"): SINCE, str(world.top / "src/a"): IN_THE_WAY}
    for name in ("new", "src"):
        (world.top / name).chmod(0o700)
    assert (world.top / "new/mine").read_text() == (world.top / "src/a").read_text() == "mine"
    assert not (world.top / "new/x").exists()


def given_away(path: Path, mode: int | None = None) -> None:
    os.chown(path, 0, 0)
    if mode is not None:
        path.chmod(mode)


OTHERS: dict[str, tuple[Callable[[], object], Callable[[World], object], dict[str, str]]] = {
    "a folder that cannot be written": (
        lambda: text("src/a", "n"),
        lambda world: given_away(world.top / "src", 0o755),
        {"src/a": NOT_WRITABLE},
    ),
    "a folder that cannot be searched": (
        lambda: text("src/a", "n"),
        lambda world: given_away(world.top / "src", 0o700),
        {"src/a": CLOSED},
    ),
    "a name in a sticky folder": (
        lambda: (os.chmod("src", 0o1777), text("src/n", "n")),
        lambda world: (given_away(world.top / "src", 0o1777), given_away(world.top / "src/n")),
        {"src": MODE, "src/n": STICKY},
    ),
    "a mode": (
        lambda: os.chmod("run", 0o600),
        lambda world: given_away(world.top / "run", 0o600),
        {"run": MODE},
    ),
    "a folder that would be moved away": (
        lambda: os.mkdir("n", 0o755),
        lambda world: given_away(world.top / "n", 0o755),
        {"n": FOLDER_OF_OTHERS},
    ),
    "a folder that may hold another name": (
        lambda: text("data", "n"),
        lambda world: given_away(world.top / "other", 0o700),
        {"other": UNSEEN},
    ),
    "an old file that cannot be read": (
        lambda: (os.chmod("run", 0o700), os.unlink("run")),
        lambda world: [given_away(kept, 0o700) for kept in world.top.parent.glob("state/changes/*/old/*")],
        {"run": LINK_OF_OTHERS},
    ),
    "an old file that can be read": (
        lambda: os.unlink("run"),
        lambda world: [given_away(kept, 0o755) for kept in world.top.parent.glob("state/changes/*/old/*")],
        {},
    ),
}


@only_root
@pytest.mark.parametrize("what", OTHERS)
def test_what_is_somebody_elses_by_now_is_named_before_anything_is_touched(
    what: str, users_place: Path, world: World
) -> None:
    program, meanwhile, expected = OTHERS[what]

    def made() -> int:
        found = World(users_place).run(lambda: program() and None)
        assert found is not None
        return found.number

    def plan() -> dict[str, str]:
        store = World(users_place).store
        return planned(store, store.checked(number)).stays

    number = as_user(made)
    meanwhile(world)
    before = world.tree()
    named = {str(world.top / name): why for name, why in expected.items()}
    assert as_user(plan) == named
    assert world.tree() == before
    assert as_user(lambda: undo(World(users_place).store, number).stays) == named


@only_root
def test_a_file_of_somebody_else_that_may_not_be_linked_comes_back_by_its_bytes(
    users_place: Path, world: World
) -> None:
    given_away(world.top / "run", 0o744)
    before = world.tree()
    assert as_user(lambda: done_and_undone(users_place, lambda: os.unlink("run"))) == {}
    assert world.tree() == before


def test_who_looks_is_told_the_true_mode_and_closes_again_when_all_have_looked(users_place: Path) -> None:
    def looks() -> list[object]:
        folder = users_place / "closed"
        folder.mkdir()
        (folder / "x").write_text("")
        folder.chmod(0o010)
        said: list[object] = [[path for path, _stamp in below(str(users_place))]]
        with reached(str(folder / "x")):
            with opened(str(folder)):
                os.lstat(folder / "x")
            os.lstat(folder / "x")
            found = look(str(folder))
            assert found is not None
            said.append(found.mode)
        folder.chmod(0o010) if folder.stat().st_mode & 0o777 != 0o010 else said.append("closed")
        with opened(str(folder)):
            folder.chmod(0o750)
        said.append(folder.stat().st_mode & 0o777)
        return said

    folder = f"{users_place}/closed"
    assert as_user(looks) == [[folder, f"{folder}/x"], 0o010, "closed", 0o750]
