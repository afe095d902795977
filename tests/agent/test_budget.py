"""One purse for all the agents of a task, and what models are known to take and to cost."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.agent.budget import Budget, Purse, Spent, bounded
from gateway.agent.children import Children
from gateway.agent.loop import Agent
from gateway.core.cancel import Cancel
from gateway.llm.known_models import Models, Price
from gateway.llm.model import Limits, Reply, Request
from gateway.llm.scripted import said_in

USED = {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 1_000, "cache_creation_input_tokens": 50}
CHEAP = Price(1, 5, 0.1, 1.25)


class Busy:
    """A model that starts an agent, which reads as long as it may."""

    name = "busy"

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def reply(self, request: Request, **_how: Any) -> Reply:
        self.asked.append(request)
        task = said_in(request.messages[0])
        number = len(self.asked)
        if task.startswith("go"):
            given = {"description": "d", "prompt": "read on", "subagent_type": "general-purpose", "model": "x-model"}
            call = {"type": "tool_use", "id": f"c{number}", "name": "Agent", "input": given}
        else:
            call = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": f"{number}.txt"}}
        return Reply((call,), "tool_use", USED)


@pytest.mark.parametrize(
    ("budget", "why", "asked"),
    [
        pytest.param(Budget(turns=7), "turns", 7, id="replies"),
        pytest.param(Budget(tokens=1_160 * 4), "tokens", 4, id="tokens"),
        pytest.param(Budget(cost=CHEAP.of(USED) * 5), "cost", 5, id="dollars"),
    ],
)
def test_what_a_task_may_use_bounds_all_of_its_agents(ground, budget: Budget, why: str, asked: int) -> None:
    ground.says({"rules": [{"id": "agents", "allow": "Agent"}]})
    gateway, model = ground.open(), Busy()
    purse = Purse(budget, lambda name: CHEAP if name in ("busy", "x-model") else None)
    with gateway.session() as session:
        session.agents = Children(gateway, model, budget=budget, purse=purse)
        session.ends_with_it(session.agents.close)
        outcome = Agent(gateway, model, session, budget=budget, purse=purse).run("go")
    assert (outcome.why, len(model.asked)) == (why, asked)
    spent = purse.spent()
    assert (spent.turns, spent.tokens) == (asked, asked * 1_160)
    assert set(spent.by_model) == {"busy", "x-model"}


def test_a_price_that_nobody_knows_is_no_price_of_nothing() -> None:
    purse = Purse(Budget(cost=1.0))
    assert purse.is_out("new-model") == (
        "cost", "the price of `new-model` is not known, so nobody can keep to 1 dollars",
    )  # fmt: skip


def test_a_new_task_has_its_whole_budget() -> None:
    purse = Purse(Budget(turns=1, tokens=2_000))
    purse.begin()
    purse.add("m", USED)
    assert (purse.is_out("m")[0], purse.left()) == ("turns", 840)
    purse.begin()
    assert (purse.is_out("m")[0], purse.left()) == ("", 2_000)


def test_what_a_task_has_used_is_told_by_model() -> None:
    purse = Purse(Budget(), lambda name: CHEAP if name == "m" else None)
    purse.add("m", USED)
    purse.begin()
    assert purse.of_task() == Spent()
    purse.add("m", USED)
    assert purse.of_task() == Spent(1, 1_160, {"m": USED}, pytest.approx(CHEAP.of(USED)))
    purse.add("other", USED)
    assert purse.of_task() == Spent(2, 2_320, {"m": USED, "other": USED}, None)
    assert (purse.price_of("m", USED), purse.price_of("other", USED)) == (CHEAP.of(USED), None)


@pytest.mark.parametrize(
    ("limits", "bound"),
    [
        pytest.param({}, Budget(50, 0, cost=0.0), id="nothing"),
        pytest.param(
            {"task_turns": 9, "task_tokens": 100, "task_cents": 250}, Budget(9, 100, cost=2.5), id="what is free"
        ),
        pytest.param({"task_turns": 900}, Budget(50), id="nothing that is bounded already"),
    ],
)
def test_policy_bounds_a_budget_and_never_widens_it(limits: dict[str, int], bound: Budget) -> None:
    assert bounded(Budget(50), limits) == bound
    assert bounded(Budget(5, 7, cost=0.5), limits) == Budget(5, 7, cost=0.5)


def test_models_are_what_the_setting_says_before_what_is_known() -> None:
    setting = {
        "sonnet": {"name": "claude-new"},
        "claude-new": {"window": 5_000, "price": {"read": 200, "said": 1_000, "kept": 300}},
    }
    models = Models(lambda: setting)
    assert models.named("sonnet") == "claude-new"
    assert models.named("opus") == ""  # a word of other agents, which nobody has given a meaning
    assert models.known("sonnet").limits == Limits(5_000, 32_000)
    assert models.price("sonnet") == Price(2.0, 10.0, 0.2, 3.0)
    assert models.price("claude-haiku-4-5") == Price(1, 5, 0.1, 1.25)


class Told:
    """A model that starts an agent in the background, and ends when it has heard of it."""

    name = "told"

    def __init__(self, *more: Any) -> None:
        self.heard: list[str] = []
        self._more = list(more)

    def reply(self, request: Request, **_how: Any) -> Reply:
        if said_in(request.messages[0]).startswith("look"):
            return Reply(({"type": "text", "text": "It is green."},), "end_turn", {})
        self.heard.append(said_in(request.messages[-1]))
        if len(request.messages) == 1:
            given = {
                "description": "look", "prompt": "look at it", "subagent_type": "general-purpose",
                "run_in_background": True,
            }  # fmt: skip
            return Reply(({"type": "tool_use", "id": "a", "name": "Agent", "input": given},), "tool_use", {})
        if self._more:
            return Reply((self._more.pop(0),), "tool_use", {})
        return Reply(({"type": "text", "text": f"heard {len(self.heard)}"},), "end_turn", {})


def test_the_end_of_an_agent_in_the_background_is_told_to_who_started_it(ground) -> None:
    ground.says({"rules": [{"id": "agents", "allow": "Agent"}]})
    gateway, model = ground.open(), Told()
    with gateway.session() as session:
        session.agents = Children(gateway, model)
        session.ends_with_it(session.agents.close)
        outcome = Agent(gateway, model, session, waits=True).run("go")
    assert outcome.why == "done"
    (told,) = [each for each in model.heard if "has ended: look" in each]
    assert "It is green." in told


def test_an_agent_in_the_background_is_ended_by_task_stop(ground) -> None:
    ground.says({"rules": [{"id": "agents", "allow": "Agent"}]})
    gateway = ground.open()
    started = Cancel()

    class Endless(Told):
        def reply(self, request: Request, **how: Any) -> Reply:
            if said_in(request.messages[0]).startswith("look"):
                how["cancel"].wait(0.01)
                call = {"type": "tool_use", "id": "r", "name": "Read", "input": {"file_path": "a.txt"}}
                return Reply((call,), "tool_use", {})
            return super().reply(request, **how)

    with gateway.session() as session:
        stop = {"type": "tool_use", "id": "s", "name": "TaskStop", "input": {"task_id": f"{session.name}/1"}}
        model = Endless(stop)
        session.agents = Children(gateway, model)
        session.ends_with_it(session.agents.close)
        outcome = Agent(gateway, model, session, waits=True).run("go")
        (child,) = session.agents.working()
        assert child.outcome is not None
    started.close()
    assert (outcome.why, child.outcome.why) == ("done", "cancelled")
    assert any("is stopped." in each for each in model.heard)
