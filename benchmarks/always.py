"""How many questions come again after somebody answered "always", over recorded sessions, judged as they ship.

    python benchmarks/always.py FILE ...              # the table
    python benchmarks/always.py --show FILE ...       # with each question that comes again
    python benchmarks/always.py --harmful FILE ...    # and which harmful texts all that was saved would let run

A line of a FILE is a call: `session`, `cwd`, `tool`, `input`. A question comes again if an earlier one of its session
was about the same program and subcommand (or tool) and the same kinds of effects. Each question is answered with
"always" where that is offered; what is saved holds for the rest of its session. Nothing is run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asked import HOME, judge

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import test_agents as agents

from gateway.approval.always_rule import offered
from gateway.approval.saved_rules import document_of, entry_of
from gateway.config.load import tool_names
from gateway.core.errors import GatewayError
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.change import Trial
from gateway.policy.table import Judged
from gateway.spec.policy import parse_policy

if TYPE_CHECKING:
    from gateway.api.gateway import Gateway
    from gateway.model.verdict import Verdict


def about(verdict: Verdict) -> tuple[Any, ...]:
    """What a question is about, without what only this call has."""
    asked = [each for each in verdict.outcomes if each.decision is Decision.ASK]
    found = set()
    for each in asked:
        item = verdict.analysis.items[each.reason.item]
        part = verdict.analysis.parts[item.part] if item.part >= 0 else None
        who = (part.program or part.argv[0], *part.subcommands) if part is not None else (verdict.call.tool,)
        if part is not None and not part.subcommands and item.effect.kind == "code":
            who = (*who, *part.argv[1:2])
        found.add((*who, item.effect.kind))
    return tuple(sorted(found))


def allows(gateway: Gateway, verdict: Verdict, rules: list[dict[str, Any]]) -> bool:
    tool = gateway.registry.tool(verdict.call.tool)
    judged = Judged(tool.level, tool.match_kind == "shell", bool(tool.entry["filters"]))
    return Trial(verdict, judged, dict(gateway.loaded_for(verdict).policy.levels)).under(rules) is Decision.ALLOW


def rules_of(gateway: Gateway, text: str) -> list[dict[str, Any]]:
    document = document_of(entry_of(text, shown="a call", by="somebody", now=0.0))
    found: list[dict[str, Any]] = parse_policy(document, "approved.yaml", tool_names(gateway.registry))["rules"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="each question that comes again")
    parser.add_argument("--harmful", action="store_true", help="try the harmful texts of the tests under what is saved")
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
    options = parser.parse_args()
    gateway = judge(f"{HOME}/project", True)
    counts: Counter[str] = Counter()
    saved: dict[str, list[dict[str, Any]]] = {}
    for path in options.files:
        sessions: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in path.read_text("utf-8").splitlines():
            call = json.loads(line)
            sessions[call["session"]].append(call)
        for calls in sessions.values():
            rules: list[dict[str, Any]] = []
            seen: set[tuple[Any, ...]] = set()
            for call in calls:
                cwd = call["cwd"].rstrip("/") or "/"
                given = {
                    key: each.replace(cwd, f"{HOME}/project") if isinstance(each, str) and cwd != "/" else each
                    for key, each in call["input"].items()
                }
                try:
                    verdict = gateway.check(RawCall(call["tool"], given))
                except GatewayError:
                    continue
                if verdict.decision is not Decision.ASK:
                    continue
                counts["questions"] += 1
                again = about(verdict) in seen
                seen.add(about(verdict))
                counts["that come again"] += again
                if rules and allows(gateway, verdict, rules):
                    counts["answered by what was saved"] += 1
                    counts["of those that come again"] += again
                    continue
                text = offered(gateway, verdict)
                counts["offers"] += bool(text)
                if text:
                    rules += rules_of(gateway, text)
                    saved.setdefault(text, rules_of(gateway, text))
                if again and options.show:
                    print(
                        about(verdict),
                        "|",
                        verdict.call.shown.splitlines()[0][:110] if verdict.call.shown else "",
                        "|",
                        text[:150],
                    )
    for what, number in counts.items():
        print(f"{what}: {number}")
    print(f"different rules: {len(saved)}")
    if options.harmful:
        every = [rule for rules in saved.values() for rule in rules]
        verdicts = [verdict for group in agents.HARMFUL for _case, verdict in agents.judged(group, True)]
        texts = verdicts
        asked = [each for each in verdicts if each.decision is not Decision.ALLOW]
        now = [each.call.shown for each in asked if allows(gateway, each, every)]
        print(f"harmful texts: {len(texts)}, allowed by all that was saved together: {len(now)}")
        print(*now, sep="\n")


if __name__ == "__main__":
    main()
