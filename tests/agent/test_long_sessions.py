"""Sessions longer than what a model can read at once: they end with their task done and their record whole."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from gateway.agent.loop import Agent
from gateway.agent.transcript import CLEARED_TEXT, Transcript, read
from gateway.agent.window import LOST, SUM_UP, Window, estimated, latter_half, worth_clearing
from gateway.llm.model import TOO_LONG, WINDOW, Limits, ModelError, Reply, Request
from gateway.llm.scripted import said_in

if TYPE_CHECKING:
    from pathlib import Path

FILES = 48
SIZE = 12_000  # tokens of the window
WORDS = 12_000  # characters of a file


class Counting:
    """A model with a window: it reads one file after the other, and knows of those before only what it is shown. A
    conversation that is too long is refused, as the API does."""

    name = "counting"

    def __init__(self, *, tells: bool = True, sums_up: int = 10_000) -> None:
        """`tells`: whether it says how much it can take; `sums_up`: of how many messages at most it makes a summary."""
        self.longest = 0
        self.read = 0
        self.summaries = 0
        self._tells = tells
        self._sums_up = sums_up

    def limits(self, _name: str) -> Limits:
        return Limits(SIZE if self._tells else 0, 1_000)

    def reply(self, request: Request, **_how: Any) -> Reply:
        tokens = len(json.dumps([request.system, request.messages, request.tools])) // 4
        if tokens > SIZE:
            raise ModelError(f"prompt is too long: {tokens} tokens > {SIZE} maximum", kind=TOO_LONG, window=SIZE)
        self.longest = max(self.longest, tokens)
        self.read += tokens
        usage = {"input_tokens": tokens, "output_tokens": 20}
        last = said_in(request.messages[-1])
        place = max([int(each) for each in re.findall(r"at file (\d+)", json.dumps(request.messages))], default=-1)
        if SUM_UP in last:
            self.summaries += 1
            if len(request.messages) > self._sums_up:
                raise ModelError("prompt is too long", kind=TOO_LONG)
            return Reply(({"type": "text", "text": f"I was at file {place}."},), "end_turn", usage)
        if place + 1 == FILES or LOST in json.dumps(request.messages):
            return Reply(({"type": "text", "text": "All are read."},), "end_turn", usage)
        call = {"type": "tool_use", "id": f"c{place}", "name": "Read", "input": {"file_path": f"f{place + 1}.txt"}}
        return Reply(({"type": "text", "text": f"I am at file {place + 1}."}, call), "tool_use", usage)


@pytest.fixture
def opened(ground):
    for number in range(FILES):
        (ground.project / f"f{number}.txt").write_text(f"file {number} " + "word word word word word\n" * (WORDS // 25))
    gateway = ground.open()
    with gateway.session() as session:
        yield gateway, session


def results(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(each) for each in file]
    return [said_in({"content": [each["block"]]}) for each in lines if each["type"] == "result"]


@pytest.mark.parametrize("tells", [True, False], ids=["it says what it can take", "it refuses what is too long"])
def test_a_session_of_ten_windows_ends_with_its_task_done(opened, tmp_path: Path, tells: bool) -> None:
    gateway, session = opened
    model = Counting(tells=tells)
    path = str(tmp_path / "t.jsonl")
    transcript = Transcript(path)
    agent = Agent(gateway, model, session, transcript=transcript, allowed=lambda tool: tool == "Read")
    outcome = agent.run("Read every file.")
    transcript.close()
    assert (outcome.why, outcome.text) == ("done", "All are read.")
    assert model.longest <= SIZE
    # All that came back is ten times what the model can read at once, and the transcript has the whole of it.
    came = results(path)
    assert len(came) == FILES
    assert sum(map(len, came)) // 4 > 10 * SIZE
    assert all(f"file {number} word" in text for number, text in enumerate(came))
    assert list(read(path).messages) == list(agent.messages)
    assert read(path).turns == agent.turns


@pytest.mark.parametrize("most", [3, 0], ids=["of a part", "not at all"])
def test_a_session_whose_model_can_hardly_sum_up_goes_on_all_the_same(opened, most: int) -> None:
    gateway, session = opened
    model = Counting(sums_up=most)
    agent = Agent(gateway, model, session, allowed=lambda tool: tool == "Read")
    assert agent.run("Read every file.").why == "done"
    assert (LOST in said_in(agent.messages[0])) is (most == 0)
    assert "Read every file." in said_in(agent.messages[0])


class Same:
    """A model that reads the same file again and again, and answers with what it was shown last."""

    name = "same"

    def __init__(self, turns: int) -> None:
        self._left = turns
        self.shown: list[str] = []

    def limits(self, _name: str) -> Limits:
        return Limits(SIZE, 1_000)

    def reply(self, request: Request, **_how: Any) -> Reply:
        last = said_in(request.messages[-1])
        usage = {"input_tokens": len(json.dumps(request.messages)) // 4, "output_tokens": 1}
        if SUM_UP in last:
            return Reply(({"type": "text", "text": "I read f0."},), "end_turn", usage)
        self.shown.append("text" if "file 0 word" in last else "unchanged" if "is unchanged" in last else "")
        self._left -= 1
        if self._left < 0:
            return Reply(({"type": "text", "text": "Enough."},), "end_turn", usage)
        name = "f0.txt" if self._left % 2 else f"f{self._left}.txt"
        call = {"type": "tool_use", "id": f"c{self._left}", "name": "Read", "input": {"file_path": name}}
        return Reply((call,), "tool_use", usage)


def test_unchanged_never_points_at_a_text_that_is_gone(opened) -> None:
    gateway, session = opened
    asked: list[Any] = []

    class Looked(Same):
        def reply(self, request: Request, **how: Any) -> Reply:
            asked.append(json.dumps(request.messages))
            return super().reply(request, **how)

    Agent(gateway, Looked(30), session, allowed=lambda tool: tool == "Read").run("go")
    says_unchanged = [text for text in asked if "is unchanged" in text]
    assert says_unchanged
    assert all("file 0 word" in text for text in says_unchanged)


def test_a_conversation_that_the_provider_ends_for_its_length_goes_on(opened) -> None:
    gateway, session = opened
    texts = iter([("One, ", WINDOW), ("I counted to one.", "end_turn"), ("two.", "end_turn")])

    class Full:
        name = "full"

        def reply(self, _request: Request, **_how: Any) -> Reply:
            said, stop = next(texts)
            return Reply(({"type": "text", "text": said},), stop, {"input_tokens": 190_000, "output_tokens": 1})

    agent = Agent(gateway, Full(), session)
    assert agent.run("count").text == "One, two."
    assert "I counted to one." in said_in(agent.messages[0])


def test_old_results_are_worth_taking_out_and_those_of_the_last_turns_are_not() -> None:
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for number in range(4):
        call = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {}}
        long = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "x" * 900}
        short = {"type": "tool_result", "tool_use_id": f"s{number}", "content": "x"}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [long, short]}]
    assert worth_clearing(messages, 2) == {"c0": estimated("x" * 900), "c1": estimated("x" * 900)}
    assert worth_clearing(messages, 9) == {}
    assert estimated(CLEARED_TEXT) < estimated("x" * 900)


def test_the_latter_half_begins_with_what_was_said_to_the_model() -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": "found"}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "Read", "input": {}}]},
        {"role": "user", "content": [result]},
    ]
    assert latter_half(messages) == [{"role": "user", "content": [{"type": "text", "text": '"found"'}]}]


def test_what_was_counted_is_believed_and_what_came_since_is_estimated() -> None:
    window = Window()
    messages = [{"role": "user", "content": "x" * 9_000}]
    assert window.tokens("", (), messages) > 3_000
    window.count({"input_tokens": 40, "cache_read_input_tokens": 50, "output_tokens": 10}, 1)
    assert window.tokens("", (), messages) == 100
    assert window.tokens("", (), [*messages, {"role": "user", "content": "x" * 300}]) == pytest.approx(220, abs=30)
    assert window.reply(Limits(200_000, 64_000), 190_000) == 1_024
    assert window.reply(Limits(0, 64_000), 190_000) == 64_000
