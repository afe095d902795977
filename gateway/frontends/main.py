"""Where the command line starts. The exact forms of `check` are answered without importing what only other
commands need; everything else goes to typer."""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


def main() -> int:
    """The process: runs the command that its arguments make, and gives or takes the exit status."""
    gc.disable()  # start-up makes many values and hardly any garbage
    status = run(sys.argv[1:])
    if "typer" not in sys.modules:
        import os

        # Everything is written and flushed. Taking thousands of values apart one by one would cost more than the
        # decision did; the kernel takes them all at once.
        os._exit(status)
    return status


def run(words: Sequence[str]) -> int:
    """Runs a command and gives its exit status. Never raises."""
    try:
        try:
            return _command(words)
        except (KeyboardInterrupt, BrokenPipeError):
            raise
        except Exception as error:
            from gateway.frontends.output import report

            return report(error, as_json="--json" in words)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        from gateway.frontends.output import silence

        silence()
        return EXIT_BROKEN_PIPE
    except Exception as error:
        from gateway.frontends.output import report

        return report(error, as_json=False)


def _command(words: Sequence[str]) -> int:
    if words and words[0] == "check":
        from gateway.frontends.arguments import CHECK, parse

        request = parse(CHECK, words[1:])
        if request is not None:
            from gateway.frontends.cli_check import run

            return run(request)
    if words and words[0] == "run":
        from gateway.frontends.arguments import RUN, parse

        request = parse(RUN, words[1:])
        if request is not None:
            from gateway.frontends.cli_run import run as run_call

            return run_call(request)
    if words and words[0] == "exec":
        from gateway.frontends.arguments import parse_exec

        request = parse_exec(words[1:])
        if request is not None:
            from gateway.frontends.cli_exec import run as run_exec

            return run_exec(request)
        words = words[: words.index("--")] if "--" in words else words  # for help, and for what is wrong with it
    from gateway.frontends.cli import run_typer

    return run_typer(words)
