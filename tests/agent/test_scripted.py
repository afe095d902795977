"""The model that plays a script, and the script's own mistakes."""

from __future__ import annotations

import pytest

from gateway.core.errors import ConfigError
from gateway.llm.model import ModelError, Reply, Request, Said
from gateway.llm.script import load, parse
from gateway.llm.scripted import Scripted

TWO = """\
version: 1
conversations:
  - prompt: '^sub'
    turns: [{say: I am the other one.}]
turns:
  - say: first
    calls:
      - Read: {file_path: a}
  - {expect: [alpha], lacks: [beta], say: second}
"""


def asked(*said: str) -> Request:
    messages = []
    for number, text in enumerate(said):
        messages.append({"role": "assistant" if number % 2 else "user", "content": text})
    return Request("", tuple(messages))


@pytest.fixture
def model() -> Scripted:
    return Scripted(parse(TWO.encode(), "s.yaml"), file="s.yaml")


def test_the_turn_follows_from_the_conversation(model: Scripted) -> None:
    told: list[Said] = []
    first = model.reply(asked("go"), listener=told.append)
    call = {"type": "tool_use", "id": "call_1_1", "name": "Read", "input": {"file_path": "a"}}
    assert first == Reply(({"type": "text", "text": "first"}, call), "tool_use", first.usage)
    assert told == [Said("text", "first")]
    for _ in range(2):
        assert model.reply(asked("go", "first", "alpha")).text == "second"
    assert model.reply(asked("subtask")).text == "I am the other one."


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (("go", "first", "gamma"), "s.yaml:9: turn 2 expects `alpha`, and what came is: gamma"),
        (("go", "first", "alpha beta"), "s.yaml:9: turn 2 expects no `beta`, and what came is: alpha beta"),
        (("go", "1", "alpha", "2", "x"), "the script has 2 turns for this conversation, and no more"),
        (("sub", "1", "x"), "the script has 1 turns for this conversation, and no more"),
    ],
    ids=["missing", "there", "at the end", "at the other's end"],
)
def test_what_the_script_does_not_expect_is_a_complaint(model: Scripted, said: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(ModelError) as caught:
        model.reply(asked(*said))
    assert str(caught.value) == complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("turns: [{say: a}]", "s.yaml:1:1: script must have the key `version`"),
        ("version: 2\nturns: [{say: a}]", "s.yaml:1:10: `version` must be"),
        ("version: 1", "s.yaml:1:1: script must have at least one turn"),
        ("version: 1\nturns: [{said: a}]", "s.yaml:2:10: turn must not have the key `said`"),
        ("version: 1\nturns: [{calls: [{Read: {}, Grep: {}}]}]", "s.yaml:2:18: a call must be one tool"),
        ("version: 1\nturns: [{calls: [{Read: x}]}]", "s.yaml:2:25: the input of `Read` must be a mapping"),
        ("version: 1\nconversations: [{prompt: '(', turns: [{say: a}]}]", "`prompt` must be a regular expression"),
        ("version: 1\nturns: [{stop: later}]", "`stop` must be"),
        ("version: 1\nturns: x", "`turns` must be a list"),
        ("", "s.yaml"),
    ],
)
def test_a_mistake_in_a_script_is_an_error_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text.encode(), "s.yaml")
    assert complaint in str(caught.value)


def test_a_missing_script_is_an_error(tmp_path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(str(tmp_path / "none.yaml"))
