"""`gateway agent`: a model that works on a task through the guarded tools.

On a terminal what happens is shown as it happens; elsewhere standard output holds the answer alone, or with `--json`
every event as a line. Ctrl-C ends what runs, and pressed again the session.
"""

from __future__ import annotations

import json
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.agent.children import Children
from gateway.agent.loop import CANCELLED, DONE, Agent
from gateway.agent.mailbox import Post
from gateway.agent.prompt import Surroundings
from gateway.agent.purse import TURNS, Budget, Purse
from gateway.agent.reviewer import Auto
from gateway.agent.sessions import find, new_path
from gateway.agent.transcript import Transcript, read
from gateway.calls.state_folders import MAIN
from gateway.config.layers import local_folder, read_file
from gateway.core.cancel import Cancel
from gateway.core.errors import ConfigError, GatewayError, Problem
from gateway.frontends.approvers import approvers, person
from gateway.frontends.arguments import Request
from gateway.frontends.cli.numbers import at_least, dollars
from gateway.frontends.conversation import Events, Quiet, Shown
from gateway.frontends.opened import FOLDER, POLICY_FOLDER, READS
from gateway.frontends.output import complain, safe_lines, write
from gateway.frontends.session import open_gateway
from gateway.llm.claude import DEFAULT, SMALL, Claude
from gateway.llm.known_models import Models
from gateway.render.style import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.agent.loop import Outcome
    from gateway.agent.transcript import Past
    from gateway.api.gateway import Gateway
    from gateway.calls.session import Session
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
    if show_prompt:
        return _show_prompt(Request(policies=policies, cwd=cwd, mode=mode, trust_project=tuple(trust_project or ())))
    if task is None and not resume and not (is_seen and is_terminal(sys.stdin)):
        raise ConfigError(Problem("a task must be given", remedy="such as `gateway agent 'Why does the test fail?'`"))
    request = Request(policies=policies, cwd=cwd, mode=mode, trust_project=tuple(trust_project or ()))
    # What short names stand for is a setting of the gateway's, which is there by the time that a model is asked.
    models = Models(lambda: _setting(gateway, "models"))
    speaker = _model(model, script, models)
    fallback = _fallback(fallback_model, script, models)
    reviewer = Auto(speaker, lambda tool: gateway.registry.tool(tool).entry["reviewer"])
    # It answers in the mode `auto` only; a script says nothing of what it would be asked.
    asked = approvers() if script else (reviewer, *approvers())
    gateway = open_gateway(request, approver=asked, person=person(), front="agent")
    purse = _purse(Budget(max_turns, max_tokens, cost=max_cost), models, speaker)
    past = read(find(gateway, resume)) if resume else None
    schema = _schema(answer_schema) if answer_schema else None
    with gateway, gateway.session() as session:
        transcript = None if no_transcript else _transcript(gateway, session, resume)
        shown = Events() if as_json else Shown(gateway, full) if is_seen else Quiet()
        try:
            children = Children(
                gateway,
                speaker,
                folder=transcript.path.removesuffix(".jsonl") if transcript else "",
                budget=purse.budget,
                purse=purse,
                fallback=fallback,
                named=models.named,
            )
            session.agents = children
            session.answer_schema = schema
            session.model = None if script else _model(model or SMALL, "", models)
            session.ends_with_it(children.close)
            post = Post(local_folder(gateway.places, gateway.options.root), MAIN)
            session.ends_with_it(post.close)
            mine = Agent(
                gateway,
                speaker,
                session,
                budget=purse.budget,
                purse=purse,
                fallback=fallback,
                waits=not (is_seen and is_terminal(sys.stdin)),
                looks_at_git=not script,
                transcript=transcript,
                past=past,
                listener=shown.happening,
                post=post,
            )
            shown.start(session, speaker, transcript, past)
            return _work(mine, task, shown, is_seen and is_terminal(sys.stdin), past)
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
        raise ConfigError(Problem(f"--max-cost needs the price of `{speaker.name}`, which is not known", remedy=remedy))
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


def _work(mine: Agent, task: str | None, shown: Events | Shown | Quiet, is_asked: bool, past: Past | None) -> int:
    """Does the task, then those that a person gives one by one; the exit status."""
    keys = _Keys()
    status = 0
    if task is not None or (past is not None and not is_asked):
        outcome = keys.during(lambda cancel: mine.go_on(cancel) if task is None else mine.run(task, cancel))
        shown.end(outcome)
        status = _status(outcome)
        is_asked = False
    while is_asked and (said := keys.asked()) is not None:
        if said.strip():
            outcome = keys.during(partial(mine.run, said))
            shown.end(outcome)
    return status


def _status(outcome: Outcome) -> int:
    return 0 if outcome.why == DONE else INTERRUPTED if outcome.why == CANCELLED else 1


class _Keys:
    """What a person types, Ctrl-C included: it ends what runs; twice, or where nothing runs, the session."""

    def __init__(self) -> None:
        self._is_warned = False

    def asked(self) -> str | None:
        """The next task, None at the end."""
        import readline  # noqa: F401 - lines can be edited

        while True:
            try:
                found = input("\n> ")
            except EOFError:
                write("\n")
                return None
            except KeyboardInterrupt:
                if self._is_warned:
                    return None
                self._is_warned = True
                write("\n(Ctrl-C again, or Ctrl-D, ends the session)\n")
                continue
            self._is_warned = False
            return found

    def during(self, work: Callable[[Cancel], Outcome]) -> Outcome:
        """Lets something run that Ctrl-C ends."""
        cancel = Cancel()

        def stop(_number: int, _frame: object) -> None:
            if cancel.is_set:
                raise KeyboardInterrupt
            cancel.set()

        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, stop)
        try:
            return work(cancel)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            cancel.close()
