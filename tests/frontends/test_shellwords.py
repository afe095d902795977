"""What a shell that was started with some words would run, as text."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from gateway.core.errors import ConfigError
from gateway.frontends.shellwords import Started, started

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = {"s.sh": "echo script $1\n", "self.sh": 'cd "$(dirname "$0")"\n'}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-c", "ls"], "ls"),
        (["-lc", "ls"], "ls"),
        (["-l", "-c", "ls"], "ls"),
        (["--login", "-c", "ls"], "ls"),
        (["-ic", "ls"], "ls"),
        (["-c", "-l", "ls"], "ls"),
        (["-c", "--", "ls"], "ls"),
        (["-c", "ls", "name"], "ls"),
        (["-c", "echo $1", "name", "a b", "it's"], "set -- 'a b' 'it'\\''s'\necho $1"),
        (["-ec", "ls"], "set -e\nls"),
        (["-eo", "pipefail", "-c", "ls"], "set -e\nset -o pipefail\nls"),
        (["-euxo", "pipefail", "-c", "ls"], "set -e\nset -u\nset -x\nset -o pipefail\nls"),
        (["+e", "-c", "ls"], "set +e\nls"),
        (["--noprofile", "--norc", "-eo", "pipefail", "s.sh"], "set -e\nset -o pipefail\necho script $1\n"),
        (["s.sh", "x"], "set -- x\necho script $1\n"),
        (["-e", "s.sh", "-c"], "set -e\nset -- -c\necho script $1\n"),
        (["--", "s.sh"], "echo script $1\n"),
        # What these words mean only bash can tell, so it is bash that is judged.
        (["self.sh", "x"], "bash self.sh x"),
        (["-c", "echo $0", "name"], "bash -c 'echo $0' name"),
        (["missing.sh"], "bash missing.sh"),
        (["-n", "s.sh"], "bash -n s.sh"),
        (["-kc", "ls"], "bash -kc ls"),
        (["-O", "extglob", "-c", "ls"], "bash -O extglob -c ls"),
        (["-o", "posix", "-c", "ls"], "bash -o posix -c ls"),
        (["--posix", "-c", "ls"], "bash --posix -c ls"),
        (["--rcfile", "x", "-c", "ls"], "bash --rcfile x -c ls"),
        (["-rc", "ls"], "bash -rc ls"),
        (["-c", "ls", "name", "a\nb"], "set -- 'a\nb'\nls"),
    ],
    ids=str,
)
def test_what_runs(words: list[str], text: str) -> None:
    assert started(words, SCRIPTS.get) == Started(text)


@pytest.mark.parametrize(
    ("words", "before"),
    [([], ""), (["-s"], ""), (["-es", "a"], "set -e\nset -- a\n"), (["-l"], ""), (["-"], "")],
    ids=str,
)
def test_where_standard_input_is_the_script(words: list[str], before: str) -> None:
    assert started(words, SCRIPTS.get) == Started(None, before)


def test_a_text_must_follow() -> None:
    with pytest.raises(ConfigError, match="must be followed by a text"):
        started(["-c"], SCRIPTS.get)


@pytest.mark.parametrize(
    "words",
    [
        ["-c", 'echo $# "$@"; false; echo on', "name", "a b", "*", "it's", ""],
        ["-ec", "echo $-; false; echo never"],
        ["-uo", "pipefail", "-c", "false | true; echo $?; echo $UNSET; echo never"],
        ["-fc", "echo *"],
        ["s.sh", "one", "two"],
        ["-x", "s.sh"],
        ["+e", "-c", "false; echo on"],
    ],
    ids=str,
)
def test_bash_does_the_same_with_the_words_and_with_the_text(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text('echo "$#" "$1"; exit 5\n', encoding="utf-8")

    def run(*arguments: str) -> tuple[bytes, int]:
        done = subprocess.run(["bash", *arguments], cwd=tmp_path, capture_output=True, check=False)
        return done.stdout.replace(b"hBc", b"hBc"), done.returncode

    found = started(words, lambda path: (tmp_path / path).read_text("utf-8")).text
    assert found is not None
    assert run("-c", found) == run(*words)
