"""`gateway cron`: fires scheduled calls, and shows and removes them."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.config.load import project_root
from gateway.core.cancel import Cancel
from gateway.core.errors import ConfigError, Problem, StoreError
from gateway.core.places import places
from gateway.frontends.jsontext import dumps, pretty
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER, READS
from gateway.frontends.session import folder
from gateway.handlers.crons import data, line, run_line
from gateway.policy.wording import visible
from gateway.tasks.crons import Crons

if TYPE_CHECKING:
    from gateway.api.gateway import Gateway
    from gateway.calls.runner import RunsCalls
    from gateway.calls.session import Session
    from gateway.config.load import Options
    from gateway.llm.model import Model
    from gateway.tasks.crons import Run
    from gateway.tasks.firing import Prompted

app = typer.Typer(
    name="cron",
    help="Fire scheduled calls, show and remove them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
_Cwd = Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="The folder whose project counts."), FOLDER]
_All = Annotated[bool, typer.Option("--all", help="Those of every project.")]


@app.command("list")
def list_jobs(json: _Json = False, cwd: _Cwd = None, all_: _All = False) -> int:
    """List the scheduled calls of this project, when each is due next, and what became of the last ones."""
    try:
        crons = Crons(places().state)
        root = "" if all_ else _root(cwd)
        jobs, runs = crons.jobs(root), crons.runs(root=root)
    except StoreError as error:
        raise _problem(error) from error
    if json:
        write(pretty({"jobs": [data(job) for job in jobs], "runs": [run.as_dict() for run in runs]}) + "\n")
        return 0
    lines = [visible(line(job) + (f"  in {job.root}" if all_ else "")) for job in jobs]
    write("\n".join(lines or ["there are no scheduled calls"]) + "\n")
    if runs:
        write("last:\n" + "".join(f"  {visible(run_line(run))}\n" for run in runs))
    return 0


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its id or its name.", show_default=False)],
    cwd: _Cwd = None,
    all_: _All = False,
) -> int:
    """Remove a scheduled call. What runs at the moment runs on."""
    try:
        job = Crons(places().state).delete(name, "" if all_ else _root(cwd))
    except StoreError as error:
        raise _problem(error) from error
    write(f"{visible(job.id)} is removed\n")
    return 0


@app.command("run")
def run(
    once: Annotated[bool, typer.Option("--once", help="Fire what is due now, wait for it, and end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print each report as a line of JSON.")] = False,
    model: Annotated[str, typer.Option(help="The model that does prompts.", metavar="NAME")] = "",
    script: Annotated[
        str, typer.Option(help="Play a conversation from a YAML file instead of asking a model.", metavar="FILE"), READS
    ] = "",
) -> int:
    """Fire the scheduled calls of all projects when they are due, until it is ended.

    Each is judged when it fires, by the policy of its project as it is then; nobody is asked. There is one such process
    for each state folder.
    """
    from gateway.api.gateway import Gateway
    from gateway.tasks.firing import Firing

    def told(each: Run) -> None:
        write(dumps(each.as_dict()) + "\n" if json else f"{visible(run_line(each))}\n")

    where = places()

    def opened(options: Options) -> Gateway:
        return Gateway(options, where=where, front="cron")

    cancel = Cancel()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: cancel.set())
    try:
        with Firing(where, cancel, opened, prompted=_prompted(model, script), told=told) as firing:
            if once:
                firing.start()
                firing.fire()
                firing.wait()
            else:
                firing.run()
    except StoreError as error:
        raise _problem(error) from error
    return 0


def _prompted(model: str, script: str) -> Prompted:
    """What lets an agent do a task. The model is made when the first one is due."""

    def does(gateway: RunsCalls, session: Session, task: str, cancel: Cancel) -> tuple[str, str]:
        from gateway.agent.children import Children
        from gateway.agent.loop import DONE, Agent
        from gateway.agent.sessions import new_path
        from gateway.agent.transcript import Transcript

        speaker = _model(model, script)
        transcript = Transcript(new_path(gateway.calls.judge, session.name))
        try:
            children = Children(gateway, speaker, folder=transcript.path.removesuffix(".jsonl"))
            session.agents = children
            session.ends_with_it(children.close)
            outcome = Agent(gateway, speaker, session, transcript=transcript).run(task, cancel=cancel)
        finally:
            transcript.close()
        return ("done", outcome.text) if outcome.why == DONE else ("failed", outcome.reason)

    return does


def _model(name: str, script: str) -> Model:
    if script:
        from gateway.llm.script import load

        return load(script)
    from gateway.llm.claude import DEFAULT, Claude

    return Claude(name or DEFAULT)


def _root(cwd: str | None) -> str:
    return project_root(os.path.realpath(folder(cwd, "--cwd")))


def _problem(error: StoreError) -> ConfigError:
    return ConfigError(Problem(error.reason, remedy=error.remedy))
