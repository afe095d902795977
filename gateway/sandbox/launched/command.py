"""The last steps of the process that becomes the command: its descriptors, its signals, its program."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` alone would cost more than all others
import fcntl
import os
import resource

# All that a process can have done something else than the usual about; the C library keeps two for itself.
_ALL_SIGNALS = [number for number in _signal.valid_signals() if number not in (_signal.SIGKILL, _signal.SIGSTOP)]


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
        try:
            os.execve(path, argv, environment)
        except OSError as error:
            found = found or _is_there(path, argv[0], error)
    return _failure(argv[0], found)


def spawn(argv: list[bytes], environment: dict[bytes, bytes]) -> tuple[int, int, bytes]:
    """Starts the command as a child, with usual signals: its pid; 0 when that fails, with a status and why.

    The child shares this process's memory until it is the command, so nothing is copied for it."""
    found = False
    for path in _places(argv[0], environment):
        try:
            return os.posix_spawn(path, argv, environment, setsigdef=_ALL_SIGNALS, setsigmask=()), 0, b""
        except OSError as error:
            found = found or _is_there(path, argv[0], error)
    return 0, *_failure(argv[0], found)


def _places(name: bytes, environment: dict[bytes, bytes]) -> list[bytes]:
    """Where a program of this name may lie. The search is our own: what `os` has for it would import modules from where
    we may not read any more."""
    if b"/" in name:
        return [name]
    return [folder + b"/" + name if folder else name for folder in environment.get(b"PATH", b"").split(b":")]


def _is_there(path: bytes, name: bytes, error: OSError) -> bool:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return False
    return b"/" in name or os.path.exists(path)  # a folder closed to us holds nothing for us


def _failure(name: bytes, found: bool) -> tuple[int, bytes]:
    return (126, name + b" cannot be started") if found else (127, name + b" is not found")
