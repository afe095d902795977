"""The real bash as the judge of what is assigned: whatever a text changes among the variables, the reading has told, and
it never holds on to the value from before."""

# ruff: noqa: E501 - one form of a command is one line
from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from gateway.model.effect import HOLE
from gateway.shell.reading import read

if TYPE_CHECKING:
    from gateway.shell.script import Script

BASH = shutil.which("bash") or ""
pytestmark = pytest.mark.skipif(not BASH, reason="bash is not installed")
TEXTS = int(os.environ.get("GATEWAY_FUZZ_EXAMPLES", "300"))
ENV = {"HOME": "/home/dev", "PATH": "/nonexistent", "LC_ALL": "C.UTF-8"}
# What changes by itself, or with every command.
_RESTLESS = frozenset(
    ("_", "BASHPID", "BASH_ARGC", "BASH_ARGV", "BASH_COMMAND", "BASH_LINENO", "BASH_SOURCE", "BASH_SUBSHELL", "DIRSTACK",
     "EPOCHREALTIME", "EPOCHSECONDS", "FUNCNAME", "LINENO", "PIPESTATUS", "RANDOM", "SECONDS", "SRANDOM", "PPID",
     "BASH_REMATCH", "BASHOPTS", "SHELLOPTS", "OLDPWD", "PWD", "HISTCMD", "BASH_MONOSECONDS")
)  # fmt: skip
# Every text in a shell of its own: what it held before and after, and what the probe behind it would have printed.
RUNNING = r"""
command_not_found_handle() { return 127; }
probe() { printf '%s\0' "$@" $'\1' >&9; }
number=0
for text in "$@"; do
  ( u=old v=old PATH=/old FOO=old; export FOO; REPLY=old; a=(old older); set -- one two
    exec 9>"../probe.$number" 8>"../before.$number" 7>"../after.$number" >/dev/null 2>&1 </dev/null
    declare -p >&8; eval "$text"; declare -p >&7 ) &
  ((++number % 8)) || wait
done
wait
"""
PROBE = 'probe "$u" "$v" "$w" "$PATH" "$FOO" "${a[0]}" "${a[1]}" "$1" "$REPLY"'
SETUP = "u=old; v=old; PATH=/old; FOO=old; export FOO; REPLY=old; a=(old older); set -- one two; "


class Writer:
    """Writes one command that may assign, with random options and targets."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        return self.pick("u", "v", "w", "PATH", "FOO", "a", "u", "v", "'u'", "a[0]", "a[1]", '"$n"', "u v", "REPLY")

    def value(self) -> str:
        return self.pick("new", "'x y'", "7", '""', "$v", '"$u"', "u=5", "'%n'", "a=b", "-n")

    def number(self) -> str:
        return self.pick(
            "u=5", "u++", "--v", "w=u=3", "a[1]=4", "u+=1", "1", "u?v=1:2", "a[u=1]", "PATH=2", "0", "FOO|=1"
        )

    def format(self) -> str:
        piece = (
            "%s",
            "%n",
            "%5n",
            "%ln",
            "%*n",
            "%%",
            "%%n",
            "a",
            "\\n",
            "%b",
            "%d",
            "%-3jn",
            "%.2n",
            "%(%n)T",
            "$f",
            "%q",
        )
        return '"' + "".join(self.pick(*piece) for _ in range(self.random.randrange(1, 4))) + '"'

    def names(self) -> str:
        return " ".join(self.name() for _ in range(self.random.randrange(0, 4)))

    def command(self) -> str:
        n, v = self.name(), self.value()
        forms = (
            lambda: f"printf {self.pick('', '-- ', f'-v {n} ', f'-v{n} ', '-v u -v v ')}{self.format()} {self.names()}",
            lambda: f"printf {self.format()} {self.names()}",
            lambda: f"f={self.format()}; printf {self.pick('$f', chr(34) + '$f' + chr(34))} {self.names()}",
            lambda: f"read {self.pick('', '-r ', '-a ', '-ra ', '-n 2 ', '-N1 ', '-d x ', '-rd x ', '-p x ', '-u 0 ', '-t 1 ', '-e ', '-s ')}"
            f"{self.names()} <<< {v}",
            lambda: f"{self.pick('mapfile', 'readarray')} {self.pick('', '-t ', '-n 1 ', '-tn 1 ', '-O 1 ', '-d x ', '-u 0 ', '-s 1 ')}"
            f"{self.pick('', n)} <<< {v}",
            lambda: f"getopts {self.pick('x', ':x:', 'ab')} {n} {self.pick('', '-x', '-x y', '-a')}",
            lambda: f"sleep 0 & wait {self.pick('-n -p', '-np', '-p', '-fp')} {n} $!",
            lambda: f"sleep 0 & wait -{self.pick('p', 'np')}{self.pick('u', 'v', 'PATH')} $!",
            lambda: f"{self.pick('declare', 'typeset', 'export', 'readonly', 'declare -x', 'declare -g', 'declare -i', 'declare -u', 'declare -a', 'declare -A', 'declare -gx', 'export -n', 'declare +x', 'declare -t', 'declare -l', 'declare -n', 'declare -I')} "
            f"{n}{self.pick('', '=' + v, '+=' + v, '=(1 2)')}",
            lambda: f"f() {{ local {self.pick('', '-i ', '-x ', '-n ', '-a ', '-g ')}{n}={v}; {self.pick(':', 'u=in', 'declare -g v=in', 'read w <<< in')}; }}; f",
            lambda: f"let {self.pick(self.number(), chr(34) + self.number() + chr(34))} {self.pick('', self.number())}",
            lambda: f"(({self.number()}))",
            lambda: f": $(({self.number()}))",
            lambda: f": $[{self.number()}]",
            lambda: f": ${{{self.pick('u', 'a', 'FOO')}:{self.number()}}}",
            lambda: f": ${{a[{self.number()}]}}",
            lambda: f": {self.pick('', chr(34))}${{{self.pick('w', 'u', 'a[3]', 'PATH', 'q')}{self.pick(':=', '=')}{self.pick('new', '7', '$u')}}}",
            lambda: f"[[ {self.pick(self.number(), '1')} {self.pick('-eq', '-lt', '-ne')} {self.pick(self.number(), '1')} ]]",
            lambda: f"[[ {self.pick('abc', '$u')} =~ {self.pick('(b)', 'o(l)d', 'x')} ]]",
            lambda: f"[[ -v {self.pick('u', 'a[0]', 'a[u=1]')} ]]",
            lambda: f"for {self.pick('u', 'v', 'w', 'PATH', 'FOO')} in {self.pick('', 'p', 'p q', '$v')}; do :; done",
            lambda: f"for {self.pick('u', 'v')}; do :; done",
            lambda: f"for (({self.number()}; {self.pick('0', 'u=0', 'v++ < 2 && 0')}; {self.number()})); do :; done",
            lambda: f"select {self.pick('u', 'v', 'PATH')} in p q; do {self.pick(':', 'break')}; done <<< {self.pick('1', '2', 'x')}",
            lambda: f"exec {{{self.pick('u', 'v', 'PATH', 'w')}}}>/dev/null",
            lambda: f": {{{self.pick('u', 'v', 'PATH', 'a[1]')}}}>/dev/null",
            lambda: f"{{ :; }} {{{self.pick('u', 'v')}}}</dev/null",
            lambda: f"coproc {self.pick('', 'u ', 'PATH ', 'v ')}{{ :; }}",
            lambda: f"coproc {self.pick(':', 'read x')}",
            lambda: f"unset {self.pick('', '-v ', '-f ', '-n ', '-- ')}{self.names()}",
            lambda: f"{self.pick('u', 'v', 'PATH', 'FOO', 'a[1]', 'a[u=1]', 'a', 'w')}{self.pick('=', '+=')}{v}",
            lambda: f"a=({self.pick('1 2', '[1]=x', '[u=1]=y', '$v')})",
            lambda: f"u=temp v=temp PATH=/t {self.pick(':', 'eval :', 'export u', 'declare -x u', 'readonly v', 'true', 'set -- x', 'unset u', 'read w <<< x', 'declare -g u')}",
            lambda: f"set {self.pick('--', '-')} {self.pick('', 'x', 'x y', '$v')}",
            lambda: f"shift {self.pick('', '1', '2', '5')}",
            lambda: f"{self.pick('builtin', 'command')} {self.pick('printf %n u', 'printf -v v x', 'read u <<< x', 'export u=x', 'declare v=x', 'let u=9', 'unset u', 'getopts x v -x', 'mapfile u <<< x', 'eval u=9')}",
            lambda: f"declare -n r={self.pick('u', 'v', 'PATH')}; {self.pick('r=x', 'read r <<< x', 'printf -v r x', 'unset r', 'unset -n r')}",
            lambda: f"n={self.pick('u', 'PATH')}; {self.pick('declare', 'export', 'printf -v', 'read', 'unset', 'mapfile', 'getopts x')} {self.pick('$n', '${n}', '$n=x')} {self.pick('x', '<<< x', '')}",
            lambda: f"n={self.pick('q', 'u')}; : ${{!n:={v}}}",
            lambda: f"eval {self.pick('u=9', chr(39) + 'read v <<< x' + chr(39), 'printf %n u')}",
            lambda: f"trap {self.pick('u=9', chr(39) + 'v=x' + chr(39))} {self.pick('DEBUG', 'ERR', 'USR1', 'RETURN')}; :",
            lambda: "cat <<E\n${w:=new} $((u=3))\nE",
            lambda: f"case $((u=3)) in {self.pick('3', '*')}) v=x;; esac",
            lambda: f"time {self.pick('u=9', 'read v <<< x', 'printf %n u')}",
            lambda: f"! {self.pick('u=9', 'read v <<< x')}",
            lambda: f"test -v u; hash -p /x ls; {self.pick('u=9', 'shopt -s nullglob', 'set -f', 'alias x=y')}",
            lambda: f"exec {self.pick('3>', '{u}<')}/dev/null {self.pick('', '{v}>&1', '4>&1')}",
        )  # fmt: skip
        return self.random.choice(forms)()

    def text(self) -> str:
        start = self.pick("", "", "", "n=u; ", "n=PATH; ", "set -a; ", "readonly u; ", "declare -i u; ", "f() { :; }; ")
        command = self.command()
        around = self.pick(
            "{}", "{}", "{}", "{{ {}\n}}", "if {}\nthen :; fi", "( {}\n)", "f() {{ {}\n}}; f", "true && {}", "{}\nu=$u"
        )
        return start + around.format(command)


def variables(dump: str) -> dict[str, str]:
    """Variables of a `declare -p`, with attributes and values as bash writes them."""
    found = re.split(r"^declare -(?=\S+ [A-Za-z_])", dump, flags=re.MULTILINE)[1:]
    pairs = [re.match(r"\S+ ([A-Za-z_]\w*)", each) for each in found]
    return {pair[1]: each for pair, each in zip(pairs, found, strict=True) if pair and pair[1] not in _RESTLESS}


def value_of(declared: str | None) -> str:
    """A variable that is only declared is as good as none."""
    return (declared or "").partition("=")[2]


def is_exported(declared: str | None) -> bool:
    return "=" in (declared or "") and "x" in (declared or "").partition(" ")[0]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, dict[str, str], dict[str, str], list[list[str]]]]:
    """Every text, the variables before and after, and what the probes were given."""
    place = tmp_path_factory.mktemp("bash")
    (place / "in").mkdir()
    texts = [Writer(seed).text() for seed in range(TEXTS)]
    for first in range(0, len(texts), 300):
        part = place / str(first)
        (part / "in").mkdir(parents=True)
        script = [BASH, "--norc", "--noprofile", "-c", RUNNING, "bash"]
        arguments = [f"{each}\n{PROBE}" for each in texts[first : first + 300]]
        with subprocess.Popen([*script, *arguments], cwd=part / "in", env=ENV, start_new_session=True) as shell:
            try:
                shell.wait(120)
            finally:  # whatever a text started, and left behind
                with suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)
    found = []
    for number, text in enumerate(texts):
        folder = place / str(number // 300 * 300)
        read_all = [
            (folder / f"{kind}.{number % 300}").read_text(errors="replace") for kind in ("before", "after", "probe")
        ]
        probes = [each.split("\0")[:-1] for each in read_all[2].split("\1\0")[:-1]]
        found.append((text, variables(read_all[0]), variables(read_all[1]), probes))
    return found


def test_whatever_a_text_assigns_is_told(ran: list) -> None:
    changed = 0
    missed = []
    for text, before, after, _ in ran:
        if not after:  # the shell ended
            continue
        names = {
            name for name in before.keys() | after.keys() if value_of(before.get(name)) != value_of(after.get(name))
        }  # fmt: skip
        exported = {name for name in after if is_exported(after[name]) and not is_exported(before.get(name))}
        if not names and not exported:
            continue
        changed += 1
        script = read(SETUP + text, cwds=("/p",), home="/home/dev", variables={})
        if script.unknowns:
            continue
        told = {each.name for each in script.assignments if each.start >= len(SETUP)} | _handed_on(script)
        shown = {each.name for each in script.assignments if each.exported and each.start >= len(SETUP)}
        if HOLE not in told and not (names <= told and exported <= shown | _handed_on(script)):
            missed.append((text, names - told, exported - shown))
    assert missed == []
    assert changed > len(ran) // 3


def _handed_on(script: Script) -> set[str]:
    """What commands do that are told of elsewhere: `unset`, and texts that are read as texts of their own."""
    found: set[str] = set()
    for command in script.commands:
        words = [word.text for word in command.words if word.text not in ("builtin", "command")]
        if words[0] == "unset":
            found |= {word.partition("[")[0] for word in words}
        elif words[0] in ("eval", "trap"):
            inner = read(" ".join(words[1 : 2 if words[0] == "trap" else None]), cwds=(), home="", variables={})
            found |= {each.name for each in inner.assignments}
    return found


def test_no_value_from_before_is_believed(ran: list) -> None:
    missed = []
    certain = 0
    for text, _, _, probes in ran:
        script = read(f"{SETUP}{text}\n{PROBE}", cwds=("/p",), home="/home/dev", variables={})
        if script.unknowns:
            continue
        predicted = [[w.text for w in c.words[1:]] for c in script.commands if c.words[0].text == "probe"]
        certain += bool(probes) and any(HOLE not in word for words in predicted for word in words[:3])
        missed += [(text, given, predicted) for given in probes if not any(_may_be(each, given) for each in predicted)]
    assert missed == []
    assert certain > len(ran) // 8


def _may_be(predicted: list[str], given: list[str]) -> bool:
    return len(predicted) == len(given) and all(
        re.fullmatch(re.escape(word).replace(re.escape(HOLE), ".*"), real, re.DOTALL)
        for word, real in zip(predicted, given, strict=True)
    )
