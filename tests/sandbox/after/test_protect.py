"""What becomes of protected names that a call changed or made."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway.host.machine import Machine
from gateway.model.limits import Limits
from gateway.model.plan import FIXED, WRITE, Mount, Network, SandboxPlan
from gateway.model.result import Violation
from gateway.sandbox.after import originals, quarantine
from gateway.sandbox.after.protect import Protected
from gateway.sandbox.base import Names, SandboxError
from gateway.sandbox.birth_time import born_ns
from gateway.sandbox.marks import COMPARED, git_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65534
GIT, AGENT = "protected-repository-files", "protected-agent-files"


def classify(path: str) -> str:
    if path.endswith(("/.git/hooks", "/.git/config", "/config.worktree")) or "/.git/hooks/" in path:
        return GIT
    if "/.git/modules/" in path and (path.endswith(("/config", "/hooks")) or "/hooks/" in path):
        return GIT
    return AGENT if path.endswith("/.mcp.json") or "/.claude/" in path else ""


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def away(tmp_path: Path) -> Path:
    return tmp_path / "state" / "quarantine"


def look(folder: str, _bounded: bool) -> Names:
    """What an index of the folder would tell."""
    found: dict[str, str] = {}
    closed = []
    pending = [folder]
    while pending:
        here = pending.pop()
        try:
            entries = Machine().entries(here)
        except PermissionError:
            closed.append(here)
            continue
        found |= {f"{here}/{name}": rule for name, _kind in entries if (rule := classify(f"{here}/{name}"))}
        found |= {
            mark.path: mark.fixed
            for mark in git_marks(here, dict(entries), classify, Machine())
            if mark.kind != COMPARED
        }
        pending += [f"{here}/{name}" for name, kind in entries if kind == "dir"]
    return Names(found, tuple(closed))


class Guarded:
    """A guard that has looked before the call."""

    def __init__(self, guard: Protected) -> None:
        self.guard = guard

    def after(self, folder: str) -> tuple[Violation, ...]:
        away = quarantine.Quarantine(folder)
        try:
            return self.guard.after(away)
        finally:
            away.close()


def guard_of(ws: Path, *fixed: Path, held: bool = True, known: tuple[str, ...] | None = None) -> Guarded:
    mounts = (Mount(str(ws), WRITE), *(Mount(str(each), FIXED, each.is_dir(), GIT) for each in fixed))
    plan = SandboxPlan(mounts, (), (), str(ws), (), Network(), Limits(), watched=(str(ws),), known=known)
    guard = Protected(plan, classify, look, held=held)
    guard.before()
    return Guarded(guard)


def kept(away: Path) -> dict[str, dict[str, object]]:
    """What the quarantine holds, by the path it came from."""
    found = {}
    for manifest in away.glob("*/manifest.json"):
        for each in json.loads(manifest.read_text())["taken"]:
            found[each["path"]] = {"at": manifest.parent / each["kept"], "rule": each["rule"]}
    return found


def repository(folder: Path, hooks: bool = True) -> None:
    git = folder / ".git"
    for name in ("objects", "refs", "hooks"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text("[core]\n\tbare = false\n")
    if hooks:
        (git / "hooks" / "pre-commit.sample").write_text("#!/bin/sh\n")


def test_a_call_that_does_nothing_protected_leaves_no_trace(ws: Path, away: Path) -> None:
    guard = guard_of(ws)
    (ws / "new.txt").write_text("x")
    assert guard.after(str(away)) == ()
    assert not away.exists()


def test_a_new_protected_name_is_moved_and_reported(ws: Path, away: Path) -> None:
    guard = guard_of(ws)
    (ws / "a").mkdir()
    (ws / "a" / ".mcp.json").write_text("evil")
    (violation,) = guard.after(str(away))
    path = str(ws / "a" / ".mcp.json")
    where = kept(away)[path]["at"]
    assert violation == Violation(
        "protected", path, AGENT, "sweep", f"it was moved to {where}; ask the person to make this change"
    )
    assert isinstance(where, Path)
    assert where.read_text() == "evil"
    assert not os.path.lexists(path)
    assert (away.stat().st_mode & 0o777, where.parent.stat().st_mode & 0o777) == (0o700, 0o700)


def test_a_new_name_that_is_a_link_is_moved_as_a_link(ws: Path, away: Path, tmp_path: Path) -> None:
    guard = guard_of(ws)
    (tmp_path / "target").write_text("stays")
    (ws / ".mcp.json").symlink_to(tmp_path / "target")
    assert len(guard.after(str(away))) == 1
    assert not os.path.lexists(ws / ".mcp.json")
    assert (tmp_path / "target").read_text() == "stays"


def test_a_new_folder_is_moved_with_all_that_is_in_it(ws: Path, away: Path) -> None:
    repository(ws)
    shutil.rmtree(ws / ".git" / "hooks")
    guard = guard_of(ws)
    (ws / ".git" / "hooks").mkdir()
    (ws / ".git" / "hooks" / "pre-push").write_text("evil")
    (violation,) = guard.after(str(away))
    assert violation.target == str(ws / ".git" / "hooks")
    assert not (ws / ".git" / "hooks").exists()


def test_a_name_that_is_no_text_is_taken_too(ws: Path, away: Path) -> None:
    guard = guard_of(ws)
    folder = os.path.join(os.fsencode(ws), b"\xff")
    os.mkdir(folder)
    Path(os.fsdecode(folder), ".mcp.json").write_text("evil")
    (violation,) = guard.after(str(away))
    assert violation.target == os.fsdecode(folder) + "/.mcp.json"
    assert not os.path.lexists(violation.target)


def test_a_hook_in_an_old_repository_goes(ws: Path, away: Path) -> None:
    repository(ws / "nested")
    guard = guard_of(ws)
    (ws / "nested" / ".git" / "hooks" / "pre-commit").write_text("evil")
    (violation,) = guard.after(str(away))
    assert violation.target == str(ws / "nested" / ".git" / "hooks" / "pre-commit")
    assert sorted(os.listdir(ws / "nested" / ".git" / "hooks")) == ["pre-commit.sample"]


def test_an_old_repository_cannot_be_sent_to_another_configuration(ws: Path, away: Path) -> None:
    repository(ws)
    guard = guard_of(ws)
    (ws / ".git" / "commondir").write_text("../evil\n")
    (violation,) = guard.after(str(away))
    assert violation.target == str(ws / ".git" / "commondir")
    assert not (ws / ".git" / "commondir").exists()


def test_a_new_repository_stays_but_for_active_hooks(ws: Path, away: Path) -> None:
    guard = guard_of(ws)
    repository(ws / "clone")
    hook = ws / "clone" / ".git" / "hooks" / "post-checkout"
    hook.write_text("evil")
    hook.chmod(0o755)
    (ws / "clone" / ".git" / "hooks" / "README").write_text("harmless")
    (violation,) = guard.after(str(away))
    assert violation.target == str(hook)
    assert sorted(os.listdir(ws / "clone" / ".git" / "hooks")) == ["README", "pre-commit.sample"]
    assert (ws / "clone" / ".git" / "config").read_text() == "[core]\n\tbare = false\n"


def test_a_hooks_folder_of_a_new_repository_that_is_a_link_goes(ws: Path, away: Path) -> None:
    guard = guard_of(ws)
    repository(ws / "clone")
    shutil.rmtree(ws / "clone" / ".git" / "hooks")
    (ws / "evil").mkdir()
    (ws / "clone" / ".git" / "hooks").symlink_to(ws / "evil")
    (violation,) = guard.after(str(away))
    assert violation.target == str(ws / "clone" / ".git" / "hooks")
    assert not os.path.lexists(ws / "clone" / ".git" / "hooks")


def test_a_new_repositorys_configuration_keeps_what_is_harmless(ws: Path, away: Path) -> None:
    guard = guard_of(ws)
    repository(ws / "clone")
    config = ws / "clone" / ".git" / "config"
    config.write_text('[core]\n\tbare = false\n\tfsmonitor = ./evil\n[alias]\n\tst = "!evil"\n')
    (violation,) = guard.after(str(away))
    assert config.read_text() == '[core]\n\tbare = "false"\n'
    assert violation.hint.startswith("alias.st, core.fsmonitor was taken out of it, since git runs or obeys that; ")
    where = kept(away)[str(config)]["at"]
    assert isinstance(where, Path)
    assert "fsmonitor" in where.read_text()


def test_a_configuration_that_nobody_understands_goes(ws: Path, away: Path) -> None:
    guard = guard_of(ws)
    repository(ws / "clone")
    config = ws / "clone" / ".git" / "config"
    config.write_text("[core\nfsmonitor = evil")
    (violation,) = guard.after(str(away))
    assert (violation.target, config.exists()) == (str(config), False)


def test_the_work_tree_of_a_new_repository_stays(ws: Path, away: Path) -> None:
    guard = guard_of(ws)
    (ws / "clone").mkdir()
    if not born_ns(str(ws / "clone")):
        pytest.skip("this file system does not tell when a file came to be")
    repository(ws / "clone")
    (ws / "clone" / ".mcp.json").write_text("theirs")
    assert guard.after(str(away)) == ()
    assert (ws / "clone" / ".mcp.json").exists()


def test_an_old_folder_does_not_become_new_by_a_repository_in_it(ws: Path, away: Path) -> None:
    (ws / "old").mkdir()
    os.utime(ws / "old")
    guard = guard_of(ws)
    guard.guard.began += 10**10  # the folder is older than the call
    repository(ws / "old")
    (ws / "old" / ".mcp.json").write_text("evil")
    assert [each.target for each in guard.after(str(away))] == [str(ws / "old" / ".mcp.json")]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_real_clone_works_on(ws: Path, away: Path, tmp_path: Path) -> None:
    def git(*words: str, cwd: Path) -> bytes:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
        return subprocess.run(["git", *identity, *words], cwd=cwd, capture_output=True, check=True).stdout

    source = tmp_path / "source"
    source.mkdir()
    git("init", cwd=source)
    git("commit", "--allow-empty", "-m", "x", cwd=source)
    guard = guard_of(ws)
    git("clone", str(source), "copy", cwd=ws)
    git("init", "fresh", cwd=ws)
    assert guard.after(str(away)) == ()
    assert git("log", "--format=%s", cwd=ws / "copy") == b"x\n"
    assert git("remote", "get-url", "origin", cwd=ws / "copy").decode().strip() == str(source)


# --- where the folder of the quarantine does not do ------------------------------------------------------------------


def test_what_lies_on_another_file_system_is_copied(ws: Path, away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = guard_of(ws)
    repository(ws)
    shutil.rmtree(ws / ".git" / "objects")
    (ws / ".claude" / "sub").mkdir(parents=True)
    (ws / ".claude" / "sub" / "x").write_text("evil")
    real = os.rename

    def rename(source, target, **where):
        if "dst_dir_fd" not in where:
            raise OSError(errno.EXDEV, "on another file system")
        return real(source, target, **where)

    monkeypatch.setattr(quarantine.os, "rename", rename)
    targets = [each.target for each in guard.after(str(away))]
    assert str(ws / ".claude" / "sub") in targets
    assert not (ws / ".claude" / "sub").exists()
    where = kept(away)[str(ws / ".claude" / "sub")]["at"]
    assert isinstance(where, Path)
    assert (where / "x").read_text() == "evil"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES], ids=["full", "read-only", "closed"])
def test_without_a_quarantine_folder_it_loses_its_name(
    ws: Path, away: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    guard = guard_of(ws)
    (ws / ".mcp.json").write_text("evil")

    def refuse(*_args: object, **_named: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(quarantine.os, "makedirs", refuse)
    (violation,) = guard.after(str(away))
    assert not (ws / ".mcp.json").exists()
    (left,) = os.listdir(ws)
    assert left.startswith(".mcp.json.quarantined-")
    assert f"was renamed to {left}, since the quarantine folder could not take it" in violation.hint


def test_where_even_that_fails_it_loses_its_permissions(ws: Path, away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = guard_of(ws)
    (ws / ".mcp.json").write_text("evil")

    def refuse(*_args: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(quarantine.os, "makedirs", refuse)
    monkeypatch.setattr(quarantine.os, "rename", refuse)
    (violation,) = guard.after(str(away))
    assert (ws / ".mcp.json").stat().st_mode & 0o777 == 0
    assert "it lost all its permissions" in violation.hint


# --- names that were there, without mounts ---------------------------------------------------------------------------


def changed(ws: Path, how: str) -> None:
    git = ws / ".git"
    if how == "overwritten":
        (git / "config").write_text("[core]\n\tfsmonitor = evil\n")
    elif how == "appended-and-times-set-back":
        before = (git / "config").stat()
        (git / "config").write_text("[core]\n\tbare = xxxxx\n")
        os.utime(git / "config", ns=(before.st_atime_ns, before.st_mtime_ns))
    elif how == "removed":
        (git / "config").unlink()
    elif how == "replaced-by-a-link":
        (git / "config").unlink()
        (ws / "evil").write_text("[core]\n\tfsmonitor = evil\n")
        (git / "config").symlink_to(ws / "evil")
    elif how == "replaced-by-a-folder":
        (git / "config").unlink()
        (git / "config").mkdir()
    elif how == "replaced-by-a-pipe":
        (git / "config").unlink()
        os.mkfifo(git / "config")
    elif how == "made-executable":
        (git / "config").chmod(0o755)
    elif how == "changed-by-a-hard-link":
        os.link(git / "config", ws / "other")
        (ws / "other").write_text("evil")
    elif how == "parent-renamed":
        git.rename(ws / "moved")
    elif how == "parent-replaced-by-a-link":
        git.rename(ws / "moved")
        git.symlink_to(ws / "moved")
    elif how == "folder-emptied":
        shutil.rmtree(git / "hooks")
    elif how == "folder-opened":
        (git / "hooks").chmod(0o777)
    elif how == "hook-added":
        (git / "hooks" / "pre-commit").write_text("evil")
    elif how == "folder-replaced-by-a-link":
        shutil.rmtree(git / "hooks")
        (ws / "evil-hooks").mkdir()
        (git / "hooks").symlink_to(ws / "evil-hooks")
    elif how == "hook-changed":
        (git / "hooks" / "pre-push").write_text("evil")


WAYS = (
    "overwritten", "appended-and-times-set-back", "removed", "replaced-by-a-link", "replaced-by-a-folder",
    "replaced-by-a-pipe", "made-executable", "changed-by-a-hard-link", "parent-renamed", "parent-replaced-by-a-link",
    "folder-emptied", "folder-opened", "hook-added", "folder-replaced-by-a-link", "hook-changed",
)  # fmt: skip


def picture(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Names, modes and contents below a folder."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        found[str(path.relative_to(folder))] = (mode, path.read_bytes() if path.is_file() else b"")
    return found


@pytest.mark.parametrize("way", WAYS)
def test_what_was_protected_is_put_back(ws: Path, away: Path, way: str) -> None:
    repository(ws)
    hook = ws / ".git" / "hooks" / "pre-push"
    hook.write_text("#!/bin/sh\necho mine\n")
    hook.chmod(0o755)
    before = (
        picture(ws / ".git" / "hooks"),
        (ws / ".git" / "config").read_bytes(),
        (ws / ".git" / "config").stat().st_mode,
    )
    guard = guard_of(ws, ws / ".git" / "hooks", ws / ".git" / "config", held=False)
    changed(ws, way)
    assert (
        way == "folder-opened"
        or (picture(ws / ".git" / "hooks") if (ws / ".git").exists() else {}, _bytes(ws / ".git" / "config"))
        != before[:2]
        or (ws / ".git").is_symlink()
        or way == "made-executable"
    )
    violations = guard.after(str(away))
    assert violations
    assert all(each.kind == "protected" and each.rule == GIT for each in violations)
    assert not (ws / ".git").is_symlink()
    assert not (ws / ".git" / "hooks").is_symlink()
    after = (
        picture(ws / ".git" / "hooks"),
        (ws / ".git" / "config").read_bytes(),
        (ws / ".git" / "config").stat().st_mode,
    )
    assert after == before
    guard = guard_of(ws, ws / ".git" / "hooks", ws / ".git" / "config", held=False)
    assert guard.after(str(away)) == ()


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


@pytest.mark.parametrize("held", [True, False], ids=["with-mounts", "without"])
@pytest.mark.parametrize("how", ["removed", "pointed-elsewhere", "replaced-by-a-file"])
def test_a_protected_link_is_put_back(ws: Path, away: Path, how: str, held: bool) -> None:
    link = ws / ".mcp.json"
    link.symlink_to("shared/mcp.json")
    guard = guard_of(ws, held=held)
    link.unlink()
    if how == "pointed-elsewhere":
        link.symlink_to("evil.json")
    elif how == "replaced-by-a-file":
        link.write_text("evil")
    assert [each.target for each in guard.after(str(away))] == [str(link)]
    assert os.readlink(link) == "shared/mcp.json"


@pytest.mark.parametrize("kind", ["file", "link"])
@pytest.mark.parametrize("planned", [True, False], ids=["known when it was planned", "come since"])
def test_a_name_that_has_come_since_a_call_was_planned_was_not_there_before_it(
    ws: Path, away: Path, kind: str, *, planned: bool
) -> None:
    """Another call of its session may have put it there, and taken it away again: no mount holds it."""
    path = ws / ".mcp.json"
    path.write_text("x") if kind == "file" else path.symlink_to("x")
    guard = guard_of(ws, known=(str(path),) if planned else ())
    path.unlink()
    path.write_text("evil") if kind == "file" else path.symlink_to("evil")
    told = [each.target for each in guard.after(str(away))]
    assert (told, os.path.lexists(path)) == (([], True) if planned and kind == "file" else ([str(path)], planned))


@pytest.mark.parametrize("held", [True, False], ids=["with-mounts", "without"])
@pytest.mark.parametrize("first", ["earlier", "later"])
def test_what_one_call_made_of_a_link_is_not_put_back_by_another_that_began_meanwhile(
    ws: Path, away: Path, first: str, *, held: bool
) -> None:
    link = ws / ".mcp.json"
    link.symlink_to("mine")
    one = guard_of(ws, held=held)
    link.unlink()
    link.symlink_to("evil")
    other = guard_of(ws, held=held)
    for each in (one, other) if first == "earlier" else (other, one):
        each.after(str(away))
    assert os.readlink(link) == "mine"
    third = guard_of(ws, held=held)
    link.unlink()
    link.symlink_to("evil")
    assert [each.target for each in third.after(str(away))] == [str(link)]
    assert os.readlink(link) == "mine"


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_the_other_call_changed_once_more_is_what_the_first_put_back(ws: Path, away: Path, kind: str) -> None:
    path = ws / ".mcp.json"

    def make(what: str) -> None:
        path.unlink(missing_ok=True)
        path.write_text(what) if kind == "file" else path.symlink_to(what)

    make("mine")
    one = guard_of(ws, held=False)
    make("evil")
    other = guard_of(ws, held=False)
    one.after(str(away))
    make("worse")
    other.after(str(away))
    assert (path.read_text() if kind == "file" else os.readlink(path)) == "mine"


def test_what_a_call_made_of_a_protected_file_is_kept(ws: Path, away: Path) -> None:
    repository(ws)
    guard = guard_of(ws, ws / ".git" / "config", held=False)
    (ws / ".git" / "config").write_text("new")
    guard.after(str(away))
    where = kept(away)[str(ws / ".git" / "config")]["at"]
    assert isinstance(where, Path)
    assert where.read_text() == "new"


@pytest.mark.parametrize("how", ["written", "written with its times put back", "added to a folder", "in a folder"])
def test_what_mounts_hold_is_compared_all_the_same(ws: Path, away: Path, how: str) -> None:
    config, hooks = ws / ".git" / "config", ws / ".git" / "hooks"
    hooks.mkdir(parents=True)
    config.write_text("[core]\n")
    (hooks / "x.sample").write_text("a")
    guard = guard_of(ws, config, hooks)
    before = config.stat()
    if how.startswith("written"):
        config.write_bytes(config.read_bytes()[:-1] + b"#")
    if how.endswith("put back"):
        os.utime(config, ns=(before.st_atime_ns, before.st_mtime_ns))
    if how.endswith("folder"):
        (hooks / ("y.sample" if how.startswith("added") else "x.sample")).write_text("b")
    told = guard.after(str(away))
    held = [each.target for each in told if "its content was changed while the call ran" in each.hint]
    assert held == [str(hooks if how.endswith("folder") else config)]


def test_unchanged_names_are_left_alone(ws: Path, away: Path) -> None:
    repository(ws)
    guard = guard_of(ws, ws / ".git" / "hooks", held=False)
    inode = (ws / ".git" / "config").stat().st_ino
    assert guard.after(str(away)) == ()
    assert (ws / ".git" / "config").stat().st_ino == inode


def test_a_full_disk_is_reported_and_the_change_is_out_of_the_way(
    ws: Path, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(ws)
    guard = guard_of(ws, ws / ".git" / "config", held=False)
    (ws / ".git" / "config").write_text("evil")
    real = os.open

    def open_(path, flags, *rest, **named):
        if flags & os.O_CREAT and str(path).startswith(".gateway-"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, flags, *rest, **named)

    monkeypatch.setattr(originals.os, "open", open_)
    (violation,) = guard.after(str(away))
    assert violation.hint.startswith("it could not be put back (No space left on device): look at it")
    assert not (ws / ".git" / "config").exists()


def test_more_than_can_be_remembered_lets_nothing_run(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(ws)
    monkeypatch.setattr(originals, "MOST_BYTES", 10)
    with pytest.raises(SandboxError, match=r"more is protected than can be verified|too large"):
        guard_of(ws, ws / ".git" / "config", held=False)


def test_a_link_planted_on_the_way_does_not_steer_the_quarantine(ws: Path, away: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / ".mcp.json").write_text("theirs")
    (ws / "sub").symlink_to(tmp_path / "outside")
    told = quarantine.Quarantine(str(away)).take(str(ws / "sub" / ".mcp.json"), AGENT)
    assert told.startswith("could not be taken away")
    assert (tmp_path / "outside" / ".mcp.json").read_text() == "theirs"


@pytest.fixture
def ordinary() -> Iterator[tuple[Path, Path]]:
    """The workspace and quarantine of somebody whom modes bind."""
    top = Path(tempfile.mkdtemp(prefix="gateway-test-"))
    if os.geteuid() == 0:
        os.chown(top, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        (top / "ws").mkdir()
        yield top / "ws", top / "state" / "quarantine"
    finally:
        os.seteuid(os.getuid())
        subprocess.run(["chmod", "-R", "u+rwx", str(top)], check=True)
        shutil.rmtree(top)


CLOSED: dict[str, tuple[tuple[str, int], ...]] = {
    "left open": (),
    "closed altogether": (("a", 0),),
    "without the right to list it": (("a", 0o111),),
    "without the right to go through it": (("a", 0o444),),
    "without the right to change it": (("a", 0o555),),
    "in a closed folder": (("a/b", 0), ("a", 0)),
    "with closed folders all the way": (("a/b/.claude", 0), ("a/b", 0), ("a", 0), (".", 0)),
    "itself not to be changed": (("a/b/.claude", 0o555), ("a/b", 0o555)),
    "in a workspace that is closed": ((".", 0),),
}


@pytest.mark.parametrize("held", [True, False], ids=["held", "verified"])
@pytest.mark.parametrize("closed", CLOSED.values(), ids=CLOSED)
def test_a_new_protected_name_is_found_in_a_folder_that_was(
    ordinary: tuple[Path, Path], closed: tuple[tuple[str, int], ...], held: bool
) -> None:
    ws, away = ordinary
    guard = guard_of(ws, held=held)
    hook = ws / "a" / "b" / ".claude" / "settings.json"
    hook.parent.mkdir(parents=True)
    hook.write_text("evil")
    for folder, mode in closed:
        (ws / folder).chmod(mode)
    (violation,) = guard.after(str(away))
    where = kept(away)[str(hook)]["at"]
    assert isinstance(where, Path)
    assert where.read_text() == "evil"
    assert violation.hint == f"it was moved to {where}; ask the person to make this change"
    for folder, mode in reversed(closed):  # what a call makes of its own folders stays
        assert stat.S_IMODE((ws / folder).stat().st_mode) == mode
        (ws / folder).chmod(0o700)
    assert not os.path.lexists(hook)


def test_a_folder_that_was_closed_before_is_left_alone(ordinary: tuple[Path, Path]) -> None:
    ws, away = ordinary
    (ws / "a" / ".claude").mkdir(parents=True)
    (ws / "a" / ".claude" / "settings.json").write_text("mine")
    (ws / "a").chmod(0)
    guard = guard_of(ws)
    assert guard.after(str(away)) == ()
    assert stat.S_IMODE((ws / "a").stat().st_mode) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes folders that belong to somebody else")
def test_a_folder_that_somebody_else_has_closed_is_reported(ordinary: tuple[Path, Path]) -> None:
    ws, away = ordinary
    guard = guard_of(ws)
    os.seteuid(0)
    (ws / "a").mkdir(mode=0o700)
    os.seteuid(NOBODY)
    (violation,) = guard.after(str(away))
    assert violation.hint.startswith(f"{ws}/a cannot be read: ")
    assert "could not be taken away" in violation.hint


def test_a_protected_file_in_a_folder_that_was_closed_is_put_back(ordinary: tuple[Path, Path]) -> None:
    ws, away = ordinary
    hook = ws / "a" / ".claude" / "settings.json"
    hook.parent.mkdir(parents=True)
    hook.write_text("mine")
    guard = guard_of(ws, held=False)
    hook.write_text("evil")
    (ws / "a").chmod(0)
    (violation,) = guard.after(str(away))
    assert violation.target == str(hook)
    assert stat.S_IMODE((ws / "a").stat().st_mode) == 0
    (ws / "a").chmod(0o700)
    assert hook.read_text() == "mine"


def test_a_closed_folder_of_hooks_in_a_new_repository_is_looked_into(ordinary: tuple[Path, Path]) -> None:
    ws, away = ordinary
    guard = guard_of(ws)
    repository(ws / "new")
    (ws / "new" / ".git" / "hooks" / "pre-push").write_text("evil")
    (ws / "new" / ".git" / "hooks" / "pre-push").chmod(0o755)
    (ws / "new" / ".git" / "hooks").chmod(0)
    assert [each.target for each in guard.after(str(away))] == [str(ws / "new" / ".git" / "hooks" / "pre-push")]


def test_what_cannot_be_removed_once_it_was_copied_loses_nothing(
    ws: Path, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = guard_of(ws)
    (ws / ".git" / "hooks").mkdir(parents=True)
    (ws / ".git" / "hooks" / "pre-push").write_text("evil")
    true_rename = os.rename

    def rename(source, target, **where):  # type: ignore[no-untyped-def]
        if str(target).startswith(str(away)):
            raise OSError(errno.EXDEV, "on another file system")
        true_rename(source, target, **where)

    def rmtree(*_args: object, **_named: object) -> None:
        raise OSError(errno.EBUSY, "busy")

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(shutil, "rmtree", rmtree)
    (violation,) = guard.after(str(away))
    assert "was renamed to hooks.quarantined-" in violation.hint
    assert [each.read_text() for each in away.glob("*/*/pre-push")] == ["evil"]
