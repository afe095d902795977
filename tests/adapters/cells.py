"""What holds in every framework that there is an adapter for: each test class takes these cells, and says only how its
framework is played.

A framework is played with calls that a model of ours makes, one after the other, and with a person's answers.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.api.gateway import Gateway

POLICY: dict[str, Any] = {
    "rules": [
        {"id": "may", "allow": {"tool": "mcp__app__append", "args": {"name": {"equals": "may"}}}},
        {
            "id": "never",
            "deny": {"tool": "mcp__app__append", "args": {"name": {"equals": "never"}}},
            "because": "not this one",
        },
        {"id": "edits", "allow": "Edit(./log)"},
        {"id": "says", "allow": "Bash(echo *)"},
        {"id": "asks", "ask": "Bash(sh *)", "because": "scripts are looked at"},
        {"id": "of-helper", "deny": {"tool": "Bash", "agent": "helper"}},
    ]
}


class Played(NamedTuple):
    """`results`: what the model read of its calls, in their order; `asked`: what the person was told when asked."""

    results: list[str]
    asked: list[str]


class Cells:
    """The cells of one framework."""

    def play(
        self,
        gateway: Gateway,
        own: Callable[[str], str],
        calls: list[tuple[str, dict[str, Any]]],
        answers: list[bool],
        **how: Any,
    ) -> Played:
        """Lets a model make the calls, with `own` as a tool `append` of the program's, and the gateway's own. `how`:
        `judged_as`; `agent`, of whom the calls are."""
        raise NotImplementedError

    @pytest.fixture
    def world(self, ground: Any) -> Any:
        ground.says(POLICY)
        (ground.project / "x.sh").write_text("echo ran\n")
        return ground

    def own(self, world: Any) -> Callable[[str], str]:
        def append(name: str) -> str:
            with open(world.project / "log", "a", encoding="utf-8") as file:
                file.write(name + "\n")
            return f"appended {name}"

        return append

    def told(self, world: Any, calls: list[tuple[str, dict[str, Any]]], *answers: bool, **how: Any) -> Played:
        return self.play(world.open(), self.own(world), calls, list(answers), **how)

    def log(self, world: Any) -> list[str]:
        path = world.project / "log"
        return path.read_text().splitlines() if path.exists() else []

    def decisions(self, world: Any) -> list[tuple[str, str]]:
        return [(each["tool"], each["decision"]) for each in world.records() if "decision" in each]

    def test_what_may_run_runs_and_gives_what_it_gave(self, world: Any) -> None:
        played = self.told(world, [("append", {"name": "may"})])
        assert played == Played(["appended may"], [])
        assert self.log(world) == ["may"]
        assert self.decisions(world) == [("mcp__app__append", "allow")]

    def test_what_is_denied_does_not_run_and_the_model_reads_why(self, world: Any) -> None:
        played = self.told(world, [("append", {"name": "never"}), ("append", {"name": "may"})])
        assert "rule `never`" in played.results[0]
        assert "not this one" in played.results[0]
        assert (self.log(world), played.results[1], played.asked) == (["may"], "appended may", [])
        assert self.decisions(world) == [("mcp__app__append", "deny"), ("mcp__app__append", "allow")]

    def test_what_policy_asks_about_runs_once_a_person_says_yes(self, world: Any) -> None:
        played = self.told(world, [("append", {"name": "who knows"})], True)
        assert (played.results, self.log(world)) == (["appended who knows"], ["who knows"])
        assert len(played.asked) == 1
        assert "append" in played.asked[0]
        (decided,) = [each for each in world.records() if "decision" in each]
        assert decided["grant"]["by"].startswith("a person through ")

    def test_what_a_person_refuses_does_not_run(self, world: Any) -> None:
        played = self.told(world, [("append", {"name": "who knows"}), ("append", {"name": "may"})], False)
        assert self.log(world) == ["may"]
        assert "appended who knows" not in played.results[0]

    def test_the_gateways_own_tools_run_confined(self, world: Any) -> None:
        played = self.told(world, [("Bash", {"command": "echo hello"})])
        assert played.results[0].startswith("hello")
        decided, ended = world.records()
        assert (bool(decided["plan"]), bool(ended["backend"])) == (True, True)

    def test_the_gateways_own_tools_are_denied_with_a_reason(self, world: Any) -> None:
        (world.home / ".ssh").mkdir()
        (world.home / ".ssh" / "id_rsa").write_text("private")
        played = self.told(world, [("Bash", {"command": "cat ~/.ssh/id_rsa"})])
        assert "rule `secret-files`" in played.results[0]
        assert "private" not in played.results[0]

    def test_the_gateways_own_tools_ask_in_the_frameworks_way(self, world: Any) -> None:
        played = self.told(world, [("Bash", {"command": "sh x.sh"})], True)
        assert played.results[0].startswith("ran")
        assert "scripts are looked at" in played.asked[0]

    def test_a_yes_holds_for_what_was_shown_alone(self, world: Any) -> None:
        def changed(_name: str) -> str:
            return "unused"

        gateway = world.open()
        played = self.play(
            gateway, changed, [("Bash", {"command": "sh x.sh"})], [True],
            meanwhile=lambda: (world.project / "x.sh").write_text("echo other\n"),
        )  # fmt: skip
        assert "another by now" in played.results[0]

    def test_a_tool_that_stands_for_a_known_one_is_judged_as_that(self, world: Any) -> None:
        from gateway.model.call import RawCall

        judged_as = {"append": lambda given: RawCall("Bash", {"command": f"echo x > {given['name']}"})}
        played = self.told(
            world, [("append", {"name": "log"}), ("append", {"name": "/etc/x"})], False, judged_as=judged_as
        )
        assert self.log(world) == ["log"]
        assert played.results[0] == "appended log"

    def test_a_call_that_a_hook_rewrites_runs_as_rewritten(self, world: Any) -> None:
        hook = world.project.parent / "hook.py"
        hook.write_text('import json, sys\nprint(json.dumps({"input": {"name": "may"}}))\n')
        command = [sys.executable, str(hook)]
        world.says(
            {
                **POLICY,
                "hooks": [{"id": "change", "event": "before_call", "tools": ["mcp__app__append"], "command": command}],
            }
        )
        played = self.told(world, [("append", {"name": "never"})])
        assert (played.results, self.log(world)) == (["appended may"], ["may"])

    def test_a_failure_of_ours_lets_nothing_run(self, world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        gateway = world.open()

        def fails(*_what: Any, **_how: Any) -> Any:
            raise RuntimeError("broken")

        monkeypatch.setattr(type(gateway.calls.judge), "check", fails)
        played = self.play(gateway, self.own(world), [("append", {"name": "may"})], [])
        assert self.log(world) == []
        assert "refused" in played.results[0]

    def test_a_sub_agent_is_judged_as_one(self, world: Any) -> None:
        played = self.told(world, [("Bash", {"command": "echo hello"})], agent="helper")
        assert "rule `of-helper`" in played.results[0]
