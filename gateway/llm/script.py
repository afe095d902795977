"""A conversation in YAML, read for the scripted model (`gateway.llm.scripted`, which says what it looks like)."""

from __future__ import annotations

import re

from gateway.config.layers import read_file
from gateway.llm.scripted import STOPS, Conversation, Scripted, Turn
from gateway.spec import read
from gateway.spec.node import Complaints
from gateway.spec.yamltext import load as load_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Node

VERSION = 1
TOP = ("version", "turns", "conversations")
CONVERSATION = ("prompt", "turns")
TURN = ("say", "calls", "expect", "lacks", "stop")


def load(path: str) -> Scripted:
    """The model of a script file. Raises ConfigError with every mistake in it."""
    return Scripted(parse(read_file(path), path), name=f"scripted:{path}", file=path)


def parse(content: bytes, path: str) -> tuple[Conversation, ...]:
    """The conversations of a script. Raises ConfigError with every mistake in it."""
    complaints = Complaints(path)
    root = load_yaml(content, path)
    top = read.ours(root, "script", TOP, complaints, needs="version", version=VERSION)
    found = []
    for each in read.sequence(top["conversations"], "`conversations`", complaints) if "conversations" in top else ():
        keys = read.known_keys(each, "conversation", CONVERSATION, complaints)
        prompt = _pattern(keys["prompt"], complaints) if "prompt" in keys else None
        found.append(Conversation(prompt, _turns(keys["turns"], complaints) if "turns" in keys else ()))
    if "turns" in top:
        found.append(Conversation(None, _turns(top["turns"], complaints)))
    if not complaints and not any(each.turns for each in found):
        complaints.at(root, "script must have at least one turn", "such as `turns: [{say: Hello}]`")
    complaints.raise_any()
    return tuple(found)


def _pattern(node: Node, complaints: Complaints) -> re.Pattern[str] | None:
    try:
        return re.compile(read.text(node, "`prompt`", complaints))
    except re.error as error:
        complaints.at(node, f"`prompt` must be a regular expression: {error}")
        return None


def _turns(node: Node, complaints: Complaints) -> tuple[Turn, ...]:
    found = []
    for each in read.sequence(node, "`turns`", complaints):
        keys = read.known_keys(each, "turn", TURN, complaints)
        found.append(
            Turn(
                read.text(keys["say"], "`say`", complaints) if "say" in keys else "",
                _calls(keys["calls"], complaints) if "calls" in keys else (),
                expect=tuple(read.texts(keys["expect"], "`expect`", complaints)) if "expect" in keys else (),
                lacks=tuple(read.texts(keys["lacks"], "`lacks`", complaints)) if "lacks" in keys else (),
                stop=read.choice(keys["stop"], "`stop`", STOPS, complaints) if "stop" in keys else "",
                line=each.line,
            )
        )
    return tuple(found)


def _calls(node: Node, complaints: Complaints) -> tuple[tuple[str, dict[str, Any]], ...]:
    found = []
    for each in read.sequence(node, "`calls`", complaints):
        call = read.mapping(each, "a call", complaints)
        if each.kind == "mapping" and len(call) != 1:
            remedy = "such as `Read: {file_path: x}`"
            complaints.at(each, f"a call must be one tool with its input (got {len(call)} of them)", remedy)
        for name, value in call.items():
            given = read.data(value, f"the input of `{name}`", complaints)
            if not isinstance(given, dict):
                complaints.at(value, f"the input of `{name}` must be a mapping (got {value.shown})")
                given = {}
            found.append((name, given))
    return tuple(found)
