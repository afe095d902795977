"""`gateway agent`: a model that works on a task through the guarded tools.

On a terminal what happens is shown as it happens; elsewhere standard output holds the answer alone, or with `--json`
every event as a line. Ctrl-C ends what runs, and pressed again the session.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.agent.budget import TURNS, Budget, Purse, bounded
from gateway.agent.children import Children
from gateway.agent.loop import CANCELLED, DONE, Agent
from gateway.agent.mailbox import Post
from gateway.agent.prompt import Surroundings
from gateway.agent.reviewer import Auto
from gateway.agent.sessions import LAST, find, new_path
from gateway.agent.transcript import Transcript, read
from gateway.calls.state_folders import MAIN
from gateway.config.layers import local_folder, read_file
from gateway.core.errors import ConfigError, GatewayError, Problem
from gateway.core.value import Value
from gateway.frontends.agent_commands import Talk
from gateway.frontends.agent_commands import export as write_page
from gateway.frontends.agent_commands import said as commanded
from gateway.frontends.agent_terminal import Keys
from gateway.frontends.approvers import approvers, person
from gateway.frontends.arguments import Request
from gateway.frontends.cli.numbers import at_least, dollars
from gateway.frontends.conversation import Events, Quiet, Shown
from gateway.frontends.output import complain, safe_lines, write
from gateway.frontends.parameter_files import FOLDER, POLICY_FOLDER, READS, WRITES
from gateway.frontends.session import open_gateway
from gateway.llm.claude import DEFAULT, SMALL, Claude
from gateway.llm.known_models import Models
from gateway.render.style import is_terminal
from gateway.render.transcript import MARKDOWN, page

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.agent.loop import Outcome
    from gateway.agent.transcript import Past
    from gateway.api.gateway import Gateway
    from gateway.calls.session import Session
    from gateway.core.cancel import Cancel
    from gateway.llm.model import Model

INTERRUPTED = 130


def agent(
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="What to do; left out on a terminal, you are asked.")
    ] = None,
    model: Annotated[str, typer.Option(help="The model of the Messages API.", metavar="NAME")] = "",
    script: Annotated[
        str, typer.Option(help="Play a conversation from a YAML file instead of asking a model.", metavar="FILE"), READS
    ] = "",
    resume: Annotated[
        str,
        typer.Option(help="Go on with a session: its name, its transcript's path, or last.", metavar="SESSION"),
        READS,
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print every event as a line of JSON.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Show everything, however long.")] = False,
    max_turns: Annotated[
        int, typer.Option(metavar="N", help="Replies that a task may take, of all its agents.", parser=at_least(1))
    ] = TURNS,
    max_tokens: Annotated[
        int,
        typer.Option(metavar="N", help="Tokens of a task, of all its agents; 0 for any number.", parser=at_least(0)),
    ] = 0,
    max_cost: Annotated[
        float, typer.Option(metavar="DOLLARS", help="What a task may cost, 0 for any price.", parser=dollars)
    ] = 0.0,
    fallback_model: Annotated[
        str, typer.Option(help="The model to ask where the other one cannot be had.", metavar="NAME")
    ] = "",
    answer_schema: Annotated[
        str,
        typer.Option(help="Take the answer as data that fits this JSON Schema, of an object.", metavar="FILE"),
        READS,
    ] = "",
    show_prompt: Annotated[
        bool, typer.Option("--show-prompt", help="Print what the model would be told first, and ask no model.")
    ] = False,
    export: Annotated[
        str | None,
        typer.Option(
            help="Write a session (`--resume`, else the last) as a page, .html or .md, or - for standard output.",
            metavar="FILE",
        ),
        WRITES,
    ] = None,
    no_transcript: Annotated[bool, typer.Option("--no-transcript", help="Keep no transcript.")] = False,
    policies: Annotated[
        str | None,
        typer.Option(help="Use the layers in DIR only, below the machine's own.", metavar="DIR"),
        POLICY_FOLDER,
    ] = None,
    cwd: Annotated[str | None, typer.Option(help="The folder to work in.", metavar="DIR"), FOLDER] = None,
    mode: Annotated[str | None, typer.Option(help="The session's mode.", metavar="MODE")] = None,
    trust_project: Annotated[
        list[str] | None, typer.Option(help="Accept the project's policy of this digest.", metavar="DIGEST")
    ] = None,
) -> int:
    """Let a model work on a task through the guarded tools.

    The model is one of the Messages API (ANTHROPIC_API_KEY), or a script. Exit status: 0 when the task is done, 1 when
    it ended otherwise, 130 when it was interrupted, 2 for wrong usage.
    """
    is_seen = is_terminal(sys.stdout) and not as_json
    is_asked = is_seen and is_terminal(sys.stdin)
    request = Request(policies=policies, cwd=cwd, mode=mode, trust_project=tuple(trust_project or ()))
    if show_prompt:
        return _show_prompt(request)
    if export is not None:
        return _export(request, resume, export)
    if task is None and not resume and not is_asked:
        raise ConfigError(Problem("a task must be given", remedy="such as `gateway agent 'Why does the test fail?'`"))
    # What short names stand for is a setting of the gateway's, which is there by the time that a model is asked.
    models = Models(lambda: _setting(gateway, "models"))
    speaker = _model(model, script, models)
    fallback = _fallback(fallback_model, script, models)
    reviewer = Auto(speaker, lambda tool: gateway.registry.tool(tool).entry["reviewer"])
    # It answers in the mode `auto` only; a script says nothing of what it would be asked.
    asked = approvers(lasting=True) if script else (reviewer, *approvers(lasting=True))
    gateway = open_gateway(request, approver=asked, person=person(), front="agent")
    budget = bounded(Budget(max_turns, max_tokens, cost=max_cost), _setting(gateway, "limits"))
    wishes = _Wishes(
        speaker=speaker,
        fallback=fallback,
        reads=None if script else _model(model or SMALL, "", models),
        models=None if script else models,
        purse=_purse(budget, models, speaker),
        schema=_schema(answer_schema) if answer_schema else None,
        shown=Events() if as_json else Shown(gateway, full) if is_seen else Quiet(),
        is_kept=not no_transcript,
        is_asked=is_asked,
    )
    with gateway:
        ended = _session(gateway, wishes, resume, task)
        while ended.resumes:
            ended = _session(gateway, wishes, ended.resumes, None)
        return ended.status


class _Wishes(Value):
    """What all sessions of this process have in common. `reads`: the model that reads for tools; `models`: None where a
    script answers; `is_asked`: whether a person gives the tasks."""

    speaker: Model
    fallback: Model | None
    reads: Model | None
    models: Models | None
    purse: Purse
    schema: dict[str, Any] | None
    shown: Events | Shown | Quiet
    is_kept: bool
    is_asked: bool


class _Ended(Value):
    """`status`: of the process, if it ends with this session; `resumes`: the session that a person goes on with."""

    status: int
    resumes: str = ""


def _session(gateway: Gateway, wishes: _Wishes, resume: str, task: str | None) -> _Ended:
    """One session from its start to its end, a new one or one that goes on. Raises ConfigError."""
    past = read(find(gateway, resume)) if resume else None
    purse, speaker = wishes.purse, wishes.speaker
    with gateway.session() as session:
        transcript = _transcript(gateway, session, resume) if wishes.is_kept else None
        try:
            children = Children(
                gateway,
                speaker,
                folder=transcript.path.removesuffix(".jsonl") if transcript else "",
                budget=purse.budget,
                purse=purse,
                fallback=wishes.fallback,
                named=str if wishes.models is None else wishes.models.named,
            )
            session.agents = children
            session.answer_schema = wishes.schema
            session.model = wishes.reads
            session.ends_with_it(children.close)
            post = Post(local_folder(gateway.places, gateway.options.root), MAIN)
            session.ends_with_it(post.close)
            mine = Agent(
                gateway,
                speaker,
                session,
                budget=purse.budget,
                purse=purse,
                fallback=wishes.fallback,
                waits=not wishes.is_asked,
                looks_at_git=wishes.models is not None,
                transcript=transcript,
                past=past,
                listener=wishes.shown.happening,
                post=post,
            )
            wishes.shown.start(session, speaker, transcript, past)
            keys = Keys()
            talk = Talk(
                gateway,
                session,
                agent=mine,
                purse=purse,
                transcript=transcript,
                models=wishes.models,
                during=keys.during,
            )
            return _work(talk, keys, wishes, task, past)
        finally:
            if transcript is not None:
                transcript.close()


def _show_prompt(request: Request) -> int:
    """What a model would be told before anything else, and on standard error what it is not told."""
    with open_gateway(request, front="agent") as gateway, gateway.session() as session:
        surroundings = Surroundings(gateway, session, looks_at_git=True)
        write(surroundings.prompt() + "\n")
        for text in surroundings.notices():
            complain(f"gateway: {safe_lines(text)}\n")
    return 0


def _model(name: str, script: str, models: Models) -> Model:
    if name and script:
        raise ConfigError(Problem("--model and --script must not be given together"))
    if script:
        from gateway.llm.script import load

        return load(script)
    return Claude(name or DEFAULT, models=models)


def _fallback(name: str, script: str, models: Models) -> Model | None:
    if name and script:
        raise ConfigError(Problem("--fallback-model and --script must not be given together"))
    return Claude(name, models=models) if name else None


def _purse(budget: Budget, models: Models, speaker: Model) -> Purse:
    """What a task may use. Raises ConfigError where nobody could keep to it."""
    if budget.cost and models.price(speaker.name) is None:
        remedy = f"say it: `settings: {{models: {{{speaker.name}: {{price: {{read: 300, said: 1500}}}}}}}}`, in cents"
        message = f"a bound on the cost needs the price of `{speaker.name}`, which is not known"
        raise ConfigError(Problem(message, remedy=remedy))
    return Purse(budget, models.price)


def _setting(gateway: Gateway, name: str) -> Any:
    """What a setting says, {} where it says nothing."""
    found = gateway.loaded.settings.get(name)
    return {} if found is None else found.value


def _schema(path: str) -> dict[str, Any]:
    """The schema in a file. Raises ConfigError."""
    from gateway.handlers.answers import checked_schema

    try:
        found = json.loads(read_file(path))
        if not isinstance(found, dict):
            raise GatewayError("the schema of the output must be an object")
        return checked_schema(found)
    except ValueError as error:
        raise ConfigError(Problem(f"the schema of the answer must be JSON: {error}", file=path)) from error
    except ConfigError:
        raise
    except GatewayError as error:
        raise ConfigError(Problem(str(error), file=path)) from error


def _transcript(gateway: Gateway, session: Session, resume: str) -> Transcript:
    return Transcript(find(gateway, resume) if resume else new_path(gateway, session.name))


def _export(request: Request, resume: str, path: str) -> int:
    """Writes a session as a page."""
    with open_gateway(request, front="agent") as gateway:
        transcript = find(gateway, resume or LAST)
        if path == "-":
            write(page(transcript, MARKDOWN))
        else:
            try:
                write_page(transcript, path)
            except OSError as error:
                raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=path)) from error
    return 0


def _work(talk: Talk, keys: Keys, wishes: _Wishes, task: str | None, past: Past | None) -> _Ended:
    """Does the task, or else those that a person gives one by one."""
    agent = talk.agent

    def run(work: Callable[[Cancel], Outcome]) -> int:
        talk.purse.begin()
        with keys.hearing(agent.hearing.interject) if wishes.is_asked else nullcontext():
            outcome = keys.during(work)
        wishes.shown.end(outcome, talk.purse)
        for said in agent.hearing.unheard():
            keys.waits(said)
        return _status(outcome)

    if task is not None:
        return _Ended(run(partial(agent.run, task)))
    if past is not None and not wishes.is_asked:
        return _Ended(run(agent.go_on))
    while (said := keys.asked()) is not None:
        name = said.strip().partition(" ")[0]
        if name.startswith("/") and "/" not in name[1:]:
            after = commanded(talk, said)
            if after is not None and after.leaves:
                return _Ended(0, after.resumes)
            if after is not None:
                run(partial(agent.run, after.task, is_narrowed=True))
        elif said.strip():
            run(partial(agent.run, said))
    return _Ended(0)


def _status(outcome: Outcome) -> int:
    return 0 if outcome.why == DONE else INTERRUPTED if outcome.why == CANCELLED else 1
