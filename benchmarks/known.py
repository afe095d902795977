"""How much of what manuals show is known: of example commands of many programs, those without `code` or `opaque`.

python benchmarks/known.py FILE                  # the table, and which programs are missing most
python benchmarks/known.py --half 0 FILE         # only the programs of one half, by the hash of their names
python benchmarks/known.py --program git FILE    # each example of one program, with what is decided

`shown`: confined, where somebody at a terminal sees what a command has changed, and answers then (`gateway changes`).
A line of FILE is a JSON object with a shell text as `command`, and `page`, the program and subcommand that it is an
example of (`git-commit`). Nothing is run, and no disk is looked at.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from asked import HOME, judge

from gateway.core.errors import GatewayError
from gateway.model.call import RawCall

DOUBTS = ("code", "opaque")
FORMS = ("confined", "shown", "unconfined")


class Found(NamedTuple):
    """What became of one example."""

    command: str
    known: bool
    decided: tuple[str, ...]  # one for each of `FORMS`
    doubts: tuple[str, ...]


def programs(pages: set[str]) -> dict[str, str]:
    """The program of each page: the shortest of its beginnings that has a page of its own."""

    def program(page: str) -> str:
        words = page.split("-")
        beginnings = ("-".join(words[:count]) for count in range(1, len(words) + 1))
        return next(each for each in beginnings if each in pages)

    return {page: program(page) for page in pages}


def half(program: str) -> int:
    """0 or 1, the same on every machine."""
    return hashlib.sha256(f"known:{program}".encode()).digest()[0] & 1


def found(command: str) -> Found:
    decided: list[str] = []
    doubts: tuple[str, ...] = ()
    for form in FORMS:
        by = judge(f"{HOME}/project", form != "unconfined")
        try:
            context = by.context.replace(reviewed=form == "shown")
            verdict = by.check(RawCall("Bash", {"command": command}), context)
        except GatewayError:
            return Found(command, known=False, decided=("error",) * len(FORMS), doubts=("not a call",))
        decided.append(verdict.decision.word)
        effects = [item.effect for item in verdict.analysis.items] if verdict.analysis else []
        doubts = tuple(str(getattr(each, "why", "")) for each in effects if each.kind in DOUBTS)
    return Found(command, not doubts, tuple(decided), doubts)


def share(part: int, of: int) -> str:
    return f"{part} of {of} ({100 * part / of:.1f} %)" if of else "none"


def table(results: dict[str, list[Found]]) -> str:
    every = [each for found in results.values() for each in found]
    mostly = sum(2 * sum(each.known for each in found) >= len(found) for found in results.values())
    rows = [
        f"| programs | {len(results)} |",
        f"| programs of which half the examples or more are known | {mostly} |",
        f"| examples known | {share(sum(each.known for each in every), len(every))} |",
    ]
    for index, form in enumerate(FORMS):
        counts = Counter(each.decided[index] for each in every)
        rows += [f"| {word}, {form} | {share(counts[word], len(every))} |" for word in ("allow", "ask", "deny")]
    return "\n".join(("| what | how many |", "| --- | --- |", *rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", type=int, choices=(0, 1), help="only the programs of this half")
    parser.add_argument("--program", action="append", default=[], help="show each example of this program")
    parser.add_argument("--only", type=Path, help="only the programs that this file names, one in a line")
    parser.add_argument("--top", type=int, default=60, help="how many programs that are missing most are named")
    parser.add_argument("file", metavar="FILE")
    options = parser.parse_args()
    examples = [json.loads(line) for line in Path(options.file).read_text("utf-8").splitlines()]
    of = programs({each["page"] for each in examples})
    only = set(options.only.read_text("utf-8").split()) if options.only else set()
    results: dict[str, list[Found]] = defaultdict(list)
    for each in examples:
        name = of[each["page"]]
        wanted = name in options.program if options.program else options.half in (None, half(name))
        if wanted and (not only or name in only):
            results[name].append(found(each["command"]))
    print(table(results))
    if options.program:
        for each in (each for found in results.values() for each in found):
            print(f"{'known' if each.known else '-':6} {'/'.join(each.decided):12} {each.command}")
            print(*(f"{'':20}{why}\n" for why in dict.fromkeys(each.doubts)), sep="", end="")
        return
    missing = {name: sum(not each.known for each in found) for name, found in results.items()}
    print(f"\nMissing: {sum(missing.values())} examples")
    for name, count in sorted(missing.items(), key=lambda each: -each[1])[: options.top]:
        whys = Counter(why for each in results[name] for why in each.doubts).most_common(3)
        print(f"{count:5} of {len(results[name]):4}  {name:22} {'; '.join(why for why, _ in whys)[:110]}")


if __name__ == "__main__":
    main()
