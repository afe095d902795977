"""What is kept of a layer, and what is not: whatever lies in it, and whatever others did meanwhile."""

from __future__ import annotations

import ctypes
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fuzzing import share
from sandbox.changes.drafts import Drafts, give_up_rights, in_child

from gateway.core.errors import StoreError
from gateway.sandbox.changes.drafted import COMMITTED, LOCKED, drafted
from gateway.sandbox.changes.keeping import discard, keep
from gateway.sandbox.changes.layer import LINKED, SINCE
from gateway.sandbox.changes.listing import draft_listed
from gateway.sandbox.changes.stored_bytes import remove_all
from gateway.sandbox.changes.undo import undo

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("layers")


@pytest.fixture
def drafts(tmp_path: Path) -> Drafts:
    found = Drafts(tmp_path)
    (found.top / "d").mkdir()
    for name in ("a", "b", "d/f"):
        (found.top / name).write_text(name)
    return found


def put(path: str, text: str = "new") -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    Path(path).write_text(text)


def mark(name: str) -> None:
    with suppress(OSError):  # kernels that keep such names apart let a program have them, others refuse
        for path in ("a", "d"):
            os.setxattr(path, f"user.overlay.{name}", b"y")


LONG = "l" * 255
ODD = os.fsdecode(b"\xff\n\\x")
PROGRAMS: dict[str, Callable[[], object]] = {
    "a file becomes a folder": lambda: (os.unlink("a"), put("a/x")),
    "a folder becomes a file": lambda: (os.unlink("d/f"), os.rmdir("d"), put("d")),
    "a file becomes a link": lambda: (os.unlink("a"), os.symlink("b", "a")),
    "a folder becomes a link that leads out": lambda: (os.unlink("d/f"), os.rmdir("d"), os.symlink("/etc", "d")),
    "a file becomes a pipe": lambda: (os.unlink("a"), os.mkfifo("a")),
    "a folder is made anew": lambda: (os.unlink("d/f"), os.rmdir("d"), os.mkdir("d"), put("d/g")),
    "names that are long or odd": lambda: (put(LONG), put(f"{ODD}/{ODD}"), os.rename("b", f"{ODD}/b")),
    "what is closed to everybody": lambda: (put("c/x"), os.chmod("c/x", 0), os.chmod("c", 0), os.chmod("a", 0)),
    "one file by two names": lambda: (put("one"), os.link("one", "two")),
    "an old file by a new name": lambda: os.link("a", "d/a2"),
    "two that change places": lambda: (os.rename("a", "x"), os.rename("b", "a"), os.rename("x", "b")),
    "modes alone": lambda: (os.chmod("a", 0o755), os.chmod("d", 0o700)),
    "mostly holes": lambda: os.truncate("a", 1 << 20),
    "what looks like a layer's own marks": lambda: (
        put("n"), [mark(name) for name in ("opaque", "whiteout", "redirect")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_kept_and_undone(drafts: Drafts, tmp_path: Path, program: Callable[[], object]) -> None:
    before = drafts.tree()
    twin = Drafts(tmp_path_made(tmp_path))
    (twin.top / "d").mkdir()
    for name in ("a", "b", "d/f"):
        (twin.top / name).write_text(name)
    here = os.getcwd()
    os.chdir(twin.top)
    try:
        program()
    finally:
        os.chdir(here)
    drafts.run(program)
    assert drafts.tree() == before
    assert keep(drafts.store, 1).stays == {}
    assert drafts.tree() == twin.tree()
    assert undo(drafts.store, 1).stays == {}
    assert drafts.tree() == before
    assert not [name for name in os.listdir(drafts.top) if name.startswith(".gateway-")]


def tmp_path_made(tmp_path: Path) -> Path:
    place = tmp_path / "twin"
    place.mkdir()
    return place


@pytest.mark.parametrize("program", share(PROGRAMS.values(), 3), ids=share(PROGRAMS, 3))
def test_kept_where_the_layer_lies_on_another_disk(tmp_path: Path, program: Callable[[], object]) -> None:
    with elsewhere(tmp_path) as state:
        (tmp_path / "over").mkdir()
        near, far = Drafts(tmp_path), Drafts(tmp_path / "over", state)
        for each in (near, far):
            (each.top / "d").mkdir()
            for name in ("a", "b", "d/f"):
                (each.top / name).write_text(name)
            each.run(program)
            assert keep(each.store, 1).stays == {}
        if program is not PROGRAMS["one file by two names"] and program is not PROGRAMS["an old file by a new name"]:
            assert far.tree() == near.tree()
        assert undo(far.store, 1).stays == {}


class elsewhere:  # noqa: N801 - a context like those of contextlib
    """A folder on another file system, on which layers may lie."""

    def __init__(self, tmp_path: Path) -> None:
        self._tmp_path = tmp_path

    def __enter__(self) -> Path:
        if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(self._tmp_path).st_dev:
            pytest.skip("there is no other file system")
        self._place = tempfile.TemporaryDirectory(dir="/dev/shm")
        try:
            Drafts(tmp_path_made(self._tmp_path), Path(self._place.name) / "trial").run(lambda: put("x"))
        except AssertionError:
            self._place.cleanup()
            pytest.skip("no layer lies there")
        return Path(self._place.name)

    def __exit__(self, *_error: object) -> None:
        self._place.cleanup()


OTHERS: dict[str, tuple[Callable[[], object], Callable[[Path], object], str]] = {
    "changed": (lambda: put("a"), lambda top: (top / "a").write_text("mine"), SINCE),
    "replaced": (lambda: put("a"), lambda top: ((top / "m").write_text("m"), (top / "m").rename(top / "a")), SINCE),
    "changed and deleted": (lambda: os.unlink("a"), lambda top: (top / "a").write_text("mine"), SINCE),
    "made by both": (lambda: put("n"), lambda top: (top / "n").write_text("mine"), SINCE),
    "deleted and changed": (lambda: put("a"), lambda top: (top / "a").unlink(), SINCE),
    "grown and deleted": (lambda: (os.unlink("d/f"), os.rmdir("d")), lambda top: (top / "d/g").write_text("g"), SINCE),
    "folder gone": (lambda: put("d/f"), lambda top: ((top / "d/f").unlink(), (top / "d").rmdir()), SINCE),
    "linked": (lambda: put("a"), lambda top: os.link(top / "a", top / "z"), SINCE),
}


@pytest.mark.parametrize(("program", "other", "why"), OTHERS.values(), ids=OTHERS)
def test_what_somebody_else_did_meanwhile_keeps_all_of_it_from_being_kept(
    drafts: Drafts, program: Callable[[], object], other: Callable[[Path], object], why: str
) -> None:
    drafts.run(lambda: (program(), put("b", "also")))
    other(drafts.top)
    now = drafts.tree()
    assert why in drafted(drafts.store, 1).conflicts.values()
    with pytest.raises(StoreError, match="nothing is kept"):
        keep(drafts.store, 1)
    assert drafts.tree() == now
    assert set(keep(drafts.store, 1, rest=True).stays.values()) == {why}
    assert (drafts.top / "b").read_text() == "also"
    rest = {"b", "d/f"} if (drafts.top / "d/g").exists() else {"b"}  # what was there before did go from the folder
    assert {path: what for path, what in drafts.tree().items() if path not in rest} == {
        path: what for path, what in now.items() if path not in rest
    }


def test_a_file_of_several_names_is_not_torn(drafts: Drafts) -> None:
    os.link(drafts.top / "a", drafts.top / "z")
    drafts.run(lambda: put("a"))
    assert drafted(drafts.store, 1).conflicts == {str(drafts.top / "a"): LINKED}
    assert (drafts.top / "z").read_text() == "a"


def test_what_is_replaced_in_the_last_moment_comes_back(drafts: Drafts) -> None:
    drafts.run(lambda: put("a"))

    def replace(_what: str) -> None:
        (drafts.top / "m").write_text("mine")
        (drafts.top / "m").rename(drafts.top / "a")

    assert list(keep(drafts.store, 1, step=replace).stays) == [str(drafts.top / "a")]
    assert (drafts.top / "a").read_text() == "mine"


def test_a_link_that_is_put_in_the_way_leads_nowhere(drafts: Drafts, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f").write_text("outside")
    drafts.run(lambda: (put("a", "first"), put("d/f")))

    def plant(_what: str) -> None:
        if not (drafts.top / "d").is_symlink():
            (drafts.top / "d").rename(drafts.top / "d2")
            (drafts.top / "d").symlink_to(tmp_path / "outside")

    assert str(drafts.top / "d/f") in keep(drafts.store, 1, step=plant).stays
    assert (tmp_path / "outside/f").read_text() == "outside"


def test_rights_and_devices_are_left_behind(drafts: Drafts) -> None:
    import socket

    def program() -> None:
        put("s")
        os.chmod("s", 0o6755)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket")
        put("n/s")
        os.chmod("n/s", 0o4755)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("n/socket")

    drafts.run(program)
    keep(drafts.store, 1)
    assert [stat.S_IMODE((drafts.top / name).stat().st_mode) for name in ("s", "n/s")] == [0o755, 0o755]
    assert not (drafts.top / "socket").exists()
    assert os.listdir(drafts.top / "n") == ["s"]
    for place, _folders, names in os.walk(drafts.top):
        assert not any(os.listxattr(os.path.join(place, name)) for name in names if name != "socket")


def test_no_program_deletes_by_the_device_that_says_so_in_a_layer(drafts: Drafts) -> None:
    def program() -> None:
        for name in ("w", "d/w"):
            with suppress(OSError):
                os.mknod(name, stat.S_IFCHR | 0o600, 0)
        with suppress(OSError):
            os.rename("w", "b")
        ctypes.CDLL(None).renameat2(-100, b"a", -100, b"z", ctypes.c_uint(4))  # and leave such a device behind
        put("n")

    drafts.run(program)
    keep(drafts.store, 1, rest=True)
    assert sorted(drafts.tree()) == ["a", "b", "d", "d/f", "n"]


def test_what_is_said_of_a_file_besides_is_kept_and_undone(drafts: Drafts) -> None:
    os.setxattr(drafts.top / "b", "user.was", b"x")
    drafts.run(lambda: (os.setxattr("a", "user.mine", b"x"), os.removexattr("b", "user.was"), os.utime("d/f")))
    assert [node.path for node in drafted(drafts.store, 1).all()] == [str(drafts.top / name) for name in "ab"]
    keep(drafts.store, 1)
    assert [os.listxattr(drafts.top / name) for name in "ab"] == [["user.mine"], []]
    undo(drafts.store, 1)
    assert [os.listxattr(drafts.top / name) for name in "ab"] == [[], ["user.was"]]


def test_a_name_that_policy_protects_is_not_kept_and_the_rest_of_its_new_folder_is(drafts: Drafts) -> None:
    drafts.run(lambda: (put("n/.vscode/x"), put("n/y"), put("a")))
    protected = str(drafts.top / "n/.vscode")
    kept = keep(drafts.store, 1, lambda path: "protected" if f"{path}/".startswith(f"{protected}/") else "")
    assert set(kept.stays.values()) == {"protected"}
    assert os.listdir(drafts.top / "n") == ["y"]
    assert undo(drafts.store, 1).stays == {}
    assert not (drafts.top / "n").exists()


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (lambda git: (git / "HEAD").write_text("ref: refs/heads/other\n"), COMMITTED),
        (lambda git: (git / "refs/heads/main").write_text("1" * 40), SINCE),
        (lambda git: (git / "index.lock").write_text(""), LOCKED),
    ],
)
def test_a_repository_is_one(drafts: Drafts, other: Callable[[Path], object], why: str) -> None:
    git = drafts.top / ".git"
    (git / "refs/heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs/heads/main").write_text("0" * 40)
    drafts.run(lambda: (put(".git/objects/1"), put(".git/refs/heads/main", "2" * 40), put("a")))
    other(git)
    assert why in drafted(drafts.store, 1).conflicts.values()
    stays = keep(drafts.store, 1, rest=True).stays
    assert {os.path.basename(path) for path in stays} == {"objects", "1", "main"}
    assert not (git / "objects").exists()
    assert (drafts.top / "a").read_text() == "new"


def test_a_part_of_a_repository_is_none_of_it(drafts: Drafts) -> None:
    (drafts.top / ".git").mkdir()
    (drafts.top / ".git/HEAD").write_text("x")
    drafts.run(lambda: (put(".git/a"), put(".git/b"), put("a")))
    kept = keep(drafts.store, 1, only=[str(drafts.top / ".git/a"), str(drafts.top / "a")])
    assert list(kept.stays) == [str(drafts.top / ".git/a")]
    assert os.listdir(drafts.top / ".git") == ["HEAD"]


def test_nothing_that_says_what_it_said_is_a_change(drafts: Drafts) -> None:
    def program() -> None:
        put("a", "a")
        os.chmod("b", stat.S_IMODE(os.stat("b").st_mode))
        with open("d/f", "r+b"):
            pass
        os.mkdir("gone")
        os.rmdir("gone")
        put("gone")
        os.unlink("gone")

    drafts.run(program)
    assert drafted(drafts.store, 1).is_empty


def test_what_runs_later_and_what_can_be_started_comes_first(drafts: Drafts) -> None:
    drafts.run(lambda: (put("z"), put("Makefile"), os.unlink("b"), put("run"), os.chmod("run", 0o755)))
    found = draft_listed(drafted(drafts.store, 1), texts=True)
    assert [(change.path, change.what) for change in found.changes] == [
        ("Makefile", "new"), ("run", "new"), ("b", "deleted"), ("z", "new"),
    ]  # fmt: skip


def test_what_is_kept_or_discarded_is_decided_once(drafts: Drafts) -> None:
    drafts.run(lambda: put("a"))
    with pytest.raises(StoreError, match="draft"):
        undo(drafts.store, 1)
    keep(drafts.store, 1)
    for again in (keep, discard):
        with pytest.raises(StoreError, match="no draft"):
            again(drafts.store, 1)


def test_two_drafts_of_one_project_do_not_lose_each_others_changes(drafts: Drafts) -> None:
    drafts.run(lambda: put("a", "first"))
    drafts.run(lambda: put("a", "second"))
    keep(drafts.store, 1)
    with pytest.raises(StoreError, match="nothing is kept"):
        keep(drafts.store, 2)
    assert (drafts.top / "a").read_text() == "first"


def test_what_the_kernel_and_the_call_have_closed_is_removed_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "draft/0/work/work/deep").mkdir(parents=True)
    (tmp_path / "draft/.1").mkdir()
    (tmp_path / "draft/0/upper").mkdir()
    (tmp_path / "draft/0/upper/f").write_text("")
    for closed in ("draft/0/work/work/deep", "draft/0/work/work", "draft/0/upper", "draft"):
        (tmp_path / closed).chmod(0)
    assert in_child(lambda: (give_up_rights(), remove_all(str(tmp_path / "draft")))) == 0
    assert not (tmp_path / "draft").exists()
