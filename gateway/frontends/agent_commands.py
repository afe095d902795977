"""What a person can say to `gateway agent` that is for the gateway, and not for the model: `/help` lists it.

One registry: a command is a function with a record. What is none of these is one of the Markdown commands and skills
that people have written (`gateway.skills`), which becomes a task.
"""

from __future__ import annotations

import os

from gateway.agent.sessions import find as find_session
from gateway.agent.sessions import folder_of, known
from gateway.calls.results import tool_result
from gateway.core.errors import ConfigError, GatewayError, StoreError
from gateway.core.value import Value
from gateway.frontends.consent import agreed
from gateway.frontends.output import safe_lines, write
from gateway.model.call import RawCall
from gateway.policy.wording import visible
from gateway.render.changes import list_text, plan_text, show_text
from gateway.render.transcript import FORMS, MARKDOWN, page
from gateway.render.usage_text import spent_text
from gateway.skills.catalogue import COMMAND, SKILL, find
from gateway.tools.words import suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.agent.budget import Purse
    from gateway.agent.loop import Agent
    from gateway.agent.transcript import Transcript
    from gateway.api.gateway import Gateway
    from gateway.calls.session import Session
    from gateway.core.cancel import Cancel
    from gateway.llm.known_models import Models

    Does = Callable[["Talk", str], "Next | None"]

_SHOWN_SESSIONS = 15


class Talk(Value):
    """What commands act on. `models`: None where a script answers; `during`: lets something run that Ctrl-C ends."""

    gateway: Gateway
    session: Session
    agent: Agent
    purse: Purse
    transcript: Transcript | None
    models: Models | None
    during: Callable[[Callable[[Cancel], str]], str]


class Next(Value):
    """What comes after a command. `leaves`: the session ends; `resumes`: another one is taken up then, by its name;
    `task`: what the model is to do, under what was forbidden for it already."""

    leaves: bool = False
    resumes: str = ""
    task: str = ""


class Command(Value):
    """`takes`: what may be written behind it, "" for nothing; `about`: what it does, for `/help`."""

    name: str
    takes: str
    about: str
    does: Does
    others: tuple[str, ...] = ()


def said(talk: Talk, line: str) -> Next | None:
    """Does what a line that begins with `/` says; None where the person is to be asked what comes next. What goes wrong
    is told, and ends nothing."""
    name, _, rest = line.strip()[1:].partition(" ")
    command = _by_name().get(name)
    try:
        if command is None:
            return _written(talk, name, rest.strip())
        return command.does(talk, rest.strip())
    except StoreError as error:
        _tell(error.reason + (f"; {error.remedy}" if error.remedy else ""))
    except (GatewayError, OSError) as error:
        _tell(str(error))
    return None


def names() -> tuple[str, ...]:
    """Every name that a command has."""
    return tuple(_by_name())


def _by_name() -> dict[str, Command]:
    return {name: each for each in COMMANDS for name in (each.name, *each.others)}


def _tell(text: str) -> None:
    write(f"gateway: {safe_lines(text)}\n")


def _written(talk: Talk, name: str, rest: str) -> Next | None:
    """A command or skill that people have written: what it says is the task, under what it says that it uses."""
    gateway, session = talk.gateway, talk.session
    written = {
        **find(SKILL, gateway.places, session.context.root),
        **find(COMMAND, gateway.places, session.context.root),
    }
    if name not in written:
        guess = suggestion(name, (*names(), *written))
        _tell(f"there is no command `/{visible(name)}`{f': {guess}' if guess else ''}; /help lists them")
        return None
    session.next_task()
    session.begun_by_person = name
    try:
        done = gateway.call(RawCall("SlashCommand", {"command": f"/{name} {rest}".rstrip()}), session=session)
    finally:
        session.begun_by_person = ""
    if not done.ran or done.output.is_error:
        _tell(done.text)
        return None
    return Next(task=done.text)


def _help(talk: Talk, _rest: str) -> None:
    wide = max(len(_usage(each)) for each in COMMANDS)
    write("".join(f"  {_usage(each):{wide}}  {each.about}\n" for each in COMMANDS))
    gateway, root = talk.gateway, talk.session.context.root
    written = {**find(SKILL, gateway.places, root), **find(COMMAND, gateway.places, root)}
    if written:
        write(f"  written by people: {', '.join(f'/{visible(name)}' for name in sorted(written))}\n")
    write("  What is typed while the model works is told to it before its next reply.\n")


def _usage(each: Command) -> str:
    return f"/{each.name}{f' {each.takes}' if each.takes else ''}"


def _model(talk: Talk, name: str) -> None:
    if not name:
        write(f"{visible(talk.agent.model_name)}\n")
    elif talk.models is None:
        _tell("a script answers here, and no model")
    elif not talk.models.named(name):
        _tell(f"no model is called `{visible(name)}` here: the setting `models` says what it means")
    elif talk.purse.budget.cost and talk.models.price(name) is None:
        _tell(f"the price of `{visible(name)}` is not known, so nobody could keep to what a task may cost")
    else:
        talk.agent.use_model(talk.models.named(name))
        write(f"{visible(talk.agent.model_name)} answers from now on\n")


def _mode(talk: Talk, name: str) -> None:
    if not name:
        write(f"{talk.session.context.mode}\n")
        return
    reason = talk.agent.enter(name)
    if reason:
        _tell(reason)
    else:
        write(f"the mode is {talk.session.context.mode}\n")


def _cost(talk: Talk, _rest: str) -> None:
    write(spent_text(talk.purse.spent(), talk.purse.price_of))


def _compact(talk: Talk, _rest: str) -> None:
    reason = talk.during(talk.agent.compact)
    if reason:
        _tell(reason)
    else:
        write("the conversation is summed up; the transcript keeps all of it\n")


def _changes(talk: Talk, number: str) -> None:
    from gateway.api.changes import Changes

    found = Changes(talk.gateway)
    if not number:
        mine = [each for each in found.list() if _is_of(talk, each.of.session)]
        write(list_text(mine) if mine else "this session has changed nothing that is kept\n")
    else:
        write(show_text(found.show(_number(number))))


def _undo(talk: Talk, number: str) -> None:
    from gateway.api.changes import Changes
    from gateway.sandbox.changes.store import KEPT

    found = Changes(talk.gateway)
    mine = [each.of.number for each in found.list() if _is_of(talk, each.of.session) and each.of.state == KEPT]
    if not number and not mine:
        _tell("this session has changed nothing that could be taken back")
        return
    which = _number(number) if number else mine[-1]
    write(f"undo {which}: {plan_text(0, found.plan(which), found.root)}")
    if not agreed(f"undo {which}?", "this"):
        write("nothing was undone\n")
        return
    write(f"undone: {plan_text(0, found.undo(which), found.root)}")
    talk.session.reads.forget_all()


def _is_of(talk: Talk, session: str) -> bool:
    """Whether a session is this one, or one that an agent of it had."""
    return session == talk.session.name or session.startswith(f"{talk.session.name}/")


def _number(text: str) -> int:
    if text.isdecimal() and len(text) < 10:
        return int(text)
    raise GatewayError(f"a call is meant by its number, as /changes shows it (got `{visible(text)}`)")


def _resume(talk: Talk, name: str) -> Next | None:
    if name:
        find_session(talk.gateway, name)  # else the person is told, and this session goes on
        return Next(leaves=True, resumes=name)
    folder = folder_of(talk.gateway)
    mine = "" if talk.transcript is None else os.path.basename(talk.transcript.path)
    found = [each for each in known(folder) if f"{each}.jsonl" != mine]
    shown = "".join(f"  {visible(each)}\n" for each in found[:_SHOWN_SESSIONS])
    write(f"{shown}/resume NAME goes on with one\n" if found else "this project has no other session\n")
    return None


def _image(talk: Talk, path: str) -> None:
    if not path:
        _tell("/image needs the path of a picture")
        return
    done = talk.gateway.call(RawCall("Read", {"file_path": path}), session=talk.session)
    blocks = tool_result(done.output, "")["content"] if done.ran and not done.output.is_error else []
    pictures = [each for each in blocks if not isinstance(each, str) and each["type"] == "image"]
    if not pictures:
        _tell(f"{visible(path)} is no picture" if done.ran and not done.output.is_error else done.text)
        return
    talk.agent.shows(pictures)
    write("the model sees it with what you say next\n")


def _export(talk: Talk, path: str) -> None:
    if talk.transcript is None:
        _tell("this session keeps no transcript")
        return
    path = path or f"{talk.session.name}.html"
    export(talk.transcript.path, os.path.join(talk.session.cwd, os.path.expanduser(path)))
    write(f"written: {visible(path)}\n")


def _quit(_talk: Talk, _rest: str) -> Next:
    return Next(leaves=True)


def export(transcript: str, path: str) -> None:
    """Writes a session as a page: HTML, or Markdown for a name that ends so. Raises ConfigError, and OSError where it
    cannot be written or something is there already."""
    form = os.path.splitext(path)[1].removeprefix(".").lower()
    text = page(transcript, form_of(form))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


def form_of(ending: str) -> str:
    """The form that a file's ending stands for. Raises ConfigError."""
    form = {"markdown": MARKDOWN, "htm": "html"}.get(ending, ending)
    if form not in FORMS:
        raise ConfigError(f"a session is written as .{' or .'.join(FORMS)} (got `{visible(ending)}`)")
    return form


COMMANDS = (
    Command("help", "", does=_help, others=("?",), about="what can be said here"),
    Command("model", "[NAME]", does=_model, about="who answers, or who shall from now on"),
    Command("mode", "[NAME]", does=_mode, about="the session's mode, or another one that policy leaves open"),
    Command("cost", "", does=_cost, others=("tokens",), about="replies, tokens and cost of the session, by model"),
    Command("compact", "", does=_compact, about="have the model sum up what was said, to make room"),
    Command("changes", "[N]", does=_changes, about="what calls of this session changed; N: one, with its differences"),
    Command("undo", "[N]", does=_undo, about="take back what the last call changed, or call N"),
    Command("image", "FILE", does=_image, about="show the model a picture with what you say next"),
    Command("export", "[FILE]", does=_export, about="write this session as a page, .html or .md"),
    Command("resume", "[NAME]", does=_resume, about="other sessions of this project; NAME: go on with it"),
    Command("quit", "", does=_quit, others=("exit",), about="end the session"),
)
