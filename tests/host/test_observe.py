"""The look at the host: real files, links, globs, git folders."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.host.bounds import MAX_GLOB_MATCHES, Entries
from gateway.host.machine import Machine
from gateway.host.observe import observe
from gateway.model.context import Context
from gateway.model.effect import BROUGHT, COPIED, HOLE
from gateway.model.facts import Facts, PathFact, TreeFact, Wanted


@pytest.fixture
def root(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path))
    (real / "src").mkdir()
    (real / "src" / "a.py").write_text("a")
    (real / ".env").write_text("secret")
    (real / "link").symlink_to("/etc")
    (real / "dangling").symlink_to(real / "nowhere" / "x")
    (real / "loop").symlink_to(real / "loop")
    os.mkfifo(real / "fifo")
    return real


def context(root: Path) -> Context:
    return Context(str(root), str(root), "/home/nobody", (str(root),))


def test_nothing_wanted_is_nothing_looked_at() -> None:
    assert observe(Wanted(), Machine(), Context("/", "/", "/")) == Facts()


@pytest.mark.parametrize(
    ("path", "leads_to", "kind"),
    [
        ("src/a.py", "src/a.py", "file"),
        ("src", "src", "dir"),
        ("fifo", "fifo", "other"),
        ("src/new.py", "src/new.py", "missing"),
        ("new/deep/file", "new/deep/file", "missing"),
        ("link/hostname-not-there", "/etc/hostname-not-there", "missing"),
        ("link", "/etc", "dir"),
        ("dangling", "nowhere/x", "missing"),
    ],
)
def test_a_path_is_followed_as_far_as_it_exists(root: Path, path: str, leads_to: str, kind: str) -> None:
    assert Machine().path(f"{root}/{path}") == PathFact(os.path.join(root, leads_to), kind)


@pytest.mark.parametrize("path", ["nul\0", "x" * 5000])
def test_what_cannot_be_told_is_no_fact(root: Path, path: str) -> None:
    assert Machine().path(f"{root}/{path}") is None


def test_a_loop_of_links_leads_nowhere_near(root: Path) -> None:
    fact = Machine().path(f"{root}/loop")
    assert fact is None or fact.kind != "file"


@pytest.mark.parametrize(
    "pattern", ["*", "*.py", "src/*", "src/*.py", ".*", "[.s]*", "s?c/a.py", "no/*", "*/a.py", "[!s]*", "l*/hostname"]
)
def test_a_glob_finds_what_bash_finds(root: Path, pattern: str) -> None:
    script = f"shopt -s nullglob; printf '%s\\n' {root}/{pattern}"
    shown = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True).stdout
    theirs = {line for line in shown.splitlines() if line and not line.endswith(("/.", "/.."))}
    assert set(Machine().glob(f"{root}/{pattern}") or ()) == theirs


def test_a_glob_with_too_many_matches_is_unknown(root: Path) -> None:
    many = root / "many"
    many.mkdir()
    for number in range(MAX_GLOB_MATCHES + 1):
        (many / str(number)).touch()
    assert Machine().glob(f"{many}/*") is None


def test_all_globs_of_a_call_share_what_may_be_looked_at(root: Path) -> None:
    many = root / "many"
    many.mkdir()
    for number in range(100):
        (many / str(number)).touch()
    entries = Entries(100, 250)
    assert [Machine().glob(f"{many}/{name}*", entries) for name in "abc"] == [(), (), None]
    assert [Machine().glob(f"{many}/{name}*", Entries(99, 250)) for name in "abc"] == [None] * 3


def test_a_pattern_of_thousands_of_folders_is_unknown_or_matches_nothing(root: Path) -> None:
    assert Machine().glob(f"{root}{'/a' * 3000}/*") in (None, ())


class Counting(Machine):
    """Counts the looks at paths."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def path(self, path: str) -> PathFact | None:
        self.looks += 1
        return super().path(path)


@pytest.mark.parametrize(
    "paths",
    [
        [f"no{'/a' * number}" for number in range(100)],
        [f"no{'/a' * 100}/f{number}" for number in range(100)],
        [f"src/new/f{number}" for number in range(100)],
    ],
    ids=["a folder in a folder in a folder", "files of a deep folder", "files of a folder that does not lie deep"],
)
def test_nothing_is_looked_for_in_folders_that_are_not_there(root: Path, paths: list[str]) -> None:
    host = Counting()
    asked = tuple(f"{root}/{path}" for path in paths)
    facts = observe(Wanted(asked), host, context(root))
    assert facts.paths == {path: Machine().path(path) for path in asked}
    assert host.looks <= 4


NAMES = st.sampled_from(["src", "a.py", "new", "link", "dangling", "loop", "fifo", "..", "x"])


@given(st.lists(st.lists(NAMES, min_size=1, max_size=4), min_size=20, max_size=30))
def test_many_paths_lead_where_each_of_them_leads(root: Path, paths: list[list[str]]) -> None:
    asked = tuple(dict.fromkeys(f"{root}/{'/'.join(path)}" for path in paths))
    alone = {path: Machine().path(path) or PathFact(HOLE, "unknown") for path in asked}
    assert observe(Wanted(asked + EXTRA), Machine(), context(root)).paths == alone | {
        path: PathFact(path, "missing") for path in EXTRA
    }


EXTRA = tuple(f"/nowhere/{number}" for number in range(20))


def test_the_matches_of_a_glob_are_followed_too(root: Path) -> None:
    facts = observe(Wanted(globs=(f"{root}/l*",)), Machine(), context(root))
    assert (facts.globs, facts.paths[f"{root}/link"].real) == (
        {f"{root}/l*": (f"{root}/link", f"{root}/loop")},
        "/etc",
    )


def test_a_program_that_the_agent_can_replace_is_not_trusted(root: Path) -> None:
    tool = root / "ls"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    facts = observe(
        Wanted(programs=("ls", "no-such-program")), Machine(), context(root), search_path=f"{root}:/usr/bin"
    )
    assert (dict(facts.programs), facts.untrusted_programs) == (
        {"ls": str(tool), "no-such-program": ""},
        frozenset({"ls"}),
    )


def test_protected_paths_below_a_tree_are_found(root: Path) -> None:
    facts = observe(
        Wanted(
            trees=((str(root), ""), (f"{root}/src", ""), (f"{root}/none", ""), (str(root), "hidden"), ("/", "rest"))
        ),
        Machine(),
        context(root),
        hidden=lambda path: path.endswith(".env"),
    )
    assert facts.trees == {
        # Of `/etc`, to which the link leads, only root can look at all.
        (str(root), ""): TreeFact((f"{root}/.env",), os.geteuid() == 0),
        (f"{root}/src", ""): TreeFact((), True),
        (f"{root}/none", ""): TreeFact((), False),
        (str(root), "hidden"): TreeFact((), True),
        ("/", "rest"): TreeFact((), True),
    }


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_git_keeps_is_told_from_its_index_or_left_open(root: Path, version: str) -> None:
    git(root, "init", "-b", "trunk")
    git(root, "config", "index.version", version)
    (root / "src" / "kept.pem").write_text("x")
    (root / "src" / "loose.pem").write_text("x")
    git(root, "add", "src/kept.pem")
    facts = observe(
        Wanted(trees=((str(root / "src"), "untracked"),)),
        Machine(),
        context(root),
        hidden=lambda path: path.endswith(".pem"),
    )
    (fact,) = facts.trees.values()
    kept, loose = f"{root}/src/kept.pem", f"{root}/src/loose.pem"
    assert set(fact.found) == ({kept} if version != "4" else {kept, loose})


def git(folder: Path, *args: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *args], cwd=folder, check=True, capture_output=True
    )


@pytest.mark.parametrize("path", ["loop", "loop/x", "x" * 5000, "x/" * 50_000 + "x"])
def test_a_path_that_nobody_can_follow_leads_anywhere(root: Path, path: str) -> None:
    wanted = f"{root}/{path}"
    assert observe(Wanted((wanted,)), Machine(), context(root)).paths == {wanted: PathFact(HOLE, "unknown")}


def test_a_name_below_a_file_leads_where_it_says(root: Path) -> None:
    assert Machine().path(f"{root}/src/a.py/x") == PathFact(f"{root}/src/a.py/x", "missing")


def test_a_kept_file_is_read_again_when_it_changed_under_the_same_stamp_of_content(root: Path) -> None:
    path, host = root / "src" / "a.py", Machine()
    before, stamp = host.read(str(path)), os.stat(path)
    path.write_text("b", encoding="utf-8")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert (before, host.read(str(path))) == ("a", "b")


def test_folders_of_the_search_path_that_the_agent_can_write_are_told(root: Path) -> None:
    wanted = Wanted(programs=("ls",))
    found = observe(wanted, Machine(), context(root), search_path=f"{root}/.venv/bin:/usr/bin:bin:")
    assert found.searched == (f"{root}/.venv/bin", f"{root}/bin", str(root))
    assert observe(wanted, Machine(), context(root), search_path="/usr/bin:/bin").searched == ()


def test_relative_folders_of_the_search_path_count_from_where_the_call_begins(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not from where the process that looks happens to stand: a service stands elsewhere than a process of its own."""
    tool = root / "tools" / "ls"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    wanted = Wanted(programs=("ls",))
    found = []
    for place in (root, root / "tools", tmp_path, Path("/")):
        monkeypatch.chdir(place)
        found.append(observe(wanted, Machine(), context(root), search_path="tools:/usr/bin"))
    assert found == [found[0]] * 4
    assert (dict(found[0].programs), found[0].untrusted_programs, found[0].wanders) == (
        {"ls": str(tool)},
        frozenset({"ls"}),
        True,
    )


def test_a_pipe_in_the_place_of_an_index_keeps_nobody_waiting(root: Path) -> None:
    assert Machine().data(f"{root}/fifo") == b""


def test_what_a_copy_brings_is_looked_at_where_it_comes_from(root: Path) -> None:
    (root / "with").mkdir()
    (root / "with" / ".env").touch()
    trees = {
        "copied": TreeFact((f"{root}/out/.env", f"{root}/out/with/.env"), True),
        "plain": TreeFact((), True),
        "missing": TreeFact((), False),
        "brought": TreeFact((), False),
    }
    skips = {
        "copied": f"{COPIED}\0{root}/with", "plain": f"{COPIED}\0{root}/src", "missing": f"{COPIED}\0{root}/none",
        "brought": BROUGHT,
    }  # fmt: skip
    wanted = Wanted(trees=tuple((f"{root}/out", each) for each in skips.values()))
    facts = observe(wanted, Machine(), context(root), hidden=lambda path: path.endswith(".env"))
    assert {name: facts.trees[f"{root}/out", each] for name, each in skips.items()} == trees
