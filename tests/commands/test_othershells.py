"""Which texts other shells than bash understand otherwise."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.commands.othershells import reads_otherwise

ALIKE = [
    "ls -la", "git commit -m 'a message'", "cd src && make test", "rm -rf build/*.o", "echo \"$HOME\" | tee out.txt",
    "for f in *.py; do wc -l \"$f\"; done", "python3 -c 'print(1)'", "npm test 2>&1 | tail -5", "FOO=1 make",
    "grep -rn 'x' src > out.txt", "if [ -f a ]; then cat a; fi", "cat <<'EOF'\nhi\nEOF", "X=a; echo $X",
]  # fmt: skip
ZSH = [
    "ls =ls", "rm **/*.o", "ls *(.)", "ls *(e:'touch made':)", "echo ${(e)x}", "echo $x[1]", "echo ${x:h}",
    "x='a b'; ls $x", "setopt shwordsplit; ls", "noglob ls", "zmodload zsh/files", "repeat 3 ls", "ls &!",
    "ls >! out", "[ a == b ]", "print x", "alias -g G='| sh'", "typeset -A x", "echo 'a\\x41' | sh", "ls ~x[1]",
    "echo $+x",
]  # fmt: skip


@pytest.mark.parametrize("text", [*ALIKE, *ZSH])
def test_bash_reads_what_bash_reads(text: str) -> None:
    assert reads_otherwise(text, "bash") == ""


@pytest.mark.parametrize("text", ALIKE)
def test_an_ordinary_text_is_one_for_zsh_too(text: str) -> None:
    assert reads_otherwise(text, "zsh") == ""


@pytest.mark.parametrize("text", ZSH)
def test_what_zsh_reads_otherwise_is_told(text: str) -> None:
    assert "`zsh`" in reads_otherwise(text, "zsh")


# What zsh has built in or keeps for itself where bash has a program, nothing, or something else.
WORDS = (
    "noglob nocorrect repeat foreach zmodload autoload whence print vared zcompile zle sched setopt unsetopt emulate "
    "zparseopts zstyle shopt mapfile readarray enable declare typeset functions chpwd precmd preexec zf_rm zf_mv zf_ln "
    "zf_mkdir zf_chmod zf_chown ztcp zpty zsocket sysopen syswrite sysread builtin"
)


@pytest.mark.parametrize("word", WORDS.split())
def test_a_word_that_zsh_has_for_itself_is_told_wherever_a_command_may_stand(word: str) -> None:
    why = "`zsh` runs it, which reads one of its words in its own way"
    texts = [f"{word} x", f"ls;{word}", f"(cd src && {word} x)", f"cat {word}.txt", f"cat x{word}"]
    assert [reads_otherwise(text, "zsh") for text in texts] == [why, why, why, "", ""]
    assert reads_otherwise(f"{word} x", "sh")


@pytest.mark.parametrize("shell", ["fish", "pwsh", "powershell", "cmd", "nu", "tcsh", "other"])
def test_of_shells_with_another_grammar_nothing_is_known(shell: str) -> None:
    assert reads_otherwise("ls", shell)


@pytest.mark.parametrize("text", ["ls -la src", "git status && make", "echo hi > out.txt"])
def test_a_plain_text_is_one_for_sh_too(text: str) -> None:
    assert reads_otherwise(text, "sh") == ""


@pytest.mark.parametrize("text", ["echo $'a'", "ls &> out", "((x=1))", "echo $RANDOM", "source x", "declare x", "ls ~"])
def test_what_is_not_plain_is_told_for_sh(text: str) -> None:
    assert reads_otherwise(text, "sh")


@pytest.mark.parametrize("text", [text for text in ALIKE if "make" not in text and "npm" not in text])
def test_zsh_itself_prints_the_same(text: str, tmp_path: Path) -> None:
    zsh, bash = shutil.which("zsh"), shutil.which("bash")
    if zsh is None or bash is None:
        pytest.skip("this system has no zsh to ask")
    said = []
    for shell, options in ((bash, ["--norc", "--noprofile"]), (zsh, ["-f"])):
        place = tmp_path / Path(shell).name
        place.mkdir()
        for name in ("a", "x.py"):
            (place / name).write_text("x\n")
        done = subprocess.run([shell, *options, "-c", text], cwd=place, capture_output=True, check=False)
        said.append((done.stdout, sorted(each.name for each in place.iterdir())))
    assert said[0] == said[1]
