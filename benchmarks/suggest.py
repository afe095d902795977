"""How many later questions, in other repositories, are gone with what `gateway policy suggest` makes of answers.

    python benchmarks/suggest.py FILE ...               # recorded sessions, as a person has them today
    python benchmarks/suggest.py --uncontained FILE ... # as where nothing can be contained
    python benchmarks/suggest.py --show FILE ...        # with the rules, and what is asked about again all the same
    python benchmarks/suggest.py                        # generated sessions
    python benchmarks/suggest.py --commands             # the commands of the tests that do no harm, each answered twice

A line of a FILE is a call: `session`, `task`, `cwd`, `tool`, `input`. Each task is a repository of its own. They are
split by a seed into two halves: what is asked about in the first part of the time in the one half is answered with yes,
and rules for all projects are made of that (`--everywhere`); the last part of the time in the other half is judged with
and without them. With `--same` the repositories are not split, and rules are made for each by itself. Calls are judged
as they ship: `daily`, in the mode `accept_edits`, contained where that is possible. Nothing is run.

**Repeated** is a later question whose programs, subcommands and kinds of effects were asked about in at least two
sessions of the first part: what anybody would call the same question again. **Seen** is one asked about in one.
**Repeatable** is a repeated one that an allow rule could ever end without opening more than its kind: what is left out
is said with its reason, which is told by the verdict alone and by nothing of how rules are made. The reasons: a rule of
the policy asks (no allow rule answers that); it sends, pushes, logs in, deletes, signals, or changes the system in
another way than by installing; what runs, or the host, is not known before it runs; an interpreter runs a text of the
call; a file outside of the workspace.

The harmful commands of the tests are split by the seed, too: those of one half are shown where one is newly allowed, of
the other half only how many, so that nobody makes rules fit them.
"""

from __future__ import annotations

import argparse
import hashlib
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
from gateway.calls import containing  # noqa: E402
from gateway.config.load import Options  # noqa: E402
from gateway.core.errors import GatewayError  # noqa: E402
from gateway.judge.judge import Judge  # noqa: E402
from gateway.judge.pipeline import TEMP  # noqa: E402
from gateway.model.call import RawCall  # noqa: E402
from gateway.model.decision import Decision  # noqa: E402
from gateway.model.effect import PATH_KINDS  # noqa: E402
from gateway.policy.lint.programs import INTERPRETERS  # noqa: E402
from gateway.replay.suggesting import suggested  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.verdict import Verdict

ROOT = f"{HOME}/projects"
RECORD = f"{HOME}/.local/state/gateway/audit"
SHAPES = (
    "npm install", "npm install p{0}", "npm view p{0}", "pip install p{0}", "npx eslint src/m{0}.js", "git fetch",
    "curl https://h{1}.example/{0}", "python3 scripts/s{1}.py", "python3 scripts/s{1}.py --seed {0}", "node t{1}.js",
    "wget https://files.example/{0}.zip", "cargo add p{0}", "pip download p{0}", "docker build .", "brew install p{0}",
)  # fmt: skip


def recorded(path: Path) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for line in path.read_text("utf-8").splitlines():
        call = json.loads(line)
        cwd, root = call["cwd"].rstrip("/"), f"{ROOT}/{call.get('task', 'project')}"
        given = {
            name: each.replace(cwd, root) if isinstance(each, str) and cwd else each
            for name, each in call["input"].items()
        }
        yield root, call["session"], call["tool"], given


def generated(seed: int, sessions: int = 200) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Sessions of people with habits: some commands come again and again, with words that do not."""
    draw = random.Random(seed)
    for session in range(sessions):
        for shape in draw.choices(SHAPES, [1 / (1 + place) for place in range(len(SHAPES))], k=12):
            given = {"command": shape.format(draw.randrange(500), draw.randrange(4))}
            yield f"{ROOT}/r{session % 8}", f"s{session}", "Bash", given


def why_not(verdict: Verdict) -> str:
    """Why no allow rule may ever end a question, "" where one may."""
    for outcome in verdict.outcomes:
        if outcome.decision is not Decision.ASK:
            continue
        if outcome.reason.rule.lane != "mode":
            return "a rule asks"
        item = verdict.analysis.items[outcome.reason.item]
        effect: Any = item.effect
        part = verdict.analysis.parts[item.part] if item.part >= 0 else None
        if effect.kind in ("push", "credential", "delete", "process", "env"):
            return f"kind: {effect.kind}"
        if effect.kind == "system" and effect.action != "install":
            return "the system changes"
        if effect.kind == "connect" and (effect.sends or effect.direction != "fetch"):
            return "sends"
        if effect.kind == "opaque" or "\0" in effect.target or "not known" in getattr(effect, "why", ""):
            return "not known before it runs"
        if effect.kind == "code" and part is not None and part.program in INTERPRETERS:
            return "an interpreter's code"
        if effect.kind in PATH_KINDS and not f"{effect.path}/".startswith(f"{verdict.context.root}/"):
            return "a file outside of the workspace"
    return ""


def digest_of(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed} {text}".encode()).digest()


def is_first(seed: int, text: str) -> bool:
    """One half of all texts, by a seed."""
    return digest_of(seed, text)[0] < 128


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="the rules, and what is asked about again all the same")
    parser.add_argument("--commands", action="store_true", help="learn from the commands of the tests")
    parser.add_argument("--share", type=float, default=0.6, help="of the sessions, how many are learnt from")
    parser.add_argument("--seed", type=int, default=1, help="of what is generated and split")
    parser.add_argument("--uncontained", action="store_true", help="no call can be contained")
    parser.add_argument("--same", action="store_true", help="rules for each repository, tried in the same one later")
    parser.add_argument("--mode", default="accept_edits")
    parser.add_argument("files", nargs="*", metavar="FILE", type=Path)
    options = parser.parse_args()
    os.makedirs(f"{HOME}/.config/gateway")
    Path(HOME, ".config/gateway/policy.yaml").write_text("version: 1\nextends: [daily]\n", encoding="utf-8")
    calls = [each for path in options.files for each in recorded(path)] or list(generated(options.seed))
    if options.commands:
        groups = [each for group in (*agents.HARMLESS, *agents.ASKS) for each in agents.cases(group)]
        calls = [
            (f"{ROOT}/r{number}", f"s{number}", "Bash", {"command": each["command"]})
            for number in range(4)
            for each in groups
        ]
    roots = sorted({root for root, *_ in calls}, key=lambda root: digest_of(options.seed, Path(root).name))
    learnt, tried = (roots, roots) if options.same else (roots[::2], roots[1::2])
    sessions = list(dict.fromkeys(session for _root, session, *_ in calls))
    early = set(sessions[: int(len(sessions) * options.share)])
    judges: dict[str, Judge] = {}
    for root in roots:
        os.makedirs(f"{root}/.git")
        Path(root, ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        judges[root] = Judge(Options(root, mode=options.mode), confined=True)
    log = Log(RECORD)
    known: dict[tuple[Any, ...], set[str]] = {}
    later: list[tuple[Verdict, int]] = []
    for root, session, tool, given in calls:
        judge = judges[root]
        context = judge.context.replace(temp=TEMP)
        try:
            how = (lambda *_asked: "left out") if options.uncontained else containing.cannot_contain
            verdict = judge.check(RawCall(tool, given), context, contains=how)
        except GatewayError:
            continue
        asks = verdict.decision is Decision.ASK
        if session in early:
            if root in learnt:
                if asks:
                    known.setdefault(about(verdict), set()).add(session)
                grant = {"allow": True, "scope": "once", "by": "ann"} if asks else None
                policy = judge.loaded_for(verdict).policy.revision
                log.decision(verdict, front="b", session=session, grant=grant, policy=policy, bundle=judge.bundle)
        elif asks and root in tried:
            later.append((verdict, len(known.get(about(verdict), ()))))
    log.close()
    start = time.perf_counter()
    made = (
        {root: suggested(RECORD, root) for root in learnt}
        if options.same
        else {root: found for found in [suggested(RECORD, learnt[0], everywhere=True)] for root in tried}
    )
    took = time.perf_counter() - start
    different = list({id(each): each for each in made.values()}.values())
    rules = {
        root: [rule for each in found.rules for rule in rules_of(judges[root], each.text)]
        for root, found in made.items()
    }
    presets = {root: [each.name for each in found.presets] for root, found in made.items()}
    turned_on = {}
    for root, names in presets.items():
        Path(HOME, ".config/gateway/policy.yaml").write_text(
            f"version: 1\nextends: [{', '.join(('daily', *names))}]\n", encoding="utf-8"
        )
        turned_on[root] = Judge(Options(root, mode=options.mode), confined=True)
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for verdict, before in later:
        root = verdict.context.root
        with_presets = turned_on[root].check(
            RawCall(verdict.call.tool, dict(verdict.call.input)), verdict.context, contains=lambda *_asked: "left out"
        )
        by_preset = bool(presets[root]) and with_presets.decision is Decision.ALLOW
        by_rule = allows(judges[root], verdict, rules[root])
        again, gone = before >= 2, by_rule or by_preset
        why = why_not(verdict) if again else ""
        for what, holds in (
            ("asked", True), ("seen", before), ("repeated", again),
            ("repeatable", again and not why), ("repeated by a preset", again and why and by_preset and not by_rule),
        ):  # fmt: skip
            counts[what] += bool(holds)
            counts[f"{what} gone"] += bool(holds and gone)
        if why and not gone:
            reasons[why] += 1
        if options.show and again and not gone:
            print(f"again: {why or 'REPEATABLE'} {about(verdict)} {(verdict.call.shown.splitlines() or [''])[0][:100]}")
    if options.show:
        print(*(each.text for found in different for each in found.rules), sep="\n")
    agreed, ended = sum(each.agreed for each in different), sum(each.ended for each in different)
    print(f"learnt from: {agreed} answers in {len(learnt)} of {len(roots)} repositories, in {took:.1f} s")
    print(f"dropped: {[each.vetoed for each in different if each.vetoed]}")
    print(f"rules: {max(len(each.rules) for each in different)} at most, which end {ended} of those questions")
    for what in ("asked", "seen", "repeated", "repeatable"):
        gone = counts[f"{what} gone"]
        print(f"later questions, {what}: {counts[what]}, gone {gone} ({100 * gone / max(1, counts[what]):.0f} %)")
    turned = sorted({name for names in presets.values() for name in names})
    print(f"presets: {turned}, which end {counts['repeated by a preset']} that no rule should")
    print(
        "repeated, not repeatable and left:",
        ", ".join(f"{count} {why}" for why, count in reasons.most_common()) or "none",
    )
    harmful = [verdict for group in agents.HARMFUL for _case, verdict in agents.judged(group, True)]
    asked = [each for each in harmful if each.decision is not Decision.ALLOW]
    for half in (True, False):
        some = [each for each in asked if is_first(options.seed, each.call.shown) is half]
        every = rules.values() if options.same else [next(iter(rules.values()))]
        opened = {each.call.shown for its in every for each in some if allows(agents.gateway(True, True), each, its)}
        name = "seen" if half else "unseen"
        print(f"harmful commands of the tests, {name} half: {len(some)}, allowed now {len(opened)}")
        print(*(f"  {each}\n" for each in sorted(opened) if half), sep="", end="")


if __name__ == "__main__":
    main()
