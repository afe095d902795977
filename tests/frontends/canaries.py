"""Runs command lines one after another, each in a process of its own that starts with everything loaded, and says what
each of them wrote: `python canaries.py` with a list of lists of words, as JSON, on standard input."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile

from gateway.frontends.cli import app as cli
from gateway.frontends.main import run

MOST_SECONDS = 60


def output_of(words: list[str]) -> tuple[int, str]:
    """The status, and both streams together. What does not end is ended, and has the status of its signal."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            signal.alarm(MOST_SECONDS)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            status = 1
            try:
                status = run(words)
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return status, said.read().decode("utf-8", "replace")


if __name__ == "__main__":
    cli.build()
    sys.stdout.write(json.dumps([output_of(words) for words in json.load(sys.stdin)]))
