"""Where the command line starts. The exact forms of `check` are answered without importing what only other
commands need; everything else goes to typer."""

from __future__ import annotations

import gc
import sys

from gateway.core.module_finder import install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
# These decide many times, or go on.
_LASTING = frozenset(("agent", "commands", "cron", "mcp", "policy", "service"))
# As in `gateway.agents.refusal`, for when not even that can be loaded.
_REFUSAL = (
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'
    '"permissionDecisionReason":"REASON"},"decision":"block","reason":"REASON"}\n'
)


def main() -> int:
    """The process: runs the command that its arguments make, and gives or takes the exit status."""
    gc.disable()  # start-up makes many values and hardly any garbage
    words = sys.argv[1:]
    install(lasting="--batch" in words or (bool(words) and words[0] in _LASTING))
    status = run(words)
    if "typer" not in sys.modules:
        import os

        # Everything is written and flushed. Taking thousands of values apart one by one would cost more than the
        # decision did; the kernel takes them all at once.
        os._exit(status)
    return status


def run(words: Sequence[str]) -> int:
    """Runs a command and gives its exit status. Never raises."""
    if words and words[0] == "hook" and words[-1] not in ("-h", "--help"):
        return _hook(words[1:])
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


def _asked(words: Sequence[str]) -> int | None:
    """The status of a dry run that the warm service has answered, None where there is no service, or the answer is for
    a terminal: then it is found out here."""
    from posix import environ, isatty
    from time import monotonic

    try:
        if isatty(1) or b"GATEWAY_DEBUG" in environ:
            return None
        from gateway.frontends.service.thin import DEADLINE, PATIENCE, ask

        found = ask(words, environ, b"", monotonic() + DEADLINE * PATIENCE)[0]
    except OSError:
        return None
    if found is None:
        return None
    from gateway.frontends.output import write

    write(found[0].decode("utf-8", "surrogatepass"))
    return found[2]


def _hook(words: Sequence[str]) -> int:
    """Answers an agent and ends the process. An agent would take a failure for consent: none may leave here."""
    try:
        from gateway.frontends.hook_process import run as run_hook

        run_hook(words)
    except BaseException as error:
        import os

        said = f"gateway refused this call: it cannot be loaded ({type(error).__name__})."
        reason = "".join([character if character.isalnum() or character in " .:()" else "?" for character in said])
        try:
            os.write(1, _REFUSAL.replace("REASON", reason).encode("ascii", "replace"))
        finally:
            try:
                os.write(2, f"{reason}\n".encode("ascii", "replace"))
            finally:
                os._exit(2)


def _command(words: Sequence[str]) -> int:
    if words and words[0] == "check":
        from gateway.frontends.arguments import CHECK, parse

        request = parse(CHECK, words[1:])
        if request is not None:
            status = _asked(words)
            if status is not None:
                return status
            from gateway.frontends.cli.check import run

            return run(request)
    if words and words[0] == "run":
        from gateway.frontends.arguments import RUN, parse

        request = parse(RUN, words[1:])
        if request is not None:
            from gateway.frontends.cli.run import run as run_call

            return run_call(request)
    if words and words[0] == "exec":
        from gateway.frontends.arguments import parse_exec

        request = parse_exec(words[1:])
        if request is not None:
            from gateway.frontends.cli.exec import run as run_exec

            return run_exec(request)
        words = words[: words.index("--")] if "--" in words else words  # for help, and for what is wrong with it
    if list(words[:2]) in (["mcp", "serve"], ["mcp", "proxy"]):  # clients wait for these
        from gateway.frontends.mcp_command import run as run_mcp

        status = run_mcp(words[1:])
        if status is not None:
            return status
    if list(words[:2]) == ["mcp", "proxy"] and "--" in words:  # a server's own words are never read for options
        at = words.index("--")
        words = [*words[:at], *(f"--word={word}" for word in words[at + 1 :])]
    from gateway.frontends.cli.app import run_typer

    return run_typer(words)
