"""What of a git configuration is harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.commands.steering.git_config import Entry, entries
from gateway.commands.steering.git_keys import is_harmless, is_usual, named, started, written

ROOTS = ("/ws",)


@pytest.mark.parametrize(
    "text",
    [
        "[core]\nfilemode = true",
        "[core]\nworktree = ../../../sub",
        '[remote "origin"]\nurl = git@example.com:a/b.git',
        '[submodule "x"]\nupdate = rebase',
        "[user]\nname = A",
        "[pull]\nrebase = true",
        "[extensions]\nobjectformat = sha256",
    ],
)
def test_harmless_entries_stay(text: str) -> None:
    assert [is_harmless(each, "/ws/.git/modules/sub", ROOTS) for each in entries(text)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "[core]\nfsmonitor = ./evil",
        "[CORE]\nFsMonitor = ./evil",
        "[core]\nhooksPath = evil",
        "[core]\nsshCommand = evil",
        "[core]\npager = evil",
        "[core]\neditor = evil",
        "[core]\ngitproxy = evil",
        "[core]\naskpass = evil",
        "[core]\nattributesfile = evil",
        "[core]\nworktree = /home/dev",
        "[core]\nworktree = ../../../../..",
        "[core]\nworktree",
        '[filter "x"]\nclean = evil',
        '[diff "x"]\ntextconv = evil',
        "[diff]\nexternal = evil",
        '[merge "x"]\ndriver = evil',
        "[alias]\nst = !evil",
        "[include]\npath = evil",
        '[includeIf "gitdir:/"]\npath = evil',
        "[credential]\nhelper = !evil",
        "[gpg]\nprogram = evil",
        "[commit]\ngpgsign = true",
        "[tag]\ngpgsign = true",
        '[remote "o"]\nurl = ext::sh -c evil',
        '[remote "o"]\nuploadpack = evil',
        '[remote "o"]\nvcs = evil',
        '[submodule "x"]\nupdate = !evil',
        '[url "evil:"]\ninsteadOf = https:',
        "[http]\nproxy = evil",
        "[sequence]\neditor = evil",
        "[uploadpack]\npackObjectsHook = evil",
        "[pager]\nlog = evil",
        "[unheard]\nof = x",
    ],
)
def test_whatever_might_run_something_goes(text: str) -> None:
    assert [is_harmless(each, "/ws/.git", ROOTS) for each in entries(text)] == [False]


# What a project's own repository may say, entry by entry, in files that no call can write, with folders of hooks below
# `/safe/`; and what not.
USUAL = """\
[core]
fsmonitor
fsmonitor = true
fsmonitor = Yes
fsmonitor = on
fsmonitor = 1
fsmonitor = false
fsmonitor = no
fsmonitor = off
fsmonitor = 0
fsmonitor =
worktree = ..
notesref = refs/notes/x
hooksPath =
hooksPath = /safe/hooks
editor = vim
editor = "'code' --wait -n"
pager = false
pager = less -FRX
pager = cat
sshCommand = ssh
sshCommand = /usr/bin/ssh -4 -i '~/.ssh/a key' -p 22
sshCommand = ssh -o Port=22 -oUser=git -v
excludesFile = ~/.gitignore
attributesFile = .gitattributes
[sequence]
editor = nano -w
[interactive]
diffFilter = less -R
[pager]
log = true
diff = less
[alias]
st = !./anything
status = status
[alias "own"]
command = !x
[vscode]
any =
[gitflow "branch"]
master = main
[blame]
ignoreRevsFile = .git-blame-ignore-revs
coloring = none
[commit]
template = sub/.gitmessage
gpgsign
[user]
signingkey = X
[diff]
tool = vimdiff
[include]
path = anything
[includeIf "gitdir:/"]
path = anything
[remote "o"]
url = ext::sh -c x
pushurl = ext::sh -c x
[submodule "x"]
url = ext::sh -c x
pushurl = ext::sh -c x
[url "x:"]
insteadOf = y
pushInsteadOf = y
[gpg]
program = gpg2
[gpg "ssh"]
program = /usr/bin/ssh-keygen
allowedSignersFile = x
[credential]
helper =
helper = cache --timeout=60
helper = !gh auth git-credential
username = x
[http "https://h/"]
extraheader = x
"""
NOT_USUAL = """\
[core]
fsmonitor = ./x
worktree = .
worktree
hooksPath
hooksPath = /unsafe/hooks
editor = evil
editor = vim -c x
editor = "vim 'x"
editor =
pager = evil
pager = less +x
pager = less --lesskey-src=x
pager = "less; x"
pager = less -o
sshCommand = evil
sshCommand = ssh -F x
sshCommand = ssh -o ProxyCommand=x
sshCommand = ssh -oProxyCommand=x
sshCommand = ssh -o Port=22 -oProxyCommand=x
sshCommand = ssh -oPort=22 -F x
sshCommand = ssh -4 -F x
sshCommand = ssh -i a -F x
sshCommand = ssh -o
askPass = less
excludesFile
excludesFile = .env
[core "x"]
attributesFile = .gitattributes
[sequence]
editor = nano evil
other = nano
[interactive]
diffFilter = evil
[alias]
refs = x
[alias "Refs"]
command = x
[blame]
ignoreRevsFile = .env
[diff "x"]
tool = vimdiff
[mergetool "x"]
prompt = x
[include]
other = x
[remote "o"]
url = -x
pushurl = -x
vcs = x
[submodule "x"]
url = -x
update = !x
[url "x:"]
other = y
[gpg]
program = gpg x
[gpg "ssh"]
defaultKeyCommand = gpg
[credential]
helper = !evil
helper = store evil
helper = store --file=/x
helper = cache +x
other = cache
[filter "lfs"]
clean = git-lfs clean -- x
"""


@pytest.mark.parametrize(("text", "usual"), [(USUAL, True), (NOT_USUAL, False)], ids=["usual", "not-usual"])
def test_what_the_projects_own_repository_may_say(text: str, usual: bool) -> None:
    found = entries(text)
    assert [
        each for each in found if is_usual(each, "/ws/.git", "/ws", lambda path: path.startswith("/safe/")) != usual
    ] == []


# What an entry of the person's settings names; None where that cannot be told.
NAMED: list[tuple[str, list[str] | None]] = [
    ("[core]\nhooksPath = hooks", ["/ws/hooks"]),
    ("[core]\nhooksPath =", []),
    ("[core]\nhooksPath", []),
    ("[init]\ntemplateDir = ~/t", ["/home/dev/t"]),
    ("[core]\nworktree = x/y", []),
    ("[include]\npath = x/y", []),
    ("[core]\nnotesref = refs/x", []),
    ("[core]\nexcludesFile = ~/x", []),
    ("[color]\nui = a/b", []),
    ("[vscode]\nx = a/b", []),
    ("[alias]\nx = !a/b", []),
    ("[core]\neditor = vim", []),
    ("[core]\neditor = vim x.py https://h/x", []),
    ("[core]\neditor = ./run", ["/ws/run"]),
    ("[core]\neditor = 'a b/c' d/e", ["/ws/a b/c", "/ws/d/e"]),
    ("[core]\neditor = it's/x", ["/ws/it's/x"]),
    ("[core]\neditor = \"true;a/b|c/d\"", ["/ws/a/b", "/ws/c/d"]),
    ("[core]\neditor = $HOME/x ${HOME}/y ~/z $X", ["/home/dev/x", "/home/dev/y", "/home/dev/z"]),
    ("[core]\neditor = $X/y", None),
    ("[core]\neditor = a --x=b/c", ["/ws/--x=b/c", "/ws/b/c"]),
    ("[core]\neditor =", []),
    *((f"[core]\neditor = /usr/bin/{each} -x.y x.y", [f"/usr/bin/{each}", "/ws/x.y"])
      for each in ("sh", "bash", "dash", "zsh", "ksh", "python3.12", "node", "perl", "ruby", "php", "deno", "env")),
    ("[core]\neditor = make x.y", ["/ws"]),
    ("[core]\neditor = bun x.y", ["/ws", "/ws/x.y"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found"), NAMED, ids=[text for text, _ in NAMED])
def test_what_an_entry_of_the_persons_settings_names(text: str, found: list[str] | None) -> None:
    [entry] = entries(text)
    told = named(entry, "/ws", "/home/dev")
    assert (told and sorted(told)) == (found and sorted(found))


def test_aliases_that_are_commands_start_what_they_name() -> None:
    found = [
        started(each, "/ws", "/home/dev")
        for each in entries("[alias]\na = !./run\nb = status\nc\n[core]\neditor = x/y")
    ]
    assert found == [["/ws/run"], [], [], ["/ws/x/y"]]


_names = st.text("abcdefgh-", min_size=1, max_size=6).map(lambda each: "k" + each)
_values = st.none() | st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r\x0b\x0c", exclude_categories=("Cs",)), max_size=20
)
_subsections = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\n\r", exclude_categories=("Cs",)), max_size=8
)


@given(st.lists(st.tuples(_names, _subsections, _names, _values), max_size=6))
def test_what_is_written_anew_reads_the_same(given_: list[Entry]) -> None:
    assert entries(written(given_)) == given_
