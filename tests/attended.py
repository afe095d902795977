"""A person at a terminal: runs a command there, and types once it asks."""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import termios
from typing import Any


def at_terminal(arguments: dict[str, Any], types: str, *, question: bytes = b"") -> tuple[int, str]:
    """Types at the first prompt (a text that ends with `] `) after the question was seen. `arguments`: for `Popen`, but
    for the streams. Gives the exit status and what was on the screen."""
    master, slave = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        **arguments, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=take_terminal
    )
    os.close(slave)
    seen, asked = b"", False
    try:
        while True:
            try:
                data = os.read(master, 4096)
            except OSError:
                break
            if not data:
                break
            seen += data
            if not asked and seen.endswith(b"] ") and question in seen:
                os.write(master, types.encode())
                asked = True
    finally:
        os.close(master)
    return process.wait(timeout=60), seen.decode()
