"""What a second parser costs: shell text to effects with and without it, and for how many texts it gives up.

python benchmarks/second_opinion.py
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path

from decide import SHELL_TEXTS
from measure import each

from gateway.commands.analyse import Start, analyse
from gateway.config.shipped import load_descriptions
from gateway.core.places import places
from gateway.shell.reading import read
from gateway.shell.secondopinion import disagreement

CORPUS = Path(__file__).parents[1] / "tests" / "corpus"
START = Start("/home/dev/project", "/home/dev")


def main() -> None:
    describe = load_descriptions(places())
    for name, second in (("off", False), ("on", True)):
        start = START.replace(second_opinion=second)
        calls = [partial(analyse, text, start, describe) for text in SHELL_TEXTS]
        print(f"| shell text to effects, second opinion {name} | {each(calls, 50)} |")
    answers: Counter[str] = Counter()
    for path in sorted(CORPUS.glob("everyday*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            call = json.loads(line).get("call", "")
            script = read(call[5:-1], cwds=("/p",), home="/h", variables={}) if call.startswith("Bash(") else None
            if script is not None and not script.unknowns:
                answers["refused" if disagreement(call[5:-1], script) else "confirmed"] += 1
    print(f"everyday texts of the corpus: {dict(answers)}")


if __name__ == "__main__":
    main()
