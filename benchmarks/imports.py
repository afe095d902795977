"""How many rules keep their decisions when they are imported, and when they are exported again.

    python benchmarks/imports.py [--lost]

The rules of `agent_rules/` are written as people publish them, one file an agent. A rule keeps its decisions if each of
its own examples (calls that it decides among all rules of its agent) gets the same from what was imported; and through
both, if it gets the same from what that was exported to. `--lost` shows those that do not.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.config.layers import PolicyFile
from gateway.config.shipped import load_tools
from gateway.core.places import places
from gateway.install.translation.clients import CLIENTS
from gateway.install.translation.comparing import is_beyond_rules, theirs_of, translated
from gateway.install.translation.engine import Engine
from gateway.install.translation.exporting import FORMS, exported
from gateway.install.translation.importing import ordered
from gateway.install.translation.statements import layer
from gateway.judge.policy_tests import read_layers

if TYPE_CHECKING:
    from gateway.install.translation.common_call import Asked
    from gateway.install.translation.rules import Rule

HERE = Path(__file__).parent / "agent_rules"
PROJECT = "/home/dev/project"
LEAST = 95.0
EXAMPLES = 3


def file_of(agent: str, lines: list[str]) -> tuple[str, str]:
    """A file of the agent's with these rules, and its name."""
    if agent == "codex":
        return "\n".join(lines) + "\n", "/home/dev/.codex/rules/x.rules"
    if agent == "copilot":
        return "\n".join(
            f"copilot {flag} '{rule}'" for flag, _, rule in (each.partition(" ") for each in lines)
        ), "/x.sh"
    if agent == "gemini":
        return "\n".join(map(_gemini, lines)), "/home/dev/.gemini/policies/x.toml"
    if agent == "vscode":
        said = dict(each.rsplit(" ", 1) for each in lines)
        rules = {key: value == "true" for key, value in said.items()}
        return json.dumps({"chat.tools.terminal.autoApprove": rules}), f"{PROJECT}/.vscode/settings.json"
    if agent == "opencode":
        found: dict[str, dict[str, str]] = {}
        for each in lines:
            name, rest = each.split(" ", 1)
            pattern, action = rest.rsplit(" ", 1)
            found.setdefault(name, {})[pattern] = action
        return json.dumps({"permission": found}), f"{PROJECT}/opencode.json"
    lanes: dict[str, list[str]] = {}
    for each in lines:
        lane, rule = each.split(" ", 1)
        lanes.setdefault(lane, []).append(rule)
    folder = {"claude": ".claude/settings.json", "cursor": ".cursor/cli.json"}[agent]
    return json.dumps({"permissions": lanes}), f"{PROJECT}/{folder}"


def _gemini(line: str) -> str:
    decision, priority, rule = line.split(" ", 2)
    if rule.startswith("@mcp:"):
        _mark, server, tool = rule.split(":")
        which = f"mcpName = {json.dumps(server)}\ntoolName = {json.dumps(tool)}"
    elif rule.startswith("@"):
        which = f"toolName = {json.dumps(rule[1:])}"
    else:
        key = "commandRegex" if rule.startswith("/") else "commandPrefix"
        which = f'toolName = "run_shell_command"\n{key} = {json.dumps(rule.removeprefix("/"))}'
    return f'[[rule]]\n{which}\ndecision = "{decision}"\npriority = {priority}\n'


def examples(rule: Rule, rules: list[Rule], agent: str, engine: Engine) -> list[Asked]:
    """The first calls at the rule's edges that it decides itself."""
    client = CLIENTS[agent]
    calls = dict.fromkeys(asked for test in rule.tests for asked in test.tried())
    own = (each for each in calls if not is_beyond_rules(each, rules, client, engine))
    return [each for each in own if theirs_of(rules, client.WAY, engine, each).rule is rule][:EXAMPLES]


def measured(agent: str, engine: Engine) -> list[dict[str, Any]]:
    """What becomes of each rule of one agent."""
    client = CLIENTS[agent]
    text, file = file_of(agent, (HERE / f"{agent}.txt").read_text().splitlines())
    level = "project" if file.startswith(PROJECT) else "user"
    rules, _remarks = ordered(client, [(text, file, level)], engine.where)
    written = layer(translated(rules, client, engine, layer_name=level).statements, {agent: agent})
    policy = engine.policy(written, level)
    source = PolicyFile(level, "imported.yaml", written.encode(), base=PROJECT, root=PROJECT)
    bound = read_layers([source], load_tools(places()), PROJECT).bound
    again = exported([rule for each in bound for rule in each.rules], client, engine, policy)
    back, _remarks = ordered(client, [(again.text, FORMS[agent].file, level)], engine.where)
    found = []
    for rule in rules:
        lost, lost_again = [], []
        calls = examples(rule, rules, agent, engine)
        for asked in calls:
            ours = engine.decision(policy, asked)
            lost += [] if ours == rule.lane else [f"{asked.text}: {rule.lane}, ours {ours}"]
            through = theirs_of(back, client.WAY, engine, asked).lane
            lost_again += [] if through == rule.lane else [f"{asked.text}: {rule.lane}, then {through or 'nothing'}"]
        found.append({"rule": f"{rule.lane} {rule.text}", "calls": len(calls), "lost": lost, "lost_again": lost_again})
    return found


def main() -> int:
    """Prints a row an agent and the share of all; status 1 below the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lost", action="store_true", help="show the rules that do not keep their decisions")
    shown = parser.parse_args().lost
    engine = Engine(load_tools(places()), places())
    kept = through = every = 0
    for agent in CLIENTS:
        found = [each for each in measured(agent, engine) if each["calls"]]
        one, other = (sum(not each[key] for each in found) for key in ("lost", "lost_again"))
        print(f"{agent:9} {len(found):4} rules, {one:4} keep their decisions, {other:4} through import and export")
        kept, through, every = kept + one, through + other, every + len(found)
        for each in found if shown else ():
            for key in ("lost", "lost_again"):
                if each[key]:
                    print(f"    {key:10} {each['rule']}: {'; '.join(each[key])}")
    share = 100 * kept / every
    print(f"all       {every:4} rules: {share:.1f} % keep their decisions (at least {LEAST} %), "
          f"{100 * through / every:.1f} % through import and export")  # fmt: skip
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
