"""The words that the reading takes for bash's own, held against bash."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from gateway.shell import builtins
from gateway.shell.guards import ACTING, RESERVED
from gateway.shell.state import DYNAMIC

BASH = shutil.which("bash") or ""


def listed(option: str) -> frozenset[str]:
    done = subprocess.run([BASH, "-c", f"compgen {option}"], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


@pytest.fixture
def reserved() -> frozenset[str]:
    if not BASH or "coproc" not in (found := listed("-k")):
        pytest.skip("bash is not installed, or older than 4.0")
    return found


def test_the_reserved_words_are_those_that_bash_has(reserved: frozenset[str]) -> None:
    assert reserved == RESERVED


def test_what_acts_on_the_reading_is_bashs_own(reserved: frozenset[str]) -> None:
    assert not ACTING - listed("-b") - reserved


@pytest.mark.usefixtures("reserved")
def test_variables_that_bash_does_not_let_be_set_are_known() -> None:
    tries = 'for n in $(compgen -v); do ( eval "$n=x; [[ \\${$n} == x ]]" ) 2>/dev/null || echo "$n"; done'
    done = subprocess.run([BASH, "--norc", "-c", tries], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - {"_"} <= DYNAMIC


@pytest.mark.usefixtures("reserved")
def test_options_of_set_are_those_that_bash_has() -> None:
    tries = 'for l in {a..z} {A..Z}; do ( set -$l ) >/dev/null 2>&1 && echo "$l"; done; echo; set -o'
    done = subprocess.run([BASH, "--norc", "-c", tries], capture_output=True, text=True, check=True)
    letters, _, names = done.stdout.partition("\n\n")
    assert set(letters.split()) - {"r"} == builtins._LETTERS  # restricted, a shell is left
    assert {line.split()[0] for line in names.splitlines()} == builtins._OPTIONS
