"""What rules make of names on the disk while a call runs: which of them count, and for whom."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.call import RawCall
from gateway.policy.path_protection import FREE, PathRules, Standing, standing

ROOT = "/home/dev/project"
DENIED = Standing("r", "r", "r")
WRITES = Standing("", "r", "")


def rule(**more: Any) -> dict[str, Any]:
    return {"id": "r", "deny": {"effect": ["read", "write", "delete"], "path": ["src/**"], **more}}


# The rule, the call, its mode, and how `src/a.py` stands.
CASES: dict[str, tuple[dict[str, Any], str, str, Standing]] = {
    "a plain deny": (rule(), "ls", "", DENIED),
    "of reading alone": (rule(effect="read"), "ls", "", Standing("r")),
    "of writing alone": (rule(effect="write"), "ls", "", WRITES),
    "of deleting alone": (rule(effect="delete"), "ls", "", Standing("", "", "r")),
    "an ask counts too": ({"id": "r", "ask": rule()["deny"]}, "ls", "", DENIED),
    "an ask that the mode answers does not": ({"id": "r", "ask": rule()["deny"]}, "ls", "bypass", FREE),
    "but a locked one does": ({"id": "r", "ask": rule()["deny"], "lock": True}, "ls", "bypass", DENIED),
    "an allow lifts nothing and says nothing": ({"id": "r", "allow": rule()["deny"]}, "ls", "", FREE),
    "the same in another mode": (rule(mode="plan"), "ls", "", FREE),
    "in this mode": (rule(mode="plan"), "ls", "plan", DENIED),
    "of another agent": (rule(agent="Explore"), "ls", "", FREE),
    "of another tool": (rule(tool="Read"), "ls", "", FREE),
    "of a program that does not run": (rule(exec="rm"), "ls", "", FREE),
    "of a program that runs": (rule(exec="ls"), "ls", "", DENIED),
    "of a program that code may run": (rule(exec="rm"), "npm test", "", DENIED),
    "of a program, naming no path": ({"id": "r", "deny": {"effect": "delete", "exec": "rm"}}, "npm test", "", FREE),
    "of every path": ({"id": "r", "deny": {"effect": "write"}}, "npm test", "", WRITES),
    "an ask of every path": ({"id": "r", "ask": {"effect": "write"}}, "npm test", "", FREE),
    "of what a call names itself": (rule(named=True), "ls", "", FREE),
    "and not of it alone": (rule(named=False), "ls", "", DENIED),
    "of what lies elsewhere": ({"id": "r", "deny": {"effect": "write", "path_not": ["docs/**"]}}, "ls", "", WRITES),
    "a path that is excepted": ({**rule(), "except": [{"path": "src/*.py"}]}, "ls", "", FREE),
    "an exception for a mode": ({**rule(), "except": [{"mode": "plan"}]}, "ls", "plan", FREE),
    "an exception for another mode": ({**rule(), "except": [{"mode": "plan"}]}, "ls", "", DENIED),
    "an exception for a program": ({**rule(), "except": [{"exec": "ls"}]}, "ls", "", DENIED),
    "a rule that only takes note": (rule(), "observe", "", FREE),
    "one that is over": ({**rule(), "expires": "2001-01-01"}, "ls", "", FREE),
}


@pytest.mark.parametrize("name", CASES)
def test_a_name_stands_as_rules_that_count_have_it(guard, name: str) -> None:
    given, text, mode, expected = CASES[name]
    level = {"user": [given]}
    opened = guard(level, mode=mode)
    if text == "observe":
        policy = opened.loaded.policy
        rows = [[*row[:8], "observe", *row[9:]] for row in policy.rules]
        opened.loaded = opened.loaded.replace(policy=policy.replace(rules=rows))
        text = "ls"
    verdict = opened.check(RawCall("Bash", {"command": text}))
    found = PathRules(opened.loaded.policy).in_force(verdict.context, verdict).of(f"{ROOT}/src/a.py")
    assert found == expected


@pytest.mark.parametrize("name", CASES)
def test_of_the_names_in_a_folder_those_of_which_some_rule_speaks_are_told(guard, name: str) -> None:
    given, text, mode, expected = CASES[name]
    opened = guard({"user": [given]}, mode=mode)
    policy = opened.loaded.policy
    own = [number for number in policy.forbidding if policy.rule(policy.clauses[number][0]).id == "r"]
    rules = PathRules(policy.replace(forbidding=own))  # those that are built in speak of whatever lies in the workspace
    protection = rules.in_force(opened.context, opened.check(RawCall("Bash", {"command": text})))
    told = [set(protection.names(f"{ROOT}/{folder}", ["a.py", "b"])) for folder in ("src", "docs")]
    spoken = [
        {each for each in ("a.py", "b") if protection.of(f"{ROOT}/{folder}/{each}") != FREE}
        for folder in ("src", "docs")
    ]
    assert [here - all_told for here, all_told in zip(spoken, told, strict=True)] == [set(), set()]
    assert "a.py" in told[0] or expected == FREE or text == "observe"


def test_one_path_can_be_asked_about_by_itself(guard) -> None:
    opened = guard({"user": [rule(effect=["read", "delete"])]})
    asked = [standing(opened.loaded.policy, path, opened.context) for path in (f"{ROOT}/src/a.py", f"{ROOT}/x")]
    assert asked == [("r", "r"), ("", "")]


FOLDERS = {
    "a rule on whatever lies in a folder fixes it whole": (
        ["build/**"],
        [],
        Standing("", "", ""),
        Standing("", "r", "r"),
    ),
    "a rule on the folder too fixes it, too": (["build"], [], Standing("", "r", "r"), Standing("", "r", "r")),
    "a rule on the folder alone keeps it in its place": (["build"], ["build/**"], Standing("", "", "r"), FREE),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_stands_for_what_lies_in_it(guard, name: str) -> None:
    path, path_not, of_folder, of_inside = FOLDERS[name]
    when = {"effect": ["write", "delete"], "path": path, **({"path_not": path_not} if path_not else {})}
    opened = guard({"user": [{"id": "r", "deny": when}]})
    protection = PathRules(opened.loaded.policy).in_force(opened.context)
    found = protection.of_entry(f"{ROOT}/build", folder=True), protection.of_entry(f"{ROOT}/build/x", folder=True)
    assert found == (of_folder, of_inside)


def test_calls_in_which_the_same_rules_count_share_the_answer(guard) -> None:
    opened = guard({"user": [rule(exec="rm")]})
    rules = PathRules(opened.loaded.policy)
    one, two, three = (
        rules.in_force(verdict.context, verdict)
        for verdict in (
            opened.check(RawCall("Bash", {"command": text})) for text in ("ls", "cat README.md", "npm test")
        )
    )
    assert (one is two, one is three) == (True, False)
