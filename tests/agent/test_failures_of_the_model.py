"""What a run does when its model fails: the real SDK, spoken to by a server that fails as real ones do."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from failingmessages import (
    CLOSE,
    ENDLESS,
    RESET,
    SILENCE,
    FailingMessages,
    Status,
    begin,
    calls,
    delta,
    end,
    error,
    says,
    start,
)
from fuzzing import THOROUGH, share

from gateway.agent.asking import Again, Patience
from gateway.agent.loop import Agent
from gateway.agent.transcript import Transcript, read
from gateway.core.cancel import Cancel
from gateway.llm.claude import Claude
from gateway.llm.model import Said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

anthropic = pytest.importorskip("anthropic", reason="the package anthropic is not installed")
pytestmark = pytest.mark.usefixtures("one_look_at_certificates")

PATIENCE = Patience(tries=4, first=1.0)
TEXT = [begin(), start(0, type="text", text=""), delta(0, type="text_delta", text="I wi")]
THOUGHT = [begin(), start(0, type="thinking", thinking="", signature=""), delta(0, type="thinking_delta", thinking="H")]
READ = calls("Read", {"file_path": "a.txt"})
INPUT = READ[:3]
BROKEN = [*READ[:2], delta(0, type="input_json_delta", partial_json='{"file_path": '), *READ[4:]]
DONE = says("Done.")


class Recorded(Cancel):
    """Whoever waits is told at once that the time is over, and how long it was is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.waited.append(seconds)
        return self.is_set


@pytest.fixture
def server() -> Iterator[FailingMessages]:
    made = FailingMessages()
    yield made
    made.close()


@pytest.fixture
def cancel() -> Iterator[Recorded]:
    made = Recorded()
    yield made
    made.close()


@pytest.fixture
def opened(ground):
    (ground.project / "a.txt").write_text("alpha\n")
    gateway = ground.open()
    with gateway.session() as session:
        yield gateway, session


@pytest.fixture
def model(server: FailingMessages) -> Iterator[Claude]:
    # A proxy or a key of whoever runs the tests is none of theirs.
    with anthropic.Anthropic(api_key="none", base_url=server.url) as client:
        yield Claude("claude-x", client=client, silence=30)


def listening(model: Claude, failure: Any) -> Claude:
    """The model, which waits only for a moment for a server that will say nothing."""
    return Claude(model.name, client=model._client, silence=0.3) if SILENCE in failure else model


# What the server does again and again, how often it is asked, what is told of it, the least wait after the first time.
# Once: asking again would say the same. 0: the conversation is made shorter meanwhile.
PASSES = PATIENCE.tries
FAILURES: list[tuple[str, Any, int, str, float]] = [
    ("refused before an answer", [RESET], PASSES, "gave no answer", 0.75),
    ("closed before anything is said", [CLOSE], PASSES, "gave no answer", 0.75),
    ("reset in the middle of a text", [*TEXT, RESET], PASSES, "gave no answer", 0.75),
    ("closed in the middle of a text", [*TEXT, CLOSE], PASSES, "gave no answer", 0.75),
    ("ended in the middle of a text", TEXT, PASSES, "the model's reply broke off", 0.75),
    ("reset in the middle of a call's input", [*INPUT, RESET], PASSES, "gave no answer", 0.75),
    ("ended in the middle of a call's input", INPUT, PASSES, "the model's reply broke off", 0.75),
    ("ended behind a whole call", READ[:5], PASSES, "the model's reply broke off", 0.75),
    ("reset behind a whole call", [*READ[:5], RESET], PASSES, "gave no answer", 0.75),
    ("closed before its very last event", [*READ[:-1], CLOSE], PASSES, "gave no answer", 0.75),
    ("reset in the middle of a thought", [*THOUGHT, RESET], PASSES, "gave no answer", 0.75),
    ("silent from the start", [SILENCE], PASSES, "gave no answer", 0.75),
    ("silent in the middle of a text", [*TEXT, SILENCE], PASSES, "gave no answer", 0.75),
    ("a line that is no JSON", [*TEXT, b"event: content_block_delta\ndata: {nonsense\n\n"], PASSES, "", 0.75),
    ("a line that is no UTF-8", [*TEXT, b"event: content_block_delta\ndata: \xff\xfe\n\n"], PASSES, "", 0.75),
    ("JSON that is no event", [begin(), b"event: content_block_delta\ndata: [5]\n\n"], PASSES, "", 0.75),
    ("a delta of a block that never began", [begin(), delta(3, type="text_delta", text="x")], PASSES, "no sense", 0.75),
    ("a call whose input is no JSON", BROKEN, PASSES, "is no JSON", 0.75),
    ("a text that never ends", [*TEXT, ENDLESS], PASSES, "beyond what its tokens can hold", 0.75),
    ("nothing in it", [begin(), *end("end_turn")], PASSES, "says nothing", 0.75),
    ("an error at the start of the stream", [error("overloaded_error")], PASSES, "it said no", 0.75),
    ("an error in the middle", [*TEXT, error("api_error")], PASSES, "it said no", 0.75),
    ("an error behind a call", [*READ[:5], error("overloaded_error")], PASSES, "it said no", 0.75),
    ("an error that nobody knows", [*TEXT, error("new_error")], PASSES, "it said no", 0.75),
    ("an error in a stream about the request", [error("invalid_request_error")], 1, "it said no", 0),
    ("400", Status(400, "invalid_request_error"), 1, "(400): ", 0),
    ("401", Status(401, "authentication_error"), 1, "set ANTHROPIC_API_KEY", 0),
    ("402", Status(402, "billing_error"), 1, "(402): ", 0),
    ("403", Status(403, "permission_error"), 1, "(403): ", 0),
    ("404", Status(404, "not_found_error"), 1, "name a model that your account has", 0),
    ("408", Status(408), PASSES, "(408): ", 0.75),
    ("409", Status(409), PASSES, "(409): ", 0.75),
    ("413", Status(413, "request_too_large"), 0, "(413): ", 0),
    ("429", Status(429, "rate_limit_error"), PASSES, "(429): ", 0.75),
    ("429, retry-after", Status(429, "rate_limit_error", headers=(("retry-after", "77"),)), PASSES, "(429): ", 77),
    (
        "429, in milliseconds", Status(429, "rate_limit_error", headers=(("retry-after-ms", "66000"),)), PASSES,
        "(429): ", 66,
    ),
    ("429, for an hour", Status(429, "rate_limit_error", headers=(("retry-after", "3600"),)), 1, "left alone for", 0),
    ("429, not again", Status(429, "rate_limit_error", headers=(("x-should-retry", "false"),)), 1, "(429): ", 0),
    ("500", Status(500, "api_error"), PASSES, "(500): ", 0.75),
    ("502, from a proxy", Status(502), PASSES, "(502): ", 0.75),
    ("503, not again", Status(503, headers=(("x-should-retry", "false"),)), 1, "(503): ", 0),
    ("504", Status(504, "timeout_error"), PASSES, "(504): ", 0.75),
    ("529", Status(529, "overloaded_error"), PASSES, "(529): ", 0.75),
]  # fmt: skip
# Each that passes either lasts here or passes, in a run; both in a thorough one.
PASSING = [row for row in FAILURES if row[2] == PASSES]
LASTING = [row for row in FAILURES if row[2] != PASSES] + share(PASSING, 2)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(each) for each in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("failure", "tries", "said", "wait"), [row[1:] for row in LASTING], ids=[row[0] for row in LASTING]
)
def test_a_failure_that_lasts_ends_the_run_and_loses_nothing(
    opened, server: FailingMessages, model: Claude, cancel: Recorded, tmp_path: Path, failure, tries, said, wait
) -> None:
    gateway, session = opened
    server.answers = [READ, *[failure] * 9]
    path = tmp_path / "t.jsonl"
    transcript = Transcript(str(path))
    told: list[Any] = []
    heard = listening(model, failure)
    agent = Agent(gateway, heard, session, transcript=transcript, patience=PATIENCE, listener=told.append)
    outcome = agent.run("go", cancel)
    assert outcome.why == "failed"
    assert said in outcome.reason
    kinds = [each["type"] for each in lines(path)]
    again = [each for each in told if isinstance(each, Again)]
    if tries == PASSES:
        assert len(server.asked) == 1 + PASSES
        assert [each.number for each in again] == [2, 3, 4]
        assert all(said in each.reason for each in again)
        assert cancel.waited[0] >= wait
    elif tries == 1:
        assert (len(server.asked), again) == (2, [])
    assert [each for each in kinds if each not in ("again", "summary")] == [
        "start", "user", "assistant", "begun", "result", "ended",
    ]  # fmt: skip
    assert kinds.count("again") == len(again)
    # The session can be taken up: the model is asked again with all that was there.
    transcript.close()
    past = read(str(path))
    assert (past.unknown, past.turns) == ((), 1)
    server.answers = [DONE]
    with gateway.session() as later:
        assert Agent(gateway, model, later, past=past, patience=PATIENCE).go_on(cancel).text == "Done."


@pytest.mark.parametrize("timing", range(20) if THOROUGH else [None])
@pytest.mark.parametrize("failure", [pytest.param(row[1], id=row[0]) for row in share(PASSING, 2, 1)])
def test_a_failure_that_passes_is_asked_over_and_acted_on_once(
    ground, server: FailingMessages, model: Claude, cancel: Recorded, failure: Any, timing: int | None
) -> None:
    server.pace = None if timing is None else Random(timing)
    write = calls("Bash", {"command": "echo x >> log"})
    server.answers = [failure, failure, write, failure, DONE]
    ground.says({"rules": [{"id": "log", "allow": "Edit(./log)"}]})
    with ground.open() as gateway, gateway.session() as session:
        told: list[Any] = []
        heard = listening(model, failure)
        agent = Agent(gateway, heard, session, patience=PATIENCE, listener=told.append)
        outcome = agent.run("go", cancel)
    assert (outcome.why, outcome.text, outcome.turns) == ("done", "Done.", 2)
    assert (ground.project / "log").read_text() == "x\n"
    assert [each.number for each in told if isinstance(each, Again)] == [2, 3, 2]
    # What is asked is the same each time: nothing of a reply that failed is in the conversation.
    assert server.asked[0]["messages"] == server.asked[1]["messages"] == server.asked[2]["messages"]
    assert server.asked[3]["messages"] == server.asked[4]["messages"]


def test_a_stop_reason_that_nobody_knows_is_not_acted_on(
    opened, ground, server: FailingMessages, model: Claude
) -> None:
    gateway, session = opened
    server.answers = [calls("Bash", {"command": "touch made"}, reason="something_new"), says("So be it.", "other")]
    outcome = Agent(gateway, model, session, patience=PATIENCE).run("go")
    assert (outcome.why, outcome.text, outcome.reason) == ("cut", "So be it.", "the reply was cut off: other")
    assert not (ground.project / "made").exists()


def test_events_and_deltas_that_nobody_knows_mean_nothing(opened, server: FailingMessages, model: Claude) -> None:
    gateway, session = opened
    new = [{"type": "ping"}, {"type": "weather", "sun": 1}, delta(0, type="new_delta", x=1)]
    server.answers = [[*DONE[:3], *new, *DONE[3:]]]
    assert Agent(gateway, model, session).run("go").text == "Done."


def test_what_comes_behind_the_last_event_belongs_to_no_reply(opened, server: FailingMessages, model: Claude) -> None:
    gateway, session = opened
    server.answers = [[*DONE, error("overloaded_error"), RESET]]
    assert Agent(gateway, model, session).run("go").text == "Done."


def test_an_overloaded_model_gives_way_to_the_one_that_is_named(
    opened, server: FailingMessages, model: Claude, cancel: Recorded
) -> None:
    gateway, session = opened
    with anthropic.Anthropic(api_key="none", base_url=server.url) as client:
        other = Claude("claude-y", client=client)
        server.answers = [*[Status(529, "overloaded_error")] * 3, READ, DONE, says("Again.")]
        told: list[Any] = []
        agent = Agent(gateway, model, session, patience=PATIENCE, fallback=other, listener=told.append)
        assert agent.run("go", cancel).text == "Done."
        assert agent.run("more", cancel).text == "Again."
    assert [each["model"] for each in server.asked] == [*["claude-x"] * 3, *["claude-y"] * 2, "claude-x"]
    assert [each.model for each in told if isinstance(each, Again)] == ["claude-x", "claude-x", "claude-y"]


def test_a_fallback_that_fails_too_ends_the_run(
    opened, server: FailingMessages, model: Claude, cancel: Recorded
) -> None:
    gateway, session = opened
    with anthropic.Anthropic(api_key="none", base_url=server.url) as client:
        other = Claude("claude-y", client=client)
        server.answers = [Status(404, "not_found_error"), *[Status(500, "api_error")] * 9]
        outcome = Agent(gateway, model, session, patience=PATIENCE, fallback=other).run("go", cancel)
    assert outcome.why == "failed"
    assert [each["model"] for each in server.asked] == ["claude-x", *["claude-y"] * 4]


def test_a_model_that_gives_no_piece_is_left_behind(opened, server: FailingMessages) -> None:
    gateway, session = opened
    pings = [b"event: ping\ndata: {}\n\n", SILENCE]
    server.answers = [[*TEXT, *pings], [begin(), *pings], DONE]
    with anthropic.Anthropic(api_key="none", base_url=server.url) as client:
        patient = Claude("claude-x", client=client, silence=60)
        watched = Patience(first=0, begin=0.3, stall=0.3)
        told: list[Any] = []
        outcome = Agent(gateway, patient, session, patience=watched, listener=told.append).run("go")
    assert outcome.text == "Done."
    assert ["has said nothing for" in each.reason for each in told if isinstance(each, Again)] == [True, True]


def test_what_was_said_before_the_person_stopped_it_stays_known(
    opened, server: FailingMessages, model: Claude, tmp_path: Path
) -> None:
    gateway, session = opened
    server.answers = [[*TEXT, SILENCE], DONE]
    stops = Cancel()
    transcript = Transcript(str(tmp_path / "t.jsonl"))
    agent = Agent(gateway, model, session, transcript=transcript)
    agent.listener = lambda what: stops.set() if isinstance(what, Said) else None
    outcome = agent.run("go", stops)
    assert (outcome.why, outcome.text) == ("cancelled", "I wi")
    assert agent.run("go on").text == "Done."
    transcript.close()
    stops.close()
    assert [(each["role"], each["content"][-1]["text"]) for each in server.asked[1]["messages"]] == [
        ("user", "go"), ("assistant", "I wi"), ("user", "go on"),
    ]  # fmt: skip
    assert list(read(transcript.path).messages) == list(agent.messages)


def test_a_text_that_is_cut_off_goes_on(opened, server: FailingMessages, model: Claude) -> None:
    gateway, session = opened
    server.answers = [says("One, ", "max_tokens"), says("two, ", "max_tokens"), says("three.")]
    outcome = Agent(gateway, model, session).run("count")
    assert (outcome.why, outcome.text) == ("done", "One, two, three.")


def test_a_reply_is_asked_for_as_long_as_the_model_can_make_it(opened, server: FailingMessages, model: Claude) -> None:
    gateway, session = opened
    too_many = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-x"
    server.answers = [Status(400, "invalid_request_error", too_many), READ, DONE]
    assert Agent(gateway, model, session).run("go").why == "done"
    assert [each["max_tokens"] for each in server.asked] == [32_000, 8_192, 8_192]


def test_no_server_at_all_is_said(opened, cancel: Recorded) -> None:
    gateway, session = opened
    with anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1:1") as client:
        outcome = Agent(gateway, Claude(client=client), session, patience=PATIENCE).run("go", cancel)
    assert outcome.reason.startswith("asked 4 times: the model gave no answer: Connection error.")
