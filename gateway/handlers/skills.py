"""Skill and SlashCommand: what people have written down for agents, given to a model when it asks for it.

It allows nothing. What it says that it uses forbids everything else, from the next call on until somebody says what to
do next: nothing that a model can do ends it earlier, and a second skill forbids besides.
"""

from __future__ import annotations

import os

from gateway.calls.output import Failure, Output, Text
from gateway.core.errors import ConfigError
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.skills.catalogue import COMMAND, PROJECT, SKILL, find, one
from gateway.skills.expanding import expanded, filled, has_places
from gateway.skills.narrowing import rule
from gateway.tools.words import suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.work import Work
    from gateway.model.call import Call
    from gateway.skills.catalogue import Know

# Beside all tools that change nothing but the session: how a model learns of tools, and what it has started already.
_ALWAYS = ("ToolSearch", "BashOutput")
_NOT_ALWAYS = ("RemoteTrigger",)


def load(call: Call, work: Work) -> Output:
    """What a skill says."""
    return _skill(_wanted(SKILL, call.input["name"], work), call.input.get("args", ""), work)


def command(call: Call, work: Work) -> Output:
    """What a command says, with what it was told, and what the lines and files in it give."""
    name, _, args = call.input["command"].strip().removeprefix("/").partition(" ")
    if name.startswith("mcp__"):
        from gateway.handlers.prompts import expanded as of_a_server

        return of_a_server(name, args.strip(), work)
    if name not in find(COMMAND, work.judge.places, work.context.root) and name in find(
        SKILL, work.judge.places, work.context.root
    ):
        return _skill(_wanted(SKILL, name, work), args.strip(), work)
    know = _wanted(COMMAND, name, work)
    rules = _rules(know, work)
    text = expanded(
        know.body, args.strip(), lambda line: _run(line, rules, work), lambda path: _read(path, rules, work)
    )
    if args.strip() and not has_places(know.body):
        text = f"{text.rstrip()}\n\nWhat it was told: {args.strip()}"
    return _said(know, text, rules, work)


def _skill(know: Know, args: str, work: Work) -> Output:
    text = filled(know.body, args) if has_places(know.body) else know.body
    if args and not has_places(know.body):
        text = f"{text.rstrip()}\n\nWhat it was told: {args}"
    text = f"The files of this skill lie in {know.folder}.\n\n{text}"
    return _said(know, text, _rules(know, work), work)


def _said(know: Know, text: str, rules: tuple[str, ...], work: Work) -> Output:
    if rules:
        work.session.narrows_for_now(rules)
        used = ", ".join(know.tools or ()) or "no tool"
        text += f"\n\n(Until the task is done only this may be used besides tools of the session itself: {used}.)"
    data = {"name": know.name, "layer": know.layer, "file": know.file}
    return Output((Text(text),), data, rules=rules)


def _wanted(kind: str, name: str, work: Work) -> Know:
    places, root = work.judge.places, work.context.root
    try:
        know = one(kind, name, places, root)
    except ConfigError as error:
        raise Failure(f"The {kind} `{name}` cannot be used: {error}.") from error
    if know is None:
        known = tuple(find(kind, places, root))
        raise Failure(f"There is no {kind} `{name}`.", suggestion(name, known) if known else "")
    if know.person_only and work.session.begun_by_person != name:
        raise Failure(f"The {kind} `{name}` can only be started by the person.", "Ask them to.")
    if not _may_see(know, work):
        raise Failure(f"Policy does not let you read the {kind} `{name}` ({know.file}).")
    return know


def _may_see(know: Know, work: Work) -> bool:
    """Whether policy lets this session read the file that was read, whatever its name leads to by now. What lies in the
    person's own folders they have put there for this: only where a rule asks or forbids is it held back. A project's
    file must really lie in the project."""
    if know.layer == PROJECT and not know.real.startswith(os.path.realpath(work.context.root) + "/"):
        return False
    return all(_may_read(path, know, work) for path in dict.fromkeys((know.file, know.real)))


def _may_read(path: str, know: Know, work: Work) -> bool:
    verdict = work.judge.check(RawCall("Read", {"file_path": path}), work.context)
    if verdict.decision is not Decision.ASK:
        return verdict.decision is Decision.ALLOW
    asking = [each.reason.rule.lane for each in verdict.outcomes if each.decision is Decision.ASK]
    return know.layer != PROJECT and all(lane == "mode" for lane in asking)


def _rules(know: Know, work: Work) -> tuple[str, ...]:
    """What forbids everything that it does not say it uses. Raises Failure where that cannot be held."""
    if know.tools is None:
        return ()
    registry = work.judge.registry
    always = [name for name in registry if registry[name].level == "session" and name not in _NOT_ALWAYS]
    known = {name: registry.canonical_name(name) for name in registry.names()}
    text = rule(know.name, know.tools, (*always, *_ALWAYS), known)
    reason = work.judge.refuses_rules((*work.context.rules, text))
    if reason:
        raise Failure(f"The {know.kind} `{know.name}` cannot be held to what it says it uses: {reason}.")
    return (text,)


def _run(line: str, rules: tuple[str, ...], work: Work) -> str:
    return _called(RawCall("Bash", {"command": line}), rules, work, f"`{line}`")


def _read(path: str, rules: tuple[str, ...], work: Work) -> str | None:
    whole = os.path.join(work.context.cwd, os.path.expanduser(path))
    if not os.path.isfile(whole):
        return None
    return f"{path}:\n" + _called(RawCall("Read", {"file_path": path}), rules, work, path)


def _called(raw: RawCall, rules: tuple[str, ...], work: Work, what: str) -> str:
    """What comes of a call of its own, judged by what the command says it uses as well."""
    may = work.session.may
    if may is not None and not may(raw.tool):
        return f"[{what} was refused: there is no tool `{raw.tool}` for this agent]"
    if rules:
        verdict = work.judge.check(raw, work.context.replace(rules=(*work.context.rules, *rules)))
        if verdict.decision is Decision.DENY:
            return f"[{what} was refused: the command does not say that it uses this]"
    assert work.call is not None
    done = work.call(raw)
    return done.text if done.ran else f"[{what} was refused: {done.result.reason}]"
