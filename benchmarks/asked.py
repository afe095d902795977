"""What recorded calls are asked about, by cause, the most frequent first: where `docs/why-it-asks.md` comes from.

python benchmarks/asked.py FILE ...                # confined, under the shipped user policy
python benchmarks/asked.py --unconfined FILE ...   # for an agent that runs its commands itself
python benchmarks/asked.py --show 3 FILE ...       # with calls of each cause

A line of a FILE is a JSON object: `command` with a shell text, or `tool` and `input`; `cwd`, where it is given, is the
root of the repository that the call is judged in. Nothing is run, and no disk is looked at.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import json
import re
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.api.gateway import Gateway
from gateway.config.layers import PolicyFile
from gateway.config.load import Options, policy_from
from gateway.config.shipped import load_tools
from gateway.core.errors import GatewayError
from gateway.core.places import Places, packaged
from gateway.host.frozen import world
from gateway.judge.judge import nothing_contains
from gateway.judge.policy_tests import check_examples
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.verdict import Verdict

HOME = "/home/dev"
REMOTES = {"origin": "https://git.example.com/team/project.git"}
# What only this call names, in the words of `why`.
OWN = (
    (re.compile(r"^(option )?\S+ is not described$"), r"\1… is not described"),
    (re.compile(r"loads the module \S+"), "loads the module …"),
    (re.compile(r"runs the text of \S+"), "runs the text of …"),
    (re.compile(r"^\S+ runs text"), "… runs text"),
)


@functools.cache
def cache() -> str:
    """A folder for what is compiled once, which goes when the process ends."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return folder.name


@functools.cache
def judge(root: str, confined: bool) -> Gateway:
    """One for each repository: an empty one, of which nobody knows what git keeps, under `daily`. What is confined can
    be contained, too; nobody can be asked when a call has ended."""
    nowhere = "/nonexistent/gateway"
    where = Places(nowhere, nowhere, nowhere, cache(), HOME)
    builtin = Path(packaged("policies/builtin.yaml")).read_bytes()
    files = [
        PolicyFile("builtin", packaged("policies/builtin.yaml"), builtin, root, "/"),
        PolicyFile("user", "daily.yaml", b"{version: 1, extends: [daily]}", root, f"{HOME}/.config/gateway"),
    ]
    options = Options(root, root=root)
    here = world({"home": HOME, "root": root, "branch": "topic", "files": [".git/HEAD"], "remotes": REMOTES})
    return Gateway(
        options, where=where, confined=confined, host=here.host,
        environment={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        contains=(lambda *_asked: "") if confined else nothing_contains,
        loaded=policy_from(files, options, load_tools(where), HOME, trusted=True, fold=False, verify=check_examples),
    )  # fmt: skip


def calls(paths: list[str]) -> Iterator[tuple[str, RawCall]]:
    """The root and the call of each line."""
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            found = json.loads(line)
            tool, given = found.get("tool", "Bash"), found.get("input") or {"command": found.get("command", "")}
            yield found.get("cwd", f"{HOME}/project"), RawCall(tool, given)


def cause(verdict: Verdict) -> str:
    """The rule that asks, or the kind of what nothing covers, without the names that only this call has."""
    rule, item = verdict.reason.rule.id, verdict.reason.item
    if not rule.startswith("mode:") or item < 0:
        return f"rule {rule}"
    found: Any = verdict.analysis.items[item]
    effect = found.effect
    said = getattr(effect, "why", "")
    for names, instead in OWN:
        said = names.sub(instead, said)
    if effect.kind == "connect":
        said = effect.direction
    elif effect.kind in ("read", "list", "write", "delete"):
        inside = effect.path.startswith(verdict.context.root + "/") or effect.path == verdict.context.root
        said = "inside the workspace" if inside else "elsewhere" if "\0" not in effect.path else "unknown"
    return f"{effect.kind}: {said}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unconfined", action="store_true", help="as for an agent that runs its commands itself")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="calls to print below each cause")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    decided: Counter[str] = Counter()
    causes: dict[str, list[str]] = defaultdict(list)
    for root, raw in calls(options.files):
        try:
            verdict = judge(root, not options.unconfined).check(raw)
        except GatewayError:
            decided["not a call"] += 1
            continue
        decided[verdict.decision.word] += 1
        if verdict.decision.word != "allow":
            causes[f"{verdict.decision.word} {cause(verdict)}"].append(verdict.call.shown)
    print(", ".join(f"{word} {count}" for word, count in decided.most_common()))
    total = sum(decided.values())
    for why, found in sorted(causes.items(), key=lambda each: -len(each[1])):
        print(f"{len(found):6} {100 * len(found) / total:5.1f} %  {why}")
        for text in found[: options.show]:
            print(f"{'':17}{text.splitlines()[0][:140] if text else ''}")


if __name__ == "__main__":
    main()
