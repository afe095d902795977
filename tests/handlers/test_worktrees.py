"""A git worktree becomes the working folder, and nothing in one is thrown away. With real git, led through the whole
life of each call."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fuzzing import share

from gateway.approval.person import Asked, Reply
from gateway.model.call import RawCall

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

POLICY = {
    "settings": {"sandbox": {"weaker": ["landlock", "none"]}},
    "allow": ["Bash(git *)", "Bash(rm -rf *)", "Edit(./**)"],
    "rules": [{"id": "deletes", "allow": {"effect": "delete", "path": "./**"}}],
}


class Repository:
    def __init__(self, ground: Any) -> None:
        shutil.rmtree(ground.project / ".git")
        self.project = ground.project
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@example.com")
        (self.project / "kept").write_text("kept\n", encoding="utf-8")
        (self.project / ".gitignore").write_text("ignored*\n", encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")
        self.ground = ground
        self.says(POLICY)

    def says(self, policy: dict[str, Any]) -> None:
        self.ground.says(policy)
        self.gateway = self.ground.open()
        self.session = self.gateway.session()

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(["git", *words], cwd=cwd or self.project, capture_output=True, text=True, check=True)
        return done.stdout

    def __call__(self, tool: str, **fields: Any) -> Any:
        return self.gateway.call(RawCall(tool, fields), session=self.session)

    def enter(self, **fields: Any) -> Path:
        done = self("EnterWorktree", **fields)
        assert not done.output.is_error, done.text
        return Path(done.output.data["path"])


@pytest.fixture
def repository(ground):
    made = Repository(ground)
    yield made
    made.session.close()


def test_the_session_moves_into_a_new_worktree_and_back(repository: Repository) -> None:
    place = repository.enter(branch="fix/parser")
    assert place == repository.project / ".worktrees" / "fix+parser"
    assert repository.session.cwd == str(place)
    assert repository.git("branch", "--show-current", cwd=place) == "fix/parser\n"
    assert repository.git("status", "--porcelain") == ""  # it is no file of the project
    done = repository("ExitWorktree")
    assert (done.output.data, repository.session.cwd) == (
        {"path": str(place), "removed": False, "unsaved": []},
        str(repository.project),
    )
    assert (place / "kept").is_file()


def test_without_a_branch_it_gets_a_new_one(repository: Repository) -> None:
    place = repository.enter()
    assert repository.git("branch", "--show-current", cwd=place).startswith("agent/")


def test_a_branch_that_is_there_is_taken(repository: Repository) -> None:
    repository.git("branch", "old")
    assert repository.git("branch", "--show-current", cwd=repository.enter(branch="old")) == "old\n"


def test_a_worktree_that_is_there_is_gone_into(repository: Repository) -> None:
    place = repository.enter(branch="fix", path="wt")
    (place / "new").write_text("x", encoding="utf-8")
    repository("ExitWorktree")
    assert repository.enter(path="wt", branch="fix") == place
    assert (place / "new").is_file()


def test_every_command_of_git_is_a_call_of_its_own(repository: Repository) -> None:
    repository.enter(branch="fix", path="wt")
    decisions = [each for each in repository.ground.records() if each["kind"] == "decision"]
    commands = [each["input"]["command"] for each in decisions if each["tool"] == "Bash"]
    assert f"git worktree add -b fix {repository.project}/wt" in commands


REFUSED = {
    "a name that is none": ({"branch": "a..b"}, "`a..b` is no name for a branch"),
    "a name that looks like an option": ({"branch": "--force"}, "is no name for a branch"),
    "a place that is taken": ({"path": "kept"}, "is there already, and no worktree"),
    "a folder that is not empty": ({"path": ".git"}, "is there already, and no worktree"),
    "a branch that is in use": ({"branch": "main", "path": "wt"}, "failed"),
}


@pytest.mark.parametrize(("fields", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_said_and_changes_nothing(repository: Repository, fields: Any, why: str) -> None:
    done = repository("EnterWorktree", **fields)
    assert done.output.is_error
    assert why in done.text
    assert repository.session.cwd == str(repository.project)
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_what_policy_forbids_is_not_done(repository: Repository) -> None:
    repository.says({**POLICY, "deny": ["Bash(git worktree *)"]})
    done = repository("EnterWorktree", branch="fix")
    assert done.output.is_error
    assert "was refused" in done.text
    assert (repository.session.cwd, repository.git("branch")) == (str(repository.project), "* main\n")


def test_a_clean_worktree_is_removed_and_its_branch_stays(repository: Repository) -> None:
    place = repository.enter(branch="fix")
    (place / "kept").write_text("changed\n", encoding="utf-8")
    repository.git("commit", "-q", "-a", "-m", "second", cwd=place)
    done = repository("ExitWorktree", remove=True)
    assert not done.output.is_error, done.text
    assert (place.exists(), repository.session.cwd) == (False, str(repository.project))
    assert repository.git("show", "fix:kept") == "changed\n"


def changed(place: Path) -> str:
    (place / "kept").write_text("changed\n", encoding="utf-8")
    return "kept (changed)"


def staged(place: Path) -> str:
    (place / "kept").write_text("changed\n", encoding="utf-8")
    subprocess.run(["git", "add", "kept"], cwd=place, check=True)
    return "kept (changed)"


def new(place: Path) -> str:
    (place / "new").write_text("x", encoding="utf-8")
    return "new (new)"


def ignored(place: Path) -> str:
    (place / "ignored.txt").write_text("x", encoding="utf-8")
    return "ignored.txt (ignored)"


def unheld_commit(place: Path) -> str:
    for words in (["checkout", "-q", "--detach"], ["commit", "-q", "--allow-empty", "-m", "nowhere else"]):
        subprocess.run(["git", *words], cwd=place, check=True)
    done = subprocess.run(["git", "log", "-1", "--oneline"], cwd=place, capture_output=True, text=True, check=True)
    return f"commit {done.stdout.strip()}"


SPOILING = [changed, staged, new, ignored, unheld_commit]


@pytest.mark.parametrize("spoil", SPOILING)
def test_what_would_be_lost_stays(repository: Repository, spoil: Any) -> None:
    place = repository.enter(branch="fix")
    lost = spoil(place)
    done = repository("ExitWorktree", remove=True)
    assert done.output.is_error
    assert f"The worktree stays: it would be lost with {lost}, and nobody is there to agree." in done.text
    assert (place.exists(), repository.session.cwd) == (True, str(place))


# What is shown to the person is what the test above has found in the refusal.
@pytest.mark.parametrize("spoil", share(SPOILING, 5))
def test_what_would_be_lost_goes_when_the_person_agrees(repository: Repository, spoil: Any) -> None:
    place = repository.enter(branch="fix")
    lost = spoil(place)
    repository.session.person = Asked(lambda _asked: [Reply(("Keep it",))])
    assert "the person does not agree" in repository("ExitWorktree", remove=True).text
    assert (place.exists(), repository.session.cwd) == (True, str(place))
    shown: list[str] = []
    repository.session.person = Asked(lambda asked: (shown.append(asked[0].body), [Reply(("Remove it",))])[1])
    done = repository("ExitWorktree", remove=True)
    assert not done.output.is_error, done.text
    assert (shown, place.exists(), repository.session.cwd) == ([lost], False, str(repository.project))


def test_a_removal_that_policy_forbids_leaves_the_worktree_whole(repository: Repository) -> None:
    place = repository.enter(branch="fix")
    repository.session.rule((json.dumps({"version": 1, "deny": ["Bash(rm *)"]}),))
    assert "was refused" in repository("ExitWorktree", remove=True).text
    assert (repository.session.cwd, (place / "kept").is_file()) == (str(place), True)
    assert repository.git("status", "--porcelain", cwd=place) == ""


def test_leaving_loses_nothing(repository: Repository) -> None:
    place = repository.enter(branch="fix")
    new(place)
    done = repository("ExitWorktree")
    assert (done.output.data["unsaved"], (place / "new").is_file()) == (["new (new)"], True)


def test_who_entered_none_leaves_none(repository: Repository) -> None:
    assert "You are in no worktree" in repository("ExitWorktree").text


def test_outside_of_a_repository_there_is_no_worktree(repository: Repository) -> None:
    shutil.rmtree(repository.project / ".git")
    done = repository("EnterWorktree")
    assert done.output.is_error
    assert repository.session.cwd == str(repository.project)
