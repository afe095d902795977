"""A person at a terminal: runs a command there, and types once it asks, or only looks at the screen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from typing import TYPE_CHECKING, Any

import starting

if TYPE_CHECKING:
    from collections.abc import Callable

_CONTROL = re.compile(rb"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[()][A-Z0-9]|\x1b.")


def on_screen(arguments: dict[str, Any], until: Callable[[str], bool], seconds: float) -> str:
    """What a program wrote on its terminal, without its control sequences and blanks, until it is enough; then all of
    it is killed. `arguments`: for `Popen`, but for the streams."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    process = starting.Popen(
        **arguments, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=starting.take_terminal
    )
    os.close(slave)
    seen, end = b"", time.monotonic() + seconds
    try:
        while time.monotonic() < end and not until(_shown(seen)):
            if not select.select([master], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if b"\x1b[c" in data:  # it asks what the terminal can do
                os.write(master, b"\x1b[?62c")
            seen += data
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(master)
    return _shown(seen)


def _shown(seen: bytes) -> str:
    return "".join(_CONTROL.sub(b"", seen).decode("utf-8", "replace").split())


def at_terminal(arguments: dict[str, Any], *types: str, question: bytes = b"") -> tuple[int, str]:
    """Types one text at each prompt (a text that ends with `] `) after the question was seen. `arguments`: for `Popen`,
    but for the streams. Gives the exit status and what was on the screen."""
    master, slave = pty.openpty()
    process = starting.Popen(
        **arguments, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=starting.take_terminal
    )
    os.close(slave)
    seen, left, answered = b"", list(types), 0
    try:
        while True:
            try:
                data = os.read(master, 4096)
            except OSError:
                break
            if not data:
                break
            seen += data
            if left and len(seen) > answered and seen.endswith(b"] ") and question in seen:
                os.write(master, left.pop(0).encode())
                answered = len(seen)
    finally:
        os.close(master)
    return process.wait(timeout=60), seen.decode()
