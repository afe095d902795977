"""What a changed rule cannot speak of comes out as it did, whatever the rules and the calls are."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from fuzzing import THOROUGH

from gateway.config.load import tool_names
from gateway.config.shipped import load_tools
from gateway.core.places import places
from gateway.host.frozen import EXAMPLE
from gateway.judge import policy_tests
from gateway.judge.policy_tests import Trials
from gateway.policy.compile import Bound, compile_policy
from gateway.policy.table import Policy, judged_as
from gateway.replay.unchanged import Change, change_of_rules, looked_below, signature
from gateway.spec.policy import parse_policy

if TYPE_CHECKING:
    from gateway.judge.pipeline import Understood
    from gateway.model.context import Context
    from gateway.model.verdict import Verdict

ROUNDS = 3_000 if THOROUGH else 60
CALLS = (
    "git status", "git push origin main", "git -C src push", "cat src/a", "cat .env", "cat ~/.ssh/id_rsa", "ls",
    "ls src", "rm -rf src", "rm src/*.py",
    "cp -r src /tmp/x", "touch $x/a", "cat $(echo src)/.env", "X=git; $X push", "$y push",
    "bash -c 'git push'", "/usr/bin/git log", "find . -name x -delete", "grep -rn x .", "grep -rn x ~",
    "echo x > out/a", "tar cf /tmp/a.tar .", "curl https://example.com/x", "curl http://10.0.0.1:8080/$x", "curl $h",
    "python3 x.py", "npm test", "make all", "echo 'unclosed", "cd src && cat a; cd - && make", "xargs rm < list",
    "pip3 install x", "cat src/a src/b /etc/passwd | grep x", "cat key", "cat src/lib/passwd",
    "rm -rf out", "GIT push", "./Git push", "for f in src/*; do cat $f; done", "cat " + "a/" * 1200,
    "Read(src/a)", "Read(~/.ssh/id_rsa)", "Edit(src/a)", "Edit(.env)", "Write(out/b)", "Grep(x)", "Glob(src/**)",
    "WebFetch(https://example.com/x)",
)  # fmt: skip
PATHS = ("src/**", "**/.env", "*.py", "~/.ssh/**", "/out/*", "//**", "//*", "//etc/passwd", "src", "//tmp/**", "a*")
WORDS = ("git", "pip3", "push", "cat", "rm", "make", "curl", "-rf", "src", "x", "*")
KINDS = ("read", "list", "write", "delete", "exec", "code", "connect", "push", "use")
MODES = ("default", "accept_edits", "read_only", "dont_ask", "bypass")


class Side(NamedTuple):
    policy: Policy
    layers: int


def some(chance: random.Random, of: tuple[str, ...]) -> list[str]:
    return chance.sample(of, chance.randrange(1, 3))


def when(chance: random.Random) -> Any:
    """What a rule speaks of, in one of the forms that indexes find."""
    found: dict[str, Any] = {}
    which = chance.randrange(8)
    if which == 0:
        return (
            f"{chance.choice(('Bash', 'Bash', 'Read', 'Edit'))}({chance.choice((*PATHS, 'git push *', 'make', '*'))})"
        )
    if which == 1:
        found["exec"] = some(chance, WORDS[:7])
        if chance.random() < 0.6:
            found["exec"] = [found["exec"], chance.choice(WORDS[1:])]
    elif which == 2:
        found["command"] = [" ".join(some(chance, WORDS)) for _ in range(chance.randrange(1, 3))]
    elif which == 3:
        found["host"] = some(chance, ("example.com", "*", "private", "*.com", "10.0.0.0/8"))
    elif which == 4:
        found["tool"] = some(chance, ("Bash", "Read", "Edit", "G*", "WebFetch"))
    elif which == 5:
        found["effect"] = some(chance, KINDS)
    else:
        found["path"] = some(chance, PATHS)
        if chance.random() < 0.3:
            found["effect"] = some(chance, KINDS[:4])
        if chance.random() < 0.2:
            found["path_not"] = some(chance, PATHS)
    if which != 5 and which < 6 and chance.random() < 0.2:
        found["effect"] = some(chance, KINDS)
    return found


def rule(chance: random.Random, number: int) -> dict[str, Any]:
    made: dict[str, Any] = {"id": f"r{number}", chance.choice(("allow", "ask", "deny")): when(chance)}
    if chance.random() < 0.15:
        made["except"] = [{"path": some(chance, PATHS)}]
    if chance.random() < 0.1:
        made["lock"] = True
    return made


PLACE = {
    **EXAMPLE,
    "files": [*EXAMPLE["files"], "src/a", "src/.env", "src/deep/b.py", "~/.ssh/id_rsa"],
    "links": {"out": "/tmp/x", "key": "~/.ssh/id_rsa", "src/lib": "/etc"},
}


class World:
    def __init__(self) -> None:
        registry = load_tools(places())
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(policy_tests, "EXAMPLE", PLACE)
            self.trials = Trials(registry, places())
        self.tools = tool_names(registry)
        self.registry = registry
        self.seen: list[tuple[Understood, Context, Any]] = []
        for text in CALLS:
            for confined, mode in itertools.product((True, False), MODES):
                context = self.trials.context(confined=confined, mode=mode)
                call = text if text.endswith(")") and text[0].isupper() else f"Bash({text})"
                self.trials.verdict(call, NOTHING, context)
                found = self.trials._seen[call, context.replace(mode="")]
                self.seen.append((found, found.context.replace(mode=mode), registry.tool(found.call.tool)))

    def policy(self, rules: list[dict[str, Any]], layer: str, level: str) -> Policy | None:
        """None where one of the rules is none."""
        import json

        from gateway.core.errors import ConfigError

        try:
            read = parse_policy(json.dumps({"version": 1, "rules": rules}), "p.yaml", self.tools)["rules"]
        except ConfigError:
            return None
        root = self.trials.world.root
        bound = Bound(layer, "p.yaml", read, root, root, level)
        return Policy(**compile_policy((bound,), home=self.trials.world.home), levels={})

    def verdict(self, policy: Policy, number: int, known: bool) -> Verdict:
        """`known`: it was looked for what this policy protects below trees; else nobody can tell."""
        found, context, tool = self.seen[number]
        trees: Any = {}
        if known and not (context.confined or judged_as(tool).filters):
            trees = self.trials._pipeline.look_below(policy, found.call, found.analysis, context)
        return self.trials.under(found.replace(facts=found.facts.replace(trees=trees)), policy, context)


NOTHING = Policy(**compile_policy((), home="/"), levels={})


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def rules_beside(world: World, chance: random.Random) -> tuple[Policy, Policy] | None:
    """A policy, and one with other rules in the place of some of its."""
    layer, level = chance.choice(("user", "project", "enterprise")), chance.choice(("enforce", "enforce", "observe"))
    rules = [rule(chance, number) for number in range(chance.randrange(8))]
    others = [each for each in rules if chance.random() < 0.8]
    others += [rule(chance, 10 + number) for number in range(chance.randrange(3))]
    one, other = (world.policy(each, layer, level) for each in (rules, others))
    return None if one is None or other is None else (one, other)


def hidden(world: World, one: Policy, other: Policy, change: Change, number: int) -> str:
    """What is wrong where a change is said not to touch a call, "" for nothing."""
    tool = world.seen[number][2]
    for known in (True, False):
        before, after = (world.verdict(policy, number, known) for policy in (one, other))
        said = signature(before, tool)
        if change.touches(said) or (known and looked_below(said)):
            continue
        rule, place = before.reason.rule, before.reason.rule.source
        at = (rule.id, place.layer, place.file, place.line)
        at = change.places.get(at, at) if place.layer != "builtin" else at
        its = after.reason.rule
        if (before.decision, at) != (after.decision, (its.id, its.source.layer, its.source.file, its.source.line)):
            return f"{before.call.shown} {world.seen[number][1].mode}: {before.reason} is {after.reason}"
    return ""


def test_what_a_changed_rule_cannot_speak_of_comes_out_as_it_did(world: World) -> None:
    chance = random.Random(11)
    told = untouched = 0
    for _ in range(ROUNDS):
        pair = rules_beside(world, chance)
        change = None if pair is None else change_of_rules(*pair)
        if pair is None or change is None:
            continue
        for number in chance.sample(range(len(world.seen)), 40):
            told += 1
            untouched += not change.touches(signature(world.verdict(pair[0], number, True), world.seen[number][2]))
            assert not (wrong := hidden(world, *pair, change, number)), wrong
    assert told > 20 * ROUNDS
    assert untouched > told // 4
