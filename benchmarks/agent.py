"""What a turn of the agent's loop costs: everything but the model and the tool's own work.

    python benchmarks/agent.py             # prints the table

Bounds: 2 ms with 50 tools, 5 ms with 500; 15 MB for each of 20 agents that work at once. The model answers at once;
each turn calls one tool that does nothing, so a turn is: the system prompt and the tools for this mode, the reply
written down, the call judged, recorded, led through its life, its result written down. Transcript and record are on.

And what 500 tools of MCP servers add to a session's first prompt: at most 5,000 tokens. The API counts tokens only for
who asks it, so they are estimated from the characters of the JSON that is sent: 3.5 to a token. The tokenizer that
anthropic's SDK brought along until 0.38 finds 3.66 in this very catalogue.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from catalogue import Listed

from gateway.agent.budget import Budget
from gateway.agent.children import Children
from gateway.agent.loop import Agent
from gateway.agent.transcript import Transcript
from gateway.api.gateway import Gateway
from gateway.audit.reading import Moment
from gateway.calls import handlers
from gateway.calls.output import Output, Text
from gateway.config.load import Options
from gateway.llm.model import Reply, Request
from gateway.model.call import RawCall

TURNS = 400
AGENTS, AGENT_TURNS, MEGABYTES = 20, 50, 15.0
BOUNDS = {50: 2.0, 500: 5.0}
SERVED, MOST_TOKENS, PER_TOKEN = 500, 5_000, 3.5
TOOL = """\
  Tool{n}:
    summary: Does thing {n}.
    description: Does thing number {n}, which takes a file and a number of lines, and tells what came of it.
    input:
      properties:
        path: {{type: string, description: 'The file.'}}
        lines: {{type: integer, minimum: 1, default: 10, description: 'How many.'}}
      required: [path]
    level: read
    canonical: {{path: path}}
    handler: {{command: [wc, -l, --, '{{path}}']}}
    examples: [{{call: {{path: /a}}, effects: ['shell wc -l -- /a']}}]
"""


class Instant:
    """A model that asks for the same call every time, and keeps when it was asked."""

    name = "instant"

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.answered: list[float] = []

    def reply(self, _request: Request, **_how: Any) -> Reply:
        self.asked.append(time.perf_counter())
        number = len(self.asked)
        call = {"type": "tool_use", "id": f"call_{number}", "name": "Read", "input": {"file_path": "a.txt"}}
        found = Reply((call,), "tool_use", {"input_tokens": 1, "output_tokens": 1})
        self.answered.append(time.perf_counter())
        return found


def memory() -> float:
    """Megabytes of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Crowd:
    """Twenty agents at once: megabytes for each, and what of their calls is in the record."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as top:
            os.environ["HOME"] = top
            os.mkdir(f"{top}/work")
            with open(f"{top}/work/a.txt", "w", encoding="utf-8") as file:
                file.write("alpha\n")
            options = Options(cwd=f"{top}/work", root=f"{top}/work", binding=True)
            with Gateway(options) as gateway, gateway.session() as session:
                budget = Budget(AGENT_TURNS)
                children = Children(gateway, Instant(), folder=f"{top}/agents", budget=budget)
                session.agents = children
                gateway.call(RawCall("Read", {"file_path": "a.txt"}), session=session)
                before = memory()
                for number in range(AGENTS):
                    given = {"description": "a task", "prompt": f"{number}", "run_in_background": True}
                    done = gateway.call(RawCall("Agent", given), session=session)
                    assert done.ran, done.text
                self.most = before
                for each in children.working():
                    while not each.at_rest.wait(0.01):
                        self.most = max(self.most, memory())
                self.each = (self.most - before) / AGENTS
                with Moment(os.path.join(gateway.places.state, "audit")) as moment:
                    told = [each for each in moment.last(1_000_000) if each.get("tool") == "Read"]
                self.recorded = len([each for each in told if "/" in each["session"]])
                children.close()


def measured(tools: int) -> list[float]:
    """Milliseconds of each turn, from one reply to the next request."""
    with tempfile.TemporaryDirectory() as top:
        os.environ["HOME"] = top
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
            os.environ.pop(name, None)
        config, work = f"{top}/.config/gateway", f"{top}/work"
        os.makedirs(config)
        os.mkdir(work)
        with open(f"{config}/tools.yaml", "w", encoding="utf-8") as file:
            file.write("version: 1\ntools:\n" + "".join(TOOL.format(n=n) for n in range(tools)))
        with open(f"{work}/a.txt", "w", encoding="utf-8") as file:
            file.write("alpha\n")
        handlers._found["files.read"] = lambda _call, _work: Output((Text("alpha"),))
        with Gateway(Options(cwd=work, root=work, binding=True)) as gateway, gateway.session() as session:
            model = Instant()
            transcript = Transcript(f"{top}/t.jsonl")
            Agent(gateway, model, session, budget=Budget(TURNS), transcript=transcript).run("go")
            transcript.close()
            pairs = zip(model.answered, model.asked[1:], strict=False)
            return [(asked - answered) * 1000 for answered, asked in pairs][20:]


def sent(tools: int, **how: Any) -> int:
    """Characters of the tools in a session's first request, with so many of MCP servers. `how`: settings."""
    with tempfile.TemporaryDirectory() as top:
        os.environ["HOME"] = top
        os.makedirs(f"{top}/.config/gateway")
        os.mkdir(f"{top}/work")
        with open(f"{top}/.config/gateway/policy.yaml", "w", encoding="utf-8") as file:
            json.dump({"version": 1, "settings": how}, file)
        with Gateway(Options(cwd=f"{top}/work", root=f"{top}/work")) as gateway, gateway.session() as session:
            session.joined = Listed(tools)
            return len(json.dumps(gateway.tools("anthropic", session=session), ensure_ascii=False))


def main() -> None:
    print(f"{'tools':>6} {'p50':>9} {'p95':>9} {'bound':>9}")
    for tools, bound in BOUNDS.items():
        found = sorted(measured(tools))
        p50, p95 = statistics.median(found), found[int(len(found) * 0.95)]
        print(f"{tools:>6} {p50:>6.2f} ms {p95:>6.2f} ms {bound:>6.1f} ms{'' if p50 <= bound else '  over'}")
    crowd = Crowd()
    over = "" if crowd.each <= MEGABYTES else "  over"
    print(
        f"{AGENTS} agents at once, {AGENT_TURNS} turns each: {crowd.each:.1f} MB each (bound {MEGABYTES:.0f}){over};",
        end=" ",
    )
    print(f"{crowd.recorded} of {AGENTS * AGENT_TURNS} calls in the record")
    # Our own tools wait in both, so that the difference is what the servers' cost.
    added, whole = sent(SERVED) - sent(0, tools_in_full=1), sent(SERVED, tools_in_full=10_000) - sent(0)
    over = "" if added / PER_TOKEN <= MOST_TOKENS else "  over"
    print(
        f"{SERVED} tools of MCP servers: {added:,} characters in the first prompt, about "
        f"{added / PER_TOKEN:,.0f} tokens (bound {MOST_TOKENS:,}){over}; in full they would be {whole:,}, "
        f"about {whole / PER_TOKEN:,.0f} tokens"
    )


if __name__ == "__main__":
    main()
