"""Whether what runs unasked works: days in real projects, lived plainly and through the gateway.

    python benchmarks/worlds.py [WORLD ...] [--show] [--kept FOLDER]

For each world of `tests/workdays`: its steps, how many of them ran unasked and did the same, how many policy is to ask
about and did, and which others asked or differed; `--show` prints those with what they said. `tests/workdays.py` says
what is compared. `--kept`: worlds that were made stay there, so that a second run need not make them. A world whose
programs are missing is left out, and said to be.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import workdays


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("world", nargs="*", help=f"of {', '.join(workdays.WORLDS)}; all by default")
    options.add_argument("--show", action="store_true", help="print each step that asked or differed")
    options.add_argument("--kept", type=Path, help="where worlds that were made stay; in no temporary folder")
    given = options.parse_args()
    print(f"{'world':22}{'steps':>6}{'same':>6}{'policy':>8}{'asked':>7}{'differ':>8}{'free':>8}{'seconds':>9}")
    total = [0, 0, 0]
    for name in given.world or workdays.WORLDS:
        world = workdays.read(workdays.WORLDS[name])
        if missing := workdays.lacking(world):
            print(f"{name:22}left out: {missing} is not installed")
            continue
        outcomes, seconds = workdays.timed(world, given.kept)
        same = sum(each.free for each in outcomes)
        policy = sum(each.by_policy for each in outcomes)
        asked = [each for each in outcomes if each.rule and not each.by_policy]
        differ = [each for each in outcomes if each.differs]
        for place, number in enumerate((len(outcomes), same, policy)):
            total[place] += number
        share = 100 * same / (len(outcomes) - policy)
        print(
            f"{name:22}{len(outcomes):6}{same:6}{policy:8}{len(asked):7}{len(differ):8}{share:7.1f}%{seconds:9.0f}",
            flush=True,
        )
        for each in [*asked, *differ] if given.show else ():
            print(f"  -- {each.rule or ', '.join(each.differs)}: {each.step.text or each.step.name!r}")
            print("     " + each.details[:1200].replace("\n", "\n     "))
        for each in outcomes if given.show else ():
            if each.step.refused and not each.by_policy:
                print(f"  -- not refused by {each.step.refused}: {each.step.text}")
    steps, same, policy = total
    if steps > policy:
        print(
            f"{'all':22}{steps:6}{same:6}{policy:8}   {100 * same / (steps - policy):.1f} % of what policy leaves, "
            f"{100 * same / steps:.1f} % of all"
        )


if __name__ == "__main__":
    main()
