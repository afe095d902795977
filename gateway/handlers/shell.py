"""Bash: a command in the foreground or the background, inside the plan that was made for it and nowhere else."""

from __future__ import annotations

import os
from functools import partial

from gateway.calls.command_output import Transcript
from gateway.calls.output import Failure, Output, Text
from gateway.core.errors import GatewayError
from gateway.handlers.changes import Changed, Watch
from gateway.handlers.command_text import Listener, decoded, violations_told
from gateway.model.record import STARTED
from gateway.model.result import Result
from gateway.policy.wording import visible
from gateway.sandbox.discarded_changes import said_of, thrown_away

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.audit.calls import Lasting
    from gateway.calls.background import Background
    from gateway.calls.work import Work
    from gateway.model.call import Call

# What a model is shown of an output; of a longer one the beginning and the end.
MOST_SHOWN = 30_000
HEAD, TAIL = 4_000, 6_000
MOST_CHANGED = 50
_OFFER = "Give a longer `timeout` (600000 at most), or set `run_in_background`."


def bash(call: Call, work: Work) -> Output:
    """Runs the command: to its end, or in the background."""
    given = call.input
    _check_confined(work)
    if given["run_in_background"]:
        return _in_background(call, work)
    transcript = Transcript(output_path(work), at_once=False)
    watch = watched(work)
    try:
        result = run_of(work)(
            given["command"],
            seconds=given["timeout"] / 1000,
            listener=Listener(work.progress, transcript),
            report=True,
            exported=_keeps_environment(work),
        )
    finally:
        transcript.end()
    changed = watch.changed()
    told = Report(result, transcript, changed, work)
    return Output(
        (Text(told.text()),),
        told.data(),
        is_error=result.ended != "exited" or result.status != 0,
        changed=changed.paths,
        result=result,
        cwd=result.cwd if result.cwd != work.context.cwd else "",
    )


def _in_background(call: Call, work: Work) -> Output:
    if work.session.single:
        raise Failure("Nothing can run in the background here.", "Leave out `run_in_background`.")
    assert work.lasts is not None
    started = start_background(work, call.input["command"], work.lasts())
    path, problem = started.transcript.path, started.transcript.problem
    where = f"Its output is not kept in a file ({problem})" if problem else f"All of its output is in {path}"
    text = (
        f"Command {started.id} runs in the background. See its output with BashOutput, end it with KillShell. {where}."
    )
    data = {"bash_id": started.id, "output_file": "" if problem else path}
    return Output((Text(text),), data, result=Result(STARTED, 0))


def start_background(work: Work, command: str, lasting: Lasting | None = None) -> Background:
    """A background command of the session. `lasting`: is told its end. Raises Failure."""
    runs = partial(run_of(work), command, lasting=True)
    try:
        return work.session.shells.start(command, work.session.scratch(), runs, lasting)
    except Failure:
        raise
    except GatewayError as error:
        raise Failure(f"The command cannot be started: {error}.") from error


def run_of(work: Work) -> Callable[..., Result]:
    """What runs a command inside the plan of the call. Raises Failure where there is none."""
    _check_confined(work)
    assert work.run is not None
    return work.run


def _check_confined(work: Work) -> None:
    """Asking to run without the sandbox is a request that was judged as such: what it was granted is in the plan."""
    if work.run is None or work.plan is None or not (work.verdict.context.confined or work.plan.free):
        raise Failure(
            "The command would run without the sandbox, which is not done here.",
            "Leave out `dangerously_disable_sandbox`, or ask the person to run it.",
        )


def _keeps_environment(work: Work) -> bool:
    """Whether policy chose that exported variables stay."""
    said = work.judge.loaded_for(work.verdict).settings.get("shell")
    return said is not None and said.value.get("keep_environment") is True


def watched(work: Work) -> Watch:
    """What looks for changed files, made before the command starts."""
    assert work.plan is not None
    return Watch(work.verdict, work.plan)


def output_path(work: Work) -> str:
    """A new file for an output, in the folder of the session."""
    return os.path.join(work.session.scratch(), f"output-{os.urandom(6).hex()}.txt")


class Report:
    """What became of a command, for the model."""

    def __init__(self, result: Result, transcript: Transcript, changed: Changed, work: Work) -> None:
        self.result = result
        self.changed = changed
        self.cwd = work.context.cwd
        has_run = result.ended not in ("refused", "failed")
        self.lost = said_of(thrown_away(work.verdict, work.plan, result.lost), work.plan) if has_run else ""
        single = work.session.single
        said = decoded(result.stdout)
        errors = decoded(result.stderr)
        if said and errors and not said.endswith("\n"):
            said += "\n"
        self.output = said + errors
        self.is_whole = not any(result.truncated) and (single or len(self.output) <= MOST_SHOWN)
        self.file = transcript.path if transcript.on_disk and not self.is_whole else ""
        self.problem = transcript.problem
        self.size = transcript.total
        if single and self.file:
            self._take_all(transcript)

    def _take_all(self, transcript: Transcript) -> None:
        """The file goes with the session, before anybody could look into it: what it holds is shown."""
        try:
            self.output = decoded(transcript.whole())
        except OSError as error:
            self.problem = str(error.strerror)
        else:
            self.is_whole = True
            if self.problem:
                self.output += f"\n[The rest is lost: {self.problem}]"
        self.file = ""

    def text(self) -> str:
        """The output, then what the model has to know about it, a line each."""
        told = [self._output()] if self.output.strip() else []
        told += self._end()
        told += violations_told(self.result.violations)
        if self.changed.paths:
            told.append(self._changes())
        if self.lost:
            told.append(f"[{self.lost}]")
        if self.result.cwd and self.result.cwd != self.cwd:
            told.append(visible(f"[The working directory is now {self.result.cwd}]"))
        return "\n".join(told) or "(no output)"

    def data(self) -> dict[str, Any]:
        """The same as fields, without the output itself."""
        result = self.result
        return {
            "exit_code": result.status,
            "ended": result.ended,
            "interrupted": result.ended in ("timeout", "cancelled", "limit"),
            "output_file": self.file,
            "output_bytes": self.size,
            "changed": list(self.changed.paths),
            "changed_complete": self.changed.complete,
            "violations": [
                {
                    "kind": each.kind,
                    "target": each.target,
                    "rule": each.rule,
                    "hint": each.hint,
                    "certain": each.certain,
                }
                for each in result.violations
            ],
        }

    def _output(self) -> str:
        if self.is_whole:
            return self.output.rstrip("\n")
        if self.file:
            where = f"all of it is in {self.file}" + (
                f", but for what did not fit ({self.problem})" * bool(self.problem)
            )
        else:
            where = f"the rest is lost ({self.problem})" if self.problem else "the rest was not kept"
        head, tail = self.output[:HEAD], self.output[-TAIL:]
        return f"{head}\n\n[… {self.size:,} bytes of output in all: {where} …]\n\n{tail}".rstrip("\n")

    def _end(self) -> list[str]:
        result = self.result
        if result.ended == "exited":
            return [f"[Exit status {result.status}]"] if result.status else []
        if result.ended == "signalled":
            return [f"[It ended by signal {result.status - 128}]"]
        if result.ended == "timeout":
            return [f"[It was ended with all its processes: {result.reason}. {_OFFER}]"]
        if result.ended in ("refused", "failed"):
            return [f"[It did not run: {result.reason}]"]
        return [f"[It was ended with all its processes: {result.reason}]"]

    def _changes(self) -> str:
        below = self.cwd.rstrip("/") + "/"
        paths = [visible(each.removeprefix(below)) for each in self.changed.paths]
        more = len(paths) - MOST_CHANGED
        told = "[Files changed: " + ", ".join(paths[:MOST_CHANGED]) + (f", and {more} more" if more > 0 else "")
        return told + ("]" if self.changed.complete else "; there may be more]")
