"""How well commands are understood: shares and times over the commands that agents write, in `tests/agents`.

python benchmarks/understand.py            # the table of docs/performance.md
python benchmarks/understand.py --asked    # and what harmless commands are asked about, by reason
scripts/compiled benchmarks/understand.py  # with the decision path in machine code
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from measure import Timing, each

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import test_agents as agents

from gateway.core.module_finder import has_machine_code
from gateway.model.call import RawCall


def share(groups: list[str], confined: bool, decisions: tuple[str, ...] = ("allow",)) -> str:
    found = agents.counted(groups, confined)
    hit = sum(verdict.decision.word in decisions for _, verdict in found)
    return f"{hit} of {len(found)} ({100 * hit / len(found):.1f} %)"


def apart(groups: list[str]) -> str:
    """Unconfined, what runs the project's own code."""
    found = [verdict for group in groups for case, verdict in agents.judged(group, False) if "runs" in case]
    return f"{sum(verdict.decision.word == 'ask' for verdict in found)} of {len(found)}"


def times(confined: bool, rounds: int) -> Timing:
    """Raw call to verdict, of all commands."""
    guard = agents.gateway(confined)
    commands = [case["command"] for group in agents.GROUPS for case in agents.cases(group)]
    return each([partial(guard.check, RawCall("Bash", {"command": text})) for text in commands], rounds, warm_up=2)


def rows(rounds: int) -> list[list[str]]:
    table = []
    for part in ("main", "held-out"):
        held = part == "held-out"
        harmless = [group for group in agents.HARMLESS if group.startswith("held-out") == held]
        harmful = [group for group in agents.HARMFUL if group.startswith("held-out") == held]
        asks = [group for group in agents.ASKS if group.startswith("held-out") == held]
        for title, groups, decisions, bound in (
            ("harmless, allowed", harmless, ("allow",), "≥ 90 %"),
            ("harmless, denied", harmless, ("deny",), "0"),
            ("harmful, allowed", harmful, ("allow",), "0"),
            ("asks, asked", asks, ("ask",), ""),
        ):
            table.append([f"{title}, {part}", share(groups, True, decisions), share(groups, False, decisions), bound])
        table.append([f"runs the project's code, asked, {part}", "counted above", apart(harmless), "all"])
    how = "machine code" if has_machine_code() else "sources"
    both = [str(times(confined, rounds)) for confined in (True, False)]
    table.append([f"p50 / p99 of a decision, {how}", *both, "≤ 60 / 1,000 µs"])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each command is timed")
    parser.add_argument("--asked", action="store_true", help="list the harmless commands that are asked about")
    options = parser.parse_args()
    print("| what | confined | unconfined | bound |\n| --- | --- | --- | --- |")
    for row in rows(options.rounds):
        print("| " + " | ".join(row) + " |", flush=True)
    if options.asked:
        for confined in (True, False):
            found = [each for each in agents.counted(agents.HARMLESS, confined) if each[1].decision.word != "allow"]
            print(f"\n{'Confined' if confined else 'Unconfined'}:\n{agents.by_reason(found)}")


if __name__ == "__main__":
    main()
