"""The smallest change that is shown does what it says: it is tried here with the policy files that it asks for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gateway.frontends.session import change

ALLOWED = [
    "Bash(mkdir -p build/x)",
    "Bash(mkdir -p build/x && touch build/x/y)",
    "Bash(echo hi > src/new.txt)",
    "Bash(rm -rf build)",
    "Bash(python3 scripts/run.py --fast)",
    "Bash(./configure)",
    "Bash(make 'all of it' a\\*b \"it's\")",
    "Bash(cp 'a (1).txt' b)",
    "Bash(cat /srv/data/x > /tmp/../srv/out)",
    "Write(src/new.py)",
    "Write(/srv/a [b] *.txt)",
    "Edit(~/notes.md)",
    "Read(/srv/data)",
    "WebFetch(https://docs.python.org/3/)",
    "mcp__github__create_issue",
    "Bash(mkdir a; mkdir b; mkdir c)",
    "Bash(rm ')(')",
    "Bash(rm ''  x)",
    "Bash(ls > src)",
    "Write(!x)",
    "Write(a/!x)",
    "Write(./~x)",
]


@pytest.mark.parametrize("mode", ["", "dont_ask"])
@pytest.mark.parametrize("call", ALLOWED)
def test_a_proposed_rule_allows_the_call(judge, call: str, mode: str) -> None:
    guard, verdict = judge(call, mode)
    said = change(guard, verdict)
    assert said is not None
    rules = re.findall(r"`allow: (.+?)`(?:,| and| in)", said)
    assert rules, said
    local = "version: 1\nrules:\n" + "".join(f"  - allow: {rule}\n" for rule in rules)
    assert (verdict.decision.word, judge(call, mode, local=local)[1].decision.word) == (
        "deny" if mode else "ask",
        "allow",
    )


@pytest.mark.parametrize(
    ("call", "wider"),
    [
        ("Bash(python3 scripts/run.py --fast)", "Bash(python3 scripts/other.py)"),
        ("Bash(./configure)", "Bash(./configure --other)"),
        ("Bash(make all)", "Bash(make install)"),
        ("Bash(rm -rf build)", "Bash(rm -rf src)"),
        ("Write(src/new.py)", "Write(src/other.py)"),
    ],
)
def test_a_proposed_rule_allows_no_more_than_it_must(judge, call: str, wider: str) -> None:
    guard, verdict = judge(call)
    rules = re.findall(r"`allow: (.+?)`(?:,| and| in)", change(guard, verdict) or "")
    local = "version: 1\nrules:\n" + "".join(f"  - allow: {rule}\n" for rule in rules)
    assert (judge(call, local=local)[1].decision.word, judge(wider, local=local)[1].decision.word) == ("allow", "ask")


DOCKER = "rule `ask-docker` (enterprise.yaml:14)"
DOCS = "rule `look-at-docs` (user.yaml:17)"
CURL = "rule `no-curl` (user.yaml:12)"
FORCE = "rule `no-force-push` (enterprise.yaml:4)"
SECRETS = "rule `secret-files` (builtin.yaml:4)"
METADATA = "rule `metadata-addresses` (builtin.yaml:21)"


@pytest.mark.parametrize(
    ("call", "options", "expected"),
    [
        ("Bash(cat src/main.py)", {}, None),
        ("Bash(npm test)", {}, "without rule `tests` (user.yaml:8) it would be asked about"),
        ("Bash(curl https://x.org)", {}, f"{CURL} would need an `except:` that holds for it"),
        ("Bash(git push -f)", {}, f"{FORCE} is locked, no other layer alters it"),
        (
            "Bash(docker ps)",
            {},
            f"{DOCKER} is locked, no other layer alters it: a person may agree once",
        ),
        ("Write(src/new.py)", {"mode": "plan"}, "in mode `default` it would be asked about"),
        ("Bash($(cat x))", {}, None),
        ("Bash(cat .env)", {}, f"{SECRETS} is built in, no layer alters it"),
        (
            "Bash(cat $X)",
            {},
            f"spell the target out, so that {SECRETS} can tell whether it holds",
        ),
        (
            "Bash(kubectl get pods)",
            {},
            "allowed with `allow: Bash(kubectl get pods)` in your own policy",
        ),
        ("Bash(git commit -m x)", {}, "without rule `git` (user.yaml:4) it would be asked about"),
        ("Bash(git commit -m x)", {"mode": "dont_ask"}, "without rule `git` (user.yaml:4) it would be denied"),
        ("Bash(npm test; git commit -m x)", {}, None),
        (
            "Bash(docker ps; touch docs/x)",
            {},
            f"a person's agreement; without one, each of {DOCKER} and {DOCS} would need an `except:` that holds for it",
        ),
        (
            "Bash(docker ps)",
            {"mode": "dont_ask"},
            "in a mode that asks, rule `ask-docker` (enterprise.yaml:14) would only ask",
        ),
        (
            "Edit(docs/x)",
            {},
            f"{DOCS} would need a person's agreement or an `except:` that holds for it",
        ),
        (
            "Bash(curl x.org; git push -f; cat .env)",
            {},
            f"{CURL}, {FORCE} and {SECRETS} would all have to except it",
        ),
        (
            "Bash(curl x.org; git push -f; cat .env; curl 169.254.169.254)",
            {},
            f"{FORCE}, {SECRETS}, {METADATA} and 1 more would all have to except it",
        ),
        (
            "Bash(rm $X; cat $X)",
            {},
            f"spell the target out, so that {SECRETS} and {DOCS} can tell whether they hold",
        ),
        ("Bash(mkdir a; mkdir b; mkdir c; mkdir d)", {}, None),
        ("Bash(mkdir a; mkdir b; mkdir c; mkdir d)", {"mode": "dont_ask"}, "in mode `default` it would be asked about"),
        ("Bash(touch /tmp/x)", {"mode": "plan"}, "in mode `default` it would be allowed"),
        ("Bash(./x:)", {}, None),
        ("Bash(echo $(", {}, None),
        ("Bash(curl $X)", {}, f"{CURL} would need an `except:` that holds for it"),
        ("Bash(docker ps; cat $X)", {}, f"a person's agreement: {SECRETS} is built in, no layer alters it"),
        ("Bash(xargs cat < list)", {}, f"spell the target out, so that {SECRETS} can tell whether it holds"),
        ("Bash(npm test; cat src/main.py)", {}, "without rule `tests` (user.yaml:8) it would be asked about"),
        ("Bash(git commit -m x)", {"local": "{version: 1, rules: [{allow: Bash(git commit *)}]}"}, None),
        (
            "Bash(npm test)",
            {"confined": False, "local": "{version: 1, rules: [{id: jail, require: {confined: true}}]}"},
            "rule `jail` (local.yaml:1) must be met: required: confined true",
        ),
        ("Bash(svn add a)", {}, "allowed with `allow: Bash(svn add *)` in your own policy"),
        ("Bash(svn update)", {}, "allowed with `allow: Bash(svn update)` in your own policy"),
        (
            "Bash(kubectl get pods; svn add a)",
            {},
            "allowed with `allow: Bash(kubectl get pods)` and `allow: Bash(svn add *)` in your own policy",
        ),
    ],
)
def test_what_else_would_alter_a_verdict(judge, call: str, options: dict[str, Any], expected: str | None) -> None:
    guard, verdict = judge(call if call.endswith(")") else call + ")", **options)
    assert change(guard, verdict) == expected
