"""What `gateway explain` finds in a shell text, as plain data: for the command line and, as `gateway.explain`, for
other programs. The shape is promised: `explanation_schema` describes it, and keys are added but not taken away.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from gateway.model.call import RawCall
from gateway.model.decision import MODES
from gateway.model.effect import KINDS
from gateway.render.plan import planned
from gateway.render.tree import tree_of
from gateway.spec.commandkeys import CLASSES, DIRECTIONS

if TYPE_CHECKING:
    from gateway.judge.judge import Judge

DECISIONS = ("allow", "ask", "deny")

Span = list[int]


class ExplainedEffect(TypedDict):
    """One thing that a text is predicted to do, and what policy says of it. What is not known before the run shows as
    `?`; `known` is false for a path or host with such a part; `known_by`: who names a host that the call does not."""

    kind: str
    target: str
    span: Span | None
    decision: NotRequired[str]
    rule: NotRequired[str]
    known: NotRequired[bool]
    known_by: NotRequired[str]
    real: NotRequired[str]
    direction: NotRequired[str]
    sends: NotRequired[list[str]]
    why: NotRequired[str]
    access: NotRequired[str]


class ExplainedCommand(TypedDict):
    """One simple command: its words after quote removal, how its description reads them, and the commands that it holds
    or runs."""

    program: str
    subcommands: list[str]
    argv: list[str]
    options: list[str]
    operands: list[str]
    classes: list[str]
    span: Span
    via: list[str]
    direct: bool
    described: bool
    literal: bool
    trusted: bool
    effects: list[ExplainedEffect]
    commands: list[ExplainedCommand]


class Explanation(TypedDict):
    """A shell text as commands, words, effects and classes. Spans are in code points of the text."""

    text: str
    decision: str
    rule: str
    classes: list[str]
    commands: list[ExplainedCommand]
    effects: list[ExplainedEffect]
    tokens: list[str]
    cwd: str
    mode: str
    plan: dict[str, Any] | None


def explain(text: str, cwd: str | None = None, *, guard: Judge | None = None) -> Explanation:
    """What running `text` in bash is predicted to do, and what policy says of it: what `gateway explain --json` prints.

    Nothing runs. `cwd`: the folder it would start in, the current one if missing. `guard`: a gateway to ask, which
    makes the second and every further question cheap; else one is opened with the policy that holds in `cwd`, for a
    call that runs in the sandbox. Raises ConfigError for a broken policy, CallError for a text that cannot be judged.
    """
    if guard is None:
        from gateway.config.load import Options
        from gateway.judge.judge import Judge

        guard = Judge(Options(os.path.abspath(cwd or os.getcwd())))
        context = guard.context
    else:
        context = guard.context if cwd is None else guard.context.replace(cwd=os.path.abspath(cwd))
    verdict = guard.check(RawCall("Bash", {"command": text}), context)
    found: Any = {**tree_of(verdict), "plan": planned(guard, verdict)}
    return found  # type: ignore[no-any-return]


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_BOOLEAN = {"type": "boolean"}
_SPAN = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}
_EFFECTS = {"type": "array", "items": {"$ref": "#/$defs/effect"}}
_COMMANDS = {"type": "array", "items": {"$ref": "#/$defs/command"}}
_CLASSES = {"type": "array", "items": {"enum": list(CLASSES)}}
_DECISION = {"enum": list(DECISIONS)}


def explanation_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of an explanation. Readers must expect keys that are not listed yet."""
    effect: dict[str, tuple[str, dict[str, Any]]] = {
        "kind": ("what is done", {"enum": list(KINDS)}),
        "target": (
            "to what; `?` for what is not known before the run, `/**` at the end for a path with all below",
            _TEXT,
        ),
        "span": ("where the text says so, null where no place does", {"anyOf": [_SPAN, {"type": "null"}]}),
        "decision": ("what policy says; missing for what needs no cover", _DECISION),
        "rule": ("the rule or mode that says it", _TEXT),
        "known": ("whether all of the path or host is known", _BOOLEAN),
        "real": ("where the path leads, if that is elsewhere", _TEXT),
        "direction": ("of a connection", {"enum": list(DIRECTIONS)}),
        "known_by": (
            "who names the host, if the call does not: the person's own settings, or the program's provider",
            {"enum": ["person", "provider"]},
        ),
        "sends": ("files whose content the connection may carry", _TEXTS),
        "why": ("why it is code or not known", _TEXT),
        "access": ("of a variable", {"enum": ["read", "set"]}),
    }
    command: dict[str, tuple[str, dict[str, Any]]] = {
        "program": ("its name in rules, empty if it is not known", _TEXT),
        "subcommands": ("in canonical form", _TEXTS),
        "argv": ("the words after quote removal", _TEXTS),
        "options": ("every spelling of every option that is present", _TEXTS),
        "operands": ("the words that are neither options nor their values", _TEXTS),
        "classes": ("what the description calls it", _CLASSES),
        "span": ("where it stands; of a text in quotes, where that text stands", _SPAN),
        "via": ("what hands it on, outermost first", _TEXTS),
        "direct": ("whether it is written directly, not handed on", _BOOLEAN),
        "described": ("whether a description accounts for every word", _BOOLEAN),
        "literal": ("whether all words are known before the run", _BOOLEAN),
        "trusted": ("whether the name surely means the described program", _BOOLEAN),
        "effects": ("what it does", _EFFECTS),
        "commands": ("the commands that it holds or runs", _COMMANDS),
    }
    top: dict[str, tuple[str, dict[str, Any]]] = {
        "text": ("the text", _TEXT),
        "decision": ("what would become of it as one call", _DECISION),
        "rule": ("the rule or mode that decides", _TEXT),
        "classes": ("the classes that all its commands agree on", _CLASSES),
        "commands": ("its commands in the order of the text", _COMMANDS),
        "effects": ("what the shell itself does: redirects, variables, what cannot be parsed", _EFFECTS),
        "tokens": ("the words of a text that cannot be parsed", _TEXTS),
        "cwd": ("the folder that it starts in", _TEXT),
        "mode": ("the mode that decides where no rule speaks", {"enum": list(MODES)}),
        "plan": ("the sandbox that would hold it, null where none would", {"type": ["object", "null"]}),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gateway explanation",
        **_object(top, top),
        "$defs": {"effect": _object(effect, ("kind", "target", "span")), "command": _object(command, command)},
    }


def _object(keys: dict[str, tuple[str, dict[str, Any]]], required: Any) -> dict[str, Any]:
    properties = {
        name: {"description": f"{about[:1].upper()}{about[1:]}.", **each} for name, (about, each) in keys.items()
    }
    return {"type": "object", "properties": properties, "required": list(required)}
