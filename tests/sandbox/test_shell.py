"""What is started is the text that was analysed, and words stand for themselves."""

from __future__ import annotations

import os
import subprocess

import pytest

from gateway.sandbox.shell import MAX_FOLDER, arguments, find_bash, folder_said, quoted

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
    assert "not found" in done.stderr or "directory" in done.stderr.lower(), done


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
