"""Runs command lines one after another, each in a process of its own that starts with everything loaded, and says what
each of them wrote: each line of standard input is a JSON object of a folder (`cwd`), an environment (`environment`) and
lists of words (`lines`); its answer is a line with a list of statuses and texts."""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile

import gateway
from gateway.frontends.cli import app as cli
from gateway.frontends.main import run

MOST_SECONDS = 60


def output_of(words: list[str], cwd: str, environment: dict[str, str]) -> tuple[int, str]:
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
                os.chdir(cwd)
                os.environ.clear()
                os.environ.update(environment)
                status = run(words)
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return status, said.read().decode("utf-8", "replace")


def load_everything() -> None:
    """What a command would import it finds loaded, but for what only starts programs, and what is
    for other frameworks."""
    for module in pkgutil.walk_packages(gateway.__path__, "gateway."):
        if not module.name.startswith(("gateway.sandbox.", "gateway.adapters.")) and not module.name.endswith(
            "__main__"
        ):
            importlib.import_module(module.name)
    cli.build()


if __name__ == "__main__":
    load_everything()
    gc.disable()  # as a command does; and what is loaded stays one memory for all
    gc.freeze()
    for request in sys.stdin:
        given = json.loads(request)
        written = [output_of(words, given["cwd"], given["environment"]) for words in given["lines"]]
        sys.stdout.write(json.dumps(written) + "\n")
        sys.stdout.flush()
