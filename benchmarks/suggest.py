"""How many later questions are gone with the rules that `gateway policy suggest` makes of earlier answers.

    python benchmarks/suggest.py FILE ...           # recorded sessions, split by time; all in one project
    python benchmarks/suggest.py --show FILE ...    # with the rules, and what is asked about again all the same
    python benchmarks/suggest.py                    # generated sessions
    python benchmarks/suggest.py --commands         # the commands of the tests that do no harm, each answered twice

A line of a FILE is a call: `session`, `cwd`, `tool`, `input`. The sessions are taken in their order: every question of
the first part is answered with yes, rules are made of that, and the rest is judged with and without them. A question is
repeatable if one of the first part was about the same programs, subcommands and kinds of effects. All suggested rules
are tried on the harmful commands of the tests. Nothing is run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

HOME = tempfile.mkdtemp(prefix="suggest-")
os.environ.update(HOME=HOME, XDG_STATE_HOME="", XDG_CONFIG_HOME="", XDG_CACHE_HOME="")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import test_agents as agents  # noqa: E402 - the home must be another one first
from always import about, allows, rules_of  # noqa: E402

from gateway.audit.log import Log  # noqa: E402
from gateway.config.load import Options  # noqa: E402
from gateway.core.errors import GatewayError  # noqa: E402
from gateway.judge.judge import Judge  # noqa: E402
from gateway.judge.pipeline import TEMP  # noqa: E402
from gateway.model.call import RawCall  # noqa: E402
from gateway.model.decision import Decision  # noqa: E402
from gateway.replay.suggesting import suggested  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.verdict import Verdict

ROOT = f"{HOME}/project"
RECORD = f"{HOME}/.local/state/gateway/audit"
SHAPES = (
    "npm install", "npm install p{0}", "npm view p{0}", "pip install p{0}", "npx eslint src/m{0}.js", "git fetch",
    "curl https://h{1}.example/{0}", "python3 scripts/s{1}.py", "python3 scripts/s{1}.py --seed {0}", "node t{1}.js",
    "wget https://files.example/{0}.zip", "cargo add p{0}", "pip download p{0}", "docker build .", "brew install p{0}",
)  # fmt: skip


def recorded(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for line in path.read_text("utf-8").splitlines():
        call = json.loads(line)
        cwd = call["cwd"].rstrip("/")
        given = {
            name: each.replace(cwd, ROOT) if isinstance(each, str) and cwd else each
            for name, each in call["input"].items()
        }
        yield call["session"], call["tool"], given


def generated(seed: int, sessions: int = 200) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Sessions of people with habits: some commands come again and again, with words that do not."""
    draw = random.Random(seed)
    for session in range(sessions):
        for shape in draw.choices(SHAPES, [1 / (1 + place) for place in range(len(SHAPES))], k=12):
            yield f"s{session}", "Bash", {"command": shape.format(draw.randrange(500), draw.randrange(4))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="the rules, and what is asked about again all the same")
    parser.add_argument("--commands", action="store_true", help="learn from the commands of the tests")
    parser.add_argument("--share", type=float, default=0.6, help="of the sessions, how many are learnt from")
    parser.add_argument("--seed", type=int, default=1, help="of generated sessions")
    parser.add_argument("files", nargs="*", metavar="FILE", type=Path)
    options = parser.parse_args()
    os.makedirs(f"{ROOT}/.git")
    Path(ROOT, ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    os.makedirs(f"{HOME}/.config/gateway")
    Path(HOME, ".config/gateway/policy.yaml").write_text("version: 1\nextends: [daily]\n", encoding="utf-8")
    calls = [each for path in options.files for each in recorded(path)] or list(generated(options.seed))
    if options.commands:
        groups = [each for group in (*agents.HARMLESS, *agents.ASKS) for each in agents.cases(group)]
        calls = [(f"s{number}", "Bash", {"command": each["command"]}) for number in range(4) for each in groups]
    sessions = list(dict.fromkeys(session for session, _tool, _given in calls))
    early = set(sessions[: int(len(sessions) * options.share)])
    judge = Judge(Options(ROOT), confined=True)
    context = judge.context.replace(temp=TEMP)
    log = Log(RECORD)
    known: set[tuple[Any, ...]] = set()
    later: list[tuple[Verdict, bool]] = []
    for session, tool, given in calls:
        try:
            verdict = judge.check(RawCall(tool, given), context, contains=lambda *_asked: "")
        except GatewayError:
            continue
        asks = verdict.decision is Decision.ASK
        if session in early:
            known.update([about(verdict)] if asks else [])
            grant = {"allow": True, "scope": "once", "by": "ann"} if asks else None
            policy = judge.loaded_for(verdict).policy.revision
            log.decision(verdict, front="b", session=session, grant=grant, policy=policy, bundle=judge.bundle)
        elif asks:
            later.append((verdict, about(verdict) in known))
    log.close()
    start = time.perf_counter()
    found = suggested(RECORD, ROOT)
    took = time.perf_counter() - start
    rules = [rule for each in found.rules for rule in rules_of(judge, each.text)]  # type: ignore[arg-type]
    counts: Counter[str] = Counter()
    for verdict, again in later:
        gone = allows(judge, verdict, rules)  # type: ignore[arg-type]
        counts["asked"] += 1
        counts["gone"] += gone
        counts["repeatable"] += again
        counts["repeatable gone"] += again and gone
        if options.show and again and not gone:
            print(f"again: {about(verdict)} {(verdict.call.shown.splitlines() or [''])[0][:100]}")
    if options.show:
        print(*(each.text for each in found.rules), sep="\n")
    print(
        f"learnt from: {found.decisions} decisions, {found.agreed} questions, in {took:.1f} s; dropped {found.vetoed}"
    )
    print(f"rules: {len(found.rules)}, which end {found.ended} of those questions")
    print(f"later questions: {counts['asked']}, gone {counts['gone']}")
    print(f"of those that are repeatable: {counts['repeatable']}, gone {counts['repeatable gone']}")
    harmful = [verdict for group in agents.HARMFUL for _case, verdict in agents.judged(group, True)]
    asked = [each for each in harmful if each.decision is not Decision.ALLOW]
    opened = [each.call.shown for each in asked if allows(agents.gateway(True, True), each, rules)]
    print(f"harmful commands of the tests: {len(harmful)}, allowed now {len(opened)}")
    print(*opened, sep="\n")


if __name__ == "__main__":
    main()
