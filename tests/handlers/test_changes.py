"""Which files changed: what the look sees, what it does not, and that it is bounded."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from gateway.handlers import changes
from gateway.handlers.changes import Changed, Watch
from gateway.model.context import Context
from gateway.model.effect import Item, Touch
from gateway.model.limits import Limits
from gateway.model.plan import FIXED, READ, WRITE, Mount, Network, SandboxPlan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in ("src/a", "src/b", ".git/index", "kept/x"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
        os.utime(root / name, (10**9, 10**9))
    return root


def watch(root: Path, *mounts: tuple[str, str], named: tuple[tuple[str, str], ...] = ()) -> Watch:
    verdict: Any = SimpleNamespace(
        analysis=SimpleNamespace(items=tuple(Item(Touch(kind, f"{root}/{name}")) for kind, name in named)),
        context=Context(str(root), str(root), "/home", workspace=(str(root),)),
    )
    made = tuple(Mount(f"{root}/{name}".rstrip("/"), access) for name, access in mounts)
    made_watch = Watch(verdict, SandboxPlan(made, (), (), str(root), (), Network(), Limits()))
    made_watch._began += 2 * changes._SLACK_NS  # what the fixture made just now counts as old
    return made_watch


def later(looking: Watch, path: Path, act: Callable[[Path], object]) -> None:
    """Does something to a file once the kernel's clock for files has moved on far enough."""
    probe = path.parent.parent / "probe"
    probe.touch()
    while probe.stat().st_ctime_ns <= looking._began + changes._SLACK_NS:
        probe.touch()
    probe.unlink()
    act(path)


@pytest.mark.parametrize(
    ("name", "act", "seen"),
    [
        ("src/a", lambda path: path.write_text("y"), ["src/a"]),
        ("src/new", lambda path: path.touch(), ["src/new"]),
        ("src/a", lambda path: path.chmod(0o600), ["src/a"]),
        ("src/a", lambda path: path.rename(path.with_name("c")), ["src/c"]),
        ("src/a", lambda path: os.utime(path, (2**33, 2**33)), ["src/a"]),
        ("src/a", lambda path: path.read_text(), []),
        ("src/a", lambda path: path.unlink(), []),
        (".git/index", lambda path: path.write_text("y"), []),
        ("kept/x", lambda path: path.write_text("y"), []),
    ],
    ids=["written", "made", "mode", "renamed", "dated ahead", "read", "deleted unseen", "version control", "fixed"],
)
def test_the_look_tells_by_the_time_that_the_kernel_keeps(
    root: Path, name: str, act: Callable[[Path], object], seen: list[str]
) -> None:
    looking = watch(root, ("", WRITE), ("kept", FIXED))
    later(looking, root / name, act)
    assert looking.changed() == Changed(tuple(f"{root}/{each}" for each in seen))


def test_only_what_the_command_could_write_is_looked_at(root: Path) -> None:
    looking = watch(root, ("", READ), ("kept", WRITE))
    later(looking, root / "src/a", lambda path: path.write_text("y"))
    assert looking.changed() == Changed(())


@pytest.mark.parametrize(
    ("kind", "name", "act", "seen"),
    [
        ("delete", "src/a", lambda path: path.unlink(), True),
        ("delete", "src/a", lambda _path: None, False),
        ("write", "src/a", lambda path: path.write_text("yy"), True),
        ("write", "src/new", lambda path: path.touch(), True),
        ("write", "src/new", lambda path: path.mkdir(), False),
    ],
    ids=["deleted", "not deleted after all", "written", "made", "a folder made"],
)
def test_what_the_call_names_is_compared(
    root: Path, kind: str, name: str, act: Callable[[Path], object], seen: bool
) -> None:
    looking = watch(root, named=((kind, name),))
    act(root / name)
    assert looking.changed() == Changed((f"{root}/{name}",) if seen else ())


def test_a_look_at_too_much_stops_and_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert watch(root, ("", WRITE)).changed().complete is True
    monkeypatch.setattr(changes, "MOST_NAMES", 1)
    assert watch(root, ("", WRITE)).changed().complete is False


def test_no_link_is_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    looking = watch(root, ("", WRITE))
    later(looking, tmp_path / "outside" / "x", lambda path: path.touch())
    assert looking.changed() == Changed(())
