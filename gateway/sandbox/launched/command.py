"""The last steps of the process that becomes the command: its descriptors, its signals, its program."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` alone would cost more than all others
import errno
import fcntl
import os
import resource

# All that a process can have done something else than the usual about; the C library keeps two for itself.
_ALL_SIGNALS = [number for number in _signal.valid_signals() if number not in (_signal.SIGKILL, _signal.SIGSTOP)]

_LONG = 1000
_USUAL_PATH = b"/bin:/usr/bin"  # where nothing says
_SHELL = b"/bin/sh"  # of a text that does not say what reads it, as everywhere


def keep_only(kept: list[int]) -> None:
    """Closes every descriptor but these."""
    last = -1
    for descriptor in sorted(kept):
        if last + 1 < descriptor:  # an empty range would be taken for every descriptor
            os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1] & 0x7FFFFFFF)


def place(given: list[int], targets: list[int]) -> None:
    """Puts descriptors where they are expected, and has programs inherit them there."""
    floor = max(targets) + 1
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, floor) for descriptor in given]
    for copy, target in zip(high, targets, strict=True):
        os.dup2(copy, target)


def usual_signals() -> None:
    """Every signal does what it does in a fresh process, and none is held back."""
    for number in range(1, 65):
        if _signal.getsignal(number) not in (_signal.SIG_DFL, None):
            _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


def execute(argv: list[bytes], environment: dict[bytes, bytes]) -> tuple[int, bytes]:
    """Becomes the command; returns only when that fails, with a status and why."""
    found = False
    for path in _places(argv[0], environment):
        for words in (argv, [_SHELL, path, *argv[1:]]):
            try:
                os.execve(path if words is argv else _SHELL, words, environment)
            except OSError as error:
                found = found or _is_there(path, argv[0], error)
                if error.errno != errno.ENOEXEC:
                    break
    return _failure(argv[0], found)


def spawn(argv: list[bytes], environment: dict[bytes, bytes]) -> tuple[int, int, bytes]:
    """Starts the command as a child, with usual signals: its pid; 0 when that fails, with a status and why.

    The child shares this process's memory until it is the command, so nothing is copied for it."""
    found = False
    for path in _places(argv[0], environment):
        if b"/" not in argv[0] and not os.path.exists(path):
            continue  # each attempt is a process
        for words in (argv, [_SHELL, path, *argv[1:]]):
            program = path if words is argv else _SHELL
            try:
                return os.posix_spawn(program, words, environment, setsigdef=_ALL_SIGNALS, setsigmask=()), 0, b""
            except OSError as error:
                found = found or _is_there(path, argv[0], error)
                if error.errno != errno.ENOEXEC:
                    break
    return 0, *_failure(argv[0], found)


def _places(name: bytes, environment: dict[bytes, bytes]) -> list[bytes]:
    """Where a program of this name may lie. The search is our own: what `os` has for it would import modules from where
    we may not read any more."""
    if b"/" in name:
        return [name]
    folders = environment.get(b"PATH", _USUAL_PATH).split(b":")
    return [folder + b"/" + name if folder else name for folder in folders]


def _is_there(path: bytes, name: bytes, error: OSError) -> bool:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return False
    return b"/" in name or os.path.exists(path)  # a folder closed to us holds nothing for us


def _failure(name: bytes, found: bool) -> tuple[int, bytes]:
    shown = name if len(name) < _LONG else name[:_LONG] + b"..."
    return (126, shown + b" cannot be started") if found else (127, shown + b" is not found")
