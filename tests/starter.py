"""The process that `starting` forks commands from: a Python that has loaded what they load, and has run none of them.

    python -m starter SOCKET NEVER

In each child it takes on what the caller asks for and goes on as `python -m gateway` does, in the same interpreter,
which ends as it always ends. `SOCKET`, a descriptor: the other end is the caller's. `NEVER`, a module that is not to be
loaded ahead, nor what comes after it; "" for none.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import fcntl
import gc
import importlib
import io
import marshal
import os
import platform
import posix
import runpy
import socket
import sys
import termios
from contextlib import suppress
from typing import Any

_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_PARENT, _CLONE_CHILD_SETTID, _CLONE_CHILD_CLEARTID = 0x8000, 0x1000000, 0x200000
_PR_GET_TID_ADDRESS = 40
MOST_DESCRIPTORS = 64
HIGHEST = 255  # descriptors that anybody passes are below


def can_fork_a_sibling() -> bool:
    """Whether a process can start another one that is its parent's child."""
    return sys.platform == "linux" and platform.machine() in _SYS_CLONE


def _fork_a_sibling() -> int:
    """`os.fork`, but for whose child it makes."""
    libc = ctypes.PyDLL(None)  # which keeps the interpreter to itself meanwhile
    address = ctypes.c_void_p()
    flags = _CLONE_PARENT
    if libc.prctl(_PR_GET_TID_ADDRESS, ctypes.byref(address), 0, 0, 0) == 0 and address.value:
        flags |= _CLONE_CHILD_SETTID | _CLONE_CHILD_CLEARTID  # as libc does: it keeps the number there
    numbers = [ctypes.c_long(each) for each in (_SYS_CLONE[platform.machine()], flags, 0, 0)]
    ctypes.pythonapi.PyOS_BeforeFork()
    child: int = libc.syscall(*numbers, address, address)  # machines have it in the one place or the other
    if child == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    return child


def take_terminal() -> None:
    """For `preexec_fn`: makes standard input the terminal that this new session is at."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class _Learning:
    """A finder that finds nothing: in a child it tells the starter what is loaded."""

    def __init__(self, never: str) -> None:
        self._never = never
        self._reader, self.writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._tried = {"gateway.__main__"}
        self._is_told = True

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name == self._never:
            self._is_told = False
        if self._is_told:
            try:
                os.write(self.writer, name.encode() + b"\n")
            except OSError:
                self._is_told = False

    def load(self) -> None:
        """Loads what was told of, in that order: some modules are others where parts of them are loaded first."""
        try:
            names = dict.fromkeys(os.read(self._reader, 1 << 16).decode().splitlines())
        except BlockingIOError:
            return
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        for name in [each for each in names if each not in self._tried]:
            with suppress(ImportError):  # it may be looked for where it is not
                importlib.import_module(name)
        self._tried |= names.keys()
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]
        sys.stdout.flush()  # a child would say again what they have said
        gc.collect()
        gc.freeze()  # no child looks through it, which would make a copy of it


def serve(number: int, never: str) -> None:
    """Forks for each request. Returns in the child, which then is what was asked for."""
    from gateway.core.module_finder import install

    install()
    del sys.path[0]
    learning = _Learning(never)
    sys.meta_path.insert(0, learning)  # type: ignore[arg-type]
    with socket.socket(fileno=number) as caller:
        while True:
            request, descriptors = _request(caller)
            learning.load()
            child = _fork_a_sibling()
            if child == 0:
                break
            for each in descriptors:
                os.close(each)
            caller.sendall(child.to_bytes(8, "little", signed=True))
    learning.writer = _take_descriptors(request["numbers"], descriptors, learning.writer)
    _become(request)


def _request(caller: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Ends the process where nobody asks any more."""
    numbers = array.array("i")
    head, told, _, _ = caller.recvmsg(
        8, socket.CMSG_SPACE(MOST_DESCRIPTORS * numbers.itemsize), socket.MSG_CMSG_CLOEXEC
    )
    if not head:
        os._exit(0)
    for _level, _kind, data in told:
        numbers.frombytes(data)
    return marshal.loads(caller.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL)), list(numbers)


def _take_descriptors(numbers: list[int], given: list[int], learning: int) -> int:
    """Goes into the folder that is the first of those given, and has the others under their numbers, and nothing else
    open but the way to tell what is loaded."""
    os.fchdir(given[0])
    above = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, HIGHEST + 1) for each in (learning, *given[1:])]
    os.closerange(0, HIGHEST + 1)
    for number, each in zip((HIGHEST, *numbers), above, strict=True):
        os.dup2(each, number, inheritable=number != HIGHEST)
        os.close(each)
    return HIGHEST


def _become(request: dict[str, Any]) -> None:
    """Takes on all else that a process has of whoever starts it."""
    os.umask(request["umask"])
    if request["session"]:
        os.setsid()
    if request["group"] >= 0:
        os.setpgid(0, request["group"])
    if request["terminal"]:
        take_terminal()
    coerced = os.environb.get(b"LC_CTYPE")  # Python sets it where it finds no locale at its start
    os.environ.clear()
    posix.environ.clear()  # type: ignore[attr-defined] - what `os.environ` was made from, once
    environment = dict(request["environment"])
    if b"LC_CTYPE" not in environment and coerced is not None:
        environment[b"LC_CTYPE"] = coerced
    for name, value in environment.items():
        os.environb[name] = posix.environ[name] = value  # type: ignore[attr-defined]
    words = [os.fsdecode(each) for each in request["words"]]
    sys.path.insert(0, os.getcwd())
    sys.orig_argv[:] = [sys.executable, "-m", "gateway", *words]
    sys.argv[:] = ["-m", *words]
    sys.stdin = sys.__stdin__ = _stream(0, sys.stdin)
    sys.stdout = sys.__stdout__ = _stream(1, sys.stdout)
    sys.stderr = sys.__stderr__ = _stream(2, sys.stderr)
    gc.enable()


def _stream(number: int, like: Any) -> Any:
    """A stream as Python makes it at its start, None where it is closed."""
    try:
        os.fstat(number)
    except OSError:
        return None
    mode = "w" if number else "r"
    inner = open(number, f"{mode}b", closefd=False)  # noqa: SIM115
    inner.raw.name = like.name
    by_lines = number == 2 or inner.isatty()
    stream = io.TextIOWrapper(inner, like.encoding, like.errors, "\n", by_lines)
    stream.mode = mode  # type: ignore[misc]
    return stream


def _leave(statuses: list[int]) -> None:
    """The last that an ending Python does of what anybody sees. Then it would take apart, one by one, all values that
    the starter has made, for which it would need a copy of each."""
    for stream in (sys.stdout, sys.stderr) if statuses else ():
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError as error:  # as Python says it; some of this cannot be flushed twice
            statuses.append(120)
            if stream is sys.stdout and sys.stderr is not None:
                sys.stderr.write(f"Exception ignored in: {stream!r}\n{type(error).__name__}: {error}\n")
    if statuses:
        os._exit(statuses[-1])


if __name__ == "__main__":
    ended: list[int] = []
    atexit.register(_leave, ended)  # before all others, to be called after them
    serve(int(sys.argv[1]), sys.argv[2])
    try:
        runpy._run_module_as_main("gateway")
    except SystemExit as error:
        if type(error.code) is int:
            ended.append(error.code & 0xFF)
        raise
