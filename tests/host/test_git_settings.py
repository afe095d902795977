"""What git obeys in a repository, held against git itself: each setting that must not go unasked is run for real, and
leaves a mark."""

from __future__ import annotations

import os
import shutil

import pytest
from gitplaces import Place, machine

from gateway.host.git_settings import obeyed_in
from gateway.host.repository import may_name_files, of_person
from gateway.model.context import Context

# Settings of the repository's own configuration, files of the work tree, and a run of git that obeys them.
OBEYED: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "fsmonitor": ("[core]\nfsmonitor = ./run", {}, ["status"]),
    "fsmonitor in other letters": ("[CORE]\nFsMonitor=./run", {}, ["status"]),
    "fsmonitor that is a text": ("[core]\nfsmonitor = \"true; ./run\"", {}, ["status"]),
    "an external diff": ("[diff]\nexternal = ./run", {}, ["diff"]),
    "the command of a driver": ('[diff "x"]\ncommand = ./run', {".gitattributes": "* diff=x"}, ["diff"]),
    "a textconv": ('[diff "x"]\ntextconv = ./run', {".gitattributes": "* diff=x"}, ["diff"]),
    "a textconv, quoted": ('[diff "x"]\ntextconv = "sh \\"./run\\""', {".gitattributes": "* diff=x"}, ["diff"]),
    "a filter": ('[filter "x"]\nclean = ./run', {".gitattributes": "* filter=x"}, ["add", "a.txt"]),
    "a filter called as that of git-lfs": (
        '[filter "lfs"]\nclean = ./run', {".gitattributes": "* filter=lfs"}, ["add", "a.txt"],
    ),
    "a filter that is a process": (
        '[filter "x"]\nprocess = ./run', {".gitattributes": "* filter=x"}, ["add", "a.txt"],
    ),
    "a folder of hooks": (
        "[core]\nhooksPath = hk", {"hk/pre-commit": "#!/bin/sh\necho > mark"}, ["commit", "-a", "-m", "x"],
    ),
    "a folder of hooks by a path that is whole": (
        "[core]\nhooksPath = ROOT/hk", {"hk/pre-commit": "#!/bin/sh\necho > mark"}, ["commit", "-a", "-m", "x"],
    ),
    "an include": ("[include]\npath = ../git.inc", {"git.inc": "[diff]\nexternal = ./run"}, ["diff"]),
    "an include of an include": (
        "[include]\npath = more", {".git/more": "[include]\npath = ../git.inc", "git.inc": "[diff]\nexternal = ./run"},
        ["diff"],
    ),
    "an include on a condition": (
        '[includeIf "gitdir:**"]\npath = ../git.inc', {"git.inc": "[diff]\nexternal = ./run"}, ["diff"],
    ),
    "settings of the work tree": (
        "[extensions]\nworktreeConfig = true", {".git/config.worktree": "[diff]\nexternal = ./run"}, ["diff"],
    ),
    "an editor": ("[core]\neditor = ./run", {}, ["commit", "--amend", "-a"]),
    "an editor of sequences": ("[sequence]\neditor = ./run", {}, ["rebase", "-i", "--autostash", "--root"]),
    "a signer": ("[gpg]\nprogram = ./run", {}, ["commit", "-S", "-a", "-m", "x"]),
    "a signer of a kind": (
        '[gpg]\nformat = ssh\n[gpg "ssh"]\nprogram = ./run\n[user]\nsigningkey = run', {},
        ["commit", "-S", "-a", "-m", "x"],
    ),
    "a command for keys": (
        '[gpg]\nformat = ssh\n[gpg "ssh"]\ndefaultKeyCommand = ./run', {}, ["commit", "-S", "-a", "-m", "x"],
    ),
    "ssh": ("[core]\nsshCommand = ./run", {}, ["ls-remote", "git@h.invalid:x"]),
    "ssh with an option that runs": (
        "[core]\nsshCommand = ssh -o ProxyCommand=./run", {}, ["ls-remote", "git@h.invalid:x"],
    ),
    "a proxy of git's": ("[core]\ngitProxy = ./run", {}, ["ls-remote", "git://h.invalid/x"]),
    "what packs": ('[remote "o"]\nurl = .\nuploadpack = ./run', {}, ["ls-remote", "o"]),
    "a helper for credentials": (
        "[credential]\nhelper = !./run", {}, ["credential", "fill"],
    ),
    "a trailer": ('[trailer "x"]\ncommand = ./run', {}, ["interpret-trailers", "--trailer", "x=1", "a.txt"]),
    "an archive": ('[tar "x"]\ncommand = ./run', {}, ["archive", "--format=x", "HEAD"]),
    "a merge": (
        '[merge "x"]\ndriver = ./run', {".gitattributes": "* merge=x"}, ["cherry-pick", "-X", "ours", "side"],
    ),
    "objects of others": ("[core]\nalternateRefsCommand = ./run", {}, []),
    "a template": ("[init]\ntemplateDir = t", {}, []),
    "a hook by its name": ('[hook "x"]\ncommand = ./run\nevent = pre-commit', {}, []),
    "another work tree": ("[core]\nworktree = /", {}, []),
    "a folder as its work tree": ("[core]\nworktree = ../sub", {}, []),
    "its work tree by a way that may be a link's": ("[core]\nworktree = ../sub/..", {}, []),
    "an alias for what git may not have": ("[alias]\nrefs = !./run", {}, []),
    "an alias in the new form": ('[alias "Refs"]\ncommand = !./run', {}, []),
    "commits to pass over from a file of secrets": ("[blame]\nignoreRevsFile = .env", {}, []),
    "a template that is a key": ("[commit]\ntemplate = ~/.ssh/id_rsa", {}, []),
    "where patches go": ("[format]\noutputDirectory = /home/dev/.config", {}, []),
    "a key of a later git": ("[core]\nmadeup = ./run", {}, []),
    "a section of a later git": ("[madeup]\ncommand = ./run", {}, []),
    "what git cannot read": ("[open", {}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", OBEYED)
def test_a_repository_whose_settings_start_something_is_not_the_projects_own(place: Place, name: str) -> None:
    settings, files, command = OBEYED[name]
    place.git("branch", "side")
    assert place.fact().own, "before it says so"
    for file, text in files.items():
        place.write(file, text, runs=file.startswith("hk/"))
    with (place.root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(settings.replace("ROOT", str(place.root)) + "\n")
    if command:
        done = place.git(*command)
        if name != "a merge":  # which needs a conflict; the others are held to git
            assert place.is_marked, done.stderr
    fact = place.fact()
    assert (fact.own, bool(fact.why)) == (False, True)


FREE = {
    "git-lfs": '[filter "lfs"]\nclean = git-lfs clean -- %f\nsmudge = git-lfs smudge -- %f\n'
    "process = git-lfs filter-process\nrequired = true\n[lfs]\nrepositoryformatversion = 0\n"
    '[lfs "https://example.com/x"]\naccess = basic',
    "git's own monitor": "[core]\nfsmonitor = true\nuntrackedCache = true",
    "husky": "[core]\nhooksPath = .husky/_",
    "hooks of a person": "[core]\nhooksPath = ~/hooks",
    "its own hooks": "[core]\nhooksPath = .git/hooks",
    "who commits, and how it is signed": "[user]\nname = A\nemail = a@b\nsigningkey = X\n[commit]\ngpgsign = true",
    "ssh with a key": "[core]\nsshCommand = ssh -i ~/.ssh/work -o IdentitiesOnly=yes",
    "an editor and a pager": "[core]\neditor = code --wait\npager = less -FRX",
    "remotes and branches": '[remote "o"]\nurl = git@h:x\nfetch = +refs/heads/*:refs/remotes/o/*\ngh-resolved = base\n'
    '[branch "b"]\nremote = o\nmerge = refs/heads/b\nvscode-merge-base = origin/main',
    "a helper for credentials": '[credential]\nhelper = cache --timeout=60\n[credential "https://h"]\nhelper =\n'
    "helper = !gh auth git-credential",
    "a token of a runner": '[http "https://h/"]\nextraheader = AUTHORIZATION: basic x',
    "aliases": "[alias]\nst = status",
    "files of git's own": "[blame]\nignoreRevsFile = .git-blame-ignore-revs\n[commit]\ntemplate = .gitmessage\n"
    "[core]\nexcludesFile = ~/.gitignore",
    "names of functions": '[diff "x"]\nxfuncname = ^class',
    "an include of its own": "[include]\npath = more",
    "how it looks": '[color]\nui = auto\n[color "branch"]\ncurrent = green\n[push]\ndefault = simple',
}


@pytest.mark.parametrize("name", FREE)
def test_what_people_and_their_tools_set_asks_nothing(place: Place, name: str) -> None:
    with (place.root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(FREE[name] + "\n")
    fact = place.fact()
    assert (fact.own, fact.why) == (True, "")


def test_a_work_tree_of_the_same_repository_is_its_own(place: Place) -> None:
    place.git("worktree", "add", "-q", "-b", "side", "tree")
    assert place.fact("tree").top == str(place.root / "tree")
    outside = Place(place.root.parent / "tree", place.home)
    place.git("worktree", "add", "-q", "-b", "other", str(outside.root))
    fact = outside.fact()
    assert (fact.own, fact.branch, fact.why) == (True, "other", "")


# Settings of the person, files of the work tree, and a run of git in the project that obeys them.
OF_PERSON: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "a folder of hooks, relative": (
        "[core]\nhooksPath = scripts/hooks", {"scripts/hooks/pre-commit": "#!/bin/sh\necho > mark"},
        ["commit", "-a", "-m", "x"],
    ),
    "an include in the project": ("[include]\npath = ROOT/git.inc", {"git.inc": "[diff]\nexternal = ./run"}, ["diff"]),
    "an include by a link": ("[include]\npath = linked", {"git.inc": "[diff]\nexternal = ./run"}, ["diff"]),
    "a program of the project": ("[diff]\nexternal = ./run", {}, ["diff"]),
    "a script of the project": ("[diff]\nexternal = sh ./run", {}, ["diff"]),
    "a script beside the work": ("[diff]\nexternal = sh run.sh", {"run.sh": "echo > mark"}, ["diff"]),
    "a program that takes what it runs from files of the project": (
        "[diff]\nexternal = make -s diff", {"Makefile": "%:;\ndiff:\n\t@echo x > mark\n"}, ["diff"],
    ),
    "an option that names one": ("[core]\neditor = env X=./run ./run", {}, ["commit", "--amend", "-a"]),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_PERSON)
def test_settings_of_the_person_that_name_what_calls_write_make_it_foreign(place: Place, name: str) -> None:
    settings, files, command = OF_PERSON[name]
    for file, text in files.items():
        place.write(file, text, runs=file.startswith("scripts/"))
    (place.home / "linked").symlink_to(place.root / "git.inc")
    assert place.fact().own
    (place.home / ".gitconfig").write_text(settings.replace("ROOT", str(place.root)) + "\n", encoding="utf-8")
    done = place.git(*command)
    assert place.is_marked, done.stderr
    fact = place.fact()
    assert (fact.own, bool(fact.why)) == (False, True)


@pytest.mark.parametrize(
    "settings",
    [
        "[core]\neditor = nvim -c 'set x'\npager = delta --dark\n[diff]\nexternal = difft",
        "[core]\nhooksPath = ~/.config/git/hooks\n[alias]\nwip = !git add -A && git commit -m wip",
        '[diff "image"]\ntextconv = exiftool\n[filter "lfs"]\nclean = git-lfs clean -- %f',
        "[include]\npath = ~/.config/git/more\n[credential]\nhelper = /usr/lib/git-core/git-credential-libsecret",
        '[includeIf "gitdir:~/work/"]\npath = ~/work.inc\n[url "git@h:"]\ninsteadOf = https://h/',
    ],
)
def test_other_settings_of_the_person_are_the_persons(place: Place, settings: str) -> None:
    (place.home / ".gitconfig").write_text(settings + "\n", encoding="utf-8")
    fact = place.fact()
    assert (fact.own, fact.why) == (True, "")


def test_what_git_obeys_inside_the_work_tree_is_named(place: Place) -> None:
    (place.home / ".gitconfig").write_text("[core]\nhooksPath = scripts/hooks\n", encoding="utf-8")
    with (place.root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write("[diff]\nexternal = tools/diff.sh --color\n[include]\npath = ../git.inc\n")
    place.write("git.inc", "")
    root = str(place.root)
    found = obeyed_in(
        root,
        f"{root}/.git",
        of_person(str(place.home), machine()),
        machine(),
        Context(root, root, str(place.home), (root,)),
    )
    assert found == (f"{root}/tools/diff.sh", f"{root}/git.inc", f"{root}/scripts/hooks")


def test_dots_behind_a_link_lead_where_the_kernel_goes(place: Place) -> None:
    """Of a path in its settings git asks the kernel: behind a link, `..` is not the folder that the link lies in."""
    place.write("a/b/c/keep", "")
    place.write("a/git.inc", "[diff]\nexternal = ./run")
    (place.root / "l").symlink_to("a/b/c")
    with (place.root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write("[include]\npath = ../l/../../git.inc\n")
    place.git("diff")
    assert (place.is_marked, place.fact().own) == (True, False)


@pytest.mark.parametrize(
    ("hooks", "safe"),
    [
        ("ROOT/l/../../hk", False),  # which is a/hk in the project
        ("ROOT/a/../../hk", False),  # beside the project, as long as `a` is no link
        ("ROOT/../hk", True),
        ("../hk", True),
        (".git/../../hk", True),
        (".git/../hk", False),
        ("~/hk", True),
        ("~/to-the-project/hk", False),
        ("~/by-way-of-the-project", False),
        ("~/by-way-of-the-project/hk", False),
        ("~/by-way-of-the-home/hk", True),
    ],
)
def test_a_way_counts_by_all_that_calls_may_write_on_it(place: Place, hooks: str, safe: bool) -> None:
    place.write("a/b/c/keep", "")
    (place.root / "l").symlink_to("a/b/c")
    (place.home / "to-the-project").symlink_to(place.root)
    (place.home / "elsewhere").mkdir()
    (place.root / "out").symlink_to(place.home / "elsewhere")
    (place.home / "by-way-of-the-project").symlink_to(place.root / "out")
    (place.home / "by-way-of-the-home").symlink_to(place.home / "elsewhere")
    with (place.root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(f"[core]\nhooksPath = {hooks.replace('ROOT', str(place.root))}\n")
    assert place.fact().own == safe


@pytest.mark.parametrize("file", ["gitdir: l/../x/.git", "gitdir: ./l/../x/.git/"])
def test_a_git_file_is_followed_as_git_follows_it(place: Place, file: str) -> None:
    """One repository without settings lies where the text leads, another one where the kernel does."""
    place.write("sub/deep/keep", "")
    place.write("sub/x/keep", "")
    (place.root / "x").mkdir()
    (place.root / "l").symlink_to("sub/deep")
    (place.root / ".git").rename(place.root / "x" / ".git")
    shutil.copytree(place.root / "x" / ".git", place.root / "sub" / "x" / ".git")
    with (place.root / "sub" / "x" / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write("[diff]\nexternal = ./run\n")
    place.write(".git", f"{file}\n")
    place.git("diff")
    assert (place.is_marked, place.fact().own) == (True, False)


def test_a_repository_in_a_temporary_folder_is_nobodys(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from gateway.host import repository

    away = place.root.parent / "away" / "its"
    away.parent.mkdir()
    (place.root / ".git").rename(away)
    (place.root / ".git").symlink_to(away)
    monkeypatch.setattr(repository, "TEMPORARY", ())
    assert place.fact().own
    monkeypatch.setattr(repository, "TEMPORARY", (str(away.parent),))
    assert not place.fact().own


def test_a_file_of_git_that_is_a_link_is_not_shown(place: Place) -> None:
    place.write(".env", "TOKEN=abc\n")
    (place.root / ".git-blame-ignore-revs").symlink_to(".env")
    with (place.root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write("[blame]\nignoreRevsFile = .git-blame-ignore-revs\n")
    assert b"TOKEN=abc" in place.git("blame", "a.txt").stderr
    assert not place.fact().own


def test_no_described_command_of_git_may_be_an_alias_unnoticed(place: Place) -> None:
    """Git runs an alias of a name where it knows none itself: every command that this git lacks is on the list, or it
    is asked each time which program it is."""
    from gateway.commands.steering.git_keys import NOT_ALWAYS
    from gateway.config.compiling import shipped_sources
    from gateway.spec.commands import compile_description

    described = next(
        found
        for each in shipped_sources()
        if each.path.endswith("/git.yaml")
        if "git" in (found := compile_description(each.content, each.path, parts=each.parts))["names"]
    )
    own = set(place.git("--list-cmds=builtins,main").stdout.decode().split())
    asked = {
        name for name, at in described["subcommands"].items() if "git_program" in described["nested"][at]["special"]
    }
    assert {name for name in described["subcommands"] if "*" not in name} - own - NOT_ALWAYS - asked == set()


def test_a_folder_with_a_shared_one_is_a_repository_as_git_sees_it(place: Place) -> None:
    """A HEAD and a `commondir` are enough: objects and refs lie where that leads."""
    place.write("b/HEAD", "ref: refs/heads/trunk\n")
    place.write("b/commondir", "../store\n")
    for name in ("store/objects", "store/refs"):
        (place.root / name).mkdir(parents=True)
    place.write("store/config", "[core]\nbare = true\nrepositoryformatversion = 0\nfsmonitor = ../run\n")
    assert place.git("rev-parse", "--git-dir", folder="b").stdout.strip() == b"."
    assert (place.fact("b").top, place.fact("b").own) == ("", False)


def test_settings_that_cannot_be_looked_at_are_not_trusted(place: Place) -> None:
    config = place.root / ".git" / "config"
    config.unlink()
    os.mkfifo(config)
    fact = place.fact()
    assert (fact.own, fact.why) == (False, ".git/config cannot be read")


def test_settings_that_were_empty_before_are_looked_at_again(place: Place) -> None:
    """What was found harmless is remembered by its texts; of a file that gives no text nothing is remembered."""
    config = place.root / ".git" / "config.worktree"
    config.write_text("", encoding="utf-8")
    before = place.fact()
    config.unlink()
    os.mkfifo(config)
    after = place.fact()
    assert ((before.own, before.why), (after.own, after.why)) == (
        (True, ""),
        (False, ".git/config.worktree cannot be read"),
    )


@pytest.mark.parametrize(
    "settings",
    [
        "[core]\nhooksPath = hk ; see https://example.com/",
        "[core]\nhooksPath = refs/hooks",
        "[core] hooksPath = hk",
        "[diff]\nexternal = ./x git@h:y",
        "[include]\npath = git.inc",
        "[diff]\nexternal = sh a.sh",
        "[diff]\nexternal = a\\\nb",
    ],
)
def test_the_quick_look_passes_over_no_line_that_names_a_file(settings: str) -> None:
    assert may_name_files(settings)


def test_the_quick_look_passes_over_what_every_repository_says() -> None:
    usual = '[core]\nbare = false\n[remote "o"]\nurl = https://h/x\nfetch = +refs/heads/*:refs/remotes/o/*\n'
    assert not may_name_files(usual + '[branch "b"]\nremote = o\nmerge = refs/heads/b\n')
