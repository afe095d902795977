"""What a provider can read from its cache: each request of a conversation begins with all of the one before."""

from __future__ import annotations

import json
from typing import Any

from fakemessages import FakeMessages
from fuzzing import THOROUGH

from gateway.agent.loop import Agent
from gateway.llm.claude import Claude

TURNS = 50 if THOROUGH else 20


class Counting(FakeMessages):
    """Counts characters as tokens: what a request has in common with the one before, from its beginning, was cached."""

    def shares(self) -> tuple[int, int]:
        """Characters that were read from the cache, and all that were sent."""
        cached = sent = 0
        before: list[str] = []
        for asked in self.asked:
            now = _pieces(asked)
            sent += sum(map(len, now))
            for mine, theirs in zip(now, before, strict=False):
                if mine != theirs:
                    break
                cached += len(mine)
            before = now
        return cached, sent


def _pieces(asked: dict[str, Any]) -> list[str]:
    """A request in the order in which providers cache it: tools, system, messages, block by block."""
    blocks = [block for message in asked["messages"] for block in message["content"]]
    return [json.dumps(each) for each in (*asked.get("tools", ()), *asked["system"], *blocks)]


def test_of_many_turns_nearly_all_is_read_from_the_cache(ground, monkeypatch) -> None:
    for number in range(TURNS):
        (ground.project / f"{number}.txt").write_text(f"file {number}\n" * 20)
    (ground.project / "sub").mkdir()
    steps: list[Any] = [[("Read", {"file_path": f"{number}.txt"})] for number in range(TURNS)]
    steps[TURNS // 5] = [("Bash", {"command": "cd sub"})]
    steps[TURNS // 5 * 2] = [("ToolSearch", {"query": "select:CronList"})]
    steps[TURNS // 5 * 3] = [("EnterPlanMode", {})]
    fake = Counting([*steps, ["Done."]])
    monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    try:
        gateway = ground.open()
        with gateway.session() as session:
            outcome = Agent(gateway, Claude("some-model"), session).run("Read all of it.")
    finally:
        fake.close()
    assert (outcome.why, len(fake.asked)) == ("done", TURNS + 1)
    cached, sent = fake.shares()
    assert cached / sent > 0.9, f"{cached / sent:.3f}"
    for asked in fake.asked:  # the provider is told up to where it is worth keeping
        assert asked["cache_control"] == {"type": "ephemeral"}
