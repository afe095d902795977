"""A call that is made again because nobody knows what became of it: what it does is done once."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from gateway.agent.loop import Agent
from gateway.agent.repeat_keys import Keys
from gateway.agent.transcript import NOT_BEGUN, UNKNOWN, Past, Transcript, read
from gateway.config.layers import local_folder
from gateway.llm.model import CALLS, END, Reply
from gateway.llm.script import parse
from gateway.llm.scripted import Scripted
from gateway.model.call import RawCall
from gateway.tasks.mail import Mail

if TYPE_CHECKING:
    from pathlib import Path

SEND = {"SendMessage": {"recipient": "anna", "message": "Begin."}}
OTHER = {"SendMessage": {"recipient": "anna", "message": "Begin now."}}
TEAM = {"team_name": "builders", "members": [{"name": "anna", "role": "worker"}]}
# The process is gone as soon as the message is delivered, and before anything of that is written down.
KILLED = """
import os, signal, sys
from gateway.agent.loop import Agent
from gateway.llm.script import load
from gateway.agent.transcript import Transcript, read
from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.tasks.mail import Mail

send = Mail.send
def killed(*given, **how):
    send(*given, **how)
    os.kill(os.getpid(), signal.SIGKILL)

Mail.send = killed
project, script, path, goes_on = sys.argv[1:]
with Gateway(Options(cwd=project, root=project, binding=True)) as gateway, gateway.session() as session:
    past = read(path) if goes_on else None
    agent = Agent(gateway, load(script), session, transcript=Transcript(path), past=past)
    agent.go_on() if goes_on else agent.run("go")
"""


def script(*turns: dict[str, Any]) -> bytes:
    return json.dumps({"version": 1, "turns": turns}).encode()


@pytest.fixture
def team(ground) -> Any:
    """A gateway whose main agent is in a team, and what anna's mail says."""
    ground.says({"rules": [{"id": "send", "allow": ["SendMessage", "TeamCreate"]}]})
    gateway = ground.open()
    assert gateway.call(RawCall("TeamCreate", TEAM)).ran

    def mail() -> list[str]:
        mail = Mail(local_folder(gateway.places, gateway.options.root))
        with mail.mailbox("builders", "anna") as box:
            return [each.text for each in box.receive()]

    return gateway, mail


def killed(ground: Any, path: Path, *turns: dict[str, Any], goes_on: bool = False) -> None:
    file = path.with_suffix(".script")
    file.write_bytes(script(*turns))
    arguments = [str(ground.project), str(file), str(path), "yes" if goes_on else ""]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False, timeout=60, capture_output=True)
    assert done.returncode == -9, done.stderr


def goes_on(gateway: Any, path: Path, *turns: dict[str, Any]) -> None:
    with gateway.session() as session:
        transcript = Transcript(str(path))
        past = read(str(path))
        agent = Agent(gateway, Scripted(parse(script(*turns), "s")), session, transcript=transcript, past=past)
        outcome = agent.go_on()
        transcript.close()
    assert outcome.why == "done", outcome.reason


AGAIN = {
    "the same again": ([SEND], ["Begin."]),
    "another message": ([OTHER], ["Begin.", "Begin now."]),
    "the same twice, of which one was meant": ([SEND, SEND], ["Begin.", "Begin."]),
}


@pytest.mark.parametrize(("calls", "delivered"), AGAIN.values(), ids=AGAIN)
def test_a_message_that_is_sent_again_after_an_unknown_end_is_delivered_once(
    ground, team: Any, tmp_path: Path, calls: list[Any], delivered: list[str]
) -> None:
    gateway, mail = team
    path = tmp_path / "t.jsonl"
    killed(ground, path, {"calls": [SEND]})
    assert mail() == ["Begin."]
    goes_on(gateway, path, {"calls": [SEND]}, {"expect": [UNKNOWN], "calls": calls}, {"say": "Sent."})
    assert mail() == delivered


def test_it_is_delivered_once_however_often_that_happens(ground, team: Any, tmp_path: Path) -> None:
    gateway, mail = team
    path = tmp_path / "t.jsonl"
    turns = [{"calls": [SEND]}, {"calls": [SEND]}, {"calls": [SEND]}]
    killed(ground, path, *turns)
    killed(ground, path, *turns, goes_on=True)
    goes_on(gateway, path, *turns, {"say": "Sent."})
    assert mail() == ["Begin."]
    assert len(read(str(path)).unknown) == 2


def test_without_keys_it_would_be_delivered_twice(
    ground, team: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway, mail = team
    path = tmp_path / "t.jsonl"
    killed(ground, path, {"calls": [SEND]})
    monkeypatch.setattr(Keys, "of", lambda _self, blocks, _turn: [""] * len(blocks))
    goes_on(gateway, path, {"calls": [SEND]}, {"calls": [SEND]}, {"say": "Sent."})
    assert mail() == ["Begin.", "Begin."]


def test_a_message_that_is_meant_twice_is_delivered_twice(team: Any) -> None:
    gateway, mail = team
    with gateway.session() as session:
        model = Scripted(parse(script({"calls": [SEND, SEND]}, {"calls": [SEND]}, {"say": "Sent."}), "s"))
        assert Agent(gateway, model, session).run("go").why == "done"
    assert mail() == ["Begin."] * 3


class Numbering:
    """A model that counts its calls from 0 in each reply."""

    name = "numbering"

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)

    def reply(self, _request: Any, **_how: Any) -> Reply:
        if not self._texts:
            return Reply(({"type": "text", "text": "Sent."},), END, {})
        given = {"recipient": "anna", "message": self._texts.pop(0)}
        return Reply(({"type": "tool_use", "id": "call_0", "name": "SendMessage", "input": given},), CALLS, {})


def test_every_message_of_a_model_that_gives_its_calls_the_same_id_is_delivered(team: Any) -> None:
    gateway, mail = team
    with gateway.session() as session:
        assert Agent(gateway, Numbering("One.", "Two."), session).run("go").why == "done"
    assert mail() == ["One.", "Two."]


def use(number: str, text: str = "x") -> dict[str, Any]:
    return {"type": "tool_use", "id": number, "name": "SendMessage", "input": {"recipient": "a", "message": text}}


def result(number: str, text: str = "Sent.", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": number, "content": text, **more}


PASTS = {
    "nothing is unknown": ((), [use("1")], [result("1")], ["s/7/9"]),
    "the same is unknown": (("1",), [use("1")], [result("1", UNKNOWN)], ["s/1/1"]),
    "another is unknown": (("1",), [use("1", "y")], [result("1", UNKNOWN)], ["s/7/9"]),
    "it was made again and worked": (("1",), [use("1"), use("2")], [result("1", UNKNOWN), result("2")], ["s/7/9"]),
    "it was made again and is unknown again": (
        ("1", "2"), [use("1"), use("2")], [result("1", UNKNOWN), result("2", UNKNOWN)], ["s/1/1"],
    ),
    "it was made again and refused": (
        ("1",), [use("1"), use("2")], [result("1", UNKNOWN), result("2", "No.", is_error=True)], ["s/1/1"],
    ),
    "it was asked for again and never begun": (
        ("1",), [use("1"), use("2")], [result("1", UNKNOWN), result("2", NOT_BEGUN, is_error=True)], ["s/1/1"],
    ),
    "one of the same id worked before": (
        ("1",), [use("1"), use("1", "y")], [result("1"), result("1", UNKNOWN)], ["s/7/9"],
    ),
    "one of the same id worked before, and this is unknown": (
        ("1",), [use("1", "y"), use("1")], [result("1"), result("1", UNKNOWN)], ["s/2/1"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("unknown", "calls", "results", "keys"), PASTS.values(), ids=PASTS)
def test_a_call_has_the_key_of_one_whose_end_nobody_knows(
    unknown: tuple[str, ...], calls: list[Any], results: list[Any], keys: list[str]
) -> None:
    messages: tuple[Any, ...] = ({"role": "user", "content": "go"},)
    for call, answer in zip(calls, results, strict=True):
        messages += ({"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]})
    past = Past({"session": "s"}, messages, unknown, 1, {}, "/", "default", (), "")
    assert Keys("other", past).of([use("9")], 7) == keys
