"""CronCreate, CronList and CronDelete: calls that are made, and judged, later."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from gateway.calls.output import Failure, Output, Text
from gateway.calls.state_folders import told
from gateway.tasks.crons import COMMAND, PROMPT, Crons

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.calls.work import Work
    from gateway.model.call import Call
    from gateway.tasks.crons import Job, Run

LOCAL = "/etc/localtime"
_ZONES = "/zoneinfo/"


def create(call: Call, work: Work) -> Output:
    """Keeps a scheduled call."""
    fields, context = call.input, work.context
    kind = COMMAND if fields.get("command") else PROMPT
    may = work.session.may
    if may is not None and (kind == PROMPT or not may("Bash")):
        # When it fires nobody knows any more which tools its maker had.
        raise Failure("You may not call every tool that this would use later.", "Ask the one who started you.")
    with told():
        job = Crons(work.judge.places.state).create(
            name=fields.get("name", ""), schedule=fields["schedule"], zone=fields.get("time_zone") or local_zone(),
            kind=kind, text=fields[kind], root=context.root or context.cwd, cwd=context.cwd, mode=context.mode,
            rules=work.session.handed_on(context.rules), agent=context.agent, depth=context.depth, once=fields["once"],
        )  # fmt: skip
    text = f"It is kept as {job.id}, and next due {moment(job.next())}, while `gateway cron run` runs."
    return Output((Text(text),), {"job": data(job)})


def show(_call: Call, work: Work) -> Output:
    """The scheduled calls of this project."""
    root = work.context.root or work.context.cwd
    with told():
        crons = Crons(work.judge.places.state)
        jobs = crons.jobs(root)
        runs = crons.runs(root=root)
    lines = [line(job) for job in jobs] or ["There are no scheduled calls."]
    if runs:
        lines += ["", "Last:", *map(run_line, runs)]
    found = {"jobs": [data(job) for job in jobs], "runs": [each.as_dict() for each in runs]}
    return Output((Text("\n".join(lines)),), found)


def delete(call: Call, work: Work) -> Output:
    """Removes one of this project."""
    with told():
        job = Crons(work.judge.places.state).delete(call.input["id"], work.context.root or work.context.cwd)
    return Output((Text(f"{job.id} is gone: {job.schedule} {job.text[:200]}"),), {"job": data(job)})


def local_zone() -> str:
    """The time zone of this machine, UTC where it does not say."""
    said = os.environ.get("TZ", "").lstrip(":")
    if said and not said.startswith("/"):
        return said
    name = os.path.realpath(LOCAL).partition(_ZONES)[2]
    return name or "UTC"


def moment(seconds: float | None) -> str:
    """A moment as people read it, in UTC."""
    return "never" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def line(job: Job) -> str:
    """A scheduled call on one line."""
    said = f"{job.id}  {job.schedule} ({job.zone})  {job.kind}: {' '.join(job.text.split())[:200]}"
    return f"{said}  {f'[{job.name}] ' if job.name else ''}next {moment(job.next())}"


def run_line(run: Run) -> str:
    """What became of one, on one line."""
    why = f": {' '.join(run.reason.split())[:300]}" if run.reason else ""
    return f"{moment(run.due)}  {run.name or run.job}  {run.outcome}{why}"


def data(job: Job) -> dict[str, Any]:
    """A scheduled call as data."""
    return {**job.as_dict(), "rules": list(job.rules), "next": job.next()}
