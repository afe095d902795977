"""`command:` tools: a program with the call's fields as its words, in the sandbox and without any shell."""

from __future__ import annotations

from gateway.calls.output import Failure, Output, Text
from gateway.handlers.command_text import Listener, decoded, violations_told
from gateway.tools.argv import argv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.work import Work
    from gateway.model.call import Call
    from gateway.model.result import Result


def run(call: Call, work: Work) -> Output:
    """Runs the program. What it prints is the result; a status other than 0 is an error that shows both streams."""
    words = argv(work.judge.registry.tool(call.tool).words or [], call.input)
    if words is None or work.run is None:
        raise Failure(f"{call.tool} has no command to run.")
    return output_of(work.run(words, listener=Listener(work.progress)))


def output_of(result: Result) -> Output:
    """What a program that stands behind a tool has given."""
    failed = result.ended != "exited" or result.status != 0
    data = {"stdout": decoded(result.stdout), "stderr": decoded(result.stderr), "exit_code": result.status}
    return Output((Text(_told(result, failed)),), data, is_error=failed, result=result)


def _told(result: Result, failed: bool) -> str:
    """What the program said, and how it ended where that was not well."""
    parts = [decoded(result.stdout).rstrip("\n")]
    if failed or result.stderr:
        parts.append(decoded(result.stderr).rstrip("\n"))
    lost = sum(result.truncated)
    if lost:
        parts.append(f"({lost:,} bytes of its output were not kept.)")
    if failed and result.ended in ("refused", "failed"):
        parts.append(f"Nothing ran: {result.reason}.")
    elif failed:
        parts.append(f"It ended with status {result.status}." + (f" {result.reason}." if result.reason else ""))
    parts += violations_told(result.violations)
    return "\n".join(part for part in parts if part)
