"""`gateway run`: one call through its whole life, shown to whoever looks.

On a terminal it is shown as it goes; elsewhere standard output holds the result alone, and everything else goes to
standard error. The exit status is a command's own, 0 for a tool that did its work, 1 for one that says it did not, and
126 for a call that was refused.
"""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager

from gateway.core.cancel import Cancel
from gateway.core.errors import CallError, ConfigError, Problem
from gateway.frontends.approvers import approvers, person
from gateway.frontends.output import safe_lines, tell, write
from gateway.frontends.session import open_gateway, raw_call
from gateway.policy.wording import visible
from gateway.render.screen import Look, Screen
from gateway.render.style import is_terminal
from gateway.render.themes import DEFAULT, THEMES
from gateway.sandbox.run import NOT_RUN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateway.api.gateway import Gateway
    from gateway.calls.output import Done, Progress
    from gateway.calls.session import Session
    from gateway.frontends.arguments import Request
    from gateway.model.call import RawCall
    from gateway.tools.tool import Tool

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
LEAST_WIDTH, MOST_WIDTH = 20, 1_000


def run(request: Request) -> int:
    """Leads the call through and gives the exit status. Raises GatewayError for wrong usage."""
    look = _look(request)
    if (request.argument is None) == (request.tool is None) or (request.tool is None) != (request.input is None):
        remedy = "see `gateway run --help`"
        raise ConfigError(Problem("a call must be given, as an argument or with --tool and --input", remedy=remedy))
    gateway = open_gateway(request, approver=approvers(lasting=True), person=person(), front="run")
    with gateway, gateway.session(single=True) as session:
        raw = raw_call(gateway, request)
        cancel = Cancel()
        with _ended_by_signals(cancel) as came:
            done = _done(request, gateway, session, raw, cancel, look)
    return status_of(done, came)


def _done(request: Request, gateway: Gateway, session: Session, raw: RawCall, cancel: Cancel, look: Look) -> Done:
    """The call through its life, and what is said of it."""
    if request.json:
        done = gateway.call(raw, session=session, cancel=cancel)
        write(_json(done, full=request.full))
        return done
    tool = _tool(gateway, raw)
    screen = Screen(sys.stdout, look)
    if not screen.is_terminal:
        done = gateway.call(raw, session=session, cancel=cancel)
        _plain(done)
        return done
    if tool is not None:
        screen.call(tool, raw)

    def progress(each: Progress) -> None:
        if tool is not None:
            screen.progress(tool, each)

    done = gateway.call(raw, session=session, cancel=cancel, progress=progress)
    screen.done(tool, raw, done)
    return done


def status_of(done: Done, came: Sequence[int] = ()) -> int:
    """What the process says of the call. `came`: signals that ended it."""
    if came and done.result.ended == "cancelled":
        return 128 + came[0]
    if not done.ran:
        return NOT_RUN
    return done.result.status or int(done.output.is_error)


def _look(request: Request) -> Look:
    name = request.theme or DEFAULT
    if name not in THEMES:
        raise ConfigError(Problem(f"--theme must be one of {', '.join(THEMES)} (got `{visible(name)}`)"))
    width = 0
    if request.width is not None:
        width = int(request.width) if request.width.isdecimal() and len(request.width) < 5 else 0
        if not LEAST_WIDTH <= width <= MOST_WIDTH:
            got = visible(request.width)
            raise ConfigError(Problem(f"--width must be from {LEAST_WIDTH} to {MOST_WIDTH} columns (got `{got}`)"))
    return Look(request.full, name, width)


def _tool(gateway: Gateway, raw: RawCall) -> Tool | None:
    try:
        return gateway.registry.tool(raw.tool)
    except CallError:
        return None  # the call says so itself


@contextmanager
def _ended_by_signals(cancel: Cancel) -> Iterator[list[int]]:
    """The first signal ends the call with all it has started, in good order; another one ends this process. Gives what
    holds the signals that came."""
    came: list[int] = []

    def end(number: int, _frame: object) -> None:
        came.append(number)
        cancel.set()
        signal.signal(number, signal.SIG_DFL)

    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _plain(done: Done) -> None:
    """The result on standard output, and on standard error what a caller has to know besides."""
    if done.ran:
        text = done.text
        pictures = [block for block in done.output.blocks if not hasattr(block, "text")]
        text += "".join(f"\n[picture: {each.media_type}, {len(each.data):,} bytes]" for each in pictures)
        if text:
            write(text if text.endswith("\n") else text + "\n")
    else:
        tell(f"gateway: refused: {safe_lines(done.result.reason)}\n")
    for note in done.output.notes:
        tell(f"note: {visible(note)}\n")
    for report in done.reports:
        tell(f"gateway: {visible(report)}\n")


def _json(done: Done, *, full: bool) -> str:
    from gateway.calls.results import mcp_result
    from gateway.frontends.jsontext import dumps, pretty
    from gateway.policy.condensed import condensed
    from gateway.policy.explain import explain

    verdict = explain(done.verdict, propose=done.proposal)
    result = done.result.as_dict()
    for stream in ("stdout", "stderr"):
        result[stream] = result[stream].decode("utf-8", "replace")
    result["violations"] = [each.as_dict() for each in done.result.violations]
    output = mcp_result(done.output) | {"diff": done.output.diff, "changed": list(done.output.changed)}
    found = {
        "verdict": verdict if full else condensed(verdict), "result": result, "output": output, "record": done.record,
        "reports": list(done.reports),
    }  # fmt: skip
    return (pretty(found) if is_terminal(sys.stdout) else dumps(found)) + "\n"
