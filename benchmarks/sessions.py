"""How often real sessions of agents are interrupted: their calls, judged in order as they ship, counted by session.

    python benchmarks/sessions.py FOLDER [--mode accept_edits] [--calls]

FOLDER holds files `*.jsonl`, one call a line: `session`, `cwd`, `tool`, `input`. A scratch repository stands for each
session's folder, in which environments of Python that a call makes, and files that a tool writes, stand from then on.
Every ask interrupts, and every refusal counts beside them; what pushes, sends, logs in, changes the
system or is protected is counted with its rule. Calls are judged and not run: `--calls` prints each that asks.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from gateway.calls import containing
from gateway.config.load import Options
from gateway.core.errors import CallError
from gateway.judge.judge import Judge
from gateway.model.call import RawCall

KEPT_APART = ("push", "send", "credential", "system", "locked")
ANSWERED = "with a terminal that answers"  # where somebody can be asked when a command has run
TOOLS = ("Bash", "Read", "Edit", "Write", "Grep", "Glob")


def calls_of(path: Path) -> dict[str, list[dict]]:
    """The calls of each session, in order."""
    found: dict[str, list[dict]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        call = json.loads(line)
        found.setdefault(call["session"], []).append(call)
    return found


def moved(value, old: str, new: str):
    """The same input with the session's folder elsewhere."""
    return {name: each.replace(old, new) if isinstance(each, str) else each for name, each in value.items()}


def cause(verdict) -> tuple[str, str]:
    """The kind of a question, and the rule or the kind of effect behind it."""
    rule, effect = verdict.reason.rule, verdict.analysis.items[verdict.reason.item].effect
    for outcome in verdict.outcomes:
        if outcome.decision is verdict.decision and outcome.reason.rule.lock:
            return "locked", outcome.reason.rule.id
    kinds = {verdict.analysis.items[each.reason.item].effect.kind for each in verdict.outcomes if each.decision > 0}
    sends = any(
        getattr(verdict.analysis.items[each.reason.item].effect, "direction", "") == "send"
        for each in verdict.outcomes
        if each.decision > 0
    )
    for kind in ("push", "credential", "system"):
        if kind in kinds:
            return kind, rule.id
    if sends:
        return "send", rule.id
    return effect.kind, rule.id if rule.lane != "mode" else "mode"


def left_behind(tool: str, given: dict, root: str) -> None:
    """What a call would have left in the session's folder that later calls speak of."""
    path = str(given.get("file_path", ""))
    if tool == "Write" and path.startswith(f"{root}/") and ".." not in path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(str(given.get("content", "")), encoding="utf-8")
    command = str(given.get("command", ""))
    gone = re.match(rf"cd ({re.escape(root)}/[A-Za-z0-9_./-]+) &&", command)
    folder = gone[1] if gone and ".." not in gone[1] else root
    for name in re.findall(r"python3? -m venv ([A-Za-z0-9_.-]+)", command):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{folder}/{name}"], check=False)


def judged(path: Path, mode: str, how: str, show: bool) -> tuple[int, int, int, Counter, Counter, list[str]]:
    """Sessions, calls, those whose changes a person sees afterwards, questions by cause, refusals by rule, and the
    calls that keep asking whatever holds them."""
    asks, denied, apart = Counter(), Counter(), []
    drafts = 0
    sessions = calls_of(path)
    total = 0
    top = tempfile.mkdtemp(prefix="sessions-", dir=os.path.expanduser("~"))
    try:
        for number, calls in enumerate(sessions.values()):
            root = f"{top}/{number}"
            subprocess.run(["git", "init", "-q", "-b", "main", root], check=True)
            judge = Judge(
                Options(cwd=root, root=root, mode=mode),
                contains=(lambda *_: "left out") if how == "not contained" else containing.cannot_contain,
            )
            context = judge.context.replace(reviewed=how == ANSWERED)
            for call in calls:
                if call["tool"] not in TOOLS:
                    continue
                total += 1
                given = moved(call["input"], call["cwd"].rstrip("/") or "/", root)
                try:
                    verdict = judge.check(RawCall(call["tool"], given), context)
                except CallError:
                    denied["invalid"] += 1
                    continue
                left_behind(call["tool"], given, root)
                drafts += verdict.drafts and verdict.changes == "ask"
                if verdict.decision.word == "ask":
                    kind, by = cause(verdict)
                    asks[kind, by] += 1
                    text = json.dumps(given)[:300]
                    if kind in KEPT_APART:
                        apart.append(f"{number} {kind} {by} {text.replace(top, '')}")
                    if show:
                        print(f"{kind:10} {by:28} {text}")
                elif verdict.decision.word == "deny":
                    denied[verdict.reason.rule.id] += 1
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return len(sessions), total, drafts, asks, denied, apart


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    options.add_argument("--mode", action="append")
    options.add_argument("--calls", action="store_true", help="print each call that asks")
    options.add_argument("--apart", type=Path, help="write the questions that must not fall here")
    given = options.parse_args()
    kept: list[str] = []
    for path in sorted(given.folder.glob("*.jsonl")):
        for mode in given.mode or ("default", "accept_edits"):
            for how in ("not contained", "contained", *((ANSWERED,) if mode == "default" else ())):
                count, total, drafts, asks, denied, apart = judged(
                    path, mode, how, given.calls and how != "not contained"
                )
                beside = sum(number for (kind, _by), number in asks.items() if kind in KEPT_APART)
                asked = sum(asks.values())
                print(
                    f"\n{path.stem}, {mode}, {how}: {count} sessions, "
                    f"{total} calls, {asked} ask ({100 * asked / total:.0f} %), {sum(denied.values())} refused; "
                    f"{(asked - beside) / count:.2f} interruptions a session, and {beside / count:.2f} beside them; "
                    f"{drafts / count:.2f} commands on layers, of which each turn shows what is left at most once"
                )
                for (kind, by), number in asks.most_common(14):
                    print(f"  {number:4} {kind:10} {by}")
                kept += [
                    f"{path.stem} {mode} {'before' if how == 'not contained' else 'after'} {each}" for each in apart
                ]
    if given.apart:
        given.apart.write_text("\n".join(kept) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
