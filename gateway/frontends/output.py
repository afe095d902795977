"""Writing answers and errors: never a traceback, never half an answer, whatever the streams can take."""

from __future__ import annotations

import os
import sys

from gateway.core.errors import EXIT_INTERNAL, EXIT_USAGE, CallError, ConfigError, GatewayError, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO


class OutputError(GatewayError):
    """An answer that could not be written."""


def write(text: str) -> None:
    """Writes to standard output and flushes. Raises OutputError where it cannot, BrokenPipeError if nobody reads."""
    stream = sys.stdout
    if stream is None:
        raise OutputError("the answer cannot be written: standard output is closed")
    try:
        _put(stream, text)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"the answer cannot be written: {error}") from error


def complain(text: str) -> None:
    """Writes to standard error if there is one."""
    if sys.stderr is not None:
        try:
            _put(sys.stderr, text)
        except (OSError, ValueError):
            return  # nobody is left to be told


def tell(text: str) -> None:
    """Writes lines of ours to standard error; on a terminal they are broken at blanks, where it would break words."""
    from gateway.render.style import is_terminal, style_for, wrapped

    if not is_terminal(sys.stderr):
        complain(text)
        return
    width = style_for(sys.stderr).width
    lines: list[str] = []
    for line in text.removesuffix("\n").split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" ")))
        first, *rest = wrapped(line.lstrip(" "), width - len(indent) - 2)
        lines += [indent + first, *(f"{indent}  {more}" for more in rest)]
    complain("\n".join([*lines, ""]))


def _put(stream: TextIO, text: str) -> None:
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(text)
    else:
        buffer.write(text.encode(stream.encoding or "utf-8", "backslashreplace"))
    stream.flush()


def silence() -> None:
    """After output failed: lets the interpreter's last flush go nowhere instead of failing loudly."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        return


def problems_of(error: Exception) -> list[dict[str, Any]]:
    """What is wrong, for programs: each problem with its place and remedy."""
    if not isinstance(error, (ConfigError, CallError)):
        return []
    found = []
    for problem in error.problems:
        fields = {name: getattr(problem, name) for name in ("message", "file", "line", "column", "path", "remedy")}
        found.append({name: value for name, value in fields.items() if value})
    return found


def failure(error: Exception) -> dict[str, Any]:
    """An error as JSON. Whoever only looks for a decision finds a refusal."""
    from gateway.policy.wording import visible

    if not isinstance(error, GatewayError):
        return {"error": visible(internal_text(error)), "decision": "deny"}
    found: dict[str, Any] = {"error": safe_lines(str(error)), "decision": "deny"}
    problems = problems_of(error)
    if problems:
        found["problems"] = problems
    return found


def internal_text(error: Exception) -> str:
    """One line on a fault of ours: its kind. What it says may be a piece of a file that was being read."""
    return f"{fault(error).removeprefix('an ')}; this is treated as deny"


def report(error: Exception, *, as_json: bool) -> int:
    """Says what went wrong, on standard error for people or as JSON on standard output, and gives the exit status."""
    known = isinstance(error, GatewayError) and not isinstance(error, OutputError)
    if isinstance(error, OutputError):
        silence()
    if os.environ.get("GATEWAY_DEBUG"):
        import traceback

        complain("".join(traceback.format_exception(error)))
    if as_json and not isinstance(error, OutputError):
        from gateway.frontends.jsontext import dumps

        write(dumps(failure(error)) + "\n")
    elif isinstance(error, GatewayError):
        tell(f"gateway: {safe_lines(str(error))}\n")
    else:
        from gateway.policy.wording import visible

        complain(f"gateway: {visible(internal_text(error))}\n  help: GATEWAY_DEBUG=1 shows where\n")
    return EXIT_USAGE if known else EXIT_INTERNAL


def safe_lines(text: str) -> str:
    """The lines of a text of ours, each without characters that would play tricks on a terminal."""
    from gateway.policy.wording import visible

    return "\n".join(map(visible, text.split("\n")))
