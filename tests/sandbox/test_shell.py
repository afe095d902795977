"""What is started is the text that was analysed, and words stand for themselves."""

from __future__ import annotations

import os
import subprocess

import pytest

from gateway.sandbox.shell import MAX_FOLDER, arguments, find_bash, folder_said, quoted, variables_said

BASH = find_bash()
bash = pytest.mark.skipif(not BASH, reason="there is no bash here")
WORDS = [
    [
        "echo",
        "a b",
        "*",
        "?",
        "[a]",
        "~",
        "$HOME",
        "`id`",
        "$(id)",
        "a'b",
        '"',
        "\\",
        "!",
        "#",
        "&",
        ";",
        "|",
        "<",
        ">",
    ],
    ["echo", "", "", "x"],
    ["echo", "a\nb", "\t", "a\r\n"],
    ["echo", "-n", "--", "-e", "-"],
    ["echo", "{a,b}", "a=b", "=", "%", "^", "@(a)"],
    ["echo", "\udcff\udcfe", "ü€😀"],
    ["printf", "%s|", "x"],
]


@bash
@pytest.mark.parametrize("words", WORDS, ids=["special", "empty", "lines", "dashes", "braces", "bytes", "plain"])
def test_words_reach_the_program_as_they_are(words: list[str]) -> None:
    show = ["python3", "-c", "import os, sys; sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"]
    done = subprocess.run(arguments(BASH, quoted(show + words)), capture_output=True, check=True)
    assert done.stdout.split(b"\0") == [os.fsencode(word) for word in words]


@bash
@pytest.mark.parametrize("word", ["if", "time", "A=1", "a=b", "function", "{", "!", "[[", "coproc", "~", "x y"])
def test_a_first_word_is_a_program_and_nothing_else(word: str) -> None:
    done = subprocess.run(arguments(BASH, quoted([word, "x"])), capture_output=True, text=True, check=False)
    assert done.returncode in (126, 127), done
    assert any(each in done.stderr.lower() for each in ("not found", "directory", "cannot run")), done


@pytest.mark.parametrize(
    ("words", "text"),
    [(["ls", "-la"], "ls -la"), (["a b"], "'a b'"), (["it's"], "'it'\\''s'"), ([""], "''"), (["if"], "'if'")],
    ids=["plain", "a space", "a quote", "nothing", "a keyword"],
)
def test_plain_words_stay_readable(words: list[str], text: str) -> None:
    assert quoted(words) == text


def test_the_shell_starts_without_files_of_anybody() -> None:
    assert arguments("/bin/bash", "ls") == (b"/bin/bash", b"--noprofile", b"--norc", b"-c", b"--", b"ls")


@bash
@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("cd /usr", 0, "/usr"),
        ("cd /usr; exit 3; cd /", 3, "/usr"),
        ("cd /usr; false", 1, "/usr"),
        ("(cd /usr)", 0, "/"),
        ("cd /usr; trap 'echo mine' EXIT", 0, ""),
        ("cd /usr; kill -9 $$", -9, ""),
        ("cd /usr; pwd() { echo /etc; }; builtin() { echo /etc; }", 0, "/etc"),
        ("cd /no/such", 1, "/"),
        ("cd /usr\nif", 2, "/usr"),
    ],
    ids=[
        "changed", "an exit in the middle", "a failure", "changed in a subshell", "a trap of its own", "killed",
        "a command that lies", "a folder that is not there", "a text that is none",
    ],
)  # fmt: skip
def test_the_folder_is_said_apart_from_the_output(text: str, status: int, said: str) -> None:
    ours, theirs = os.pipe()
    done = subprocess.run(
        arguments(BASH, text, theirs), cwd="/", pass_fds=(theirs,), capture_output=True, text=True, check=False
    )
    os.close(theirs)
    with open(ours, "rb") as file:
        found = file.read()
    assert (done.returncode, folder_said(found)) == (status, said), (done, found)
    assert "/usr" not in done.stdout


@pytest.mark.parametrize(
    "data",
    [b"", b"/usr", b"usr\n", b"/a\0b\n", b"\n", b"/" + b"x" * MAX_FOLDER + b"\n"],
    ids=["nothing", "no end", "not absolute", "a null", "an empty line", "too long"],
)
def test_what_is_no_folder_is_not_believed(data: bytes) -> None:
    assert folder_said(data) == ""


def test_a_folder_may_have_any_name() -> None:
    assert folder_said(b"/a\nb \xff\n") == "/a\nb \udcff"


@bash
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("export A=1 B='x y'", {"A": "1", "B": "x y"}),
        ("export A='\"$`\\' B", {"A": '"$`\\'}),
        ("export A=$'a\\tb' B=2", {"B": "2"}),
        ("export A=é; unset A; C=3", {}),
        ("export A=1; exit 3", {"A": "1"}),
        ("cd /usr; export A=1; set -u; IFS=x", {"A": "1"}),
        ("export A=1; trap true EXIT", None),
        ("export A=1; kill -9 $$", None),
    ],
    ids=[
        "plain", "quotes", "control characters", "taken back", "an exit", "odd settings", "a trap of its own", "killed",
    ],
)  # fmt: skip
def test_the_exported_variables_are_said_when_they_are_asked_for(text: str, found: dict[str, str] | None) -> None:
    ours, theirs = os.pipe()
    words = arguments(BASH, text, theirs, exported=True)
    subprocess.run(words, cwd="/", pass_fds=(theirs,), env={}, check=False)
    os.close(theirs)
    with open(ours, "rb") as file:
        said = file.read()
    variables = variables_said(said)
    own = ("PWD", "OLDPWD", "SHLVL", "_")
    assert (variables if variables is None else {k: v for k, v in variables.items() if k not in own}) == found
    assert folder_said(said) == ("" if found is None else "/usr" if "cd" in text else "/")


@pytest.mark.parametrize(
    "data",
    [
        b"/\n", b"/\n\0A=1\n", b'/\n\0declare -x A="1', b'/\n\0declare -x A="1"', b'/\n\0declare -x A="1"x\n',
        b"/\n\0declare",
    ],
    ids=["none", "another form", "no end of the value", "no end of the line", "more behind it", "cut"],
)  # fmt: skip
def test_variables_that_are_not_said_whole_are_not_believed(data: bytes) -> None:
    assert variables_said(data) is None


def test_no_variables_at_all_are_believed() -> None:
    assert variables_said(b"/\n\0") == {}
