"""Starts `gateway` as a process of its own without the start of a Python, which costs more than most commands do.

How to use it: `starting.run` and `starting.Popen` are those of `subprocess`, with all their arguments, for a command
line `[sys.executable, "-m", "gateway", WORDS…]`; a stream may be `CLOSED`, too. What they give is a process like any
other: a child of this one, with a number, streams and an end of its own. It comes from a fork of a process that has
loaded what such commands load (see `starter`), and what it does, says and ends with is what a started Python does, says
and ends with (`tests/test_starting.py`). Whatever could make a difference is started as usual: other command lines, a
`preexec_fn` but `take_terminal`, other users, descriptors that are inherited unasked; modules in places of a test's
own; a process whose limits, signals, rights or namespaces have changed; systems that cannot do it. So is the first
start of each command in a process and the first in each file of tests, so that the real start is tried everywhere. What
stays with `subprocess`: tests about the start itself, that count modules or measure time or memory; about
`/proc/PID/cmdline` and `/proc/PID/environ`, which are the starter's.
"""

from __future__ import annotations

import array
import atexit
import marshal
import os
import resource
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from types import FunctionType
from typing import Any

from patience import patience
from starter import HIGHEST, MOST_DESCRIPTORS, can_fork_a_sibling, take_terminal

# The command line's beginning.
GATEWAY = [sys.executable, "-m", "gateway"]
CLOSED = -10  # a stream that is not open, beside those of `subprocess`
__all__ = ["CLOSED", "GATEWAY", "Popen", "run", "take_terminal"]
_LINE = [os.fsencode(each) for each in GATEWAY]
# Variables that Python and the libraries below it read at the start.
_AT_THE_START = (b"PYTHON", b"LC_", b"LANG", b"TZ", b"LD_", b"MALLOC_", b"GLIBC_", b"OPENSSL_", b"GCONV_", b"LOCPATH")
# Those of Python's that make the starter one like itself.
_PYTHONS = {b"PYTHONPATH", b"PYTHONWARNINGS", b"PYTHONUTF8", b"PYTHONCOERCECLOCALE", b"PYTHONIOENCODING"}
# What is told of a process that it hands down, and nobody asks for at a start.
_HANDED_DOWN = (
    b"Uid", b"Gid", b"Groups", b"SigBlk", b"SigIgn", b"CapInh", b"CapPrm", b"CapEff", b"CapBnd", b"CapAmb",
    b"NoNewPrivs", b"Seccomp", b"Cpus_allowed",
)  # fmt: skip
# Where modules may lie: what a test puts elsewhere, to stand in the place of others, is for no starter to load.
places = {os.fsencode(each) for each in (Path(__file__).parents[1], *sys.path) if os.fspath(each)}
_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
# These end before they load what the others need for their command lines, and at once (`gateway.frontends.main`).
_WITHOUT_TYPER = frozenset((b"check", b"run", b"exec", b"hook", b"mcp serve", b"mcp proxy"))
_MOST_STARTERS = 8
_MOST_SAID = 100_000  # a longer word is more than the system hands on


class Popen(subprocess.Popen[Any]):
    """`subprocess.Popen`; a `gateway` is forked."""

    def _execute_child(self, *given: Any) -> None:
        (
            args, executable, preexec_fn, close_fds, pass_fds, cwd, env, _info, _flags, shell,
            stdin, stdin_here, stdout_here, stdout, stderr_here, stderr,
            restores, gid, gids, uid, umask, session, group,
        ) = given  # fmt: skip
        usual = close_fds and restores and not shell
        terminal = preexec_fn is take_terminal
        if executable is None and (preexec_fn is None or terminal) and gid is gids is uid is None and usual:
            streams = [number if each == -1 else each for number, each in enumerate((stdin, stdout, stderr))]
            how = {"umask": umask, "session": bool(session), "group": group, "terminal": terminal}
            child = _forked(args, cwd, env, [*streams, *pass_fds], [0, 1, 2, *pass_fds], how)
            if child:
                self.pid = child
                self._child_created = True
                self._close_pipe_fds(stdin, stdin_here, stdout_here, stdout, stderr_here, stderr)
                return
        closed = [number for number, each in enumerate((stdin, stdout, stderr)) if each == CLOSED]
        if closed:
            script = " ".join(('exec "$@"', *(f"{number}>&-" for number in closed)))
            left = [-1 if each == CLOSED else each for each in given]
            given = (["/bin/sh", "-c", script, "sh", *args], *left[1:])
        super()._execute_child(*given)  # type: ignore[misc]


# The one that is known, with the class above for its own.
run: Any = FunctionType(subprocess.run.__code__, {**vars(subprocess), "Popen": Popen}, "run")
run.__kwdefaults__ = subprocess.run.__kwdefaults__


class _Starter:
    """A process to fork from, and what a new process of ours would have got of us when it was made."""

    def __init__(self, environment: list[tuple[bytes, bytes]], never: str) -> None:
        self.owner = os.getpid()
        self.handed_down = _handed_down()
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(patience(60))
        with theirs:  # a module, as what it goes on as: when a file ends, Python tells nobody what it could not write
            self._process = subprocess.Popen(
                [sys.executable, "-m", "starter", str(theirs.fileno()), never], cwd=Path(__file__).parent,
                pass_fds=[theirs.fileno()], env={b"HOME": b"/nonexistent", **dict(environment)},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip

    def is_of_use(self, handed_down: tuple[Any, ...]) -> bool:
        return self.owner == os.getpid() and self._process.poll() is None and self.handed_down == handed_down

    def fork(self, request: dict[str, Any], descriptors: list[int]) -> int:
        """The number of the new process."""
        data, numbers = marshal.dumps(request), array.array("i", descriptors)
        with self._lock:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers.tobytes())]
            self._socket.sendmsg([len(data).to_bytes(8, "little")], rights)
            self._socket.sendall(data)
            child = int.from_bytes(self._socket.recv(8, socket.MSG_WAITALL), "little", signed=True)
        if child <= 0:
            raise OSError(f"nothing was forked: {child}")
        return child

    def end(self) -> None:
        """It ends once nobody can ask it any more."""
        self._socket.close()
        if self.owner == os.getpid():
            self._process.wait()


_starters: dict[Any, _Starter] = {}
_started: set[Any] = set()


def _forked(args: Any, cwd: Any, env: Any, given: list[int], numbers: list[int], how: dict[str, Any]) -> int:
    """The number of a process that runs this, 0 where it is to be started as usual."""
    words = _words(args)
    if words is None or max(numbers) >= HIGHEST or len(given) >= MOST_DESCRIPTORS or not can_fork_a_sibling():
        return 0
    variables = (os.environ if env is None else env).items()
    environment = [(os.fsencode(name), os.fsencode(value)) for name, value in variables]
    if not _can_be_handed_on(words, environment):
        return 0
    streams = [(number, each) for number, each in zip(numbers, given, strict=True) if _is_open(each)]
    reads_a_folder = bool(streams) and streams[0][0] == 0 and stat.S_ISDIR(os.fstat(streams[0][1]).st_mode)
    folder = -1 if reads_a_folder else _opened("." if cwd is None else cwd)
    if folder < 0:
        return 0
    try:
        starter = _starter_for(words, environment)
        if starter is None:
            return 0
        if how["umask"] < 0:
            how["umask"] = int(_status()[b"Umask"], 8)
        how |= {"words": words, "environment": environment, "numbers": [number for number, _ in streams]}
        return starter.fork(how, [folder, *(each for _, each in streams)])
    finally:
        os.close(folder)


def _words(args: Any) -> list[bytes] | None:
    """The words of a command line that is `gateway`'s."""
    if isinstance(args, (str, bytes, os.PathLike)):
        return None
    line = [os.fsencode(each) for each in args]
    return line[len(_LINE) :] if line[: len(_LINE)] == _LINE else None


def _can_be_handed_on(words: list[bytes], environment: list[tuple[bytes, bytes]]) -> bool:
    """Whether the system would take it for a new program, and Python as it takes everything."""
    said = [*words, *(each for pair in environment for each in pair)]
    if any(b"\0" in each or len(each) > _MOST_SAID for each in said) or sum(map(len, said)) > 5 * _MOST_SAID:
        return False
    for name, value in environment:
        known = value.split(b":") if name == b"PYTHONPATH" else ()
        if name.startswith(b"PYTHON") and (name not in _PYTHONS or not places.issuperset(known)):
            return False
    return all(name and b"=" not in name for name, _ in environment)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _opened(folder: Any) -> int:
    """A folder for a process to be in, -1 where it could not be."""
    try:
        found = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return -1
    if os.fstat(found).st_nlink and os.access(f"/proc/self/fd/{found}", os.X_OK, effective_ids=True):
        return found
    os.close(found)
    return -1


def _starter_for(words: list[bytes], environment: list[tuple[bytes, bytes]]) -> _Starter | None:
    """The process to fork from, None where it is no use: for the first such command, the first of a file of tests, and
    where something has changed that it has of us."""
    command = b" ".join(words[: 2 if words[:1] == [b"mcp"] else 1])
    command = b"" if command.startswith(b"-") else command
    at_the_start = sorted(each for each in environment if each[0].startswith(_AT_THE_START))
    key = (command, *at_the_start)
    file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    if _is_first(key, file):
        return None
    handed_down = _handed_down()
    found = _starters.pop(key, None)
    if found is not None and not found.is_of_use(handed_down):
        if found.owner == os.getpid() and found.handed_down != handed_down:
            _starters[key] = found  # until it is as it was
            return None
        found.end()
        found = None
    if found is None:
        found = _Starter(at_the_start, "typer" if command in _WITHOUT_TYPER else "")
    _starters[key] = found  # as the latest
    if len(_starters) > _MOST_STARTERS:
        _starters.pop(next(iter(_starters))).end()
    return found


def _is_first(*of: Any) -> bool:
    """Whether nothing was started yet of one of these."""
    known = _started.issuperset(of)
    _started.update(of)
    return not known


def _handed_down() -> tuple[Any, ...]:
    """All that a new process gets of this one beside what it is started with."""
    status = _status()
    with open("/proc/self/cgroup", "rb") as file:
        groups = file.read()
    spaces = tuple(
        os.readlink(f"/proc/self/ns/{name}")
        for name in ("cgroup", "ipc", "mnt", "net", "pid_for_children", "user", "uts")
    )
    return (
        *(status.get(each) for each in _HANDED_DOWN), *(resource.getrlimit(each) for each in _LIMITS),
        groups, spaces, os.getpriority(os.PRIO_PROCESS, 0), os.getsid(0), os.getpgrp(), os.stat("/").st_ino,
    )  # fmt: skip


def _status() -> dict[bytes, bytes]:
    with open("/proc/self/status", "rb") as file:
        return dict(line.split(b":", 1) for line in file.read().splitlines())


@atexit.register
def _end() -> None:
    while _starters:
        _starters.popitem()[1].end()
