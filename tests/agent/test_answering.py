"""A run whose answer must be data: taken when it fits, asked for again when it does not, and no more often."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from inprocess import called
from warmed import warm

from gateway.agent.budget import Budget
from gateway.agent.loop import Agent, Outcome
from gateway.agent.structured_answer import ASK_AGAIN
from gateway.handlers.answers import checked_schema
from gateway.llm.script import parse
from gateway.llm.scripted import Scripted

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = {
    "type": "object",
    "properties": {"count": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["count", "name"],
}
GOOD = {"StructuredOutput": {"count": 3, "name": "x"}}
BAD = {"StructuredOutput": {"count": "many"}}
WRONG = ["$: 'name' is a required property", "$.count: 'many' is not of type 'integer'"]
ANSWER = {"count": 3, "name": "x"}


def script(*turns: dict[str, Any]) -> Scripted:
    return Scripted(parse(json.dumps({"version": 1, "turns": turns}).encode(), "script.yaml"))


ENDS_WITH_ONE = {
    "at once": [{"calls": [GOOD]}],
    "beside another call": [{"calls": [GOOD, {"TodoWrite": {"todos": []}}]}],
    "after it had ended without": [{"say": "It is three."}, {"expect": [ASK_AGAIN], "calls": [GOOD]}],
    "after one that does not fit, with all that is wrong": [
        {"calls": [BAD]},
        {"expect": [*WRONG, ASK_AGAIN], "calls": [GOOD]},
    ],
    "after as many as it may": [{"say": "a"}, {"calls": [BAD]}, {"say": "b"}, {"calls": [GOOD]}],
    "after other calls, which do not count": [*([{"calls": [{"Read": {"file_path": "a"}}]}] * 6), {"calls": [GOOD]}],
}


@pytest.mark.parametrize("turns", ENDS_WITH_ONE.values(), ids=ENDS_WITH_ONE)
def test_the_run_is_done_with_an_answer_that_fits(ground, turns: list[dict[str, Any]]) -> None:
    gateway = ground.open()
    with gateway.session() as session:
        session.answer_schema = checked_schema(SCHEMA)
        outcome = Agent(gateway, script(*turns), session).run("How many?")
    assert (outcome.why, outcome.answer, outcome.turns) == ("done", ANSWER, len(turns))


@pytest.mark.parametrize(
    ("turn", "again", "why"),
    [
        ({"say": "Three."}, 3, "it ended without one"),
        ({"calls": [BAD]}, 3, f"The output does not fit the schema: - {WRONG[0]} - {WRONG[1]} Correct all"),
        ({"say": "Three."}, 0, "it ended without one"),
    ],
    ids=["it says it", "it does not fit", "it is not asked again at all"],
)
def test_the_run_ends_badly_after_so_many_without(ground, turn: dict[str, Any], again: int, why: str) -> None:
    gateway = ground.open()
    with gateway.session() as session:
        session.answer_schema = checked_schema(SCHEMA)
        model = script(*([turn] * (again + 1)))
        outcome = Agent(gateway, model, session, budget=Budget(again=again)).run("How many?")
    assert (outcome.why, outcome.answer, outcome.turns) == ("unanswered", None, again + 1)
    said = f"the model was asked {again + 1} times for its answer as data, and gave none that fits: {why}"
    assert outcome.reason.startswith(said)


def test_each_task_wants_an_answer_of_its_own(ground) -> None:
    gateway = ground.open()
    with gateway.session() as session:
        session.answer_schema = checked_schema(SCHEMA)
        agent = Agent(gateway, script({"calls": [GOOD]}, *([{"say": "The same."}] * 4)), session)
        assert agent.run("How many?").answer == ANSWER
        assert agent.run("And now?").why == "unanswered"


def test_where_no_data_is_wanted_a_run_ends_as_ever(ground) -> None:
    gateway = ground.open()
    with gateway.session() as session:
        outcome = Agent(gateway, script({"say": "Three."}), session).run("How many?")
    assert outcome == Outcome("done", "Three.", "", 1, outcome.used)


@pytest.mark.parametrize(
    ("turns", "status", "out", "err"),
    [
        ([{"say": "Now."}, {"calls": [GOOD]}], 0, '{"count":3,"name":"x"}\n', ""),
        ([{"say": "Three."}] * 4, 1, "Three.\n", "gateway: the model was asked 4 times for its answer as data, "),
    ],
    ids=["given", "never given"],
)
def test_the_command_line_prints_the_answer_alone(
    tmp_path: Path, turns: list[dict[str, Any]], status: int, out: str, err: str
) -> None:
    warm(tmp_path / ".cache" / "gateway")
    (tmp_path / "s.yaml").write_text(json.dumps({"version": 1, "turns": turns}), encoding="utf-8")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    words = ["agent", "--script", "s.yaml", "--answer-schema", "schema.json", "--no-transcript", "How many?"]
    done = called(words, tmp_path, {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    said, told = done.stdout.decode(), done.stderr.decode()
    assert (done.returncode, said, told.startswith(err)) == (status, out, True), told


@pytest.mark.parametrize("schema", ["{", "[]", '{"type": "string"}', '{"type": "nothing"}'])
def test_a_schema_that_is_none_is_wrong_usage(tmp_path: Path, schema: str) -> None:
    from gateway.core.errors import ConfigError
    from gateway.frontends.cli.agent import _schema

    (tmp_path / "schema.json").write_text(schema, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"schema\.json"):
        _schema(str(tmp_path / "schema.json"))
