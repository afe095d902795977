"""Policy files: what is accepted, and every complaint word for word."""

# ruff: noqa: E501  one mistake a line

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import ConfigError
from gateway.policy.predicates import PREDICATES
from gateway.spec.policy import parse_policy


def complaints_of(text, tools):
    with pytest.raises(ConfigError) as caught:
        parse_policy(text, "p.yaml", tools)
    assert {problem.file for problem in caught.value.problems} == {"p.yaml"}
    return [(problem.line, problem.column, problem.message, problem.remedy) for problem in caught.value.problems]


def test_a_whole_file_in_plain_data(tools):
    text = """\
version: 1
extends: [guard, {preset: daily, without: [a-rule]}, {file: ../team.yaml, level: observe}]
tools: [CodeSearch, Foreign.Tool]
settings:
  mode: accept_edits
  levels: {read: allow, network: deny}
  sandbox: {write: ./build, hosts: [pypi.org, '*.pythonhosted.org'], network: off, env: [LANG, LC_*], set: {CI: ''}}
  limits: {seconds: 600, memory_mb: 2048}
  approvers: [console, refuse]
  workspace: [../shared]
  lock: [mode, sandbox]
  bounds: {mode: [default, plan]}
  pause: false
deny: [CodeSearch, Read(secrets/**)]
tests:
- {call: Bash(rm -rf x), expect: ask, mode: plan, cwd: sub, unconfined: true}
- id: by-input
  tool: Bash
  input: {command: git push, timeout: 5, deep: [true, null, 'no']}
  expect: deny
  rule: no-push
"""
    found = parse_policy(text, "p.yaml", tools)
    rules = found.pop("rules")
    assert [(rule["lane"], rule["when"], rule["line"]) for rule in rules] == [
        ("deny", {"tool": ["CodeSearch"]}, 14),
        ("deny", {"effect": ["list", "read", "write", "delete"], "path": ["secrets/**"]}, 14),
    ]
    assert found == {
        "version": 1,
        "extends": [
            {"preset": "guard", "level": "enforce", "without": [], "line": 2},
            {"preset": "daily", "level": "enforce", "without": ["a-rule"], "line": 2},
            {"file": "../team.yaml", "level": "observe", "without": [], "line": 2},
        ],
        "settings": {
            "mode": "accept_edits",
            "levels": {"read": "allow", "network": "deny"},
            "sandbox": {
                "write": ["./build"],
                "hosts": ["pypi.org", "*.pythonhosted.org"],
                "network": "off",
                "env": ["LANG", "LC_*"],
                "set": {"CI": ""},
            },
            "limits": {"seconds": 600, "memory_mb": 2048},
            "approvers": ["console", "refuse"],
            "workspace": ["../shared"],
            "lock": ["mode", "sandbox"],
            "bounds": {"mode": ["default", "plan"]},
            "pause": False,
        },
        "hooks": [],
        "tests": [
            {"line": 16, "call": "Bash(rm -rf x)", "expect": "ask", "mode": "plan", "cwd": "sub", "unconfined": True},
            {
                "line": 17,
                "id": "by-input",
                "tool": "Bash",
                "input": {"command": "git push", "timeout": 5, "deep": [True, None, "no"]},
                "expect": "deny",
                "rule": "no-push",
            },
        ],
        "tools": ["CodeSearch", "Foreign.Tool"],
    }


def test_an_empty_policy_says_its_version_at_least(tools):
    assert parse_policy(b"version: 1", "p.yaml", tools) == {
        "version": 1,
        "extends": [],
        "settings": {},
        "rules": [],
        "hooks": [],
        "tests": [],
        "tools": [],
    }


_FIRST, _LAST = list(PREDICATES)[:-1], list(PREDICATES)[-1]
PREDICATE_KEYS = f"known are {', '.join(f'`{each}`' for each in _FIRST)} or `{_LAST}`"
KINDS = (
    "known are `use`, `exec`, `code`, `opaque`, `list`, `read`, `write`, `delete`, `connect`, `push`, `credential`, `env`, "
    "`process`, `system` or `session`"
)
DATE = "must be a date as `2027-01-31` or a time as `2027-01-31T17:00Z`"
ID = "must be lower-case letters, digits and dashes, with a letter or digit first"

FILES = [
    ("", 1, 1, "policy must be a mapping (got nothing)", "begin the file with `version: 1`"),
    ("- Bash", 1, 1, "policy must be a mapping (got a list)", "begin the file with `version: 1`"),
    ("allow: []", 1, 1, "policy must have the key `version`", "begin the file with `version: 1`"),
    ("version: 2", 1, 10, "`version` must be 1", ""),
    ("version: true", 1, 10, "`version` must be 1", ""),
    ("version: '1'", 1, 10, "`version` must be 1", "a number, without quotes: `version: 1`"),
]

# What follows `version: 1` on line 1.
SECTIONS = [
    ("rule: []", 2, 1, "policy must have known keys only", "did you mean `rules`?"),
    ("permissions: {}", 2, 1, "policy must have known keys only", "known are `version`, `extends`, `settings`, `tools`, `allow`, `ask`, `deny`, `rules`, `hooks` or `tests`"),
    ("rules: x", 2, 8, "`rules` must be a list (got `x`)", ""),
    ("rules: [Bash]", 2, 9, "rule must be a mapping (got `Bash`)", "write `- deny: …`, `- ask: …`, `- allow: …` or `- require: …`"),
    ("deny: Bash(rm *)", 2, 7, "`deny` must be a list (got `Bash(rm *)`)", ""),
    ("deny: [{effect: push}]", 2, 8, "entry of `deny` must be `Tool(…)` (got a mapping)", "put the long form under `rules:` as `- deny: …`"),
    ("deny: [Bash(echo a, Sleep]", 2, 8, "rule must end with `)` (got `Bash(echo a`)", "put the rule in quotes if it holds `, ` or ` #`"),
    ("deny:\n- Bsh(rm *)", 3, 3, "tool must be a known one (got `Bsh`)", "did you mean `Bash`?"),
    ("allow:\n- WebFetch(domain: x)", 3, 3, "entry of `allow` must be `Tool(…)` (got a mapping)", "put the long form under `rules:` as `- allow: …`"),
    ("tools: [a b]", 2, 8, "entry of `tools` must be a tool's name (got `a b`)", ""),
    ("extends: ./team.yaml", 2, 10, "entry of `extends` must be a preset's name (got `./team.yaml`)", "write `{file: ./team.yaml}`"),
    ("extends: [5]", 2, 11, "entry of `extends` must be text (got `5`)", "put it in quotes"),
    ("extends: [{level: warn}]", 2, 11, "entry of `extends` must have either `preset` or `file`", ""),
    ("extends: [{preset: guard, level: off}]", 2, 34, "`level` must be `enforce`, `warn` or `observe` (got `off`)", ""),
    ("extends: [{preset: guard, witout: [x]}]", 2, 27, "entry of `extends` must not have the key `witout`", "did you mean `without`?"),
    ("extends: [{preset: guard, without: [No_Push]}]", 2, 37, "entry of `without` must be a rule's id (got `No_Push`)", ""),
    ("settings: {mode: strict}", 2, 18, "`mode` must be `default`, `accept_edits`, `plan`, `read_only`, `auto`, `dont_ask` or `bypass` (got `strict`)", ""),
    ("settings: {mode: acceptEdits}", 2, 18, "`mode` must be `default`, `accept_edits`, `plan`, `read_only`, `auto`, `dont_ask` or `bypass` (got `acceptEdits`)", "did you mean `accept_edits`?"),
    ("settings: {levels: {read: maybe}}", 2, 27, "`read` must be `allow`, `ask` or `deny` (got `maybe`)", ""),
    ("settings: {pause: no}", 2, 19, "`pause` must be true or false (got `no`)", "write `false`, without quotes"),
    ("settings: {pause: 'true'}", 2, 19, "`pause` must be true or false (got `true`)", "write `true`, without quotes"),
    ("settings: {limits: {seconds: 1e3}}", 2, 30, "`seconds` must be an integer from 1 to 1000000000 (got `1e3`)", "write it in plain decimal digits, without quotes"),
    ("settings: {limits: {second: 5}}", 2, 21, "`limits` must not have the key `second`", "did you mean `seconds`?"),
    ("settings: {sandbox: {network: no}}", 2, 31, "`network` must be `off`, `listed` or `open` (got `no`)", ""),
    ("settings: {lock: [modes]}", 2, 19, "`lock` must be a known word (got `modes`)", "did you mean `mode`?"),
    ("settings: {bounds: {levels: x}}", 2, 21, "`bounds` must not have the key `levels`", "known are `mode`"),
    ("tests: [{call: Bash(ls)}]", 2, 9, "test must have the key `expect`", "write `expect: allow`, `ask` or `deny`"),
    ("tests: [{tool: Bash, expect: ask}]", 2, 9, "test must have either `call`, or `tool` and `input`", ""),
    ("tests: [{call: Bash(ls), expect: maybe}]", 2, 34, "`expect` must be `allow`, `ask` or `deny` (got `maybe`)", ""),
    ("tests: [{tool: Bash, input: {a: no}, expect: ask}]", 2, 33, "`input` must be unmistakable (got `no`)", "write `false` for a boolean, quotes around it for a text"),
    ("tests:\n- {id: a, call: x, expect: ask}\n- {id: a, call: y, expect: ask}", 4, 8, "`id` must be unique among tests (got `a`, first on line 3)", ""),
]  # fmt: skip

# What follows `rules:` and `- ` on line 3.
RULES = [
    ("id: x", 3, 3, "rule must have one of `deny`, `ask`, `allow` or `require` (got none)", ""),
    ("{deny: Bash, allow: Bash}", 3, 3, "rule must have one of `deny`, `ask`, `allow` or `require` (got `deny` and `allow`)", ""),
    ("{deny: Bash, becuase: x}", 3, 16, "rule must not have the key `becuase`", "did you mean `because`?"),
    ("{deny: Bash, path: x}", 3, 16, "rule must not have the key `path`", "put it into the rule: `deny: {path: …}`"),
    ("{deny: 5}", 3, 10, "rule must be `Tool(…)` or a mapping of predicates (got `5`)", ""),
    ("{deny: {}}", 3, 10, "rule must say what it matches (got an empty mapping)", 'to match every call write `{tool: "*"}`'),
    ("{deny: []}", 3, 10, "rule must say what it matches (got an empty list)", ""),
    ("{allow: {}}", 3, 11, "rule must say what it matches (got an empty mapping)", ""),
    ("{allow: {mode: plan}}", 3, 11, "allow rule must say what it allows (got only `mode`)", "add `tool`, `effect`, `command`, `exec`, `path` or `host`"),
    ("{allow: {args: {a: b}, confined: true}}", 3, 11, "allow rule must say what it allows (got only `args`, `confined`)", "add `tool`, `effect`, `command`, `exec`, `path` or `host`"),
    ("{allow: {tool: '*'}}", 3, 18, "tool name must be spelled out in an allow rule (got `*`)", "only after a literal `mcp__<server>__` may it hold a `*`"),
    ("{allow: Bash, lock: true}", 3, 17, "`lock` must stand beside `deny` or `ask` (got `allow`)", "an upper layer's allow cannot be taken away; lock the deny or ask rule"),
    ("{allow: Bash, except: Bash(rm)}", 3, 17, "`except` must stand beside `deny`, `ask` or `require` (got `allow`)", "write a deny or ask rule for what is excepted"),
    ("{deny: Bash, excepts: x}", 3, 16, "`excepts` must stand beside `allow` (got `deny`)", ""),
    ("{allow: Bash, delegate: {to: project}}", 3, 17, "`delegate` must stand beside `deny` or `ask` (got `allow`)", ""),
    ("{deny: Bash, for: Bash}", 3, 16, "`for` must stand beside `require` (got `deny`)", ""),
    ("{deny: Bash, lock: yes}", 3, 22, "`lock` must be true or false (got `yes`)", "write `true`, without quotes"),
    ("{deny: Bash, lock: true, delegate: {to: user}}", 3, 28, "`delegate` must not stand beside `lock: true`", "remove one of them"),
    ("{deny: Bash, delegate: {until: 2027-01-01}}", 3, 26, "`delegate` must have the key `to`", "name the layer: `enterprise`, `user`, `project` or `local`"),
    ("{deny: Bash, delegate: {to: projects}}", 3, 31, "`to` must be `enterprise`, `user`, `project` or `local` (got `projects`)", "did you mean `project`?"),
    ("{deny: Bash, delegate: {to: user, within: {}}}", 3, 45, "`within` must not be empty", ""),
    ("{deny: Bash, except: [{}]}", 3, 24, "`except` must say what it matches (got an empty mapping)", ""),
    ("{require: {}}", 3, 13, "`require` must not be empty", ""),
    ("{require: {network: no}}", 3, 23, "`network` must be `off` (got `no`)", ""),
    ("{require: {sandbox: true}}", 3, 14, "`require` must not have the key `sandbox`", "known are `confined`, `contained`, `network` or `changes`"),
    ("{id: No_Push, deny: Bash}", 3, 8, f"`id` {ID} (got `No_Push`)", "write `no-push`"),
    ("{id: 5, deny: Bash}", 3, 8, f"`id` {ID} (got `5`)", "put it in quotes"),
    ("{id: x, deny: Bash}\n- {id: x, ask: Bash}", 4, 8, "`id` must be unique in the file (got `x`, first on line 3)", ""),
    ("{deny: Bash, expires: tomorrow}", 3, 25, f"`expires` {DATE} (got `tomorrow`)", ""),
    ("{deny: Bash, expires: 20270131}", 3, 25, f"`expires` {DATE} (got `20270131`)", ""),
    ("{deny: Bash, expires: 2027-02-30}", 3, 25, "`expires` must be a real date (got `2027-02-30`: day is out of range for month)", ""),
    ("{deny: Bash, because: [x]}", 3, 25, "`because` must be text (got a list)", ""),
    ("{deny: Bash, because: }", 3, 25, "`because` must not be empty", ""),
    ("{deny: Bash, because: 5}", 3, 25, "`because` must be text (got `5`)", "put it in quotes"),
    ("{deny: Bash, matches: [{a: b}]}", 3, 26, "each entry of `matches` must be text (got a mapping)", ""),
    ("{deny: {efect: push}}", 3, 11, "rule must not have the key `efect`", "did you mean `effect`?"),
    ("{deny: {zzzzz: push}}", 3, 11, "rule must not have the key `zzzzz`", PREDICATE_KEYS),
    ("{deny: {effect: pusch}}", 3, 19, "`effect` must be a known word (got `pusch`)", "did you mean `push`?"),
    ("{deny: {effect: rename}}", 3, 19, "`effect` must be a known word (got `rename`)", KINDS),
    ("{deny: {effect: []}}", 3, 19, "`effect` must not be empty", ""),
    ("{deny: {effect: push, force: on}}", 3, 32, "`force` must be true or false (got `on`)", "write `true`, without quotes"),
    ("{deny: {direction: out}}", 3, 22, "`direction` must be `fetch`, `send` or `listen` (got `out`)", ""),
    ("{deny: {path: 5}}", 3, 17, "`path` must be text (got `5`)", "put it in quotes"),
    ("{deny: {path: [a, '']}}", 3, 21, "each entry of `path` must not be empty", ""),
    ("{deny: {path: {a: b}}}", 3, 17, "`path` must be text or a list of texts (got a mapping)", ""),
    ("{deny: {host: 10.1.0.0/8}}", 3, 17, "`host` must be a network with nothing behind its bits (got `10.1.0.0/8`)", "write it as `10.0.0.0/8` or `fd00::/8`"),
    ("{deny: {host: https://x.org/y}}", 3, 17, "`host` must be a host name without scheme, path or blanks (got `https://x.org/y`)", "write `x.org`"),
    ("{deny: {port: 70000}}", 3, 17, "`port` must be an integer from 1 to 65535 (got `70000`)", ""),
    ("{deny: {port: [80, '443']}}", 3, 22, "`port` must be an integer from 1 to 65535 (got `443`)", "write it in plain decimal digits, without quotes"),
    ("{deny: {tool: Bsh}}", 3, 17, "tool must be a known one (got `Bsh`)", "did you mean `Bash`?"),
    ("{deny: {tool: Bash(rm *)}}", 3, 17, "`tool` must be a tool's name (got `Bash(rm *)`)", "write the short form as the rule itself: `deny: Bash(rm *)`"),
    ("{deny: {command: '*'}}", 3, 20, "`command` must name a command (got `*`)", "write `deny: Bash` for every command"),
    ("{deny: {exec: [git push]}}", 3, 18, "each entry of `exec` must be one word (got `git push`)", "write `[git, push]`"),
    ("{deny: {option: --depth=1}}", 3, 19, "`option` must be an option's name without value (got `--depth=1`)", "write `--depth`"),
    ("{deny: {mode: plann}}", 3, 17, "`mode` must be `default`, `accept_edits`, `plan`, `read_only`, `auto`, `dont_ask` or `bypass` (got `plann`)", "did you mean `plan`?"),
    ("{deny: {depth: -1}}", 3, 18, "`depth` must be an integer of at least 0 (got `-1`)", ""),
    ("{deny: {depth: {over: 1}}}", 3, 19, "`depth` must not have the key `over`", "known are `lt`, `le`, `gt`, `ge` or `equals`"),
    ("{deny: {time: {from: 9:00}}}", 3, 24, "`from` must be a time of day as `HH:MM` (got `9:00`)", ""),
    ("{deny: {time: {days: [monday]}}}", 3, 25, "`days` must be `mon`, `tue`, `wed`, `thu`, `fri`, `sat` or `sun` (got `monday`)", ""),
    ("{deny: {time: {zone: UTC}}}", 3, 18, "`time` must not have the key `zone`", "known are `from`, `to` or `days`"),
    ("{deny: {annotations: {a: [b]}}}", 3, 28, "`a` must be a single value (got a list)", ""),
    ("{deny: {annotations: {readOnlyHint: yes}}}", 3, 39, "`readOnlyHint` must be unmistakable (got `yes`)", "write `true` for a boolean, quotes around it for a text"),
    ("{deny: {args: {a: ~}}}", 3, 21, "`a` must be unmistakable (got `~`)", "write `null` for nothing, quotes around it for a text"),
    ("{deny: {args: {a: 0x1f}}}", 3, 21, "`a` must be unmistakable (got `0x1f`)", "write plain decimal digits for an integer, quotes around it for a text"),
    ("{deny: {args: {a..b: x}}}", 3, 18, "field of `args` must be names with dots between them (got `a..b`)", ""),
    ("{deny: {args: {a: {}}}}", 3, 21, "test of `a` must not be empty", ""),
    ("{deny: {args: {a: {gtt: 5}}}}", 3, 22, "test of `a` must not have the key `gtt`", "did you mean `gt`?"),
    ("{deny: {args: {a: {gt: '5'}}}}", 3, 26, "`gt` must be a number (got `5`)", "write it in plain decimal digits, without quotes"),
    ("{deny: {args: {a: {type: text}}}}", 3, 28, "`type` must be `string`, `integer`, `number`, `boolean`, `array`, `object` or `null` (got `text`)", ""),
    ("{deny: {args: {a: {absent: true, glob: x}}}}", 3, 22, "`absent` must stand alone in its test (got 2 tests of `a`)", ""),
    ("{deny: {args: {a: {regex: '(a'}}}}", 3, 29, "`regex` must be a regular expression, missing ), unterminated subpattern at position 0 (got `(a`)", ""),
    ("{deny: {args: {a: {regex: '(a+)+$'}}}}", 3, 29, "`regex` must be without repetitions inside repetitions (got `(a+)+$`)", ""),
    ("{deny: {args: {a: {regex: '(.)\\1'}}}}", 3, 29, "`regex` must be without references to groups (got `(.)\\1`)", ""),
    ("{deny: {args: {a: {regex: '(?!x)y'}}}}", 3, 29, "`regex` must be without looking ahead or behind (got `(?!x)y`)", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "remedy"),
    [
        *FILES,
        *((f"version: 1\n{text}\n", *rest) for text, *rest in SECTIONS),
        *((f"version: 1\nrules:\n- {text}\n", *rest) for text, *rest in RULES),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_to_do(tools, text, line, column, message, remedy):
    assert complaints_of(text, tools) == [(line, column, message, remedy)]


def test_all_mistakes_are_told_at_once(tools):
    text = """\
version: 1
allow: [Bsh]
rules:
- deny: {efect: push, path: 5}
  lock: maybe
- {id: x, allow: Bash, lock: true}
- {id: x, ask: {}}
tests: [{}]
"""
    assert [(line, column, message) for line, column, message, _remedy in complaints_of(text, tools)] == [
        (2, 9, "tool must be a known one (got `Bsh`)"),
        (4, 10, "rule must not have the key `efect`"),
        (4, 29, "`path` must be text (got `5`)"),
        (5, 9, "`lock` must be true or false (got `maybe`)"),
        (6, 24, "`lock` must stand beside `deny` or `ask` (got `allow`)"),
        (7, 8, "`id` must be unique in the file (got `x`, first on line 6)"),
        (7, 16, "rule must say what it matches (got an empty mapping)"),
        (8, 9, "test must have either `call`, or `tool` and `input`"),
        (8, 9, "test must have the key `expect`"),
    ]


def test_a_file_of_mistakes_is_not_read_to_its_end(tools):
    text = "version: 1\ndeny:\n" + "- Bsh\n" * 100_000
    assert len(complaints_of(text, tools)) == 51


@pytest.mark.parametrize(
    "pattern", ["^x+$", r"(\d{1,3}\.){3}\d{1,3}", "(?i)password|token", "a?b*c+", "[^/]+/[^/]+", "(?:ab)+", "x{2,5}y*"]
)
def test_ordinary_regular_expressions_are_accepted(tools, pattern):
    text = f"version: 1\nrules:\n- deny: {{args: {{a: {{regex: '{pattern}'}}}}}}\n"
    assert parse_policy(text, "p.yaml", tools)["rules"][0]["when"] == {"args": {"a": {"regex": pattern}}}


WORDS = (
    "version: 1", "rules:", "deny", "allow", "ask", "require", "for", "except", "effect", "push", "path", "args", "regex", "(a+)+",
    "time", "from", "Bash(rm *)", "Read(x)", "Bash(", "tests:", "call", "settings:", "mode", "lock", "true", "no", "5", "null",
    ": ", "- ", "\n", "  ", "{", "}", "[", "]", ", ", "id", "extends:", "preset", "delegate", "to", "''", "exec", "not", "~",
)  # fmt: skip


@given(st.text() | st.binary() | st.lists(st.sampled_from(WORDS), max_size=30).map("".join))
def test_no_text_ends_in_anything_but_a_policy_or_problems(tools, text):
    prefix = b"version: 1\n" if isinstance(text, bytes) else "version: 1\n"
    for candidate in (text, prefix + text):
        with suppress(ConfigError):
            parse_policy(candidate, "p.yaml", tools)


values = st.recursive(
    st.sampled_from([*WORDS, "", 0, 5, -1, True, False, None, "2027-01-01", "09:00", "*", "origin"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([word.strip(":") for word in WORDS[1:28]] + ["host", "port", "id", "to"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(
    section=st.sampled_from(["rules", "deny", "tests", "settings", "extends", "tools"]),
    value=values
    | st.lists(st.dictionaries(st.sampled_from(["deny", "allow", "require", "for", "except", "expect"]), values)),
)
def test_no_shape_of_data_ends_in_anything_but_a_policy_or_problems(tools, section, value):
    import yaml

    with suppress(ConfigError):
        parse_policy(yaml.safe_dump({"version": 1, section: value}), "p.yaml", tools)
