"""What of a git configuration is harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.commands.steering.git_config import Entry, entries
from gateway.commands.steering.git_keys import is_harmless, written

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
