"""What git would start by itself in a repository, held against git: whatever leaves a mark is not called quiet."""

from __future__ import annotations

import shutil

import pytest
from gitplaces import Place, machine

from gateway.host.frozen import world
from gateway.host.git_hooks import is_quiet
from gateway.model.context import Context

HOOK = "#!/bin/sh\necho > mark\n"
COMMIT = ["commit", "-a", "-m", "x"]


def quiet(place: Place, folder: str = "", *, links: bool = False) -> bool:
    root = str(place.root)
    top = f"{root}/{folder}" if folder else root
    return is_quiet(top, links, machine(), Context(root, root, str(place.home), (root,), confined=False))


# Files (of the home with `~/`), what the repository's settings say, and a run of git that starts what they name.
STARTED: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "a hook before a commit": ({".git/hooks/pre-commit": HOOK}, "", COMMIT),
    "a hook after a checkout": ({".git/hooks/post-checkout": HOOK}, "", ["checkout", "-b", "x"]),
    "a hook after a switch": ({".git/hooks/post-checkout": HOOK}, "", ["switch", "-c", "x"]),
    "a hook after a merge": ({".git/hooks/post-merge": HOOK}, "", ["merge", "side"]),
    "a hook before a push": ({".git/hooks/pre-push": HOOK}, "", ["push", ".", "trunk:x"]),
    "a hook on refs": ({".git/hooks/reference-transaction": HOOK}, "", ["branch", "x"]),
    "a folder of hooks": ({"hk/pre-commit": HOOK}, "[core]\nhooksPath = hk", COMMIT),
    "a folder of hooks outside": ({"~/hk/pre-commit": HOOK}, "[core]\nhooksPath = ~/hk", COMMIT),
    "a folder of the person": ({"~/hk/pre-commit": HOOK, "~/.gitconfig": "[core]\nhooksPath = ~/hk"}, "", COMMIT),
    "a folder that an include names": (
        {"~/hk/pre-commit": HOOK, "~/more": "[core]\nhooksPath = ~/hk", "~/.gitconfig": "[include]\npath = more"},
        "", COMMIT,
    ),
    "a folder that an include on a condition names": (
        {"~/hk/pre-commit": HOOK, "~/more": "[core]\nhooksPath = ~/hk",
         "~/.gitconfig": '[includeIf "onbranch:trunk"]\npath = more'},
        "", COMMIT,
    ),
    "a folder that settings of the work tree name": (
        {"~/hk/pre-commit": HOOK, ".git/config.worktree": "[core]\nhooksPath = ~/hk"},
        "[core]\nrepositoryformatversion = 1\n[extensions]\nworktreeConfig = true", COMMIT,
    ),
    "a filter of the person": (
        {".gitattributes": "* filter=x", "~/.gitconfig": '[filter "x"]\nclean = sh -c "echo > mark; cat"'}, "", COMMIT,
    ),
    "a filter that smudges": (
        {".gitattributes": "* filter=x", "~/.gitconfig": '[filter "x"]\nsmudge = sh -c "echo > mark; cat"'},
        "", ["checkout", "-f", "side"],
    ),
    "a driver that merges": (
        {".gitattributes": "* merge=x", "~/.gitconfig": '[merge "x"]\ndriver = echo > mark'}, "",
        ["merge", "other"],
    ),
    "a rebase by hand": (
        {"~/.gitconfig": "[pull]\nrebase = interactive\n[sequence]\neditor = echo > mark; true"}, "",
        ["pull", ".", "other"],
    ),
    "a monitor": ({"~/.gitconfig": '[core]\nfsmonitor = "echo > mark; true"'}, "", COMMIT),
    "a signer": (
        {"~/.gitconfig": "[commit]\ngpgSign = true\n[gpg]\nprogram = ./run"}, "", COMMIT,
    ),
    "a pager of one command": (
        {"~/.gitconfig": '[pager]\ncommit = "echo > mark"'}, "", [],  # which needs a terminal
    ),
    "a hook of a later git": ({"~/.gitconfig": '[hook "x"]\ncommand = true\nevent = pre-commit'}, "", []),
    "settings that cannot be read": ({"~/.gitconfig": "[open"}, "", []),
}  # fmt: skip


def lay(place: Place, files: dict[str, str], settings: str) -> None:
    for file, text in files.items():
        path = place.home / file[2:] if file.startswith("~/") else place.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    with (place.root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(settings + "\n")


@pytest.fixture(scope="module")
def branched(made: Place, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Beside `trunk` the branch `side`, a commit ahead, and `other`, which another one divides from it."""
    top = tmp_path_factory.mktemp("branched")
    place = Place(top / "project", made.home)
    shutil.copytree(made.root, place.root, symlinks=True)
    for branch in ("side", "other"):
        place.git("checkout", "-q", "-b", branch, "trunk")
        place.write("a.txt", f"{branch}\n")
        place.git(*COMMIT)
    place.git("checkout", "-q", "trunk")
    return place


@pytest.fixture
def branches(branched: Place, place: Place) -> Place:
    shutil.rmtree(place.root)
    shutil.copytree(branched.root, place.root, symlinks=True)
    return place


@pytest.mark.parametrize("name", STARTED)
def test_what_git_starts_by_itself_is_seen(branches: Place, name: str) -> None:
    files, settings, command = STARTED[name]
    if name in ("a driver that merges", "a rebase by hand"):
        branches.write("a.txt", "mine\n")
        branches.git(*COMMIT)
    if command == COMMIT:
        branches.write("a.txt", "two\n")
    assert quiet(branches), "before it is there"
    lay(branches, files, settings)
    if command:
        done = branches.git(*command)
        assert branches.is_marked, (done.stdout, done.stderr)
    assert not quiet(branches)


@pytest.mark.parametrize(
    ("files", "settings"),
    [
        ({".git/hooks/pre-commit.sample": HOOK}, ""),
        ({}, "[core]\nhooksPath = /dev/null"),
        ({}, "[core]\nhooksPath = .git/hooks"),
        ({"~/hk/lib/x": HOOK}, "[core]\nhooksPath = ~/hk"),
        ({".gitattributes": "* filter=x diff=y merge=z"}, ""),
        ({"~/.gitconfig": "[commit]\ngpgSign = false\n[core]\nfsmonitor = false\npager = delta\neditor = vim"}, ""),
        ({"~/.gitconfig": "[credential]\nhelper = !gh auth git-credential\n[alias]\nwip = !x"}, ""),
        ({"~/.gitconfig": "[user]\nname = A\nsigningkey = X\n[gpg]\nformat = ssh\n[push]\ndefault = simple"}, ""),
        ({"~/.gitconfig": '[url "git@h:"]\ninsteadOf = https://h/\n[diff]\ntool = x\n[pager]\nlog = less'}, ""),
    ],
)  # fmt: skip
def test_what_starts_nothing_of_a_commit_is_quiet(place: Place, files: dict[str, str], settings: str) -> None:
    lay(place, files, settings)
    done = place.git(*COMMIT)
    assert (done.returncode, place.is_marked, quiet(place)) == (0, False, True)


def test_a_work_tree_has_the_hooks_of_its_repository(place: Place) -> None:
    place.git("worktree", "add", "-q", "-b", "side", "tree")
    assert quiet(place, "tree")
    lay(place, {".git/hooks/pre-commit": "#!/bin/sh\necho > ../mark\n"}, "")
    place.write("tree/a.txt", "three\n")
    place.git(*COMMIT, folder="tree")
    assert (place.is_marked, quiet(place, "tree")) == (True, False)


def test_a_folder_of_hooks_that_is_a_link_is_not_trusted(place: Place) -> None:
    shutil.rmtree(place.root / ".git" / "hooks")
    place.write("hk/pre-commit", HOOK, runs=True)
    (place.root / ".git" / "hooks").symlink_to("../hk")
    place.git(*COMMIT)
    assert (place.is_marked, quiet(place)) == (True, False)


@pytest.mark.parametrize("command", ["checkout", "switch"])
def test_a_branch_may_make_a_repository_known_that_lies_in_the_work_tree(place: Place, command: str) -> None:
    """Git looks for changes in it, and obeys its settings, though the index did not name it before."""
    place.git("stash", "-q")
    place.git("clone", "-q", ".", "sub")
    head = place.git("rev-parse", "HEAD").stdout.decode().strip()
    place.git("checkout", "-q", "-b", "linked")
    place.git("update-index", "--add", "--cacheinfo", f"160000,{head},sub")
    place.git("commit", "-q", "-m", "link")
    place.git("checkout", "-q", "trunk")
    assert (quiet(place), quiet(place, links=True)) == (True, True)
    place.git("config", "core.fsmonitor", "echo > mark; true", folder="sub")
    assert (quiet(place), quiet(place, links=True)) == (True, False)
    place.git(command, "linked")
    assert (place.is_marked, quiet(place)) == (True, False)


def test_variables_that_bring_other_programs_are_not_quiet() -> None:
    described = {"home": "/home/dev", "root": "/home/dev/project", "branch": "main", "files": [".git/HEAD"]}
    context = Context("/home/dev/project", "/home/dev/project", "/home/dev", ("/home/dev/project",))
    found = [
        is_quiet("/home/dev/project", False, world({**described, "environment": environment}).host, context)
        for environment in ({}, {"GIT_EXEC_PATH": "/x"}, {"GIT_EDITOR": "vim"})
    ]
    assert found == [True, False, True]
