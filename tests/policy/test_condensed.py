"""The JSON of a verdict in short: everything that decides, and no text twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.model.analysis import Analysis
from gateway.model.call import Call
from gateway.model.command import Part
from gateway.model.context import Context
from gateway.model.decision import Decision
from gateway.model.effect import Connect, Exec, Item, Push, Touch, Use
from gateway.model.facts import Facts
from gateway.model.rule import Rule, Source
from gateway.model.verdict import Outcome, Reason, Verdict
from gateway.policy.condensed import MAX_RULE, MAX_TARGET, condensed
from gateway.policy.confine import Enforced
from gateway.policy.explain import explain
from gateway.policy.table import mode_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = "git push --force origin feature/a-branch-with-a-long-name"
SPAN = (0, len(TEXT))
FORCE = Rule(
    "no-force-push", "deny", Source("user", "user.yaml", 12, 3),
    f"deny [{{effect: push, force: true}}, {', '.join(f'Bash(git push {n})' for n in range(50))}]",
    "rewrites history that others have", "push a new branch",
)  # fmt: skip
GIT = Rule("allow-git", "allow", Source("project", "project.yaml", 3, 3), "allow Bash(git *) and all that it does")
PART = Part(tuple(TEXT.split()), *SPAN, "git", ("push",), (), frozenset({"--force"}), True, True, True, True)
ITEMS = (
    Item(Use("Bash")),
    Item(Exec("git", PART.argv), *SPAN, 0),
    Item(Push("origin", "feature/a-branch-with-a-long-name", True), *SPAN, 0),
    Item(Connect("github.com", 22, "send"), *SPAN, 0),
)


def verdict() -> Verdict:
    deciding = Reason(FORCE, Decision.DENY, 2)
    outcomes = (Outcome(Decision.DENY, deciding), Outcome(Decision.ASK, Reason(mode_rule("default"), Decision.ASK, 3)))
    lost = (Reason(GIT, Decision.ALLOW, 2), Reason(GIT, Decision.ALLOW, 3))
    noted = (Reason(GIT.replace(id="watch", level="observe"), Decision.ALLOW, 3),)
    return Verdict(
        Decision.DENY, deciding, outcomes, lost, noted, Call("Bash", {"command": TEXT}, TEXT),
        Analysis((PART,), ITEMS), Context("/w", "/w", "/home/dev", ("/w",)), Facts(),
    )  # fmt: skip


def test_it_says_what_decides_and_leaves_the_rest_to_be_asked_for() -> None:
    force = {"id": "no-force-push", "layer": "user", "file": "user.yaml", "line": 12}
    git = {"id": "allow-git", "layer": "project", "file": "project.yaml", "line": 3, "decision": "allow"}
    found = condensed(explain(verdict(), elapsed_us=7))
    rule_text = found["rule"].pop("text")
    assert (len(rule_text), rule_text[:40], "…" in rule_text) == (MAX_RULE, FORCE.text[:40], True)
    assert found == {
        "tool": "Bash",
        "input": {"command": TEXT},
        "decision": "deny",
        "reason": "rule",
        "message": f"`{TEXT}` was refused by rule `no-force-push`: rewrites history that others have."
        " Instead: push a new branch.",
        "rule": force,
        "matched": [
            {**force, "decision": "deny", "span": [*SPAN], "note": "", "lost": None, "effects": [0]},
            {
                **git, "span": [*SPAN], "note": "", "lost": "allow is weaker than deny, by `no-force-push`",
                "effects": [0, 1],
            },
        ],
        "effects": [
            {
                "kind": "push", "target": "origin feature/a-branch-with-a-long-name (force)", "span": [*SPAN],
                "decision": "deny", "rule": "no-force-push",
            },
            {
                "kind": "connect", "target": "github.com:22", "span": [*SPAN], "known": True, "direction": "send",
                "decision": "ask", "rule": "mode:default",
            },
        ],
        "classes": [],
        "changes": "none",
        "confinement": {"kind": "not_run", "network": "off", "text": "not run"},
        "elapsed_us": 7,
        "normalised": [],
        "noted": [{**git, "id": "watch", "span": [*SPAN], "note": "", "lost": None, "effects": [1]}],
        "cwd": "/w",
        "mode": "default",
    }  # fmt: skip


def test_an_effect_that_only_carries_others_stands_there_where_a_rule_speaks_of_it() -> None:
    starts = Reason(FORCE, Decision.DENY, 1)
    found = condensed(explain(verdict().replace(reason=starts, outcomes=(Outcome(Decision.DENY, starts),))))
    assert [(each["kind"], each.get("rule")) for each in found["effects"]] == [
        ("exec", "no-force-push"),
        ("push", None),
        ("connect", None),
    ]
    assert [(each["id"], each["effects"]) for each in found["matched"]] == [
        ("no-force-push", [0]),
        ("allow-git", [1, 2]),
    ]


CONFINED: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["kind", "network", "text"]),
    ({"hosts": ["a.test"]}, ["kind", "network", "text", "hosts"]),
    ({"unenforced": ["x"], "demands": {"network": "off"}}, ["kind", "network", "text", "demands", "unenforced"]),
    ({"plan": None}, ["kind", "network", "text", "plan"]),
    ({"plan": {"mounts": []}}, ["kind", "network", "text", "plan"]),
]


@pytest.mark.parametrize(("more", "keys"), CONFINED, ids=lambda each: " ".join(each))
def test_the_confinement_is_one_line_and_what_is_not_usual(more: dict[str, Any], keys: list[str]) -> None:
    found = explain(verdict())
    found["confinement"] |= {"reads": ["/a"], "writes": ["/b"], "hidden": ["rule"], **more}
    assert list(condensed(found)["confinement"]) == keys


def test_a_target_keeps_its_ends() -> None:
    found = explain(
        verdict().replace(analysis=Analysis((PART,), (*ITEMS[:3], Item(Touch("write", "/w/" + "x" * 9000)))))
    )
    target = condensed(found)["effects"][1]["target"]
    assert (len(target), target[:4], target[-1]) == (MAX_TARGET, "/w/x", "x")


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def test_no_text_stands_in_it_twice() -> None:
    before = explain(verdict(), enforced=Enforced(("rule",)))
    found = condensed(before)
    long = [each for each in texts(found) if len(each) > 40]
    assert ([each for each in long if long.count(each) > 1], found["decision"]) == ([], before["decision"])
    assert [each for each in texts(before) if each == FORCE.text] == [FORCE.text] * 2
    assert len(json.dumps(found)) < len(json.dumps(before)) / 2
