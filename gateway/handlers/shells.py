"""BashOutput, KillShell and Monitor: looking at commands that run in the background, watching and ending them."""

from __future__ import annotations

from time import monotonic

from gateway.calls.output import Failure, Output, Progress, Text
from gateway.core.errors import GatewayError
from gateway.handlers import ripgrep
from gateway.handlers.command_text import decoded, violations_told
from gateway.handlers.shell import HEAD, MOST_SHOWN, TAIL, start_background, watched
from gateway.model.result import Result
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.calls.background import Background
    from gateway.calls.work import Work
    from gateway.core.cancel import Cancel
    from gateway.model.call import Call

# Lines that Monitor gives back at its end; each of them was an event before.
MOST_EVENTS = 500
MOST_LINE = 2_000
# A line that does not end is taken as one when it has come to this.
_UNENDING = 1 << 16


def output(call: Call, work: Work) -> Output:
    """What a background command has printed since the last look."""
    given = call.input
    shell = _known(work, given["bash_id"])
    pattern = given.get("filter")
    if pattern is not None:
        ripgrep.check(pattern)
    deadline = monotonic() + (given["wait_up_to"] / 1000 if given["block"] else 0)
    kept, missed = b"", 0
    while True:
        with shell.looking:  # not while it waits: others may look meanwhile
            found = _taken(shell, whole_lines=pattern is not None)
        missed += found[1]
        kept += found[0] if pattern is None else ripgrep.lines_with(pattern, found[0])
        if kept or found[3] or work.cancel.is_set or monotonic() >= deadline:
            break
        shell.transcript.wait(found[2], deadline, work.cancel)
    if shell.transcript.ended:
        shell.join(10)
    return _told(shell, kept, missed)


def kill(call: Call, work: Work) -> Output:
    """Ends a background command with its whole tree of processes."""
    shell = _known(work, call.input["shell_id"])
    if shell.status != "running":
        return Output((Text(f"Command {shell.id} had ended already ({_ended(shell)})."),), _data(shell))
    try:
        shell.kill()
    except GatewayError as error:
        raise Failure(f"{error}.") from error
    return Output((Text(f"Command {shell.id} and everything it had started were ended."),), _data(shell))


def monitor(call: Call, work: Work) -> Output:
    """Reports the lines of a command as events until it ends or the time is over. A command that was started for this
    ends with the watch; one that ran before goes on."""
    given = call.input
    pattern = given.get("pattern")
    if pattern is not None:
        ripgrep.check(pattern)
    deadline = monotonic() + given["timeout"] / 1000
    if "command" not in given:
        shell = _known(work, given["bash_id"])
        events = _Events(shell, shell.transcript.total, pattern, work)
        events.until(deadline, work.cancel)
        events.report(last=True)
        return events.told("" if shell.transcript.ended else "the watch is over")
    watch = watched(work)
    shell = start_background(work, given["command"])
    events = _Events(shell, 0, pattern, work)
    try:
        events.until(deadline, work.cancel)
    finally:
        over = not shell.transcript.ended
        try:
            shell.kill()
        except GatewayError as error:
            raise Failure(f"{error}.") from error
    events.report(last=True)
    told = events.told("the watch is over" if over else "")
    result = shell.result or Result("failed", 1, reason=shell.failure)
    if over and not work.cancel.is_set and result.ended == "cancelled":
        result = result.replace(ended="timeout", reason="the watch was over")
    return told.replace(result=result, changed=watch.changed().paths)


class _Events:
    """The lines of a command that were reported."""

    def __init__(self, shell: Background, position: int, pattern: str | None, work: Work) -> None:
        self.position = position
        self._shell = shell
        self._pattern = pattern
        self._progress = work.progress
        self._is_single = work.session.single
        self._rest = b""
        self._lines: list[str] = []
        self._count = 0
        self._missed = 0

    def until(self, deadline: float, cancel: Cancel) -> None:
        """Reports what comes until the command has ended, the time is over, or the watch is cancelled."""
        transcript = self._shell.transcript
        while not transcript.ended and not cancel.is_set and monotonic() < deadline:
            transcript.wait(self.position, deadline, cancel)
            self.report()
        if transcript.ended:
            self._shell.join(10)

    def report(self, *, last: bool = False) -> None:
        """Makes an event of each new line that matches."""
        since = self._shell.transcript.since(self.position)
        self.position = since.position
        self._missed += since.missed
        lines, self._rest = _lines_of(self._rest + since.data, last=last)
        if self._pattern is not None:
            lines = ripgrep.lines_with(self._pattern, lines)
        for line in lines.splitlines():
            text = decoded(line)[:MOST_LINE]
            self._progress(Progress("event", text))
            self._count += 1
            if self._is_single or len(self._lines) < MOST_EVENTS:
                self._lines.append(text)

    def told(self, why: str) -> Output:
        """The lines, and how the watch ended."""
        shell = self._shell
        told = list(self._lines)
        if self._count > len(self._lines):
            told.append(f"[{self._count - len(self._lines)} more lines were reported]")
        if self._missed:
            where = "" if self._is_single else f": they are in {shell.transcript.path}"
            told.append(f"[{self._missed:,} bytes came too fast to be watched{where}]")
        if shell.result is not None:
            told += violations_told(shell.result.violations)
        told.append(f"[{self._count} lines. Command {shell.id}: {why or _ended(shell)}]")
        return Output((Text("\n".join(told)),), {**_data(shell), "events": self._count}, _has_failed(shell))


def _known(work: Work, name: str) -> Background:
    found: Background | None = work.session.shells.get(name)
    if found is None:
        known = ", ".join(each.id for each in work.session.shells.all()) or "none"
        raise Failure(f"There is no background command `{name}`.", f"There is: {known}.")
    return found


def _taken(shell: Background, *, whole_lines: bool) -> tuple[bytes, int, int, bool]:
    """What is new, which then counts as looked at; how much was missed; where all that was printed ends; whether
    nothing more will come. A line that is not at its end waits for the next look where lines are asked for."""
    since = shell.transcript.since(shell.looked)
    data = since.data
    if whole_lines:
        data, rest = _lines_of(data, last=since.ended)
        shell.looked = since.position - len(rest)
    else:
        shell.looked = since.position
    return data, since.missed, since.position, since.ended


def _lines_of(data: bytes, *, last: bool) -> tuple[bytes, bytes]:
    """The lines that are at their end, and the rest."""
    if last or len(data) - data.rfind(b"\n") > _UNENDING:
        return data, b""
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


def _told(shell: Background, kept: bytes, missed: int) -> Output:
    text = decoded(kept).rstrip("\n")
    told = []
    if missed:
        told.append(f"[{missed:,} bytes before this are only in {shell.transcript.path}]")
    if len(text) > MOST_SHOWN:
        where = f"[… {len(text):,} characters in all; they are in {shell.transcript.path} …]"
        text = f"{text[:HEAD]}\n\n{where}\n\n{text[-TAIL:]}"
    if text:
        told.append(text)
    if shell.transcript.problem:
        told.append(f"[The file does not hold everything: {shell.transcript.problem}]")
    if shell.result is not None:
        told += violations_told(shell.result.violations)
    if shell.unrecorded:
        told.append(visible(f"[{shell.unrecorded}]"))
    told.append(f"[Command {shell.id}: {'it runs' if shell.status == 'running' else _ended(shell)}]")
    return Output((Text("\n".join(told)),), _data(shell), _has_failed(shell))


def _has_failed(shell: Background) -> bool:
    """Whether it never started; one that ended with a status of its own did what it does."""
    return shell.status == "failed"


def _ended(shell: Background) -> str:
    if shell.status == "running":
        return "it runs"
    result = shell.result
    if shell.failure or result is None:
        return f"it did not run: {shell.failure or 'nothing became of it'}"
    if result.ended == "exited":
        return f"it has ended with exit status {result.status}"
    return f"it was ended: {result.reason}" if result.reason else f"it has ended by signal {result.status - 128}"


def _data(shell: Background) -> dict[str, Any]:
    result = shell.result
    return {
        "bash_id": shell.id,
        "status": shell.status,
        "exit_code": result.status if result is not None and not shell.failure else None,
        "output_file": shell.transcript.path,
        "output_bytes": shell.transcript.total,
    }
