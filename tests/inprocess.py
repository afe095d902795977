"""The command line called in this very process: what a process of its own would show and say, without its start. That a
process does so too is tried once for each command, and wherever a test is about processes."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from gateway.frontends import main

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGCHLD)


def called(
    words: list[str], cwd: Path | str, environment: Mapping[str, str], given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """What `gateway WORDS` does in a folder and an environment. Nothing of it is left behind but files."""
    environment = dict(environment)  # it may be that of this process
    with ExitStack() as after:
        said = [after.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        said[0].write(given)
        said[0].seek(0)
        _set_aside(after)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        for number, file in enumerate(said):
            os.dup2(file.fileno(), number)
        sys.stdin = _stream(0, "strict")
        sys.stdout, sys.stderr = _stream(1, "strict"), _stream(2, "backslashreplace")
        try:
            status = main.run(words)
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        for file in said[1:]:
            file.seek(0)
        return subprocess.CompletedProcess(words, status, said[1].read(), said[2].read())


def _stream(number: int, errors: str) -> io.TextIOWrapper:
    mode = "rb" if number == 0 else "wb"
    return io.TextIOWrapper(os.fdopen(number, mode, closefd=False), "utf-8", errors, write_through=number == 2)


def _set_aside(after: ExitStack) -> None:
    """What is put back afterwards: streams, folder, environment, what signals do."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for number in range(3):
        kept = os.dup(number)
        after.callback(os.close, kept)
        after.callback(os.dup2, kept, number)
    for name in ("stdin", "stdout", "stderr"):
        after.callback(setattr, sys, name, getattr(sys, name))
    after.callback(os.chdir, os.getcwd())
    before = dict(os.environ)
    after.callback(os.environ.update, before)
    after.callback(os.environ.clear)
    for number in _SIGNALS:
        after.callback(_does, number, signal.getsignal(number))
    after.callback(setattr, main, "_asked", main._asked)  # a service would be asked in the environment of the start
    main._asked = _nobody


def _does(number: int, what: Any) -> None:
    if signal.getsignal(number) is not what:
        signal.signal(number, what)


def _nobody(_words: Any) -> None:
    return None
