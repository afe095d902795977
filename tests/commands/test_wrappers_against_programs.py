"""What wrappers really start, with which words, variables and folder: the programs themselves are the judges.

Each is run with options and words at random, around a probe that notes how it was started. The analysis has found that
very command, or says that it is in doubt.
"""

from __future__ import annotations

import ast
import os
import random
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from fuzzing import LONG, THOROUGH
from shebang import first_lines

from gateway.commands.analyse import Start, analyse
from gateway.commands.variables import assigned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# So many texts of each wrapper; fewer in a usual run, where one of them was certain.
RUNS = int(LONG or 40)
ENOUGH = RUNS if LONG or THOROUGH else 4
PROBE = "zqprobe"
# `os` and `json` would take as long as all the rest.
NOTES = f"""{first_lines("-IS")}import posix, sys
with open(posix.environ[b"ZQ_NOTES"], "a") as file:
    file.write(repr([sys.argv[1:], posix.environ, posix.getcwd()]) + "\\n")
"""
# What stands around the probe's own words: options and operands of each wrapper, some of which it refuses.
WORDS: dict[str, tuple[str, ...]] = {
    "timeout": ("-s", "KILL", "-sTERM", "--signal=INT", "-k", "1", "-k1", "--kill-after=1", "5", "5s", "0.5m",
                "--foreground", "--preserve-status", "-v", "--", "--verbose"),
    "nice": ("-n", "5", "-n5", "-5", "--adjustment=3", "--adjustment", "-n-1", "--", "-10", "+3"),
    "env": ("-i", "-u", "HOME", "-uFOO", "--unset=FOO", "-C", "sub", "-Csub", "--chdir=sub", "A=b", "PATH2=x", "-",
            "--", "-0", "-v", "FOO=", "--ignore-environment", "GIT_DIR=b", "-S", "A=c B=d", "-SC=e", "-iS", "-vS",
            "D='x y'", "--split-string=E=f", "--debug", "-a", "zero"),
    "nohup": ("--",),
    "stdbuf": ("-o0", "-oL", "-i", "0", "-e0", "--output=L", "--input", "0", "--", "-o", "L"),
    "setsid": ("-w", "--wait", "-c", "--ctty", "--", "-wc"),
    "ionice": ("-c", "3", "-c3", "-n", "7", "-t", "--class", "idle", "--class=best-effort", "--", "-c2", "-n0"),
    "taskset": ("-c", "0", "0x1", "1", "--cpu-list", "0-0", "-a", "--", "ff"),
    "chrt": ("-o", "0", "-b", "-i", "--other", "--batch", "--idle", "--", "-v"),
    "flock": ("-n", "-s", "-x", "-w", "1", "lock", "-E", "3", "-o", "-c", "--timeout=1", "-F", "--", "-u", "--shared"),
    "script": ("-q", "-c", "-e", "-f", "-a", "/dev/null", "--quiet", "--return", "-qc", "-qec", "--command"),
    "xargs": ("-n", "1", "-n1", "-I", "{}", "-I{}", "-i", "-0", "-r", "-t", "-L1", "-P", "2", "-d", ",", "-d,", "-x",
              "-s", "4000", "--max-args=1", "--no-run-if-empty", "--", "-E", "b", "a", "--replace"),
    "find": (".", "sub", "-maxdepth", "0", "-type", "d", "-mindepth", "-name", "!", "-o", "-print", "-prune"),
    "time": ("-p", "-v", "-o", "out", "-a", "-f", "%e", "--", "-q", "--format=%e", "--output=out"),
    "setarch": ("x86_64", "-R", "-v", "--", "linux64", "-3", "--addr-no-randomize"),
    "prlimit": ("--nofile=100", "-n100", "--core=0", "--", "-c0", "--nproc"),
    "setpriv": ("--no-new-privs", "--nnp", "--clear-groups", "--inh-caps=-all", "--reset-env", "--", "--keep-groups"),
    "strace": ("-f", "-o", "out", "-e", "trace=none", "-q", "-qq", "-s", "10", "-E", "A=b", "--", "-tt", "-oout"),
    "bash": ("-c", "-e", "-x", "-ec", "+x", "-o", "pipefail", "--norc", "--", "-u", "-l", "-O", "nullglob", "-p"),
    "sh": ("-c", "-e", "-u", "-ec", "+e", "--", "-f", "-cx"),
    "command": ("-p", "-v", "--", "-V"),
    "exec": ("-c", "-l", "-a", "name", "--", "-cl"),
    "eval": ("--", "A=1", "cd sub;", "export B=2;"),
    "builtin": ("command", "exec", "eval", "--"),
}  # fmt: skip
OF_THE_SHELL = ("command", "exec", "eval", "builtin")
# How the probe stands among them: as words, or as a text.
PROBES = ((PROBE,), (PROBE, "a"), (PROBE, "-x", "b c"), (PROBE, "{}"), (f"{PROBE} a",), (f"A=1 {PROBE} b",),
          (f"cd sub && {PROBE}",), (f"export B=2; {PROBE}",))  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrapped")
    (folder / "bin").mkdir()
    (folder / "bin" / PROBE).write_text(NOTES, encoding="utf-8")
    (folder / "bin" / PROBE).chmod(0o755)
    (folder / "work" / "sub").mkdir(parents=True)
    return folder


def texts(wrapper: str, number: int) -> Iterator[str]:
    choose = random.Random(f"{wrapper} {number}")
    for _ in range(RUNS):
        words = choose.choices(WORDS[wrapper], k=choose.randrange(5))
        at = len(words) if choose.random() < 0.8 else choose.randrange(len(words) + 1)
        probe = choose.choice(PROBES)
        if wrapper == "find":
            probe = (choose.choice(("-exec", "-execdir")), *probe, *choose.choice(((";",), ("{}", "+"), ("{}", ";"))))
        words = [*words[:at], *probe, *words[at:]]
        yield shlex.join((wrapper, *words))


def started(text: str, place: Path) -> list[tuple[list[str], dict[str, str], str]]:
    """How the probe was started, each time."""
    notes = place / "notes"
    notes.write_text("", encoding="utf-8")
    environment = {"PATH": f"{place}/bin:/usr/bin:/bin", "HOME": str(place), "ZQ_NOTES": str(notes), "LC_ALL": "C"}
    subprocess.run(
        ["bash", "-c", text], input=b"one\ntwo\n", env=environment, cwd=place / "work", capture_output=True, timeout=20,
        check=False, start_new_session=True,
    )  # fmt: skip
    found = [ast.literal_eval(line) for line in notes.read_text(encoding="utf-8").splitlines()]
    decoded = [(argv, {os.fsdecode(k): os.fsdecode(v) for k, v in env.items()}, cwd) for argv, env, cwd in found]
    return [(argv, {k: v for k, v in env.items() if environment.get(k) != v}, cwd) for argv, env, cwd in decoded]


# Set by the shells and wrappers themselves.
OWN = frozenset(("_", "PWD", "OLDPWD", "SHLVL", "LD_PRELOAD", "_STDBUF_O", "_STDBUF_I", "_STDBUF_E", "USER", "LOGNAME",
                 "SHELL", "TERM", "COLUMNS", "LINES", "LC_CTYPE"))  # fmt: skip


def missed(text: str, place: Path, descriptions: dict[str, Any]) -> tuple[str, bool]:
    """What the analysis does not tell of how the probe is really started, and whether it starts without a doubt."""
    runs = started(text, place)
    found = analyse(text, Start(f"{place}/work", str(place)), descriptions.get)
    probes = [at for at, part in enumerate(found.parts) if part.argv and part.argv[0] == PROBE]
    if any(
        item.effect.kind == "opaque" or (item.effect.kind == "code" and item.part not in probes) for item in found.items
    ):
        return "", False
    told = {item.effect.target for item in found.items if item.effect.kind == "env"}
    for argv, environment, cwd in runs:
        like = [at for at in probes if _is_like(found.parts[at].argv[1:], argv)]
        if not like:
            return f"{text} starts {argv}", False
        if not any(not found.parts[at].cwds or cwd in (found.parts[at].cwds or ()) for at in like):
            return f"{text} starts in {cwd}", False
        for name in environment:
            if name not in told and name not in OWN and assigned(name, True):
                return f"{text} sets {name}", False
    return "", bool(runs)


def _is_like(told: tuple[str, ...], real: list[str]) -> bool:
    """Whether words with unknown parts may stand for these."""
    if any("\0" in word for word in told):
        first = next(at for at, word in enumerate(told) if "\0" in word)
        return list(told[:first]) == real[:first]
    return list(told) == real


@pytest.mark.parametrize("wrapper", WORDS)
def test_what_a_wrapper_starts_is_what_was_told(wrapper: str, place: Path, descriptions: dict[str, Any]) -> None:
    if wrapper not in OF_THE_SHELL and not shutil.which(wrapper):
        pytest.skip(f"{wrapper} is not installed")
    wrong, certain = [], 0
    for number, text in enumerate(texts(wrapper, 1)):
        if number >= ENOUGH and certain:
            break
        said, was_certain = missed(text, place, descriptions)
        certain += was_certain
        wrong += [said] if said else []
    assert wrong == []
    assert certain or wrapper in ALWAYS_IN_DOUBT


# Of these nothing is certain, whatever they are told.
ALWAYS_IN_DOUBT = frozenset(("setarch", "setpriv"))
