"""The rule that "always" would save: it lets the very call run and the next ones like it, and nothing else."""

from __future__ import annotations

import posixpath
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.approval.always_rule import later, offered
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy import always

if TYPE_CHECKING:
    from gateway.api.gateway import Gateway
    from gateway.model.verdict import Verdict

EXACT = [
    ("mkdir -p build/x", '{command: "mkdir -p build/x", effect: write, path: "build/x", path_not: "build/x/**"}'),
    ("rm -rf build", '{command: "rm -rf build", effect: delete, path: "./build"}'),
    ("touch 'a b*'", '{command: "touch a\\\\ b\\\\*", effect: write, path: "./a b\\\\*", path_not: "./a b\\\\*/**"}'),
    ("echo hi > out", '{effect: write, path: "./out", path_not: "./out/**"}'),
    ("sed -n 1p /srv/x", '{command: "sed -n 1p /srv/x", effect: read, path: "//srv/x", path_not: "//srv/x/**"}'),
    ("grep -r x /srv", '{command: "grep -r x /srv", effect: read, path: "//srv"}'),
    ("python3 src/a.py --fast", '{command: "python3 src/a.py --fast", effect: code, cwd: ".", confined: true}'),
    ("cd src && python3 a.py", '{command: "python3 a.py", effect: code, cwd: "./src", confined: true}'),
    ("./configure", '{command: "./configure", effect: code, cwd: ".", confined: true}'),
    ("touch .", '{command: "touch .", effect: write, path: ".", path_not: "./**"}'),
    ("touch .foo", '{command: "touch .foo", effect: write, path: "./.foo", path_not: "./.foo/**"}'),
    ("touch src/a.", '{command: "touch src/a.", effect: write, path: "src/a.", path_not: "src/a./**"}'),
    ("cat /srv/a.txt", '{command: "cat /srv/a.txt", effect: read, path: "//srv/a.txt", path_not: "//srv/a.txt/**"}'),
    ("rm a.txt", '{command: "rm a.txt", effect: delete, path: "./a.txt", path_not: "./a.txt/**"}'),
    ("cp -r src new.d", '{command: "cp -r src new.d", effect: write, path: "./new.d"}'),
    (
        "touch to-src/x.txt",
        (
            '{command: "touch to-src/x.txt", effect: write, path: ["to-src/x.txt", "src/x.txt"], '
            'path_not: ["to-src/x.txt/**", "src/x.txt/**"]}'
        ),
    ),
    ("python3 a.py", '{command: "python3 a.py", effect: code, cwd: ".", confined: true}'),
    ("python3.11 a.py", '{command: "python3.11 a.py", effect: code, cwd: ".", confined: true}'),
    ("frob -x", '{command: "frob -x", effect: code, cwd: ".", confined: true}'),
    ("frob a/b", '{command: "frob a/b", effect: code, cwd: ".", confined: true}'),
    (
        "mkdir -p a a/b",
        (
            '[{command: "mkdir -p a a/b", effect: write, path: "./a", path_not: "./a/**"}, '
            '{command: "mkdir -p a a/b", effect: write, path: "a/b", path_not: "a/b/**"}]'
        ),
    ),
    (
        "mkdir -p a/b a/b/c",
        (
            '[{command: "mkdir -p a/b a/b/c", effect: write, path: "a/b", path_not: "a/b/**"}, '
            '{command: "mkdir -p a/b a/b/c", effect: write, path: "a/b/c", path_not: "a/b/c/**"}]'
        ),
    ),
    (
        "mkdir a && rm -r b",
        (
            '[{command: "mkdir a", effect: write, path: "./a", path_not: "./a/**"}, '
            '{command: "rm -r b", effect: delete, path: "./b"}]'
        ),
    ),
    (RawCall("Read", {"file_path": "/srv/x"}), '{effect: read, path: "//srv/x", path_not: "//srv/x/**"}'),
    (
        RawCall("Write", {"file_path": "LICENSE", "content": ""}),
        '{effect: write, path: "./LICENSE", path_not: "./LICENSE/**"}',
    ),
    (
        RawCall("WebFetch", {"url": "https://x.org/y", "prompt": "p"}),
        '{effect: connect, direction: fetch, host: "x.org", port: 443}',
    ),
    (RawCall("mcp__git__log", {"a": 1}), '{tool: "mcp__git__log"}'),
]


@pytest.mark.parametrize(("call", "rule"), EXACT, ids=[str(call)[:60] for call, _ in EXACT])
def test_the_rule_says_what_was_shown(judged, call: Any, rule: str) -> None:
    asked = judged(call)
    assert offered(asked.judge, asked.verdict) == f"allow: {rule}"
    assert judged(call, local(f"allow: {rule}")).verdict.decision is Decision.ALLOW


# The call that is asked about, what is offered, the next one that it covers, and one that it must not.
LIKELY = [
    ("echo hi > out.txt", '{effect: write, path: "./*.txt"}', "echo ho > b.txt", "echo hi > out.db"),
    ("echo hi > src/a.txt", '{effect: write, path: "./src/**/*.txt"}', "echo ho > src/b/c.txt", "echo hi > a.txt"),
    ("touch src/a.txt", '{exec: touch, effect: write, path: "./src/**/*.txt"}', "touch src/b.txt", "rm src/a.txt"),
    (
        "curl https://x.org/y",
        '{exec: curl, effect: connect, direction: fetch, host: "x.org", port: 443}',
        "curl -s https://x.org/z",
        "curl -d x https://x.org/y",
    ),
    ("frob list x", '{exec: [frob, list], effect: code, cwd: ".", confined: true}', "frob list -a", "frob drop x"),
    ("echo hi > a.txt > b.txt", '{effect: write, path: "./*.txt"}', "echo ho > c.txt", "echo hi > src/a.txt"),
    (
        "cd src && frob list x", '{exec: [frob, list], effect: code, cwd: "./src", confined: true}',
        "cd src && frob list", "frob list",
    ),
    ("frob a.b c", '{exec: [frob, "a.b"], effect: code, cwd: ".", confined: true}', "frob a.b", "frob a.c"),
    (
        "touch a.txt src/b.py", '{exec: touch, effect: write, path: ["./*.txt", "./src/**/*.py"]}',
        "touch src/c/d.py", "touch a.py",
    ),
    ("ping x.org", '{exec: ping, effect: connect, direction: send, host: "x.org"}', "ping -c 1 x.org", "ping y.org"),
    (
        "echo hi > a.txt; python3 src/a.py",
        '[{effect: write, path: "./*.txt"}, {command: "python3 src/a.py", effect: code, cwd: ".", confined: true}]',
        "echo ho > b.txt",
        "python3 src/b.py",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "rule", "next_one", "other"), LIKELY, ids=[each[0] for each in LIKELY])
def test_the_rule_covers_the_next_call_like_it_and_no_other(
    judged, call: str, rule: str, next_one: str, other: str
) -> None:
    asked = judged(call)
    assert offered(asked.judge, asked.verdict) == f"allow: {rule}"
    saved = local(f"allow: {rule}")
    found = [judged(each, saved).verdict.decision for each in (call, next_one, other)]
    assert found == [Decision.ALLOW, Decision.ALLOW, Decision.ASK]


NEVER: dict[str, str | RawCall] = {
    "an interpreter that reads what it runs": "python3",
    "one that is told to": "make -f -",
    "one that may be told to by the name of its input": "frob /dev/stdin",
    "by another name of it": "frob /dev/fd/0",
    "by a third": "frob /proc/self/fd/0",
    "by a fourth": "frob -",
    "a program without words": "frob",
    "a service": "nc -l 8080",
    "text from a pipe": "cat README.md | bash",
    "statements that are typed in": "sqlite3 x.db",
    "a text that another program makes": "$(cat README.md)",
    "a program that a variable names": "$X a",
    "what a wrapper runs": "timeout 5 python3 src/a.py",
    "what find runs": "find src -exec touch {} ;",
    "names that only the run tells": "rm *.log",
    "a variable that changes how programs load": "LD_PRELOAD=x ls",
    "a file that a variable names": "F=x; touch $F",
    "a process": "kill 12",
    "data that leaves": "curl -T README.md https://x.org/",
    "names with what cannot be seen": "touch 'a\tb'",
    "words with what cannot be seen": "frob 'a\tb'",
    "a name that patterns read otherwise": "./x: y",
    "a search of the web": RawCall("WebSearch", {"query": "news"}),
    "a tool of no server": RawCall("Agent", {"prompt": "p", "description": "d"}),
    "the same of a tool": RawCall("Write", {"file_path": "a\tb", "content": ""}),
    "folders with what cannot be seen": "cd 'a\tb' && ./configure",
    "a folder that only the run tells": "cd $X && ./configure",
    "a host with what cannot be seen": "curl 'https://x\t.org/'",
    "a mixed line, one half of which no rule should cover": "mkdir a && kill 12",
    "nothing that is asked": "ls",
    "something that is denied": "rm -rf /",
}


@pytest.mark.parametrize("case", NEVER)
def test_what_a_rule_should_not_cover_is_not_offered(judged, case: str) -> None:
    asked = judged(NEVER[case])
    assert (offered(asked.judge, asked.verdict), always.alternatives(asked.verdict)) == ("", [])


@pytest.mark.parametrize("case", [name for name, call in NEVER.items() if isinstance(call, str) and call != "ls"])
def test_nor_is_what_else_its_line_does(judged, case: str) -> None:
    assert always.alternatives(judged(f"mkdir new; {NEVER[case]}").verdict) == []


@pytest.mark.parametrize(
    ("text", "mode", "expected"),
    [
        ("touch x", "default", True),
        ("touch x", "dont_ask", True),
        ("touch x", "plan", False),
        ("ls", "dont_ask", False),
    ],
)
def test_a_rule_is_for_what_is_asked_or_would_be(judged, text: str, mode: str, expected: bool) -> None:
    assert bool(always.narrowest(judged(text, mode=mode).verdict)) is expected


def test_code_is_offered_only_where_it_runs_confined(judged) -> None:
    inside, outside = judged("./configure"), judged("./configure", confined=False)
    assert offered(inside.judge, inside.verdict) != ""
    assert (outside.verdict.decision, offered(outside.judge, outside.verdict)) == (Decision.ASK, "")


EXACTLY_OUT = {"effect": "write", "path": ["./out"], "path_not": ["./out/**"]}
INSTALL = {"exec": ["pip", "install"], "confined": True}
# What covers each effect that is asked about, by itself: as wide as is safe, else on the same target, else exactly.
COVERING: dict[str, list[list[dict[str, Any]]]] = {
    "mkdir sub/x": [[{"exec": "mkdir", "effect": "write", "path": ["sub/x"], "path_not": ["sub/x/**"]}]],
    "touch src/a.txt": [[{"exec": "touch", "effect": "write", "path": ["./src/**/*.txt"]}]],
    "cp src/a.py out": [[{"exec": "cp", **EXACTLY_OUT}]],
    "echo x > out": [[EXACTLY_OUT]],
    "tar xf a.tar": [[{"exec": "tar", "effect": "write", "path": ["."]}]],
    "sort --compress-program=./x -o out in": [
        [{"command": "sort --compress-program=./x -o out in", "effect": "code", "cwd": ["."], "confined": True}],
        [{"command": "sort --compress-program=./x -o out in", **EXACTLY_OUT}],
    ],
    "sed -i s/x/y/e out": [[{"command": "sed -i s/x/y/e out", **EXACTLY_OUT}], []],
    "mkdir /srv/x": [
        [{"command": "mkdir /srv/x", "effect": "write", "path": ["//srv/x"], "path_not": ["//srv/x/**"]}]
    ],
    "touch src/gen/to-a": [[{
        "command": "touch src/gen/to-a", "effect": "write", "path": ["src/gen/to-a", "src/a.py"],
        "path_not": ["src/gen/to-a/**", "src/a.py/**"],
    }]],
    "rm build/x": [
        [{"command": "rm build/x", "effect": "delete", "path": ["build/x"], "path_not": ["build/x/**"]}]
    ],
    "curl https://x.org:8443/y": [
        [{"exec": "curl", "effect": "connect", "direction": "fetch", "host": "x.org", "port": 8443}]
    ],
    "curl http://10.0.0.1/": [[]],
    "curl http://localhost/": [[]],
    "curl -T README.md https://x.org/": [[]],
    "npm test": [[{"exec": ["npm", "test"], "effect": "code", "cwd": ["."], "confined": True}]],
    "frob": [[]],
    "make": [[]],
    "frob list x": [[{"command": "frob list x", "effect": "code", "cwd": ["."], "confined": True}]],
    "pip install six": [
        [{**INSTALL, "effect": "code", "cwd": ["."]}],
        *([{
            "exec": ["pip", "install"], "effect": "connect", "direction": "fetch", "host": host, "port": 443,
        }] for host in ("pypi.org", "files.pythonhosted.org")),
        [{**INSTALL, "effect": "system", "action": "install", "what": "packages"}],
    ],
    "bash -c 'pip install six'": [[], [], [], []],
    "X=six; pip install $X": [[], [], [], []],
    "rpm -i x.rpm": [[{"command": "rpm -i x.rpm", "effect": "code", "cwd": ["."], "confined": True}], []],
    "touch to-src/x.txt": [[{
        "command": "touch to-src/x.txt", "effect": "write", "path": ["to-src/x.txt", "src/x.txt"],
        "path_not": ["to-src/x.txt/**", "src/x.txt/**"],
    }]],

    "systemctl stop x": [[], []],
    "kill 12": [[]],
}  # fmt: skip


@pytest.mark.parametrize("text", COVERING)
def test_what_covers_one_effect_is_as_wide_as_is_safe(judged, text: str) -> None:
    verdict = judged(text).verdict
    asked = [outcome for outcome in verdict.outcomes if outcome.decision is Decision.ASK]
    assert [always.covering(verdict, outcome) for outcome in asked] == COVERING[text]


def test_installs_are_covered_where_they_run_confined_alone(judged) -> None:
    verdict = judged("pip install six", confined=False).verdict
    kinds = [verdict.analysis.items[outcome.reason.item].effect.kind for outcome in verdict.outcomes]
    covered = dict(zip(kinds, [bool(always.covering(verdict, each)) for each in verdict.outcomes], strict=True))
    assert (covered["code"], covered["system"]) == (False, False)


PROFILE = {"user": {"settings": {"sandbox": {"write": ["./build/**"], "network": "open"}}}}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("./configure", "by rule: reads the system's files, /home/dev/project; writes ./build/**; any network"),
        ("touch a", ""),
    ],
    ids=["code", "effects that are known"],
)
def test_what_code_may_do_once_a_rule_covers_it_is_said(judged, call: str, expected: str) -> None:
    asked = judged(call, PROFILE)
    assert later(asked.judge, asked.verdict) == expected


@pytest.mark.parametrize("lock", [False, True])
def test_what_a_rule_asks_about_is_not_offered(judged, lock: bool) -> None:
    asked = judged("rm -rf build", {"user": [{"id": "r", "ask": "Bash(rm *)", "lock": lock}]})
    assert (asked.verdict.decision, offered(asked.judge, asked.verdict)) == (Decision.ASK, "")


def test_a_protected_path_is_not_offered(judged) -> None:
    asked = judged("touch .envrc")
    assert (asked.verdict.decision, offered(asked.judge, asked.verdict)) == (Decision.ASK, "")


def test_nothing_is_offered_where_the_local_layer_does_not_count(judged) -> None:
    asked = judged("rm -rf build")
    gateway = copy(asked.judge)
    gateway.options = gateway.options.replace(policies="/some/folder")
    assert (offered(asked.judge, asked.verdict) != "", offered(gateway, asked.verdict)) == (True, "")


FOLDERS = ["", "cd src && ", "cd /tmp && "]
PLAIN = [
    "mkdir a", "mkdir a/b", "mkdir -p a/b", "touch a", "touch a/b", "touch src/gen/b.py", "rm a", "rm -r a",
    "rm -rf src/gen", "cp src/a.py a", "cp src/a.py src", "mv a b", "echo x > a", "echo x >> a/b", "cat /srv/x",
    "cat /srv/x/y", "ls /srv", "ls -R /srv", "grep -r x /srv", "python3 src/a.py", "python3 src/a.py -v",
    "python3 src/a.py < README.md", "python3", "./configure", "curl https://x.org/y", "curl https://x.org/z",
    "curl -o a https://x.org/y", "curl https://y.org/", "wget https://x.org/y", "git add .", "git commit -m x",
    "git commit --amend", "ln -s /srv a", "touch to-src/x", "tee a", "rm to-src/a.py", "sudo touch a",
    "bash -c 'touch a'", "xargs touch a", "find . -name a -delete", "touch $X", "LD_PRELOAD=a touch a",
]  # fmt: skip
CALLS: list[Any] = [folder + text for text in PLAIN for folder in FOLDERS]
CALLS += [RawCall("Read", {"file_path": path}) for path in ("/srv/x", "/srv/x/y", "/srv")]
CALLS += [RawCall("Write", {"file_path": path, "content": ""}) for path in ("a", "a/b", "to-src/x", "src/x", "/srv/x")]
CALLS += [RawCall("Glob", {"pattern": "*", "path": path}) for path in ("/srv", "/srv/x")]
CALLS += [RawCall("WebFetch", {"url": url, "prompt": "p"}) for url in ("https://x.org/y", "http://x.org/y")]
CALLS += [RawCall(tool, {"x": 1}) for tool in ("mcp__git__log", "mcp__git__push")]


def local(rule: str) -> dict[str, Any]:
    """The local layer with a rule as it is saved."""
    return {"local": [{"id": "always-1", **yaml.safe_load(rule)}]}


@pytest.fixture(scope="session")
def verdicts(judged):
    """The verdict on a call of the list, and the rule offered for another one; each worked out once."""

    @cache
    def gateway(rule: str, mode: str) -> Gateway:
        return judged("true", local(rule) if rule else None, mode=mode).judge

    @cache
    def verdict(number: int, rule: str, mode: str) -> Verdict:
        call = CALLS[number]
        return gateway(rule, mode).check(call if isinstance(call, RawCall) else RawCall("Bash", {"command": call}))

    @cache
    def rule(number: int, mode: str) -> str:
        return offered(gateway("", mode), verdict(number, "", mode))

    return verdict, rule


def effects(verdict: Verdict, decision: Decision) -> set[Any]:
    """The effects of a verdict that got this decision; of a link both ends, which are shown both."""
    found = [verdict.analysis.items[o.reason.item].effect for o in verdict.outcomes if o.decision is decision]
    return {end for effect in found for end in _ends(effect)}


def _is_shown(effect: Any, shown: set[Any]) -> bool:
    """Whether it was shown, by itself or as a part of a tree."""
    if effect in shown or not hasattr(effect, "tree"):
        return effect in shown
    folders = [each.path.rstrip("/") for each in shown if each.kind == effect.kind and each.tree]
    return any(effect.path == folder or effect.path.startswith(folder + "/") for folder in folders)


def _is_like(effect: Any, shown: set[Any]) -> bool:
    """Whether a file of the same kind in the same folder of the workspace was shown, or the same code by the same
    subcommand of a program."""
    if effect.kind == "code":
        alike = [
            each for each in shown if each.kind == "code" and (each.program, each.why) == (effect.program, effect.why)
        ]
        return any(len(each.argv) > 2 and each.argv[:2] == effect.argv[:2] for each in alike)
    if effect.kind not in ("read", "list", "write") or effect.tree:
        return False
    folder, name = posixpath.split(effect.path)
    suffix = posixpath.splitext(name)[1]
    return any(
        each.kind == effect.kind
        and f"{folder}/".startswith(f"{posixpath.dirname(each.path)}/")
        and posixpath.splitext(each.path)[1] == suffix != ""
        for each in shown
    )


def _ends(effect: Any) -> list[Any]:
    if not getattr(effect, "real", ""):
        return [effect]
    return [effect.replace(real=""), effect.replace(path=effect.real, real="")]


numbers = st.sampled_from(range(len(CALLS)))


@given(
    shown=numbers,
    others=st.lists(numbers, min_size=20, max_size=40),
    mode=st.sampled_from(["default", "accept_edits", "plan"]),
)
def test_a_saved_rule_lets_its_call_run_and_no_effect_unlike_those_that_were_shown(
    verdicts, shown: int, others: list[int], mode: str
) -> None:
    verdict, rule_of = verdicts
    rule = rule_of(shown, mode)
    before = verdict(shown, "", mode)
    assume(rule)
    assert (before.decision, verdict(shown, rule, mode).decision) == (Decision.ASK, Decision.ALLOW)
    for other in others:
        was, now = verdict(other, "", mode), verdict(other, rule, mode)
        opened = effects(was, Decision.ASK) & effects(now, Decision.ALLOW)
        said = effects(before, Decision.ASK)
        assert {each for each in opened if not (_is_shown(each, said) or _is_like(each, said))} == set()
        assert effects(was, Decision.DENY) <= effects(now, Decision.DENY)
        assert now.decision <= was.decision


def test_most_of_the_calls_that_the_property_looks_at_have_a_rule(verdicts) -> None:
    _verdict, rule_of = verdicts
    assert sum(bool(rule_of(number, "default")) for number in range(len(CALLS))) > len(CALLS) // 3


@pytest.mark.parametrize("text", ["touch {}", "rm {}", "frob; touch {}"])
def test_a_command_with_thousands_of_names_is_given_up_early(
    judged, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    looked = []
    whole = always.exact_words
    monkeypatch.setattr(always, "exact_words", lambda part: looked.append(1) or whole(part))
    judgement = judged(text.format(" ".join(f"name{number}" for number in range(2_000))))
    assert (offered(judgement.judge, judgement.verdict), len(looked) <= always.MAX_PATHS + 2) == ("", True)


# How many of what a rule of the most alternatives or paths speaks of, and of how many its wider form does.
LIMITS = {
    "the most files": ("touch " + " ".join(f"f{number}" for number in range(always.MAX_PATHS)), [1]),
    "one more": ("touch " + " ".join(f"f{number}" for number in range(always.MAX_PATHS + 1)), []),
    "the most commands": ("; ".join(f"mkdir a{number}" for number in range(always.MAX_ALTERNATIVES)), [12]),
    "one command more": ("; ".join(f"mkdir a{number}" for number in range(always.MAX_ALTERNATIVES + 1)), []),
    "the most that are wider": ("; ".join(f"touch a.txt /srv/{number}" for number in range(11)), [12, 11]),
    "too many wider ones": ("; ".join(f"touch a.txt /srv/{number}" for number in range(12)), [12]),
}


@pytest.mark.parametrize("case", LIMITS)
def test_a_rule_says_only_so_much(judged, case: str) -> None:
    text, expected = LIMITS[case]
    assert [len(each) for each in always.alternatives(judged(text).verdict)] == expected
