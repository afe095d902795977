"""Marks of real folders: what policy hides and protects there, told again whenever something changed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from warmed import warm

from gateway.config.layers import PolicyFile
from gateway.config.load import Options, policy_from
from gateway.config.shipped import load_tools
from gateway.core.places import Places
from gateway.host.machine import Machine
from gateway.judge.policy_tests import check_examples
from gateway.model.context import Context
from gateway.policy.path_protection import PathRules, standing
from gateway.sandbox import index
from gateway.sandbox.base import SandboxError
from gateway.sandbox.index import Listings, Mark, Tree, anchored

if TYPE_CHECKING:
    from pathlib import Path

POLICY = """\
version: 1
rules:
- id: secrets
  deny: {effect: [read, write, delete], path: ["**/.env*", "//TOP/named/**", "//TOP/ab*/x"]}
  except: [{path: "**/.env.example"}]
- {id: wiring, ask: {effect: [write, delete], path: ["**/.git/hooks", "**/*.cfg"]}}
- {id: history, deny: {effect: delete, path: ["**/.git"], path_not: ["**/.git/**"]}}
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder that changed long ago, so that a listing of it may be trusted."""
    for name in ("src/deep", ".git/hooks", "empty"):
        (tmp_path / name).mkdir(parents=True)
    for name in (".env", "src/.env.local", "src/deep/a.py", "src/.env.example", ".git/hooks/x", "setup.cfg"):
        (tmp_path / name).write_text("", encoding="utf-8")
    return tmp_path.resolve()


@pytest.fixture
def protection(top: Path, tmp_path_factory: pytest.TempPathFactory):
    nowhere = "/nonexistent/gateway"
    where = Places(nowhere, nowhere, nowhere, warm(tmp_path_factory.mktemp("compiled") / "gateway"), "/home/dev")
    text = POLICY.replace("//TOP", "/" + str(top)).encode()
    files = [PolicyFile("user", "user.yaml", text, str(top), str(top))]
    loaded = policy_from(files, Options(str(top), root=str(top)), load_tools(where), "/home/dev", verify=check_examples)
    context = Context(str(top), str(top), "/home/dev", (str(top),))
    found = PathRules(loaded.policy).in_force(context)
    assert standing(loaded.policy, f"{top}/.env", context) == ("secrets", "secrets")
    return found


class Counting(Machine):
    """Counts the folders that are listed. `age`: how long ago everything happened, in nanoseconds."""

    def __init__(self, age: int = 10**10) -> None:
        super().__init__()
        self.listed: list[str] = []
        self.age = age

    def stamp(self, path: str) -> tuple[int, int, int, int]:
        changed, moved, inode, device = super().stamp(path)
        return changed - self.age, moved - self.age, inode, device

    def entries(self, folder: str) -> list[tuple[str, str]]:
        self.listed.append(folder)
        return super().entries(folder)


def expected(top: Path) -> set[Mark]:
    return {
        Mark(f"{top}/.env", "file", "secrets", "secrets", "secrets"),
        Mark(f"{top}/src/.env.local", "file", "secrets", "secrets", "secrets"),
        Mark(f"{top}/.git", "dir", "", "", "history"),
        Mark(f"{top}/.git/hooks", "dir", "", "wiring", "wiring"),
        Mark(f"{top}/setup.cfg", "file", "", "wiring", "wiring"),
    }


def test_names_are_hidden_fixed_and_kept_wherever_they_lie(top: Path, protection) -> None:
    found = Tree(str(top), Machine(), protection).marks()
    assert (len(found), set(found)) == (5, expected(top))


def test_a_folder_that_did_not_change_is_not_listed_again(top: Path, protection) -> None:
    host = Counting()
    tree = Tree(str(top), host, protection)
    first = tree.marks()
    listed, host.listed = sorted(host.listed), []
    assert (tree.marks(), host.listed, listed) == (
        first,
        [],
        sorted(str(top / name) for name in ("", ".git", ".git/hooks", "empty", "src", "src/deep")),
    )


def test_what_changed_a_moment_ago_is_listed_again(top: Path, protection) -> None:
    host = Counting(age=0)
    tree = Tree(str(top), host, protection)
    first = tree.marks()
    host.listed = []
    assert (tree.marks(), len(host.listed)) == (first, 6)


CHANGES: dict[str, Any] = {
    "a new file": lambda top: (top / "empty/.env").write_text("", encoding="utf-8"),
    "a file that went away": lambda top: (top / ".env").unlink(),
    "a renamed file": lambda top: (top / "src/deep/a.py").rename(top / "src/deep/.env.b"),
    "a renamed folder": lambda top: (top / "src").rename(top / "other"),
    "a folder that became a link": lambda top: ((top / ".git").rename(top / "git"), (top / ".git").symlink_to("git")),
    "a new folder with a file in it": lambda top: (
        (top / "src/new/er").mkdir(parents=True),
        (top / "src/new/er/x.cfg").write_text("", encoding="utf-8"),
    ),
    "times that were put back": lambda top: (
        (top / "empty/.env").write_text("", encoding="utf-8"),
        os.utime(top / "empty", (1, 1)),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_of_names_is_seen(top: Path, protection, name: str) -> None:
    host = Counting()
    tree = Tree(str(top), host, protection)
    tree.marks()
    CHANGES[name](top)
    assert set(tree.marks()) == set(Tree(str(top), Machine(), protection).marks())


def test_a_change_within_one_step_of_the_clock_is_seen(top: Path, protection) -> None:
    """On a file system that tells times in steps, the stamp is the same before and after."""
    frozen = time.time_ns()

    class Coarse(Machine):
        def stamp(self, path: str) -> tuple[int, int, int, int]:
            _changed, _moved, inode, device = super().stamp(path)
            return frozen, frozen, inode, device

    tree = Tree(str(top), Coarse(), protection)
    tree.marks()
    (top / "empty/.env").write_text("", encoding="utf-8")
    assert Mark(f"{top}/empty/.env", "file", "secrets", "secrets", "secrets") in tree.marks()


def test_links_are_told_but_not_followed(top: Path, protection, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / ".env").write_text("", encoding="utf-8")
    (top / "link").symlink_to(outside)
    (top / "own.cfg").symlink_to(outside / "x")
    found = set(Tree(str(top), Machine(), protection).marks())
    assert found - expected(top) == {Mark(f"{top}/own.cfg", "link", "", "wiring", "wiring")}


def test_names_that_are_no_text_are_told(top: Path, protection) -> None:
    name = b".env-\xff \n"
    with open(os.fsencode(top) + b"/" + name, "wb"):
        pass
    found = {mark.path for mark in Tree(str(top), Machine(), protection).marks()}
    assert os.fsdecode(os.fsencode(top) + b"/" + name) in found


def test_a_folder_that_cannot_be_looked_into_is_closed(top: Path, protection) -> None:
    class Shut(Machine):
        def entries(self, folder: str) -> list[tuple[str, str]]:
            if folder.endswith("/src"):
                raise PermissionError(folder)
            return super().entries(folder)

    found = Tree(str(top), Shut(), protection).marks()
    assert Mark(f"{top}/src", "dir", closed=True) in found
    assert not [mark for mark in found if mark.path.startswith(f"{top}/src/")]


def test_a_folder_that_vanishes_during_the_look_is_looked_for_again(top: Path, protection) -> None:
    class Vanishing(Counting):
        def entries(self, folder: str) -> list[tuple[str, str]]:
            if folder.endswith("/empty") and (top / "empty").exists():
                (top / "empty").rmdir()
                raise FileNotFoundError(folder)
            return super().entries(folder)

    assert set(Tree(str(top), Vanishing(), protection).marks()) == expected(top)


def test_what_never_stands_still_is_refused(top: Path, protection) -> None:
    class Restless(Machine):
        def entries(self, folder: str) -> list[tuple[str, str]]:
            if folder.endswith("/empty"):
                raise FileNotFoundError(folder)
            return super().entries(folder)

    with pytest.raises(SandboxError, match="changes faster"):
        Tree(str(top), Restless(), protection).marks()


@pytest.mark.parametrize(
    ("bound", "what"), [("MAX_FOLDERS", "folders"), ("MAX_NAMES", "names"), ("MAX_MARKS", "protects")]
)
def test_a_bound_is_a_refusal(top: Path, protection, monkeypatch: pytest.MonkeyPatch, bound: str, what: str) -> None:
    tree = Tree(str(top), Machine(), protection)
    assert tree.marks()
    monkeypatch.setattr(index, bound, 3)
    with pytest.raises(SandboxError, match=what):
        Tree(str(top), Machine(), protection).marks()


def test_outside_of_searched_trees_rules_are_found_by_full_names_only(top: Path, protection) -> None:
    for name in ("named/inner", "abc", "abd"):
        (top / name).mkdir(parents=True)
    for name in ("named/a", "abc/x", "abc/.env"):
        (top / name).write_text("", encoding="utf-8")
    found = {mark.path: mark.hidden for mark in anchored(str(top), Listings(Machine()), protection, hiding=True)}
    assert found == {f"{top}/named": "secrets", f"{top}/abc/x": "secrets"}


def test_a_name_that_rules_speak_of_is_never_left_out_by_the_quick_look(top: Path, protection) -> None:
    """The look at names before the rules themselves: whatever stands in some way is among them."""
    for folder in (str(top), f"{top}/.git", f"{top}/src", f"{top}/named", "/", "/etc"):
        names = [".env", ".env.x", ".git", "hooks", "x", "a.cfg", "named", "abx", "src", ".envrc", "plain"]
        chosen = protection.names(folder, names)
        free = [name for name in names if name not in chosen]
        for name in free:
            found = protection.of_entry(folder.rstrip("/") + "/" + name, folder=True)
            assert (found.hidden, found.fixed, found.kept) == ("", "", "")
