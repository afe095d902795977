"""What is proved of policies: that it holds of everything in small worlds, and how long it takes.

python benchmarks/proof.py random --clauses 1000000 --seed 1     no false claim among so many random clauses
python benchmarks/proof.py lint --rules 10000                    time to lint so many rules
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from randomclauses import WORLDS, outcome, trial

from gateway.policy.compile import Bound
from gateway.policy.lint.lint import ToolTraits, lint
from gateway.replay.judging import Side
from gateway.replay.symbolic import Half, compared
from gateway.spec.policy import parse_policy
from gateway.spec.short import ToolName

TOOLS = {
    "Bash": ToolName("Bash", "shell", "command", ("command",)),
    "Read": ToolName("Read", "path", "file_path", ("file_path",)),
    "Edit": ToolName("Edit", "path", "file_path", ("file_path",)),
    "WebFetch": ToolName("WebFetch", "domain", "url", ("url",)),
}
TRAITS = {name: ToolTraits(name == "Bash", frozenset()) for name in TOOLS}
HOME, ROOT = "/home/dev", "/home/dev/project"
# For each number six rules of several kinds, of which the last adds nothing to the second.
_RULES = (
    "deny: Bash(tool{0} run *)",
    "deny: 'Read(src/{0}/**)'",
    "ask: {{effect: connect, host: 'h{0}.test'}}",
    "allow: 'Edit(out/{0}/*.py)'",
    "allow: Bash(tool{0} test x *)",
    "deny: 'Read(src/{0}/*x*)'",
)


def rules(count: int, seed: int = 0) -> Bound:
    """A layer of so many rules."""
    texts = [f"{{{_RULES[number % len(_RULES)].format(number // len(_RULES))}}}" for number in range(count)]
    random.Random(seed).shuffle(texts)
    document = parse_policy(f"version: 1\nrules: [{', '.join(texts)}]", "many.yaml", TOOLS)
    return Bound("user", "many.yaml", document["rules"], ROOT, ROOT)


def at_random(clauses: int, seed: int, worlds: list[str]) -> int:
    """Random clauses against trying everything. Ends with 1 if a claim is wrong."""
    wrong = 0
    for name in worlds:
        world, chance = WORLDS[name](), random.Random(seed)
        made = trials = claimed = 0
        start = time.process_time()
        while made < clauses // len(worlds):
            given = trial(world, chance)
            found = outcome(world, given)
            made, trials, claimed = made + 1 + len(given.wide), trials + 1, claimed + found.claimed
            if found.wrong is not None:
                wrong += 1
                print(f"WRONG {given}: {found.wrong}")
        seconds = time.process_time() - start
        print(
            f"{name:10} {made:>9,} clauses, {trials:>8,} questions, {claimed:>7,} claims, {seconds:7.1f} s", flush=True
        )
    print(f"{wrong} wrong claims")
    return 1 if wrong else 0


def linting(count: int) -> int:
    """How long it takes to lint many rules."""
    bound = rules(count)
    start = time.process_time()
    found = lint([bound], TRAITS, home=HOME, now=time.time())
    seconds = time.process_time() - start
    kinds: dict[str, Any] = {}
    for each in found:
        kinds[each.id] = kinds.get(each.id, 0) + 1
    print(f"{count:,} rules linted in {seconds:.2f} s of processor time: {kinds}")
    return 0


def differing(count: int, changed: int) -> int:
    """How long it takes to compare two policies of many rules, so many of which differ."""
    texts = [f"{{{_RULES[number % len(_RULES)].format(number // len(_RULES))}}}" for number in range(count)]
    others = [
        text.replace("tool", "other").replace("src/", "lib/").replace("out/", "obj/").replace("'h", "'g")
        if number % max(1, count // max(changed, 1)) == 0
        else text
        for number, text in enumerate(texts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for name, rows in (("old", texts), ("new", others)):
            place = Path(folder, name)
            place.mkdir()
            (place / "user.yaml").write_text(f"version: 1\nrules: [{', '.join(rows)}]")
            sides.append(Side(name, policies=str(place)))
        start = time.process_time()
        halves = [Half(side, folder) for side in sides]
        read = time.process_time()
        found = compared(*halves)
        end = time.process_time()
    kinds = [each.kind for each in found.differences]
    print(
        f"{count:,} rules each, read and compiled in {read - start:.2f} s, compared in {end - read:.2f} s of processor "
        f"time: {kinds.count('wider')} wider, {kinds.count('narrower')} narrower, {found.refuted} left out"
    )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    randomly = commands.add_parser("random")
    randomly.add_argument("--clauses", type=int, default=100_000)
    randomly.add_argument("--seed", type=int, default=1)
    randomly.add_argument("--world", choices=list(WORLDS), action="append")
    many = commands.add_parser("lint")
    many.add_argument("--rules", type=int, default=10_000)
    two = commands.add_parser("diff")
    two.add_argument("--rules", type=int, default=1000)
    two.add_argument("--changed", type=int, default=100)
    given = parser.parse_args()
    if given.command == "random":
        return at_random(given.clauses, given.seed, given.world or list(WORLDS))
    return linting(given.rules) if given.command == "lint" else differing(given.rules, given.changed)


if __name__ == "__main__":
    sys.exit(main())
