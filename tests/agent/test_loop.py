"""The loop between a model and the tools: what it is asked, what is done of what it says, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gateway.agent import loop
from gateway.agent.asking import Patience
from gateway.agent.budget import Budget
from gateway.agent.events import Called, Calling, Doing
from gateway.agent.loop import CUT_OFF, Agent, Outcome
from gateway.agent.transcript import NOT_BEGUN, UNKNOWN, Past, Transcript, read
from gateway.calls.output import Output, Text
from gateway.core.cancel import Cancel
from gateway.core.errors import ConfigError
from gateway.llm.model import ModelError, Reply, Request, Said
from gateway.llm.script import parse
from gateway.llm.scripted import Scripted, said_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def script(*turns: dict[str, Any]) -> Scripted:
    return Scripted(parse(json.dumps({"version": 1, "turns": turns}).encode(), "script.yaml"))


def says(text: str, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**({"say": text} if text else {}), **({"calls": list(calls)} if calls else {}), **more}


READ = {"Read": {"file_path": "a.txt"}}
UNUSABLE = (
    "asked 2 times: the model's reply says nothing, or calls without an input; go on later (`--resume`), or name "
    "another model to fall back on (`--fallback-model`)"
)
USED = {"input_tokens": 10, "output_tokens": 5}


class Sharp:
    """A model that answers with what it is given, and keeps what it was asked."""

    name = "sharp"

    def __init__(self, *replies: Reply | Exception) -> None:
        self.asked: list[Request] = []
        self._replies = list(replies)

    def reply(self, request: Request, **_how: Any) -> Reply:
        self.asked.append(request)
        found = self._replies.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def reply(*content: dict[str, Any], stop: str = "end_turn") -> Reply:
    return Reply(content, stop, USED)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(use_id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": use_id, "name": name, "input": given}


@pytest.fixture
def opened(ground):
    (ground.project / "a.txt").write_text("alpha\n")
    gateway = ground.open()
    with gateway.session() as session:
        yield gateway, session


def test_it_calls_what_the_model_asks_for_until_nothing_is_left(opened) -> None:
    gateway, session = opened
    model = script(says("Looking.", READ), says("It says alpha.", expect=["alpha"]))
    agent = Agent(gateway, model, session)
    outcome = agent.run("What does it say?")
    assert (outcome.why, outcome.text, outcome.turns) == ("done", "It says alpha.", 2)
    assert [(each["role"], said_in(each)) for each in agent.messages] == [
        ("user", "What does it say?"),
        ("assistant", "Looking."),
        ("user", "     1\talpha"),
        ("assistant", "It says alpha."),
    ]


def test_the_model_reads_why_a_call_was_refused(opened) -> None:
    gateway, session = opened
    refused = ["was refused by rule `secret-files`"]
    model = script(says("", {"Bash": {"command": "cat ~/.ssh/id_rsa"}}), says("I cannot.", expect=refused))
    assert Agent(gateway, model, session).run("Show the key.").why == "done"


def test_results_come_in_the_order_of_the_calls(opened, ground) -> None:
    gateway, session = opened
    first_waits = threading.Event()

    def slow(call: Any, _work: Any) -> Output:
        if call.input["file_path"].endswith("a.txt"):
            assert first_waits.wait(30)
        else:
            first_waits.set()
        return Output((Text(call.input["file_path"][-5:]),))

    ground.stands_for("files.read", slow)
    model = Sharp(
        reply(use("1", "Read", file_path="a.txt"), use("2", "Read", file_path="b.txt"), stop="tool_use"),
        reply(text("x")),
    )
    Agent(gateway, model, session).run("go")
    (results,) = (each["content"] for each in model.asked[1].messages if each["content"][0]["type"] == "tool_result")
    assert [(each["tool_use_id"], said_in(each)) for each in results] == [("1", "a.txt"), ("2", "b.txt")]


def test_a_call_may_move_the_session_for_the_next_turn(opened, ground) -> None:
    gateway, session = opened
    (ground.project / "sub").mkdir()
    model = Sharp(reply(use("1", "Bash", command="cd sub"), stop="tool_use"), reply(text("x")))
    Agent(gateway, model, session).run("go")
    first, second = model.asked
    assert f"Working folder: {ground.project}" in first.system.split("\n")
    assert second.system == first.system  # what was read once is in the provider's cache
    assert second.messages[-1]["content"][-1]["text"] == f"[gateway] The working folder is {ground.project}/sub now."


@pytest.mark.parametrize(
    ("model", "budget", "expected"),
    [
        pytest.param([reply(text("a"))], {}, ("done", "a", ""), id="all is said"),
        pytest.param([reply(text("a"), stop="stop_sequence")], {}, ("done", "a", ""), id="a word that ends it"),
        pytest.param([reply(text("a"), stop="pause_turn"), reply(text("b"))], {}, ("done", "b", ""), id="a pause"),
        pytest.param([reply(text("a"), stop="refusal")], {}, ("declined", "a", "the model declined"), id="declined"),
        pytest.param(
            [reply(text("a"), stop="max_tokens")] * 2,
            {"longer": 1},
            ("cut", "aa", "the reply was cut off: max_tokens"),
            id="too long",
        ),
        pytest.param([ModelError("no key", "set one")], {}, ("failed", "", "no key; set one"), id="no model"),
        pytest.param(
            [reply(use("1", "Read", file_path="a.txt"), stop="tool_use")] * 3,
            {"turns": 2},
            ("turns", "", "it has taken 2 turns, which is all it may"),
            id="too many turns",
        ),
        pytest.param(
            [reply(text("a"), use("1", "Read", file_path="a.txt"), stop="tool_use")] * 3,
            {"tokens": 20},
            ("tokens", "a", "it has used 30 tokens of 20"),
            id="too many tokens",
        ),
        pytest.param(
            [reply()] * 2, {}, ("failed", "", UNUSABLE), id="silence",
        ),
        pytest.param(
            [reply({"type": "tool_use", "id": "1", "name": "Read", "input": "x"}, stop="tool_use")] * 2,
            {},
            ("failed", "", UNUSABLE),
            id="a call without an input",
        ),
    ],
)  # fmt: skip
def test_a_run_ends_with(opened, model: list[Any], budget: dict[str, Any], expected: tuple[str, str, str]) -> None:
    gateway, session = opened
    patience = Patience(tries=2, first=0)
    outcome = Agent(gateway, Sharp(*model), session, budget=Budget(**budget), patience=patience).run("go")
    assert (outcome.why, outcome.text, outcome.reason) == expected


def test_calls_of_a_reply_that_was_cut_off_do_not_run(opened, ground) -> None:
    gateway, session = opened
    ran: list[Any] = []
    ground.stands_for("files.read", lambda call, _work: ran.append(call) or Output())
    model = Sharp(reply(use("1", "Read", file_path="a.txt"), stop="max_tokens"), reply(text("x")))
    Agent(gateway, model, session).run("go")
    assert ran == []
    assert said_in(model.asked[1].messages[-1]) == CUT_OFF


def test_a_tool_that_is_not_there_is_told_to_the_model(opened) -> None:
    gateway, session = opened
    model = Sharp(reply(use("1", "Raed", file_path="a.txt"), stop="tool_use"), reply(text("x")))
    Agent(gateway, model, session).run("go")
    assert "Raed" in said_in(model.asked[1].messages[-1])
    assert model.asked[1].messages[-1]["content"][0]["is_error"] is True


def test_only_the_tools_it_may_call_are_offered(opened) -> None:
    gateway, session = opened
    model = Sharp(reply(text("x")))
    Agent(gateway, model, session, allowed=lambda name: name in ("Read", "Grep")).run("go")
    assert [each["name"] for each in model.asked[0].tools] == ["Read", "Grep"]


def test_a_tool_that_it_may_not_call_does_not_run_though_the_model_asks_for_it(opened, ground) -> None:
    gateway, session = opened
    ran: list[Any] = []
    ground.stands_for("files.read", lambda call, _work: ran.append(call) or Output())
    model = Sharp(reply(use("1", "Read", file_path="a.txt"), stop="tool_use"), reply(text("x")))
    Agent(gateway, model, session, allowed=lambda name: name == "Grep").run("go")
    assert ran == []
    assert "Read" in said_in(model.asked[1].messages[-1])


def test_what_happens_is_told_as_it_happens(opened) -> None:
    gateway, session = opened
    told: list[Any] = []
    model = script(says("Looking.", {"Bash": {"command": "echo hello"}}), says("Done."))
    Agent(gateway, model, session, listener=told.append).run("go")
    kinds = [type(each) for each in told]
    assert [each for each in kinds if each is not Doing] == [Said, Reply, Calling, Called, Said, Reply]
    assert [each.text for each in told if isinstance(each, Said)] == ["Looking.", "Done."]
    assert "".join(each.progress.text for each in told if isinstance(each, Doing)) == "hello\n"


def test_a_model_that_hangs_is_left_when_the_run_is_cancelled(opened) -> None:
    gateway, session = opened
    cancel, asked = Cancel(), threading.Event()

    class Hanging:
        name = "hanging"

        def reply(self, _request: Request, **_how: Any) -> Reply:
            asked.set()
            threading.Event().wait(60)
            raise AssertionError

    def stop() -> None:
        asked.wait(30)
        cancel.set()

    threading.Thread(target=stop).start()
    outcome = Agent(gateway, Hanging(), session).run("go", cancel)
    assert (outcome.why, outcome.reason) == ("cancelled", "it was cancelled")
    cancel.close()


def test_a_command_that_runs_is_ended_when_the_run_is_cancelled(opened) -> None:
    gateway, session = opened
    cancel = Cancel()

    def stop(what: Any) -> None:
        if isinstance(what, Doing):
            cancel.set()

    model = script(says("", {"Bash": {"command": "echo started; sleep 100"}}), says("never"))
    outcome = Agent(gateway, model, session, listener=stop).run("go", cancel)
    assert outcome.why == "cancelled"
    cancel.close()


def test_a_second_task_goes_on_in_the_same_conversation(opened) -> None:
    gateway, session = opened
    agent = Agent(gateway, script(says("one"), says("two", expect=["again"])), session)
    assert [agent.run(each).text for each in ("first", "again")] == ["one", "two"]
    assert [each["role"] for each in agent.messages] == ["user", "assistant", "user", "assistant"]


def test_what_is_said_after_a_run_that_was_cut_off_joins_the_results(opened) -> None:
    gateway, session = opened
    agent = Agent(gateway, script(says("one", READ), says("two", expect=["alpha", "again"])), session, budget=Budget(1))
    assert [agent.run(each).why for each in ("first", "again")] == ["turns", "done"]
    assert [each["role"] for each in agent.messages] == ["user", "assistant", "user", "assistant"]


def test_a_session_in_which_nothing_was_said_cannot_go_on_by_itself(opened, tmp_path: Path) -> None:
    gateway, session = opened
    path = str(tmp_path / "t.jsonl")
    transcript = Transcript(path)
    Agent(gateway, Sharp(), session, transcript=transcript)
    transcript.close()
    agent = Agent(gateway, Sharp(reply({"type": "text", "text": "Done."})), session, past=read(path))
    outcome = agent.go_on()
    assert (outcome.why, outcome.reason) == ("failed", "nobody has said yet what is to be done")
    assert agent.run("go").why == "done"


def test_a_session_is_taken_up_from_its_transcript(opened, tmp_path: Path) -> None:
    gateway, session = opened
    turns = (says("one", {"Bash": {"command": "cd sub"}}), says("two"), says("three", expect=["again"]))
    os.mkdir(f"{session.cwd}/sub")
    path = str(tmp_path / "t.jsonl")
    transcript = Transcript(path)
    first = Agent(gateway, script(*turns), session, transcript=transcript)
    first.run("first")
    transcript.close()
    past = read(path)
    assert list(past.messages) == first.messages
    with gateway.session() as other:
        transcript = Transcript(path)
        later = Agent(gateway, script(*turns), other, transcript=transcript, past=past)
        assert other.cwd == session.cwd
        assert later.run("again").text == "three"
        transcript.close()
    assert list(read(path).messages) == later.messages
    assert read(path).turns == later.turns == 3


KILLED = """
import sys
from gateway.agent.loop import Agent
from gateway.llm.script import load
from gateway.agent.transcript import Transcript
from gateway.api.gateway import Gateway
from gateway.config.load import Options
with Gateway(Options(cwd=sys.argv[1], root=sys.argv[1], binding=True)) as gateway, gateway.session() as session:
    transcript = Transcript(sys.argv[3])
    agent = Agent(gateway, load(sys.argv[2]), session, transcript=transcript, listener=lambda x: print(x, flush=True))
    agent.run("go")
"""


def test_what_ran_when_the_process_was_killed_is_reported_as_unknown(ground, tmp_path: Path) -> None:
    (ground.project / "a.txt").write_text("alpha\n")
    calls = [READ, {"Bash": {"command": "echo begun; sleep 100"}}, {"Bash": {"command": "echo later; cd ."}}]
    (tmp_path / "s.yaml").write_text(json.dumps({"version": 1, "turns": [says("", *calls), says("never")]}))
    path = str(tmp_path / "t.jsonl")
    arguments = [sys.executable, "-c", KILLED, str(ground.project), str(tmp_path / "s.yaml"), path]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("Doing"):
                process.kill()
                break
    past = read(path)
    assert past.unknown == ("call_1_2",)
    assert [said_in({"content": [each]}) for each in past.messages[-1]["content"]] == [
        "     1\talpha",
        UNKNOWN,
        NOT_BEGUN,
    ]


def test_a_transcript_that_cannot_be_written_stops_the_run(
    opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway, session = opened
    transcript = Transcript(str(tmp_path / "t.jsonl"))
    agent = Agent(gateway, script(says("a", READ), says("b")), session, transcript=transcript)
    true_write: Callable[..., None] = transcript.write

    def full(kind: str, **what: Any) -> None:
        if kind == "begun":
            raise OSError(28, "No space left on device")
        true_write(kind, **what)

    monkeypatch.setattr(transcript, "write", full)
    with pytest.raises(OSError, match="No space left"):
        agent.run("go")


def test_an_outcome_says_what_was_used(opened) -> None:
    gateway, session = opened
    outcome = Agent(gateway, Sharp(reply(text("a"))), session).run("go")
    assert outcome == Outcome(loop.DONE, "a", "", 1, USED)


def past(mode: str, rules: tuple[str, ...] = ()) -> Past:
    return Past({}, (), (), 0, {}, "", mode, rules, "done")


@pytest.mark.parametrize(
    ("now", "then", "mode"),
    [
        pytest.param("default", "plan", "plan", id="a stricter mode is taken up"),
        pytest.param("default", "bypass", "default", id="a looser one, which any file could name, is not"),
        pytest.param("plan", "accept_edits", "plan", id="nor where the person asked for a stricter one"),
        pytest.param("accept_edits", "auto", "default", id="of two that differ, one as strict as both"),
    ],
)
def test_a_session_is_taken_up_in_no_looser_mode(opened, now: str, then: str, mode: str) -> None:
    gateway, session = opened
    session.enter(now)
    Agent(gateway, Sharp(), session, past=past(then))
    assert session.context.mode == mode


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param(past("dont_ask"), "", id="the twin, which can be held"),
        pytest.param(past("plan"), "no mode is as strict as both", id="a mode that cannot be held beside this one"),
        pytest.param(past("dont_ask", ("nonsense: [",)), "the rules of the session cannot hold", id="broken rules"),
    ],
)
def test_what_cannot_be_held_to_what_it_was_is_not_taken_up(opened, given: Past, why: str) -> None:
    gateway, session = opened
    session.enter("dont_ask")
    if why:
        with pytest.raises(ConfigError, match=why):
            Agent(gateway, Sharp(), session, past=given)
    else:
        Agent(gateway, Sharp(), session, past=given)
