"""Rules in long form, turned into normal form."""

# ruff: noqa: E501  one rule a line

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import ConfigError
from gateway.spec.policy import parse_policy

NORMAL = {
    "derived": False, "column": 3, "because": "", "instead": "", "lock": False, "expires": "", "except": [],
    "delegate": None, "excepts": "", "require": None, "changes": "", "matches": [], "not_matches": [],
}  # fmt: skip


def rules_of(text, tools):
    return parse_policy(f"version: 1\n{text}", "p.yaml", tools)["rules"]


def when_of(predicates, tools, lane="deny"):
    return rules_of(f"rules:\n- {lane}: {predicates}\n", tools)[0]["when"]


def test_rules_of_every_kind_in_normal_form(tools):
    text = """\
allow: [Bash(npm run *)]
rules:
- id: no-force-push
  deny: {effect: push, force: true}
  because: |
    rewrites history
    that others have
  instead: push a new branch
  except: [{ref: "wip/*"}, Bash(git push *)]
  delegate: {to: project, until: 2027-01-01, within: {remote: origin}}
  matches: ["git push -f"]
  not_matches: git push
- id: two-ways
  ask: [Read(src/**), {exec: [npm, [install, i]], option_not: --ignore-scripts}]
  lock: true
- id: sandboxed
  require: {confined: true, network: off}
  for: [Bash, {effect: code}]
- id: ours
  allow: {tool: "mcp__github__*", server: github}
  excepts: no-servers
  expires: 2027-01-31T17:00Z
- id: everywhere
  require: {confined: true}
"""
    rules = rules_of(text, tools)
    assert json.loads(json.dumps(rules)) == rules
    assert rules == [
        {
            **NORMAL,
            "lane": "allow",
            "id": "allow-e38b4446",
            "derived": True,
            "line": 2,
            "column": 9,
            "text": "allow Bash(npm run *)",
            "when": {"command": ["npm run *"]},
        },
        {
            **NORMAL,
            "lane": "deny",
            "id": "no-force-push",
            "line": 4,
            "text": "deny {effect: push, force: true} except [{ref: wip/*}, Bash(git push *)]"
            " delegate {to: project, until: 2027-01-01, within: {remote: origin}}",
            "because": "rewrites history\nthat others have",
            "instead": "push a new branch",
            "when": {"effect": ["push"], "force": True},
            "except": [{"ref": ["wip/*"]}, {"command": ["git push *"]}],
            "delegate": {"to": "project", "until": "2027-01-01", "within": {"remote": ["origin"]}},
            "matches": ["git push -f"],
            "not_matches": ["git push"],
        },
        {
            **NORMAL,
            "lane": "ask",
            "id": "two-ways",
            "line": 14,
            "text": "ask [Read(src/**), {exec: [npm, [install, i]], option_not: --ignore-scripts}] lock true",
            "lock": True,
            "when": {
                "any": [
                    {"effect": ["list", "read", "write", "delete"], "path": ["src/**"]},
                    {"exec": [["npm"], ["install", "i"]], "option_not": ["--ignore-scripts"]},
                ]
            },
        },
        {
            **NORMAL,
            "lane": "require",
            "id": "sandboxed",
            "line": 17,
            "text": "require {confined: true, network: off} for [Bash, {effect: code}]",
            "require": {"confined": True, "network": "off"},
            "when": {"any": [{"tool": ["Bash"]}, {"effect": ["code"]}]},
        },
        {
            **NORMAL,
            "lane": "allow",
            "id": "ours",
            "line": 20,
            "text": "allow {tool: mcp__github__*, server: github} excepts no-servers expires 2027-01-31T17:00Z",
            "excepts": "no-servers",
            "expires": "2027-01-31T17:00Z",
            "when": {"tool": ["mcp__github__*"], "server": ["github"]},
        },
        {
            **NORMAL,
            "lane": "require",
            "id": "everywhere",
            "line": 24,
            "text": "require {confined: true}",
            "require": {"confined": True},
            "when": {},
        },
    ]


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("{tool: '*'}", {"tool": ["*"]}),
        ("{tool: [Task, Bash]}", {"tool": ["Agent", "Bash"]}),
        ("{effect: [read, read, list], path: [x, y]}", {"effect": ["read", "list"], "path": ["x", "y"]}),
        (
            "{effect: connect, host_not: '*.example.com', port: 443}",
            {"effect": ["connect"], "host_not": ["*.example.com"], "port": [443]},
        ),
        ("{direction: [send, listen], port: [80, 443]}", {"direction": ["send", "listen"], "port": [80, 443]}),
        ("{effect: connect, sends: '**/*.pem'}", {"effect": ["connect"], "sends": ["**/*.pem"]}),
        ("{exec: git push}", {"exec": [["git"], ["push"]]}),
        ("{exec: [[npm, pnpm], run]}", {"exec": [["npm", "pnpm"], ["run"]]}),
        ("{exec: git push, option: [-f, --force]}", {"exec": [["git"], ["push"]], "option": ["-f", "--force"]}),
        ("{command: ['npm:*', 'npm run *']}", {"command": ["npm *", "npm run *"]}),
        (
            "{remote: origin, ref: [main, 'release/*'], force: false}",
            {"remote": ["origin"], "ref": ["main", "release/*"], "force": False},
        ),
        ("{name: '*_TOKEN', access: read}", {"name": ["*_TOKEN"], "access": ["read"]}),
        (
            "{effect: process, action: signal, what: init}",
            {"effect": ["process"], "action": ["signal"], "what": ["init"]},
        ),
        ("{effect: credential, program: ssh}", {"effect": ["credential"], "program": ["ssh"]}),
        ("{agent: Explore, depth: 2}", {"agent": ["Explore"], "depth": {"equals": 2}}),
        ("{depth: {ge: 1, lt: 4}}", {"depth": {"ge": 1, "lt": 4}}),
        (
            "{mode: [plan, read_only], branch: main, cwd: sub/**, confined: false}",
            {"mode": ["plan", "read_only"], "branch": ["main"], "cwd": ["sub/**"], "confined": False},
        ),
        (
            "{time: {from: 22:00, to: 06:00, days: [sat, sun]}}",
            {"time": {"from": "22:00", "to": "06:00", "days": ["sat", "sun"]}},
        ),
        (
            "{annotations: {readOnlyHint: true, title: x}, server: git*}",
            {"annotations": {"readOnlyHint": True, "title": "x"}, "server": ["git*"]},
        ),
        ("{tool: Bash, args: {timeout: {gt: 60000}}}", {"tool": ["Bash"], "args": {"timeout": {"gt": 60000}}}),
        (
            "{args: {a: x*, b: 5, c: true, d: null, e: [p, 7]}}",
            {
                "args": {
                    "a": {"glob": "x*"},
                    "b": {"equals": 5},
                    "c": {"equals": True},
                    "d": {"equals": None},
                    "e": {"in": ["p", 7]},
                }
            },
        ),
        (
            "{args: {a.b.0: {absent: true}, c: {not: {equals: 'no'}}}}",
            {"args": {"a.b.0": {"absent": True}, "c": {"not": {"equals": "no"}}}},
        ),
        (
            "{args: {a: {type: string, regex: '^x+y$'}, b: {ge: 1.5, le: -3}}}",
            {"args": {"a": {"type": "string", "regex": "^x+y$"}, "b": {"ge": 1.5, "le": -3}}},
        ),
        ("{because: x}", None),
        ("[Bash(rm *), 'Bash(dd *)']", {"any": [{"command": ["rm *"]}, {"command": ["dd *"]}]}),
        (
            "['Courier(a:b)', Sleep]",
            {
                "any": [
                    {"tool": ["Courier"], "args": {"to": {"glob": "a:b"}}},
                    {"tool": ["Courier"], "args": {"a": {"glob": "b"}}},
                    {"tool": ["Sleep"]},
                ]
            },
        ),
        ("[Sleep]", {"tool": ["Sleep"]}),
    ],
)
def test_predicates_in_normal_form(tools, written, normal):
    if normal is None:
        with pytest.raises(Exception, match="rule must not have the key `because`"):
            when_of(written, tools)
    else:
        assert when_of(written, tools) == normal


def test_short_forms_mean_what_their_lane_says_and_exceptions_are_narrow(tools):
    text = "rules:\n- deny: Edit(src/**)\n  except: Edit(src/gen/**)\n- allow: Edit(src/**)\n- require: {confined: true}\n  for: Edit(src/**)\n"
    deny, allow, require = rules_of(text, tools)
    assert deny["when"] == {"effect": ["write", "delete"], "path": ["src/**"]}
    assert deny["except"] == [{"effect": ["list", "read", "write"], "path": ["src/gen/**"]}]
    assert allow["when"] == {"effect": ["list", "read", "write"], "path": ["src/**"]}
    assert require["when"] == {"effect": ["write", "delete"], "path": ["src/**"]}


RULES = (
    "- deny: Bash(rm *)", "- deny: {tool: Bash}", "- allow: Bash(ls)", "- ask: [Read(a), Read(b)]", "- require: {confined: true}",
    "- deny: Bash(dd *)\n  because: x", "- {id: mine, deny: Sleep}", "- deny: {effect: push}\n  lock: true", "- ask: Bash(ls)",
)  # fmt: skip


@given(order=st.permutations(RULES))
def test_derived_ids_do_not_depend_on_order_or_place(tools, order):
    expected = {rule["text"]: rule["id"] for rule in rules_of("rules:\n" + "\n".join(RULES), tools)}
    assert len(set(expected.values())) == len(RULES)
    assert {rule["text"]: rule["id"] for rule in rules_of("rules:\n\n" + "\n\n".join(order), tools)} == expected


def test_the_same_rule_again_gets_a_number_and_given_ids_stay(tools):
    text = "deny: [Sleep, Sleep, Sleep]\nrules:\n- {id: deny-3bdf3c9b-2, ask: Sleep}\n"
    name = rules_of("deny: [Sleep]", tools)[0]["id"]
    text = text.replace("deny-3bdf3c9b", name)
    assert [rule["id"] for rule in rules_of(text, tools)] == [name, f"{name}-3", f"{name}-4", f"{name}-2"]


def test_ten_thousand_rules_have_ids_of_their_own(tools):
    text = "deny:\n" + "".join(f"- Bash(x{number} *)\n" for number in range(10_000))
    assert len({rule["id"] for rule in rules_of(text, tools)}) == 10_000


@pytest.mark.parametrize(
    "rule",
    [
        "allow: {tool: Bash, args: {command: 'git *'}}",
        "allow: {args: {command: 'git *'}, effect: write}",
        "allow: {tool: Read, args: {file_path: 'src/*'}}",
        "allow: {tool: [Courier, Archive], args: {folder: {not: x}}}",
        "allow: [Bash(ls), {tool: Bash, args: {command: {regex: git}}}]",
        "{deny: Bash, except: [{tool: Bash, args: {command: 'git *'}}]}",
        "{deny: Bash(git *), delegate: {to: user, within: {args: {command: 'git *'}}}}",
    ],
)
def test_no_allow_tests_a_command_or_path_as_raw_text(tools, rule: str) -> None:
    with pytest.raises(ConfigError, match=r"allow rule must not test `[a-z_]+` as raw text"):
        rules_of(f"rules:\n- {rule}\n", tools)


@pytest.mark.parametrize(
    "rule",
    [
        "deny: {tool: Bash, args: {command: '*secret*'}}",
        "allow: {tool: Bash, args: {timeout: {lt: 60000}}}",
        "allow: {command: git *, args: {command: {not: '*;*'}}}",
        "allow: {tool: mcp__files__get, args: {path: 'docs/*'}}",
        "allow: {tool: WebFetch, args: {url: 'https://docs.example.com/*'}}",
        "allow: {tool: Agent, args: {subagent_type: Explore}}",
    ],
)
def test_other_fields_and_lanes_may(tools, rule: str) -> None:
    assert len(rules_of(f"rules:\n- {rule}\n", tools)) == 1


@pytest.mark.parametrize("pattern", ["a*a*a*a*a*b", ".*.*.*.*.*x", "(?:x|.*y.*z).*.*.*"])
def test_an_expression_that_goes_back_too_often_is_refused(tools, pattern: str) -> None:
    with pytest.raises(ConfigError, match="with fewer repetitions whose end is open"):
        rules_of(f"rules:\n- deny: {{tool: Bash, args: {{a: {{regex: '{pattern}'}}}}}}\n", tools)


def test_the_same_rule_again_and_again_is_named_in_linear_time(tools):
    found = rules_of("deny:\n" + "- Bash(rm *)\n" * 20_000, tools)
    names = [rule["id"] for rule in found]
    assert (names[1], names[-1], len(set(names))) == (f"{names[0]}-2", f"{names[0]}-20000", 20_000)
