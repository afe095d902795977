"""Git's configuration, read as git reads it, and what it says of remotes."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from gateway.commands.steering.git_config import BadConfig, default_remotes, entries, name_of, pushes, remotes

CLONED = """[core]
\trepositoryformatversion = 0
\tfilemode = true ; a remark
[remote "origin"]
\turl = https://example.com/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
"""

TEXTS = [
    pytest.param(CLONED, id="after-a-clone"),
    pytest.param("[core] bare = false\n[A.b]x\n", id="on-one-line-and-without-value"),
    pytest.param('[a "B \\"c\\\\"]\n\tk = "x # y" \\\n z\t ; r\n', id="quotes-and-continued-lines"),
    pytest.param("[a]\n\tk = \\ttab\\n\n\tk =\n\tk = a  b  # c\n", id="escapes-and-inner-blanks"),
    pytest.param('[alias]\n\tx = "!sh -c \\"id\\""\n', id="an-alias"),
]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_read_as_git_reads_it(tmp_path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    done = subprocess.run(
        ["git", "config", "--file", tmp_path / "config", "--list", "-z"], capture_output=True, check=True
    )
    told = [each.partition("\n") for each in done.stdout.decode().split("\0") if each]
    assert [(name_of(each), each[3]) for each in entries(text)] == [
        (name, value if mark else None) for name, mark, value in told
    ]


@pytest.mark.parametrize(
    "text",
    ["k = v\n", "[a\nk=v\n", '[a]\nk = "x\n', "[a]\nk = \\q\n", "[a]\nk!\n", '[a "b\n"]\n'],
    ids=["no-section", "open-section", "open-quote", "odd-escape", "odd-key", "open-name"],
)
def test_what_git_would_not_read_is_not_understood(text: str) -> None:
    with pytest.raises(BadConfig):
        entries(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(CLONED, (("origin", "https://example.com/a.git"),), id="one"),
        pytest.param('[remote "o"]\nurl = "https://a.example/x" # y\n', (("o", "https://a.example/x"),), id="quoted"),
        pytest.param('[remote "o"]\nurl = https://a\\\n.example\n', (("o", "https://a.example"),), id="continued-line"),
        pytest.param("[remote.o]\nurl = x:y\n", (("o", "x:y"),), id="dotted-section"),
        pytest.param(
            '[remote "o"]\nurl = x:y\npushurl = z:y\n', (("o", "x:y"), ("o (push)", "z:y")), id="pushed-elsewhere"
        ),
        pytest.param('[remote "o"]\nurl = x:y\nurl = z:y\n', (("o", ""),), id="several-urls-are-not-known"),
        pytest.param('[remote "o"]\nurl\n', (("o", ""),), id="no-url"),
        pytest.param('[remote "o"]\nurl = x:y\n[url "z:"]\ninsteadOf = x:\n', (), id="dialled-as-another"),
        pytest.param('[remote "o"]\nurl = x:y\n[url "z:"]\npushInsteadOf = x:\n', (), id="pushed-as-another"),
        pytest.param('[remote "o"]\nurl = x:y\n[include]\npath = z\n', (), id="included"),
        pytest.param('[remote "o"]\nurl = x:y\n[includeIf "gitdir:/"]\npath = z\n', (), id="included-here"),
    ],
)
def test_remotes_have_the_url_that_git_dials_or_none(text: str, expected: tuple[tuple[str, str], ...]) -> None:
    assert remotes(entries(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("[push]\ndefault = simple\n", ""),
        ("[push]\ndefault = Current\n", ""),
        ("[push]\nautoSetupRemote = true\n", ""),
        ("[push]\ndefault = upstream\n", "settings"),
        ("[push]\ndefault = matching\n", "settings"),
        ("[push]\ndefault\n", "settings"),
        ('[remote "o"]\npush = HEAD:refs/heads/main\n', "settings"),
        ('[remote "o"]\npush = +refs/heads/*:refs/heads/*\n', "force"),
        ('[remote "o"]\npush = \\\n+refs/heads/*:refs/heads/*\n', "force"),
        ('[remote "o"]\nmirror\n', "force"),
        ('[remote "o"]\nmirror = true\n', "force"),
        ('[remote "o"]\nmirror = false\n', ""),
        ("[include]\npath = ../more\n", "settings"),
    ],
)
def test_settings_that_say_what_a_push_sends_are_seen(text: str, expected: str) -> None:
    assert pushes(entries(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("", "")),
        ('[branch "b"]\nremote = r\n', ("r", "r")),
        ('[branch "other"]\nremote = r\n', ("", "")),
        ('[branch "b"]\nremote = r\n[remote]\npushDefault = p\n', ("r", "p")),
        ('[branch "b"]\nremote = r\npushRemote = own\n[remote]\npushDefault = p\n', ("r", "own")),
    ],
)
def test_the_remote_that_is_meant_where_none_is_named(text: str, expected: tuple[str, str]) -> None:
    assert default_remotes(entries(text), "b") == expected
