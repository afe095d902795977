"""Taking back: exactly, only what nobody has changed since, and to the end however often it is killed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sandbox.changes.worlds import World

from gateway.core.errors import StoreError
from gateway.sandbox.changes.undo import undo
from gateway.sandbox.changes.undoing import SINCE

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    top = world.top
    for folder in ("src/deep", "empty", "other"):
        (top / folder).mkdir(parents=True)
    (top / "src/a").write_text("one\n")
    (top / "src/deep/b").write_text("two\n")
    (top / "data").write_bytes(os.urandom(5000))
    os.link(top / "data", top / "other/data")
    (top / "run").write_text("#!/bin/sh\n")
    (top / "run").chmod(0o755)
    (top / "link").symlink_to("src/a")
    return world


def git(top: Path, *words: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(top), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    done = subprocess.run(["git", *who, *words], cwd=top, env=environment, capture_output=True, check=True)
    return done.stdout.decode()


def text(path: str, content: str) -> None:
    Path(path).write_text(content)


PROGRAMS: dict[str, Callable[[], object]] = {
    "a file is written": lambda: text("src/a", "new"),
    "a file is written through a link": lambda: text("link", "new"),
    "a file is written through a descriptor of its own": lambda: _by_descriptor("src/a"),
    "a file of two names is written": lambda: text("data", "new"),
    "a file is cut": lambda: os.truncate("data", 3),
    "a file is deleted": lambda: os.unlink("src/a"),
    "a file is replaced": lambda: (text("spare", "new"), os.replace("spare", "src/a")),
    "a file is renamed and written": lambda: (os.rename("src/a", "z"), text("z", "new")),
    "a file gets another name and is written by it": lambda: (os.link("src/a", "z"), text("z", "new")),
    "a file becomes a folder": lambda: (os.unlink("run"), os.makedirs("run/in"), text("run/in/x", "")),
    "a folder becomes a file": lambda: (shutil.rmtree("src"), text("src", "")),
    "a folder becomes a link": lambda: (shutil.rmtree("src"), os.symlink("other", "src"), text("src/new", "")),
    "a folder is deleted": lambda: shutil.rmtree("src"),
    "a folder is renamed and its files written": lambda: (
        os.rename("src", "z"),
        text("z/deep/b", "n"),
        text("z/n", ""),
    ),
    "folders change places": lambda: (os.rename("src", "t"), os.rename("other", "src"), os.rename("t", "other")),
    "an empty folder is deleted": lambda: os.rmdir("empty"),
    "modes change": lambda: (os.chmod("run", 0o600), os.chmod("src", 0o700), os.chmod("src/a", 0o400)),
    "a mode changes by a descriptor": lambda: os.fchmod(os.open("run", os.O_RDONLY), 0o600),
    "a socket appears": lambda: socket.socket(socket.AF_UNIX).bind("socket"),
    "a link is replaced": lambda: (os.unlink("link"), os.symlink("run", "link")),
    "work goes on in another folder": lambda: (os.chdir("src"), text("a", "new"), text("../n", "")),
    "names that are no text": lambda: (os.mkdir(b"\xff"), os.rename(b"src/a", b"\xff/\n")),
    "an old file comes to a name that was written": lambda: (
        text("n", ""),
        text("n", ""),
        os.rename("src/a", "n"),
        text("n", "new"),
    ),
    "an old file gets a name that was written": lambda: (
        text("n", ""),
        os.unlink("n"),
        os.link("src/a", "n"),
        text("n", "new"),
    ),
    "a name that was written becomes a link": lambda: (
        text("n", ""),
        os.unlink("n"),
        os.symlink("src/a", "n"),
        text("n", "new"),
    ),
    "a link in a new folder leads to an old file": lambda: (
        os.mkdir("n"),
        text("n/x", ""),
        os.symlink("../src/a", "n/y"),
        text("n/y", "new"),
    ),
    "a link to folders leads from a new one to an old one": lambda: (
        os.makedirs("n/z"),
        os.symlink("z", "n/y"),
        text("n/y/a", ""),
        text("n/y/a", ""),
        os.unlink("n/y"),
        os.symlink("../src", "n/y"),
        text("n/y/a", "new"),
    ),
    "an old folder comes to a new name": lambda: (
        os.mkdir("n"),
        text("n/a", ""),
        os.unlink("n/a"),
        os.rmdir("n"),
        os.rename("src", "n"),
        text("n/a", "new"),
    ),
    "old files come to a new folder": lambda: (
        os.mkdir("n"),
        text("n/a", ""),
        os.rename("src/a", "n/a"),
        text("n/a", "new"),
        os.unlink("n/a"),
    ),
    "everything is deleted": lambda: subprocess.run(["find", ".", "-mindepth", "1", "-delete"], check=True),
}


def _by_descriptor(path: str) -> None:
    number = os.open(path, os.O_RDONLY)
    text(f"/proc/self/fd/{number}", "new")


@pytest.mark.parametrize("what", PROGRAMS)
def test_everything_is_what_it_was(what: str, world: World) -> None:
    before = world.tree()
    made = world.run(PROGRAMS[what])
    assert world.tree() != before
    assert made is not None
    assert undo(world.store, made.number).stays == {}
    assert world.tree() == before


def test_a_call_that_changes_nothing_leaves_nothing(world: World) -> None:
    def program() -> None:
        with open("src/a", "r+b") as file:
            file.read()
        Path("temporary").write_text("")
        os.unlink("temporary")

    assert world.run(program) is None
    assert world.store.sets() == []


def test_a_workspace_with_its_repository_comes_back_byte_for_byte(world: World) -> None:
    git(world.top, "init", "-q")
    git(world.top, "add", "-A")
    git(world.top, "commit", "-qm", "x")
    before = world.tree()
    made = world.run(PROGRAMS["everything is deleted"])
    assert os.listdir(world.top) == []
    assert made is not None
    undo(world.store, made.number)
    assert world.tree() == before
    assert git(world.top, "status", "--short") == ""


@pytest.mark.parametrize(
    "what", ["a folder is renamed and its files written", "everything is deleted", "a folder becomes a file"]
)
def test_killed_at_any_step_each_file_is_old_or_new_and_the_next_one_finishes(what: str, world: World) -> None:
    """Each world is killed at one more step, until one is not killed at all."""

    class Killed(BaseException):
        pass

    before = world.tree()
    contents = {content for _mode, content, _twin in before.values()}
    for at in range(200):
        made = world.run(PROGRAMS[what])
        assert made is not None
        new = {content for _mode, content, _twin in world.tree().values()}
        left = [at]

        def step(_what: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed

        try:
            undo(world.store, made.number, step=step)
            killed = False
        except Killed:
            killed = True
        for path, now in world.tree().items():
            assert path.startswith(".gateway-undo") or now[1] in contents | new
        if not killed:
            assert world.tree() == before
            return
        assert undo(world.store, made.number).stays == {}
        assert world.tree() == before
    raise AssertionError("it takes more steps than that")


def test_what_has_changed_since_is_not_touched_and_is_named(world: World) -> None:
    def program() -> None:
        Path("src/a").write_text("new")
        Path("run").write_text("new")
        Path("made").mkdir()
        Path("made/by-call").write_text("")

    made = world.run(program)
    assert made is not None
    (world.top / "src/a").write_text("mine")
    (world.top / "made/mine").write_text("mine")
    plan = undo(world.store, made.number)
    assert set(plan.stays) == {str(world.top / "src/a"), str(world.top / "made/mine")}
    assert (world.top / "src/a").read_text() == "mine"
    assert (world.top / "run").read_text() == "#!/bin/sh\n"
    assert sorted(os.listdir(world.top / "made")) == ["mine"]


def test_what_a_call_touched_and_left_as_it_was_is_not_touched_whatever_it_is_by_now(world: World) -> None:
    def program() -> None:
        with open("src/a", "r+b") as file:
            file.read()
        text("temporary", "")
        os.unlink("temporary")
        text("src/deep/b", "new")

    made = world.run(program)
    assert made is not None
    (world.top / "src/a").write_text("mine")
    (world.top / "temporary").write_text("mine")
    (world.top / "src").chmod(0o700)
    (world.top / "src/deep").chmod(0o711)
    mine = world.tree()
    assert undo(world.store, made.number).stays == {str(world.top / "src/a"): SINCE}
    assert world.tree() == mine | {"src/deep/b": (mine["src/deep/b"][0], b"two\n", "")}


def test_a_deleted_name_that_somebody_has_made_anew_stays_his(world: World) -> None:
    made = world.run(lambda: shutil.rmtree("src"))
    assert made is not None
    (world.top / "src").write_text("mine")
    undo(world.store, made.number)
    assert (world.top / "src").read_text() == "mine"


def test_a_repository_is_taken_back_whole_or_not_at_all(world: World) -> None:
    git(world.top, "init", "-q")
    git(world.top, "add", "-A")
    git(world.top, "commit", "-qm", "x")

    def program() -> None:
        Path(".git/description").write_text("new")
        Path("src/a").write_text("new")

    made = world.run(program)
    assert made is not None
    git(world.top, "commit", "-qam", "somebody's own")
    commit = git(world.top, "rev-parse", "HEAD")
    plan = undo(world.store, made.number)
    assert list(plan.stays) == [str(world.top / ".git/description")]
    assert (world.top / ".git/description").read_text() == "new"
    assert (world.top / "src/a").read_text() == "one\n"
    assert git(world.top, "rev-parse", "HEAD") == commit


def test_a_name_that_policy_protects_by_now_stays(world: World) -> None:
    made = world.run(lambda: (text("src/a", "new"), text("run", "new")))
    assert made is not None
    plan = undo(world.store, made.number, judged=lambda path: "rule `x` protects it" if path.endswith("/run") else "")
    assert plan.stays == {str(world.top / "run"): "rule `x` protects it"}
    assert (world.top / "run").read_text() == "new"
    assert (world.top / "src/a").read_text() == "one\n"


def test_a_link_that_was_put_on_the_way_leads_nowhere(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "a").write_text("theirs")
    made = world.run(lambda: (text("src/a", "new"), os.unlink("src/deep/b")))
    assert made is not None
    (world.top / "src").rename(world.top / "aside")
    (world.top / "src").symlink_to(outside)
    plan = undo(world.store, made.number)
    assert set(plan.stays) >= {str(world.top / "src/a")}
    assert (outside / "a").read_text() == "theirs"
    assert os.listdir(outside / "deep") == []


def test_another_folder_in_the_place_of_the_workspace_is_not_touched(world: World) -> None:
    made = world.run(lambda: text("src/a", "new"))
    assert made is not None
    aside = world.top.with_name("aside")
    shutil.copytree(world.top, aside, symlinks=True)
    world.top.rename(world.top.with_name("moved"))
    aside.rename(world.top)
    assert undo(world.store, made.number).stays != {}
    assert (world.top / "src/a").read_text() == "new"


def test_rights_that_were_given_to_a_file_do_not_come_back_with_it(world: World) -> None:
    (world.top / "run").chmod(0o4755)
    made = world.run(lambda: os.unlink("run"))
    assert made is not None
    undo(world.store, made.number)
    assert os.stat(world.top / "run").st_mode & 0o7777 == 0o755


def test_calls_are_undone_in_any_order_that_no_later_change_forbids(world: World) -> None:
    before = world.tree()
    first = world.run(lambda: text("run", "1"))
    second = world.run(lambda: text("src/a", "2"))
    third = world.run(lambda: text("run", "3"))
    assert first is not None
    assert second is not None
    assert third is not None
    assert undo(world.store, second.number).stays == {}
    assert list(undo(world.store, first.number).stays) == [str(world.top / "run")]
    assert undo(world.store, third.number).stays == {}
    assert (world.top / "run").read_text() == "1"
    (world.top / "run").write_text("#!/bin/sh\n")
    assert world.tree() == before


def test_a_file_that_a_later_call_wrote_by_another_name_comes_back_as_it_was(world: World) -> None:
    def written_with_its_time() -> None:
        was = os.stat("other/data")
        with open("other/data", "r+b") as file:
            file.write(b"x" * 5000)
        os.utime("other/data", ns=(was.st_atime_ns, was.st_mtime_ns))

    was = (world.top / "data").read_bytes()
    first = world.run(lambda: os.unlink("data"))
    second = world.run(written_with_its_time)
    assert first is not None
    assert second is not None
    assert undo(world.store, first.number).stays == {}
    assert (world.top / "data").read_bytes() == was
    assert (world.top / "other/data").read_bytes() == b"x" * 5000
    assert undo(world.store, second.number).stays == {}
    assert (world.top / "other/data").read_bytes() == was


def test_what_is_undone_is_not_undone_again(world: World) -> None:
    made = world.run(lambda: text("run", "1"))
    assert made is not None
    undo(world.store, made.number)
    with pytest.raises(StoreError, match="are undone"):
        undo(world.store, made.number)
