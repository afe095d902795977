"""Programs that git starts by their names, and repositories on this machine, where the host says what they are."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.commands.analyse import Start, analyse
from gateway.commands.settle import settle
from gateway.model.context import Context
from gateway.model.facts import ClientFact, Facts, GitFact, PathFact

CWD = "/home/dev/project"
OWN = GitFact(CWD, True, "topic", quiet=True)
PLAIN = ClientFact()


def doubts(
    text: str,
    descriptions: dict[str, Any],
    names: ClientFact | None = PLAIN,
    *,
    paths: dict[str, PathFact] | None = None,
    git: dict[str, GitFact] | None = None,
    **facts: Any,
) -> list[str]:
    """Why something of a text is code, in a repository of the project without hooks; not that hooks may have come."""
    analysis = analyse(text, Start(CWD, "/home/dev"), descriptions.get)
    wanted = analysis.wanted
    found = Facts(
        git={**dict.fromkeys(wanted.git, OWN), **(git or {})},
        clients={} if names is None else dict.fromkeys(wanted.clients, names),
        paths=dict(paths or {}),
        **facts,
    )
    settled = settle(analysis, found, Context(CWD, CWD, "/home/dev", (CWD,)))
    found_why = [getattr(item.effect, "why", "") for item in settled.items if item.effect.kind in ("code", "opaque")]
    return [why for why in found_why if why != "runs the repository's hooks"]


def assert_among(found: list[str], expected: list[str]) -> None:
    """Nothing is in doubt where nothing is expected; else these are, whatever else is."""
    assert [each for each in (expected or found) if each not in (found if expected else ())] == []


OTHER = "git starts in another repository, and does what that one says"
UNDO = "git-undo lies where it could have been replaced"
WRITTEN = "settings of git are written in the same text, which may have another git-undo"


@pytest.mark.parametrize(
    ("text", "names", "facts", "expected"),
    [
        ("git undo", PLAIN, {}, []),
        ("git -C src undo 2", PLAIN, {}, []),
        ("git undo", ClientFact("", (), (("alias", "st"),)), {}, []),
        ("git undo", ClientFact("", (), (("alias", "undo"),)), {}, ["settings of git say what undo means"]),
        ("git undo", ClientFact("", (), (("alias", "*"),)), {}, ["settings of git say what undo means"]),
        ("git undo", ClientFact("x cannot be read"), {}, ["nobody can tell what git-undo is: x cannot be read"]),
        ("git undo", None, {}, ["nobody can tell what git-undo is: the settings of git are not known"]),
        ("git undo", PLAIN, {"untrusted_programs": frozenset(("git-undo",))}, [UNDO]),
        ("git undo", PLAIN, {"chosen": frozenset(("git-undo",))}, [UNDO]),
        ("cp x bin/git-undo; git undo", PLAIN, {"searched": (f"{CWD}/bin",)}, [UNDO]),
        ("cp -r x bin; git undo", PLAIN, {"searched": (f"{CWD}/bin",)}, [UNDO]),
        ("cp x bin/git-undo; git undo", PLAIN, {"searched": ("/home/dev/bin",)}, []),
        ("cd src; git undo", PLAIN, {"wanders": True},
         ["git-undo is looked for in folders that depend on where git starts"]),
        ("git config alias.undo '!x'; git undo", PLAIN, {}, [WRITTEN]),
        ("git config --global help.autocorrect 1; git undo", PLAIN, {}, [WRITTEN]),
        ("echo x >> ~/.gitconfig; git undo", PLAIN, {}, [WRITTEN]),
        ("echo x >> ~/.config/git/config; git undo", PLAIN, {}, [WRITTEN]),
        ("echo x > .git/config; git undo", PLAIN, {}, [WRITTEN]),
        ("GIT_EXEC_PATH=x git undo", PLAIN, {}, [WRITTEN]),
        ("export PATH=x; git undo", PLAIN, {}, [WRITTEN]),
        ("git -c alias.undo='!x' undo", PLAIN, {},
         ["the setting alias.undo=!x may run a program", "x is not described"]),
        ("git undo; git undo", ClientFact("", (), (("alias", "undo"),)), {}, ["settings of git say what undo means"]),
        ("git status", ClientFact("", (), (("alias", "status"),)), {}, []),
    ],
)  # fmt: skip
def test_a_name_is_the_program_where_nothing_gives_it_another_meaning(
    text: str, names: ClientFact | None, facts: dict[str, Any], expected: list[str], descriptions: dict[str, Any]
) -> None:
    assert_among(doubts(text, descriptions, names, **facts), expected)


def test_a_program_that_shows_pages_is_turned_off_by_a_setting_and_named_by_others(
    descriptions: dict[str, Any],
) -> None:
    values = ("false", "0", "no", "off", "cat", "No", "less", "true", "")
    found = {value: doubts(f"git -c pager.log={value} log", descriptions) for value in values}
    assert found == {
        value: [f"the setting pager.log={value} may run a program"] if value in ("less", "true", "") else []
        for value in values
    }


def test_git_is_asked_for_names_only_where_it_starts_other_programs(descriptions: dict[str, Any]) -> None:
    wanted = [analyse(text, Start(CWD, "/home/dev"), descriptions.get).wanted for text in ("git undo", "git status")]
    assert [(each.programs, each.clients) for each in wanted] == [(("git", "git-undo"), ("git",)), (("git",), ())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git create-branch feature/x-1", []),
        ("git create-branch 'x --upload-pack=y'", ["the script would take x --upload-pack=y apart"]),
        ("git create-branch '*'", ["the script would take * apart"]),
        ("git create-branch $X", ["the script would take ? apart"]),
        ("git mr 1 --upload-pack=x", ["option --upload-pack is not described"]),
        ("git obliterate a b", []),
        ("git obliterate 'a; x'", ["the script would take a; x apart"]),
        ("git obliterate a -- 'x; y'", ["the script would take x; y apart"]),
        ("git release 1.0 -m 'all is $(well)'", []),
        ("git release '1.0 $(x)'", ["the script would take 1.0 $(x) apart"]),
        ("git release 1.0 -s", ["signs with the program that the settings name"]),
        ("git standup -a 'Ann Lee' -d 3", []),
        ("git standup -a 'a\"; x; \"'", ['the script would take a"; x; " apart']),
        ("git standup -a '$(x)'", ["the script would take $(x) apart"]),
        ("git standup -m 'a[$(x)]'", ["the script would take a[$(x)] apart"]),
        ("git standup -B", ["evaluates what branches are called"]),
        ("git effort a.py", []),
        ("git effort", ["evaluates what files are called"]),
        ("git effort 'a$(x).py'", ["the script would take a$(x).py apart"]),
        ("git effort *", ["the script would take * apart"]),
        ("git sed a b", []),
        ("git sed -f g 'a b' 'c d' -- src", []),
        ("git sed a x e", ["the flags e of sed may run a program"]),
        ("git sed -f e a x", ["the flags e of sed may run a program"]),
        ("git sed a b 'w x'", ["the flags w x of sed may run a program"]),
        ("git sed a $'b\\nex'", ["sed may read commands of its own there"]),
        ("git changelog", ["starts an editor"]),
        ("git changelog -x", []),
        ("git repl", ["runs what it is told"]),
        ("git merge-index git-merge-one-file -a", []),
        ("git merge-index ./x -a", ["./x is run"]),
        ("git checkout-index -a --prefix=out/", []),
        ("git checkout-index -a --prefix=out", ["writes where a prefix says"]),
        ("git filter-branch --msg-filter 'cat' HEAD", []),
        ("git filter-branch --tree-filter './x' HEAD", ["./x is not described"]),
        ("git filter-branch --tree-filter ./x --setup ./y", ["./x is not described", "./y is not described"]),
        ("git difftool --tool-help", []),
        ("git difftool -x ./x", ["starts the tool that the settings name"]),
        ("git filter-repo --commit-callback x", ["option --commit-callback is not described"]),
        ("git send-email --to-cmd=./x -1", ["option --to-cmd is not described"]),
        ("git lfs frobnicate", ["runs what nobody described"]),
        ("git -c core.sshCommand='ssh -i key -p 22' fetch", []),
        ("git -c core.sshCommand='ssh -o BatchMode=yes' fetch", []),
        ("git -c core.sshCommand='ssh -o' fetch", ["the setting core.sshCommand=ssh -o may run a program"]),
        ("git -c core.sshCommand='ssh -o ProxyCommand=./x' fetch",
         ["the setting core.sshCommand=ssh -o ProxyCommand=./x may run a program"]),
        ("git -c core.sshCommand=./ssh fetch", ["the setting core.sshCommand=./ssh may run a program"]),
        ("git -c core.sshCommand='ssh -i key; ./x' fetch",
         ["the setting core.sshCommand=ssh -i key; ./x may run a program"]),
        ("git -c core.sshCommand='ssh -i `./x`' fetch",
         ["the setting core.sshCommand=ssh -i `./x` may run a program"]),
        ("git force-clone https://h/x.git $X", [OTHER]),
        ("git bulk -a status", ["runs git in other repositories"]),
        ("git cliff --init", []),
        ("git cliff", ["obeys commands that cliff.toml may name"]),
    ],
)  # fmt: skip
def test_a_script_that_takes_words_apart_is_code_with_others_than_plain_ones(
    text: str, expected: list[str], descriptions: dict[str, Any]
) -> None:
    assert_among(doubts(text, descriptions), expected)


MISSING = {f"{CWD}/{name}": PathFact(f"{CWD}/{name}", "missing") for name in ("x/y", "x/y.git", "x/y.bundle")}
THERE = {f"{CWD}/x/y": PathFact(f"{CWD}/x/y", "dir")}


@pytest.mark.parametrize(
    ("text", "paths", "git", "expected"),
    [
        ("git clone x/y", MISSING, {}, []),
        ("git fetch x/y", MISSING, {}, []),
        ("git force-clone https://h/x.git x/y", MISSING, {}, []),
        ("git force-clone https://h/x.git x/y", {**MISSING, **THERE}, {}, [OTHER]),
        ("git bulk --addworkspace w d --from x/y", MISSING, {}, []),
        ("git bulk --addworkspace w d --from x/y", {**MISSING, **THERE}, {}, [OTHER]),
        ("git pull x/y", MISSING, {}, []),
        ("git clone x/y", {**MISSING, **THERE}, {}, [OTHER]),
        ("git clone x/y", {**MISSING, f"{CWD}/x/y": PathFact(f"{CWD}/x/y", "file")}, {}, [OTHER]),
        ("git clone x/y", {**MISSING, f"{CWD}/x/y.git": PathFact(f"{CWD}/x/y.git", "dir")}, {}, [OTHER]),
        ("git clone x/y", {}, {}, [OTHER]),
        ("git clone . ../z", {}, {}, []),
        ("git clone x/y", {**MISSING, **THERE}, {f"{CWD}/x/y": GitFact(f"{CWD}/x/y", True, "main")}, []),
        ("git clone x/y", {**MISSING, **THERE}, {f"{CWD}/x/y": GitFact(f"{CWD}/x/y", False, "main")}, [OTHER]),
        ("git init x/y; git clone x/y z", MISSING, {}, [OTHER]),
        ("cp -r a x; git clone x/y z", MISSING, {}, [OTHER]),
        ("cp a x/y.bundle; git clone x/y z", MISSING, {}, [OTHER]),
        ("git checkout topic; git clone x/y z", MISSING, {}, [OTHER]),
        ("mv a $X; git clone x/y z", MISSING, {}, [OTHER]),
        ("touch a; git clone x/y z", MISSING, {}, []),
        ("git push x/y", MISSING, {}, [OTHER]),
        ("git clone $X", MISSING, {}, ["? may turn out to be an option"]),
    ],
)
def test_a_repository_on_this_machine_is_code_unless_it_is_the_projects_own_or_missing(
    text: str,
    paths: dict[str, PathFact],
    git: dict[str, GitFact],
    expected: list[str],
    descriptions: dict[str, Any],
) -> None:
    assert_among(doubts(text, descriptions, paths=paths, git=git), expected)


def test_a_manual_is_shown_by_what_settings_name(descriptions: dict[str, Any]) -> None:
    foreign = GitFact(CWD, False, "main", why="sets man.x.cmd")
    nowhere = GitFact("", False, "")
    found = [
        doubts(text, descriptions, git={CWD: fact})
        for text in ("git help commit", "git commit --help")
        for fact in (OWN, nowhere, foreign)
    ]
    assert found == [[], [], ["sets man.x.cmd"]] * 2
