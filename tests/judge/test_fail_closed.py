"""Where other gateways let calls through, and what this one does: the list of known ways to fail open, as one table.

Each row is a mistake, a fault or an attack that somewhere ended in "allowed". The details are tested beside the
modules; this page is for whoever wants to see them together.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.core.errors import CallError, ConfigError
from gateway.frontends.batch import Lines
from gateway.model.call import RawCall
from gateway.policy.table import LANE

if TYPE_CHECKING:
    from pathlib import Path

BROKEN: dict[str, dict[str, Any]] = {
    "a mode that is misspelt": {"settings": {"mode": "dontask"}},
    "a level that is misspelt": {"settings": {"levels": {"exceute": "deny"}}},
    "a verdict that is misspelt": {"settings": {"levels": {"execute": "dney"}}},
    "an unknown key": {"settings": {}, "denied": []},
    "an unknown lane": {"rules": [{"forbid": "Bash(rm *)"}]},
    "an unknown predicate": {"rules": [{"deny": {"efect": "write"}}]},
    "an unknown effect": {"rules": [{"deny": {"effect": "wirte"}}]},
    "an unknown tool": {"deny": ["Bsah(rm *)"]},
    "an unknown preset": {"extends": ["daliy"]},
    "an unknown requirement": {"rules": [{"require": {"confind": True}}]},
    "an empty list of approvers": {"settings": {"approvers": []}},
    "an empty list of effects": {"rules": [{"deny": {"effect": []}}]},
    "an empty list of paths": {"rules": [{"deny": {"path": []}}]},
    "an empty list of alternatives": {"rules": [{"deny": []}]},
    "an empty mapping": {"rules": [{"allow": {}}]},
    "an allow of circumstances only": {"rules": [{"allow": {"mode": "default"}}]},
    "a locked allow": {"rules": [{"allow": "Bash(ls *)", "lock": True}]},
    "a locked rule that is delegated": {
        "rules": [{"deny": "Bash(rm *)", "lock": True, "delegate": {"to": "user"}}]
    },
    "a rule with two lanes": {"rules": [{"allow": "Bash(ls)", "deny": "Bash(rm *)"}]},
    "a boolean that is text": {"rules": [{"deny": {"effect": "push", "force": "yes"}}]},
    "a date that is none": {"rules": [{"allow": "Bash(npm test)", "expires": "2027-02-30"}]},
    "a path rule of the wrong tool": {"deny": ["Write(src/**)"]},
    "a pattern that leaves its folder": {"deny": ["Read(../../x)"]},
    "an expression that never ends": {"rules": [{"deny": {"args": {"x": {"regex": "(a+)+b"}}}}]},
    "an example that does not hold": {"rules": [{"deny": "Bash(rm *)", "matches": ["ls"]}]},
}  # fmt: skip


@pytest.mark.parametrize("layer", ["enterprise", "user", "project", "local"])
@pytest.mark.parametrize("mistake", BROKEN)
def test_a_mistake_in_any_policy_file_decides_nothing_at_all(guard, layer: str, mistake: str) -> None:
    with pytest.raises(ConfigError):
        guard({layer: BROKEN[mistake]}, trusted=False)


# rules by layer, call, mode, decision
JUDGED: dict[str, tuple[dict[str, Any], RawCall | str, str, str]] = {
    "a deny that cannot be told does not let the call through": (
        {"user": [{"deny": {"effect": "connect", "host": "evil.test"}}, {"allow": "Bash(curl *)"}]},
        "curl $URL", "bypass", "ask",
    ),
    "a condition on an argument that is too long to be searched counts": (
        {"user": [{"deny": {"tool": "mcp__a__b", "args": {"x": {"regex": "secret"}}}}, {"allow": "mcp__a__b"}]},
        RawCall("mcp__a__b", {"x": "a" * 20_000}), "", "ask",
    ),
    "an argument of the wrong type does not satisfy an allow": (
        {"user": [{"allow": {"tool": "mcp__a__b", "args": {"n": {"lt": 10}}}}]},
        RawCall("mcp__a__b", {"n": "5"}), "", "ask",
    ),
    "a boolean is no number": (
        {"user": [{"allow": {"tool": "mcp__a__b", "args": {"n": {"lt": 10}}}}]},
        RawCall("mcp__a__b", {"n": True}), "", "ask",
    ),
    "an absent argument does not satisfy an allow": (
        {"user": [{"allow": {"tool": "mcp__a__b", "args": {"n": {"lt": 10}}}}]},
        RawCall("mcp__a__b", {}), "", "ask",
    ),
    "a demand that nobody can meet is a refusal": (
        {"enterprise": [{"require": {"network": "off"}}], "user": [{"allow": "Bash(curl *)"}]},
        "curl https://example.com/", "bypass", "deny",
    ),
    "a scoped allow beats no deny of an upper layer": (
        {"enterprise": [{"deny": "Bash(npm *)"}], "local": [{"allow": "Bash(npm test)"}]}, "npm test", "bypass", "deny",
    ),
    "an exception without delegation silences nothing": (
        {"enterprise": [{"id": "no", "deny": "Bash(npm *)"}], "user": [{"allow": "Bash(npm test)", "excepts": "no"}]},
        "npm test", "", "deny",
    ),
    "an exception of a project that nobody trusts silences nothing": (
        {
            "enterprise": [{"id": "no", "deny": "Bash(npm *)", "delegate": {"to": "project"}}],
            "project": [{"allow": "Bash(npm test)", "excepts": "no"}],
        },
        "npm test", "", "deny",
    ),
    "a delegation that is over silences nothing": (
        {
            "enterprise": [{"id": "no", "deny": "Bash(npm *)", "delegate": {"to": "user", "until": "2020-01-01"}}],
            "user": [{"allow": "Bash(npm test)", "excepts": "no"}],
        },
        "npm test", "", "deny",
    ),
    "a file outside of what was delegated stays denied": (
        {
            "enterprise": [
                {"id": "no", "deny": "Edit(src/**)", "delegate": {"to": "user", "within": {"path": "src/gen/**"}}}
            ],
            "user": [{"allow": "Edit(src/**)", "excepts": "no"}],
        },
        "echo x > src/gen/to-a", "", "deny",
    ),
    "a rule that is over allows nothing": (
        {"user": [{"allow": "Bash(npm test)", "expires": "1969-12-31"}]}, "npm test", "", "ask",
    ),
    "a question of the enterprise is asked in every mode": (
        {"enterprise": [{"ask": "Bash(npm *)"}], "user": [{"allow": "Bash(npm test)"}]}, "npm test", "bypass", "ask",
    ),
    "nobody is asked where nobody answers": (
        {"user": [{"ask": "Bash(ls *)"}]}, "ls src", "dont_ask", "deny",
    ),
    "no rule lifts the ceiling of a mode": (
        {"user": [{"allow": "Bash"}, {"allow": "Edit(//**)"}]}, "echo x > src/a.py", "plan", "deny",
    ),
    "a loop of links is not inside the workspace": ({}, "cat loop", "", "ask"),
    "what the server did not say of its tool is taken for the worst": (
        {"user": [{"deny": {"annotations": {"destructiveHint": True}}}, {"allow": "mcp__git__*"}]},
        RawCall("mcp__git__log", {}, server="git", annotations={"readOnlyHint": True}), "", "deny",
    ),
    "a tool that says it only reads is believed if the rule says so": (
        {"user": [{"allow": {"tool": "mcp__git__*", "server": "git", "annotations": {"readOnlyHint": True}}}]},
        RawCall("mcp__git__log", {}, server="git", annotations={"readOnlyHint": True}), "", "allow",
    ),
    "a server of another identity is not the one that was allowed": (
        {"user": [{"allow": {"tool": "mcp__git__*", "server": "git"}}]},
        RawCall("mcp__git__log", {}, server="https://evil.test/git"), "", "ask",
    ),
    "a server whose identity nobody told is not the one that was allowed": (
        {"user": [{"allow": {"tool": "mcp__git__*", "server": "git"}}]}, RawCall("mcp__git__log", {}), "", "ask",
    ),
    "a server whose identity nobody told may be the one that was denied": (
        {"user": [{"deny": {"server": "git"}}, {"allow": "mcp__git__*"}]}, RawCall("mcp__git__log", {}), "", "deny",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", JUDGED)
def test_no_doubt_ends_in_an_allow(guard, case: str) -> None:
    layers, call, mode, expected = JUDGED[case]
    raw = RawCall("Bash", {"command": call}) if isinstance(call, str) else call
    assert guard(layers, mode=mode, trusted=False).check(raw).decision.word == expected


def test_an_observed_exception_silences_nothing(guard, tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text("version: 1\nrules: [{allow: Bash(npm test), excepts: 'no'}]\n", "utf-8")
    layers = {
        "enterprise": [{"id": "no", "deny": "Bash(npm *)", "delegate": {"to": "user"}}],
        "user": {"extends": [{"file": str(tmp_path / "more.yaml"), "level": "observe"}]},
    }
    verdict = guard(layers).check(RawCall("Bash", {"command": "npm test"}))
    assert (verdict.decision.word, verdict.reason.rule.id) == ("deny", "no")


NO_CALLS: dict[str, RawCall] = {
    "an unknown tool": RawCall("Bsah", {"command": "ls"}),
    "a tool's name with a line end": RawCall("Bash\n", {"command": "ls"}),
    "an unknown field": RawCall("Bash", {"command": "ls", "comand": "rm -rf /"}),
    "a field of the wrong type": RawCall("Bash", {"command": ["ls"]}),
    "a missing field": RawCall("Bash", {}),
    "a NUL": RawCall("Bash", {"command": "ls \0"}),
    "half a character": RawCall("Read", {"file_path": "a\ud800"}),
    "a path that no system takes": RawCall("Read", {"file_path": "a/" * 3_000}),
}


@pytest.mark.parametrize("case", NO_CALLS)
def test_what_is_no_call_is_refused(guard, case: str) -> None:
    with pytest.raises(CallError):
        guard({"user": [{"allow": "Bash"}, {"allow": "Read"}]}, mode="bypass").check(NO_CALLS[case])


def test_a_fault_of_ours_is_a_refusal_and_the_next_call_is_judged(guard, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = guard({"user": [{"deny": "Bash(rm *)"}]})
    judge = Lines(gateway)
    line = json.dumps({"id": 1, "call": "Bash(ls)"}).encode()
    with monkeypatch.context() as patched:
        patched.setattr("gateway.judge.judge.decide", lambda *_arguments: 1 // 0)
        failed = json.loads(judge.answer(line) or "")
    assert (failed["decision"], failed["error"].startswith("internal error"), judge.status) == ("deny", True, 1)
    assert json.loads(judge.answer(line) or "")["decision"] == "allow"


def test_every_deny_of_the_built_in_policy_holds_in_bypass(guard) -> None:
    gateway = guard({"user": [{"allow": "Bash"}, {"allow": "Edit(//**)"}, {"allow": "Read(//**)"}]}, mode="bypass")
    policy = gateway.loaded.policy
    assert any(row[LANE] == "deny" for row in policy.rules)
    calls = ("rm -rf /", "rm -rf ~", "rm -rf .", "cat .env", "cat < .env", "echo x > .gateway/policy.yaml")
    decided = {call: gateway.check(RawCall("Bash", {"command": call})).decision.word for call in calls}
    assert decided == dict.fromkeys(calls, "deny")
