"""Programs that go on to take commands from their input: shells, interpreters and clients started without a program.

An agent may write to the input of what runs without anybody being asked. Then what is typed later is judged by nobody,
so what would wait for it must not start. What is told here errs on the side of waiting.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.shell import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.command import Part, Simple


class _Family(Value):
    """Programs that need the same to run without waiting: one of the `options` (a letter also within a cluster), or so
    many operands; with one of `waiting` they wait all the same."""

    names: frozenset[str]
    options: tuple[str, ...] = ()
    operands: int = 1
    waiting: tuple[str, ...] = ()


def _family(names: str, options: str = "", operands: int = 1, waiting: str = "") -> _Family:
    return _Family(frozenset(names.split()), tuple(options.split()), operands, tuple(waiting.split()))


_NEVER_ENOUGH = 99
_SHOWS = ("--version", "--help")  # and nothing more
_FAMILIES = (
    _family("bash sh zsh dash ash ksh mksh fish csh tcsh rbash busybox elvish nu xonsh", "-c", 1, "-i -s"),
    _family("python python2 python3 pypy pypy3", "-c -m -V", 1, "-i"),
    _family("node nodejs", "-e -p --eval --print -c --check -v --test", 1, "-i --interactive inspect"),
    _family("deno bun", "", 1, "repl"),
    _family("perl", "-e -E -c -v", 1, "-d -de"),
    _family("ruby", "-e -c -v", 1),
    _family("php", "-r -f -i -l -m -v", 1, "-a --interactive"),
    _family("lua luajit lua5.1 lua5.3 lua5.4", "-e -v", 1, "-i"),
    _family("R Rscript julia tclsh wish guile racket scheme sbcl clisp ocaml utop sml swift scala groovysh erl",
            "-e -f -E --eval --file -noshell", 1, "-i"),
    _family("psql", "-c -f -l --command --file --list -V", _NEVER_ENOUGH),
    _family("mysql mariadb", "-e --execute", _NEVER_ENOUGH),
    _family("sqlite3 duckdb", "-c", 2, "-interactive"),
    _family("mongo mongosh cqlsh sqlplus clickhouse-client", "-e --eval -f --file -q --query", _NEVER_ENOUGH),
    _family("redis-cli", "", 1, "monitor subscribe psubscribe"),
    _family("gdb lldb pdb", "-batch --batch -b", _NEVER_ENOUGH),
    _family("ssh mosh", "-N -V -G -Q", 2, "-t -tt"),
    _family("su sudo doas", "-c --command -l -v -k -K", 1, "-i -s --login --shell"),
    _family("docker podman nerdctl", "", 1, "-i -t -it -ti --interactive --tty attach"),
    _family("kubectl oc", "", 1, "-i -t -it -ti --stdin --tty attach edit"),
    _family("xargs parallel at batch", "-a --arg-file -f", _NEVER_ENOUGH),
    _family("bc dc", "-e", 1),
    _family("gnuplot octave maxima gp sage matlab", "-e --eval -r -batch", 1),
    _family("crontab", "-l -r", 1),
    _family(
        "ipython irb pry ghci jshell iex rails-console vi vim nvim view ex ed red nano pico emacs joe micro less more "
        "most man info screen tmux zellij script expect telnet nc nc.traditional nc.openbsd ncat netcat socat ftp sftp "
        "lftp login newgrp rlwrap "
        "top htop btop w3m lynx elinks links mc ranger nnn mutt irssi weechat pwsh powershell cmd.exe ipdb bpython "
        "ptpython adb cu minicom picocom rlogin rsh tclreadline",
        "-batch --batch -c --command",
        _NEVER_ENOUGH,
    ),
)  # fmt: skip
_BY_NAME = {name: family for family in _FAMILIES for name in family.names}
# Modules of Python that take commands, run with `-m`.
_PROMPTS = frozenset(("code", "pdb", "ipdb", "asyncio", "IPython", "ptpython", "bpython", "sqlite3", "ptipython"))
# Signs that what a text calls a file is the input, or the terminal.
_SAME_INPUT = ("<&", "/dev/tty", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
# Operands that are the input itself.
_INPUT = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/tty"))
# What hands its own input on.
_HANDS_ON = frozenset(
    ("cat", "tee", "head", "tail", "sed", "awk", "grep", "tr", "cut", "dd", "pv", "stdbuf", "sort", "read", "base64",
     "xxd", "gzip", "gunzip", "zcat", "unbuffer", "rev", "tac", "nl", "fold", "jq", "envsubst")
)  # fmt: skip


def waits_for_input(text: str, parts: Sequence[Part]) -> str:
    """The program of a text that goes on to take commands from an input that the text does not give it, "" if there is
    none. `parts`: what the analysis of this text found."""
    suspects = [part for part in parts if _waits(part)]
    if not suspects:
        return ""
    commands = reading.read(text, cwds=(), home="", variables={}).commands
    is_known = not any(sign in text for sign in _SAME_INPUT)
    for part in suspects:
        around = [each for each in commands if each.start <= part.start and part.end <= each.end]
        if not is_known or not any(_is_given(each, commands) for each in around):
            return _name(part)
    return ""


def _name(part: Part) -> str:
    name = part.program or (part.argv[0] if part.argv else "")
    return name[name.rfind("/") + 1 :]


def _waits(part: Part) -> bool:
    """Whether the command waits unless it is given an input."""
    name = _name(part)
    family = _BY_NAME.get(name) or _BY_NAME.get(name.rstrip("0123456789.")) or _BY_NAME.get(_base(part))
    words = part.argv[1:]
    if name in ("source", "."):
        return any(word in _INPUT for word in words)
    if family is None:
        return False
    if any(word in family.waiting or _clustered(word, family.waiting) for word in words):
        return True
    if any(word in _SHOWS for word in words[:1]):
        return False
    if any(word in _INPUT for word in words):
        return True
    if "-m" in words and any(word in _PROMPTS for word in words):
        return True
    if any(word in family.options or _clustered(word, family.options) or _with_value(word, family) for word in words):
        return False
    operands = part.operands if part.described else tuple(word for word in words if not word.startswith("-"))
    return len((*part.subcommands, *operands)) < family.operands


def _base(part: Part) -> str:
    first = part.argv[0] if part.argv else ""
    return first[first.rfind("/") + 1 :]


def _clustered(word: str, options: tuple[str, ...]) -> bool:
    """Whether a word of short options holds one of them: `-lc`, `-ne`."""
    if len(word) < 3 or word[0] != "-" or word[1] == "-" or not word[1:].isalpha():
        return False
    return any(len(option) == 2 and option[1] in word[1:] for option in options)


def _with_value(word: str, family: _Family) -> bool:
    return "=" in word and word.partition("=")[0] in family.options


def _is_given(command: Simple, commands: Sequence[Simple]) -> bool:
    """Whether the text itself gives the command its whole input."""
    if command.stdin in ("text", "file"):
        return True
    if command.stdin != "pipe" or command.feeder is None:
        return False
    start, end = command.feeder
    feeders = [each for each in commands if start <= each.start and each.end <= end]
    return bool(feeders) and not any(_hands_on(each, commands) for each in feeders)


def _hands_on(command: Simple, commands: Sequence[Simple]) -> bool:
    """Whether what comes out may be what is typed in."""
    if not command.words:
        return False
    if command.stdin in ("text", "file"):
        return False
    if command.stdin == "pipe":
        return not _is_given(command, commands)
    name = command.words[0].text
    name = name[name.rfind("/") + 1 :]
    words = [word.text for word in command.words[1:]]
    operands = [word for word in words if word == "-" or not (word.startswith("-") or word.isdecimal())]
    if name in ("cat", "tac", "rev", "nl", "zcat", "base64", "sort", "head", "tail"):
        return not operands or any(word in _INPUT for word in operands)
    return name in _HANDS_ON
