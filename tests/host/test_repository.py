"""What git would find: real repositories, work trees and bare folders."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gateway.host.frozen import FrozenHost
from gateway.host.machine import Machine
from gateway.host.repository import git_fact, nests, work_tree
from gateway.model.context import Context
from gateway.model.facts import GitFact, PathFact


@pytest.fixture
def root(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path)) / "project"
    (real / "src").mkdir(parents=True)
    return real


def context(root: Path) -> Context:
    return Context(str(root), str(root), "/home/nobody", (str(root),))


def git(folder: Path, *args: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *args], cwd=folder, check=True, capture_output=True
    )


def test_the_projects_own_repository_is_known_with_branch_and_remotes(root: Path) -> None:
    git(root, "init", "-b", "trunk")
    git(root, "remote", "add", "origin", "https://example.com/x.git")
    assert git_fact(f"{root}/src", Machine(), context(root)) == GitFact(
        str(root), True, "trunk", (("origin", "https://example.com/x.git"),)
    )


def test_a_nested_repository_is_not_the_projects_own(root: Path) -> None:
    git(root, "init", "-b", "trunk")
    nested = root / "vendor"
    nested.mkdir()
    git(nested, "init", "-b", "other")
    assert git_fact(str(nested), Machine(), context(root)) == GitFact(str(nested), False, "other")


def test_a_folder_that_looks_like_a_bare_repository_is_not_the_projects_own(root: Path) -> None:
    git(root, "init", "-b", "trunk")
    bare = root / "bare"
    bare.mkdir()
    git(bare, "init", "--bare")
    assert git_fact(str(bare), Machine(), context(root)) == GitFact("", False, "")


@pytest.mark.parametrize(
    ("names", "bare"),
    [("HEAD", False), ("HEAD objects", False), ("HEAD refs", False), ("objects refs commondir", False),
     ("HEAD objects refs", True), ("HEAD commondir", True)],
)  # fmt: skip
def test_a_search_for_the_work_tree_ends_where_a_folder_looks_bare(names: str, bare: bool) -> None:
    files = [".git/HEAD", *(f"sub/{name}" for name in names.split())]
    host = FrozenHost({"home": "/home/dev", "root": "/p", "files": files})
    assert work_tree("/p/sub", host) == ("" if bare else "/p")


def test_a_worktree_of_the_project_reads_the_shared_configuration(root: Path, tmp_path: Path) -> None:
    git(root, "init", "-b", "trunk")
    git(root, "remote", "add", "origin", "git@example.com:x.git")
    git(root, "commit", "--allow-empty", "-m", "x")
    tree = Path(os.path.realpath(tmp_path)) / "tree"
    git(root, "worktree", "add", "-b", "side", str(tree))
    fact = git_fact(str(tree), Machine(), Context(str(tree), str(tree), "/home/nobody", (str(tree),)))
    assert fact == GitFact(str(tree), True, "side", (("origin", "git@example.com:x.git"),))


def test_another_work_tree_of_the_projects_repository_is_its_own_if_both_say_so(root: Path, tmp_path: Path) -> None:
    git(root, "init", "-b", "trunk")
    git(root, "commit", "--allow-empty", "-m", "x")
    top = Path(os.path.realpath(tmp_path))
    git(root, "worktree", "add", "-b", "side", str(top / "tree"))
    assert git_fact(str(top / "tree"), Machine(), context(root)) == GitFact(str(top / "tree"), True, "side")
    (top / "forged").mkdir()
    (top / "forged/.git").write_text((top / "tree/.git").read_text())
    assert git_fact(str(top / "forged"), Machine(), context(root)).own is False


def test_the_repositorys_own_settings_choose_the_remote_and_what_is_pushed(root: Path) -> None:
    git(root, "init", "-b", "trunk")
    git(root, "remote", "add", "fork", "git@example.com:me/x.git")
    git(root, "config", "remote.pushDefault", "fork")
    git(root, "config", "push.default", "upstream")
    assert git_fact(str(root), Machine(), context(root)) == GitFact(
        str(root), True, "trunk", (("fork", "git@example.com:me/x.git"),), "settings", ("", "fork")
    )


def test_of_settings_that_git_would_not_read_nothing_is_known(root: Path) -> None:
    git(root, "init", "-b", "trunk")
    with (root / ".git" / "config").open("a") as config:
        config.write('[remote "origin"]\nurl = x:y\n[open\n')
    assert git_fact(str(root), Machine(), context(root)) == GitFact(
        str(root), False, "trunk", (), "settings", why=".git/config is not understood as git's settings"
    )


def linked(root: Path, settings: str, where: str = "") -> None:
    """The project keeps another repository in `sub`, whose folder lies in `emb`, or where it is said."""
    git(root, "init", "-b", "trunk")
    git(root, "commit", "--allow-empty", "-m", "x")
    (root / "sub").mkdir()
    git(root / "sub", "init", "-b", "trunk")
    git(root / "sub", "commit", "--allow-empty", "-m", "y")
    git(root, "add", "sub")
    folder = root / (where or "emb")
    folder.parent.mkdir(parents=True, exist_ok=True)
    (root / "sub" / ".git").rename(folder)
    (root / "sub" / ".git").write_text(f"gitdir: ../{where or 'emb'}\n")
    with (folder / "config").open("a") as file:
        file.write(settings)


RUNS = "[core]\n\tfsmonitor = touch ran; false\n"


@pytest.mark.parametrize(
    ("settings", "where", "own"),
    [
        pytest.param(RUNS, "", False, id="settings-that-run-something"),
        pytest.param("", "", True, id="settings-that-run-nothing"),
        pytest.param("[include]\n\tpath = /x\n", "", False, id="settings-that-lie-elsewhere"),
        pytest.param('[remote "origin"]\n\turl = x\n', "", True, id="a-remote"),
        pytest.param(RUNS, ".git/modules/sub", False, id="a-submodule-whose-settings-run-something"),
        pytest.param("", ".git/modules/sub", True, id="a-submodule"),
    ],
)
def test_a_repository_is_trusted_with_those_it_keeps_inside(root: Path, settings: str, where: str, own: bool) -> None:
    linked(root, settings, where)
    assert git_fact(str(root), Machine(), context(root)) == GitFact(str(root), own, "trunk")


def test_a_repository_is_trusted_with_those_inside_of_what_it_keeps(root: Path) -> None:
    (root / "sub").mkdir()
    linked(root / "sub", "")
    git(root, "init", "-b", "trunk")
    git(root, "add", "sub")
    assert git_fact(str(root), Machine(), context(root)).own
    with (root / "sub" / "emb" / "config").open("a") as file:
        file.write(RUNS)
    assert not git_fact(str(root), Machine(), context(root)).own


def test_git_runs_what_a_repository_inside_says_when_it_looks_for_changes(root: Path) -> None:
    linked(root, RUNS)
    git(root, "status")
    assert (root / "sub" / "ran").exists()


@pytest.mark.parametrize("name", ["commondir", "gitdir"])
def test_settings_in_a_folder_of_the_project_are_not_the_projects_own(root: Path, name: str) -> None:
    other = root / "emb"
    other.mkdir()
    git(other, "init", "--bare", "-b", "trunk")
    if name == "commondir":
        git(root, "init", "-b", "trunk")
        (root / ".git" / "commondir").write_text("../emb\n")
    else:
        (root / ".git").write_text("gitdir: emb\n")
    assert git_fact(str(root), Machine(), context(root)) == GitFact(str(root), False, "trunk")


def test_an_index_that_cannot_be_told_is_not_trusted(root: Path) -> None:
    linked(root, "")
    git(root, "update-index", "--index-version", "4")
    assert git_fact(str(root), Machine(), context(root)) == GitFact(str(root), False, "trunk")


def test_an_index_of_two_files_is_not_trusted(root: Path) -> None:
    git(root, "init", "-b", "trunk")
    (root / "a").write_text("a")
    git(root, "add", "a")
    git(root, "update-index", "--split-index")
    assert git_fact(str(root), Machine(), context(root)) == GitFact(str(root), False, "trunk")


@pytest.mark.parametrize(
    ("settings", "where", "found"),
    [
        pytest.param("[core]\n\tfsmonitor = ./x\n", "sub/deep", True, id="settings-that-run"),
        pytest.param("", "sub/deep", False, id="none-that-matter"),
        pytest.param("[core]\n\tfsmonitor = ./x\n", "", False, id="its-own-alone"),
    ],
)
def test_repositories_inside_are_found_whether_git_knows_them_or_not(
    root: Path, settings: str, where: str, found: bool
) -> None:
    git(root, "init", "-b", "trunk")
    inside = root / where
    inside.mkdir(parents=True, exist_ok=True)
    git(inside, "init", "-b", "other")
    with (inside / ".git" / "config").open("a") as file:
        file.write(settings)
    assert nests(f"{root}/src", Machine()) is found


def test_a_work_tree_of_the_same_repository_is_no_other_one(root: Path) -> None:
    git(root, "init", "-b", "trunk")
    git(root, "commit", "--allow-empty", "-m", "x")
    git(root, "worktree", "add", "other")
    with (root / ".git" / "config").open("a") as file:
        file.write("[core]\n\tfsmonitor = ./x\n")
    assert nests(str(root), Machine()) is False


def test_too_much_to_look_at_is_not_known(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.host.repository.MAX_NESTS", 2)
    git(root, "init", "-b", "trunk")
    for name in "abc":
        (root / name).touch()
    assert nests(str(root), Machine()) is None


def test_without_a_repository_nothing_is_trusted(tmp_path: Path) -> None:
    assert nests(str(tmp_path), Machine()) is True
    (tmp_path / ".git").write_text("gone\n")
    assert nests(str(tmp_path), Machine()) is True


def test_git_looks_into_what_the_same_text_made_known(root: Path) -> None:
    linked(root, RUNS)
    git(root, "rm", "-qf", "--cached", "sub")
    (root / "sub" / "ran").unlink(missing_ok=True)
    git(root, "status")
    assert not (root / "sub" / "ran").exists()
    git(root, "add", "sub")
    git(root, "status")
    assert (root / "sub" / "ran").exists()


def test_a_deep_folder_that_is_not_there_lies_in_the_repository_around_it(tmp_path: Path) -> None:
    class Counting(Machine):
        looks = 0

        def path(self, path: str) -> PathFact | None:
            Counting.looks += 1
            return super().path(path)

    root = Path(os.path.realpath(tmp_path))
    (root / ".git").mkdir()
    assert work_tree(f"{root}{'/new' * 500}", Counting()) == str(root)
    assert Counting.looks < 200
