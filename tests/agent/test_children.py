"""Agents that agents start: what they may, what becomes of their answers, and how they work together."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gateway.agent.children import Children
from gateway.agent.events import Called
from gateway.agent.loop import Agent
from gateway.agent.mailbox import Post
from gateway.agent.transcript import read
from gateway.agent.types import rules_of
from gateway.calls.output import Output, Text
from gateway.calls.state_folders import MAIN
from gateway.config.layers import local_folder
from gateway.handlers import teams
from gateway.llm.script import parse
from gateway.llm.scripted import Scripted, said_in
from gateway.tasks.crons import Crons

if TYPE_CHECKING:
    from pathlib import Path

POLICY = {"rules": [{"id": "agents", "allow": "Agent"}, {"id": "edits", "allow": "Edit(./**)"}]}


def turn(*calls: dict[str, Any], say: str = "", expect: tuple[str, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = {"calls": list(calls)} if calls else {}
    return found | ({"say": say} if say else {}) | ({"expect": list(expect)} if expect else {})


def agent(prompt: str, kind: str = "general-purpose", **more: Any) -> dict[str, Any]:
    return {"Agent": {"description": "a task", "prompt": prompt, "subagent_type": kind, **more}}


def write(name: str) -> dict[str, Any]:
    return {"Write": {"file_path": name, "content": "some text"}}


class Family:
    """A parent with a script for it and for its children, by the beginning of what they are told."""

    def __init__(self, ground: Any, folder: str = "", **how: Any) -> None:
        self.ground = ground
        ground.says(how.pop("policy", POLICY))
        self.gateway = ground.open()
        self.session = self.gateway.session()
        self.folder = folder
        self.how = how
        self.told: list[Any] = []
        self.children = Children(self.gateway, Scripted(()))

    def plays(self, *turns: dict[str, Any], **children: list[dict[str, Any]]) -> Agent:
        conversations = [{"prompt": f"^{name}", "turns": turns} for name, turns in children.items()]
        text = json.dumps({"version": 1, "turns": turns, "conversations": conversations})
        model = Scripted(parse(text.encode(), "script.yaml"))
        self.children = Children(self.gateway, model, folder=self.folder, **self.how)
        self.session.agents = self.children
        post = Post(local_folder(self.gateway.places, self.gateway.options.root), MAIN)
        self.session.ends_with_it(post.close)
        return Agent(self.gateway, model, self.session, listener=self.told.append, post=post)

    def results(self, parent: Agent) -> list[str]:
        """What the parent was handed, call by call."""
        return [
            said_in({"content": [block]})
            for message in parent.messages
            for block in message["content"]
            if block["type"] == "tool_result"
        ]

    def close(self) -> None:
        self.children.close()
        self.session.close()


@pytest.fixture
def family(ground):
    made: list[Family] = []

    def make(**how: Any) -> Family:
        made.append(Family(ground, **how))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_an_agent_answers_with_what_it_said_last(family, ground) -> None:
    (ground.project / "a.txt").write_text("alpha\n")
    home = family()
    parent = home.plays(
        turn(agent("look into it")),
        turn(say="Thanks.", expect=("It says alpha.",)),
        look=[turn({"Read": {"file_path": "a.txt"}}), turn(say="It says alpha.", expect=("alpha",))],
    )
    assert parent.run("go").why == "done"
    assert home.results(parent) == [f"It says alpha.\n\n[agent {home.session.name}/1, general-purpose]"]


def test_its_calls_stand_in_the_record_under_its_parent(family, ground) -> None:
    (ground.project / "a.txt").write_text("alpha\n")
    home = family()
    home.plays(
        turn(agent("look")), turn(say="x"), look=[turn({"Read": {"file_path": "a.txt"}}), turn(say="alpha")]
    ).run("go")
    told = [(each["session"], each["tool"]) for each in ground.records() if "decision" in each]
    assert told == [(home.session.name, "Agent"), (f"{home.session.name}/1", "Read")]


@pytest.mark.parametrize(
    ("kind", "call", "ran"),
    [
        pytest.param("general-purpose", write("x"), True, id="one that may"),
        pytest.param("Explore", write("x"), False, id="one without the tool"),
        pytest.param("Explore", {"Bash": {"command": "touch x"}}, False, id="one that only reads"),
        pytest.param("verification", write("x"), False, id="one that repairs nothing"),
    ],
)
def test_a_type_bounds_what_its_agents_do(family, ground, kind: str, call: dict[str, Any], ran: bool) -> None:
    home = family()
    home.plays(turn(agent("do it", kind)), turn(say="x"), do=[turn(call), turn(say="done")]).run("go")
    assert (ground.project / "x").exists() is ran


@pytest.mark.parametrize("mode", ["default", "dont_ask", "accept_edits", "bypass"])
def test_a_type_that_only_reads_does_so_whatever_its_parents_mode(family, ground, mode: str) -> None:
    home = family(policy=POLICY | {"settings": {"mode": mode}})
    agents = ground.config / "agents"
    agents.mkdir()
    (agents / "r.md").write_text("---\nname: reader\ndescription: reads\nmode: read_only\n---\n")
    home.plays(turn(agent("do it", "reader")), turn(say="x"), do=[turn(write("x")), turn(say="done")]).run("go")
    assert not (ground.project / "x").exists()


def test_a_child_has_no_laxer_mode_than_its_parent(family, ground) -> None:
    home = family(policy={"rules": POLICY["rules"][:1]})
    agents = ground.config / "agents"
    agents.mkdir()
    (agents / "r.md").write_text("---\nname: bold\ndescription: dares\nmode: bypass\n---\n")
    home.session.enter("dont_ask")
    home.plays(turn(agent("do it", "bold")), turn(say="x"), do=[turn(write("x")), turn(say="done")]).run("go")
    assert not (ground.project / "x").exists()


def test_rules_of_a_type_hold_for_it_alone_or_for_all_below_it(family, ground) -> None:
    home = family()
    agents = ground.config / "agents"
    agents.mkdir()
    (agents / "lead.md").write_text(
        "---\nname: lead\ndescription: leads\ndeny: ['Edit(./own)']\nfloor: ['Edit(./floor)']\n---\n"
    )
    tries = [write("own"), write("floor"), write("free")]
    home.plays(
        turn(agent("first", "lead")),
        turn(*tries),
        turn(say="x"),
        first=[turn(*tries), turn(agent("second")), turn(say="done")],
        second=[turn(*tries), turn(say="done")],
    ).run("go")
    told = [
        (
            each["session"].removeprefix(home.session.name),
            each["input"]["file_path"].rpartition("/")[2],
            each["decision"],
        )
        for each in ground.records()
        if each.get("tool") == "Write" and "decision" in each
    ]
    assert told == [
        ("/1", "own", "deny"), ("/1", "floor", "deny"), ("/1", "free", "allow"),
        ("/1/1", "own", "allow"), ("/1/1", "floor", "deny"), ("/1/1", "free", "allow"),
        ("", "own", "allow"), ("", "floor", "allow"), ("", "free", "allow"),
    ]  # fmt: skip


def test_what_the_session_forbids_is_forbidden_to_its_children(family, ground) -> None:
    home = family()
    parent = home.plays(turn(agent("do it")), turn(say="x"), do=[turn(write("x")), turn(say="done")])
    home.session.rule(('{"version": 1, "rules": [{"id": "no-x", "deny": "Edit(./x)"}]}',))
    parent.run("go")
    assert not (ground.project / "x").exists()


def test_a_child_of_a_child_has_only_the_tools_of_both(family, ground) -> None:
    home = family()
    agents = ground.config / "agents"
    agents.mkdir()
    (agents / "a.md").write_text("---\nname: asks\ndescription: asks\ntools: [Agent, Read]\n---\n")
    home.plays(
        turn(agent("first", "asks")),
        turn(say="x"),
        first=[turn(agent("second")), turn(say="done")],
        second=[turn(write("x")), turn(say="done", expect=("There is no tool `Write` for this agent",))],
    ).run("go")
    assert not (ground.project / "x").exists()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param(agent("x", "nobody"), "There is no type of agent `nobody`. Known are", id="no such type"),
        pytest.param(agent("x", cwd="/nonexistent"), "is no folder", id="no such folder"),
        pytest.param(agent("x", resume="9"), "There is no agent `9`. You have started none.", id="no such agent"),
        pytest.param(agent("x", team_name="t", name="a"), "There is no team `t`.", id="no such team"),
        pytest.param({"AgentOutput": {"id": "1"}}, "There is no agent `1`.", id="nothing to look at"),
    ],
)
def test_what_cannot_be_started_is_told(family, call: dict[str, Any], said: str) -> None:
    home = family()
    parent = home.plays(turn(call), turn(say="x"))
    parent.run("go")
    assert said in home.results(parent)[0]


def test_agents_start_agents_only_so_deep(family) -> None:
    home = family(most_deep=1)
    parent = home.plays(
        turn(agent("first")),
        turn(say="x"),
        first=[turn(agent("second")), turn(say="done", expect=("Agents may start agents 1 deep, and no deeper.",))],
    )
    parent.run("go")
    assert "done" in home.results(parent)[0]


def test_without_a_model_no_agent_starts(ground) -> None:
    from gateway.model.call import RawCall

    ground.says(POLICY)
    gateway = ground.open()
    given = {"description": "a", "prompt": "b"}
    assert "there is no model" in gateway.call(RawCall("Agent", given)).text


def test_an_agent_goes_on_with_its_context(family) -> None:
    home = family()
    parent = home.plays(
        turn(agent("first")),
        turn(agent("and then?", resume="1")),
        turn(say="x", expect=("two",)),
        first=[turn(say="one"), turn(say="two", expect=("and then?",))],
    )
    assert parent.run("go").why == "done"


def test_an_agent_that_ends_before_it_is_done_says_so(family) -> None:
    home = family()
    reading = [turn({"Glob": {"pattern": "*"}}, say="still looking")] * 3
    parent = home.plays(turn(agent("look", max_turns=2)), turn(say="x"), look=reading)
    parent.run("go")
    (result,) = home.results(parent)
    assert "It ended before it was done: it has taken 2 turns" in result
    assert "still looking" in result


def test_agents_of_one_turn_work_at_the_same_time(family, ground) -> None:
    together = threading.Barrier(3)

    def meets(_call: Any, _work: Any) -> Output:
        together.wait(60)
        return Output((Text("met"),))

    ground.stands_for("files.read", meets)
    home = family()
    parent = home.plays(
        turn(*(agent(f"look {n}") for n in range(3))),
        turn(say="x"),
        look=[turn({"Read": {"file_path": "a"}}), turn(say="met the others")],
    )
    parent.run("go")
    assert [each.split("\n")[0] for each in home.results(parent)] == ["met the others"] * 3


def test_an_agent_in_the_background_is_asked_how_far_it_is(family, ground) -> None:
    goes_on = threading.Event()

    def waits(_call: Any, _work: Any) -> Output:
        assert goes_on.wait(60)
        return Output((Text("alpha"),))

    def listen(what: Any) -> None:
        if isinstance(what, Called) and what.raw.tool == "AgentOutput":
            goes_on.set()

    ground.stands_for("files.read", waits)
    home = family()
    parent = home.plays(
        turn(agent("look", run_in_background=True)),
        turn({"AgentOutput": {"id": "1", "block": False}}),
        turn({"AgentOutput": {"id": "1", "wait_up_to": 60000}}),
        turn(say="x"),
        look=[turn({"Read": {"file_path": "a"}}), turn(say="It says alpha.")],
    )
    parent.listener = listen
    parent.run("go")
    begun, meanwhile, ended = home.results(parent)
    assert "works in the background" in begun
    assert "It works on: a task." in meanwhile
    assert ended.startswith("It says alpha.")


def test_an_agent_that_waits_ends_with_the_session(family, ground) -> None:
    begun = threading.Event()

    def hangs(_call: Any, work: Any) -> Output:
        begun.set()
        work.cancel.is_set or threading.Event().wait(0)
        return Output((Text("x"),))

    ground.stands_for("files.read", hangs)
    home = family()
    home.plays(
        turn(agent("look", run_in_background=True)),
        turn(say="x"),
        look=[turn({"Read": {"file_path": "a"}})] * 50 + [turn(say="never")],
    ).run("go")
    assert begun.wait(60)
    home.children.close()
    (child,) = [each for each in threading.enumerate() if each.name.startswith("gateway-agent")] or [None]
    assert child is None


def test_each_agent_has_a_transcript(family, tmp_path: Path) -> None:
    home = family(folder=str(tmp_path / "agents"))
    home.plays(turn(agent("look")), turn(say="x"), look=[turn(say="alpha")]).run("go")
    past = read(str(tmp_path / "agents" / f"{home.session.name}.1.jsonl"))
    assert [said_in(each) for each in past.messages] == ["look", "alpha"]


def test_a_team_works_by_messages(family, ground) -> None:
    team = {
        "team_name": "t",
        "members": [{"name": "anna", "role": "worker"}, {"name": "bo", "role": "reviewer"}],
    }
    came = threading.Event()

    def send(to: str, text: str) -> dict[str, Any]:
        return {"SendMessage": {"team_name": "t", "recipient": to, "message": text}}

    def sends(call: Any, work: Any) -> Output:
        output = teams.send(call, work)
        if call.input["recipient"] == MAIN:
            came.set()
        return output

    def sleeps(_call: Any, _work: Any) -> Output:
        assert came.wait(60)
        return Output((Text("slept"),))

    ground.stands_for("teams.send", sends)
    ground.stands_for("sessions.sleep", sleeps)
    home = family(policy={"rules": [*POLICY["rules"], {"id": "team", "allow": ["TeamCreate", "SendMessage"]}]})
    parent = home.plays(
        turn({"TeamCreate": team}),
        turn(
            agent("worker", name="anna", team_name="t", run_in_background=True),
            agent("reviewer", name="bo", team_name="t", run_in_background=True),
        ),
        turn({"AgentOutput": {"id": "1"}}, {"AgentOutput": {"id": "2"}}),
        turn(send("anna", "Write it.")),
        turn({"Sleep": {"duration": 1}}),
        turn(say="Good.", expect=("[message from bo, team t]\nIt is good.",)),
        worker=[
            turn(say="I am ready."),
            turn(write("x"), send("bo", "Look at x."), expect=("[message from main, team t]\nWrite it.",)),
            turn(say="Sent."),
        ],
        reviewer=[
            turn(say="I am ready."),
            turn({"Read": {"file_path": "x"}}, expect=("[message from anna, team t]\nLook at x.",)),
            turn(send("main", "It is good."), expect=("some text",)),
            turn(say="Told."),
        ],
    )
    assert parent.run("go").text == "Good."
    assert (ground.project / "x").read_text() == "some text"
    sent = [each["decision"] for each in ground.records() if each.get("tool") == "SendMessage" and "decision" in each]
    assert sent == ["allow"] * 3


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        pytest.param("lead", ["free"], id="what is forbidden to all below stays so below one whose own it is too"),
        pytest.param("free", ["free", "floor"], id="what nobody above forbids is open"),
    ],
)
def test_an_agents_own_denial_takes_none_from_those_below(family, ground, kind: str, named: list[str]) -> None:
    home = family()
    agents = ground.config / "agents"
    agents.mkdir()
    (agents / "lead.md").write_text("---\nname: lead\ndescription: leads\nfloor: ['Edit(./floor)']\n---\n")
    (agents / "free.md").write_text("---\nname: free\ndescription: leads\n---\n")
    (agents / "same.md").write_text("---\nname: same\ndescription: x\ndeny: ['Edit(./floor)']\n---\n")
    home.plays(
        turn(agent("first", kind)),
        turn(say="x"),
        first=[turn(agent("second", "same")), turn(say="done")],
        second=[turn(agent("third")), turn(say="done")],
        third=[turn(write("floor"), write("free")), turn(say="done")],
    ).run("go")
    assert sorted(name for name in ("floor", "free") if (ground.project / name).exists()) == sorted(named)


@pytest.mark.parametrize(
    ("kind", "is_made"), [("reader", False), ("general-purpose", True)], ids=["a reader", "the twin, which is none"]
)
def test_what_an_agent_that_only_reads_starts_only_reads(family, ground, kind: str, is_made: bool) -> None:
    home = family(policy=POLICY | {"settings": {"mode": "dont_ask"}})
    agents = ground.config / "agents"
    agents.mkdir()
    (agents / "r.md").write_text("---\nname: reader\ndescription: reads\nmode: read_only\n---\n")
    home.plays(
        turn(agent("first", kind)),
        turn(say="x"),
        first=[turn(agent("second")), turn(say="done")],
        second=[turn(write("x")), turn(say="done")],
    ).run("go")
    assert (ground.project / "x").exists() is is_made


def resumed(family: Any, ground: Any, narrow: Any) -> bool:
    """Whether an agent that goes on after this writes a file."""
    home = family(policy=POLICY)
    parent = home.plays(
        turn(agent("first")),
        turn(say="x"),
        turn(agent("go on", resume="1")),
        turn(say="x"),
        first=[turn(say="ready"), turn(write("x")), turn(say="done")],
    )
    parent.run("begin")
    narrow(home.session)
    parent.run("more")
    return bool((ground.project / "x").exists())


@pytest.mark.parametrize(
    ("narrow", "is_made"),
    [
        pytest.param(lambda _session: None, True, id="nothing else: it writes"),
        pytest.param(lambda session: session.enter("plan"), False, id="its parent plans by now"),
        pytest.param(lambda session: session.rule(rules_of(["Edit(./x)"])), False, id="its parent has a rule by now"),
    ],
)
def test_an_agent_that_goes_on_has_no_more_than_its_parent_has_by_then(
    family, ground, narrow: Any, is_made: bool
) -> None:
    assert resumed(family, ground, narrow) is is_made


@pytest.mark.parametrize(("mode", "is_made"), [("", True), ("plan", False)], ids=["it works on", "its parent plans"])
def test_an_agent_in_the_background_is_held_to_a_mode_that_its_parent_enters(
    family, ground, mode: str, is_made: bool
) -> None:
    waiting, go_on = threading.Event(), threading.Event()

    def waits(_call: Any, _work: Any) -> Output:
        waiting.set()
        assert go_on.wait(20)
        return Output((Text("alpha"),))

    ground.stands_for("files.read", waits)
    home = family()
    parent = home.plays(
        turn(agent("work", run_in_background=True)),
        turn(say="x"),
        turn({"AgentOutput": {"id": "1", "wait_up_to": 20000}}),
        turn(say="x"),
        work=[turn({"Read": {"file_path": "a"}}), turn(write("x")), turn(say="done")],
    )
    parent.run("begin")
    assert waiting.wait(20)
    if mode:
        home.session.enter(mode)
    go_on.set()
    parent.run("more")
    assert (ground.project / "x").exists() is is_made


@pytest.mark.parametrize(
    ("kind", "given", "is_kept"),
    [
        pytest.param("handless", {"command": "touch x"}, False, id="a command of one that has no shell"),
        pytest.param("handless", {"prompt": "touch x"}, False, id="a task, for an agent with every tool"),
        pytest.param("general-purpose", {"command": "touch x"}, True, id="the twin, which has a shell"),
    ],
)
def test_a_call_for_later_uses_no_tool_that_its_maker_has_not(
    family, ground, kind: str, given: dict[str, str], is_kept: bool
) -> None:
    home = family(
        policy={"rules": [*POLICY["rules"], {"id": "crons", "allow": "CronCreate"}]} | {"allow": ["Bash(touch *)"]}
    )
    agents = ground.config / "agents"
    agents.mkdir()
    (agents / "h.md").write_text("---\nname: handless\ndescription: x\nwithout: [Bash]\n---\n")
    home.plays(
        turn(agent("do it", kind)),
        turn(say="x"),
        do=[turn({"CronCreate": {"schedule": "0 5 * * *", **given}}), turn(say="done")],
    ).run("go")
    assert bool(Crons(home.gateway.places.state).jobs(str(ground.project))) is is_kept


@pytest.mark.parametrize(
    ("kind", "is_made"), [("handless", False), ("general-purpose", True)], ids=["without a shell", "the twin, with one"]
)
def test_a_command_runs_no_line_by_a_tool_that_the_agent_has_not(family, ground, kind: str, is_made: bool) -> None:
    home = family(policy=POLICY | {"allow": ["Bash(touch *)", "SlashCommand"]})
    for folder in ("agents", "commands"):
        (ground.config / folder).mkdir()
    (ground.config / "agents" / "h.md").write_text("---\nname: handless\ndescription: x\nwithout: [Bash]\n---\n")
    (ground.config / "commands" / "make.md").write_text("It gives: !`touch x`\n")
    home.plays(
        turn(agent("do it", kind)),
        turn(say="x"),
        do=[turn({"SlashCommand": {"command": "/make"}}), turn(say="done")],
    ).run("go")
    assert (ground.project / "x").exists() is is_made
