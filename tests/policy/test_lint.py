"""What the linter says of rules, and what it keeps quiet about."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.policy.compile import Bound
from gateway.policy.lint.clauses import clauses_of
from gateway.policy.lint.lint import ToolTraits, lint
from gateway.policy.lint.witness import NONE, Shown, witness
from gateway.spec.policy import parse_policy
from gateway.spec.short import ToolName

HOME, ROOT, CONFIG = "/home/dev", "/home/dev/project", "/home/dev/.config/gateway"
NOW = 1_735_732_800.0
TOOLS = {
    "Bash": ToolName("Bash", "shell", "command", ("command",)),
    "Read": ToolName("Read", "path", "file_path", ("file_path",)),
    "Edit": ToolName("Edit", "path", "file_path", ("file_path",)),
    "WebFetch": ToolName("WebFetch", "domain", "url", ("url",)),
    "Agent": ToolName("Agent", "name", "subagent_type", ("subagent_type", "model")),
}
TRAITS = {
    "Bash": ToolTraits(True, frozenset()),
    "Read": ToolTraits(False, frozenset({"use", "read"})),
    "Edit": ToolTraits(False, frozenset({"use", "read", "write"})),
    "WebFetch": ToolTraits(False, frozenset({"use", "connect"})),
    "Agent": ToolTraits(False, frozenset()),
}


def bound(text: str, layer: str = "user", file: str = "", **more: Any) -> Bound:
    file = file or f"{layer}.yaml"
    doc = parse_policy("version: 1\n" + text, file, TOOLS)
    return Bound(layer, file, doc["rules"], ROOT, CONFIG if layer == "user" else ROOT, **more)


def found(*files: Bound) -> list[tuple[str, str]]:
    """What is found, without what is only supposed until the engine was asked. Whoever asks about one file is told the
    same of it."""
    findings = lint(files, TRAITS, home=HOME, now=NOW)
    for file in {each.file for each in files}:
        of_one = lint(files, TRAITS, home=HOME, now=NOW, of=file.__eq__)
        assert of_one == [each for each in findings if each.file == file]
    return [(finding.id, finding.severity) for finding in findings if finding.proof != "reached"]


@pytest.mark.parametrize(
    ("rule", "means", "remedy"),
    [
        ("deny: Bash(rm -rf|rm -fr)", "`|` is a part of a word", "write a pattern for each: `rm -rf` and `rm -fr`"),
        ("deny: Bash(rm|mv *)", "`|` is a part of a word", "write a pattern for each: `rm *` and `mv *`"),
        (
            "deny: Bash(/rm .*/)", "it is a program of that path",
            "write words, with `*` for any others: `rm *`",
        ),
        ("deny: Bash(^rm)", "`^` stands for itself", "leave it out, a pattern is matched as a whole: `rm`, `rm *`"),
        ("ask: Bash(rm$)", "`$` stands for itself", "leave it out, a pattern is matched as a whole: `rm`, `rm *`"),
        ("deny: Read(^secret)", "`^` stands for itself", "leave it out: a pattern is matched as a whole"),
        ("deny: {path: '*.pem$'}", "`$` stands for itself", "leave it out: a pattern is matched as a whole"),
    ],
)  # fmt: skip
def test_what_reads_like_a_regular_expression_is_told_what_it_means(rule: str, means: str, remedy: str) -> None:
    [finding] = [
        each
        for each in lint([bound(f"rules: [{{id: a, {rule}}}]")], TRAITS, home=HOME, now=NOW)
        if each.id == "looks-like-an-expression"
    ]
    assert (finding.severity, finding.message.partition(", but ")[2], finding.remedy) == ("warning", means, remedy)


@pytest.mark.parametrize(
    "rule",
    [
        "Bash(grep a|b *)",
        "Bash(rm -rf *)",
        "Bash(/usr/bin/rm *)",
        "Bash(ls .*)",
        "Bash(echo $)",
        "Read(/src/)",
        "Read(a$b)",
    ],
)
def test_what_is_a_pattern_is_not_taken_for_an_expression(rule: str) -> None:
    assert "looks-like-an-expression" not in dict(found(bound(f"deny: ['{rule}']")))


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("deny: {effect: connect, path: 'src/**'}", "an effect `connect` has no `path`"),
        ("deny: {path: 'src/**', host: example.com}", "no effect has both `path` and `host`"),
        ("deny: {effect: read, force: true}", "an effect `read` has no `force`"),
        ("deny: {force: true, name: PATH}", "no effect has both `force` and `name`"),
        ("deny: {tool: Read, exec: [rm]}", "`Read` runs no command that `exec` could speak of"),
        ("deny: {tool: Read, option: [-f]}", "`Read` runs no command that `option` could speak of"),
        ("deny: {tool: Read, effect: connect}", "`Read` has no effect `connect`"),
        ("deny: Bash(cd x && rm *)", "`cd x && rm *` holds `&&`"),
        ("deny: Bash(make > out)", "`make > out` holds `>`"),
        ("deny: Bash(FOO=1 make *)", "`FOO=1` before a command is no word of it"),
        ("deny: {command: 'git push *', exec: [npm]}", "`command` and `exec` name different programs"),
        ("deny: {exec: [rm], option: [-f], option_not: [-f, -r]}", "`option` and `option_not` both name `-f`"),
        ("deny: {path: 'src/**', path_not: ['src/**', 'x']}", "`path_not` leaves out all of `src/**`"),
        ("deny: {path: 'src/a.py', path_not: 'src/*.py'}", "`path_not` leaves out all of `src/a.py`"),
        ("deny: {host: api.example.com, host_not: '*.example.com'}", "`host_not` leaves out all of `api.example.com`"),
        ("deny: {host_not: '*'}", "`host_not` leaves out every host"),
        ("deny: {tool: Agent, args: {model: {gt: 5, lt: 5}}}", "`model` cannot be above 5 and below 5"),
        ("deny: {tool: Agent, args: {model: {equals: a, in: [b]}}}", "`model` cannot equal a value"),
        ("deny: {tool: Agent, args: {a: {absent: true}, a.b: x}}", "`a.b` cannot be there while `a` is absent"),
        ("deny: {tool: Bash, depth: {ge: 3, lt: 2}}", "no depth lies within these bounds"),
        ("deny: {tool: Bash, time: {from: '09:00', to: '09:00'}}", "the time from 09:00 to 09:00 is empty"),
        ("allow: {effect: exec, program: git}", "an effect `exec` needs no allowance"),
        ("allow: {effect: opaque}", "what is not understood is allowed by nothing but the bare tool"),
        ("allow: {effect: [push, credential], contained: true}", "an effect `push`, `credential` does not fit"),
        ("allow: {effect: connect, host: pypi.org, contained: true}", "a contained call reaches nothing but"),
        ("allow: {effect: code, contained: true, confined: false}", "a call that is contained is confined"),
        ("allow: {effect: write, contained: true, mode: plan}", "mode `plan` refuses this whatever allows it"),
        ("allow: {effect: write, mode: plan}", "mode `plan` refuses this whatever allows it"),
    ],
)  # fmt: skip
def test_a_rule_that_no_call_can_match_is_named_with_the_reason(rule: str, why: str) -> None:
    findings = lint([bound(f"rules: [{{{rule}}}]")], TRAITS, home=HOME, now=NOW)
    assert [(finding.id, finding.severity) for finding in findings] == [("never-matches", "warning")]
    assert findings[0].message.startswith(f"no call can match: {why}")


@pytest.mark.parametrize(
    "rule",
    [
        "deny: {effect: [connect, read], path: 'src/**'}",
        "deny: {path: '**/.env*', path_not: '**/.env.example'}",
        "deny: {exec: [git, push], option: [-f], option_not: [--dry-run]}",
        "deny: {command: 'git push *', exec: [git]}",
        "deny: {tool: Bash, effect: connect}",
        "deny: {tool: 'mcp__x__y', effect: connect}",
        "deny: {tool: Bash, depth: {ge: 1, lt: 3}}",
        "deny: {tool: Bash, time: {from: '22:00', to: '06:00'}}",
        "allow: {effect: [write], mode: default, path: './build/**'}",
        "deny: {effect: connect, host_not: ['*.example.com', 'pypi.org']}",
        "deny: {path: ['~'], path_not: ['~/**'], effect: delete}",
        "allow: Bash(npm run *)",
        "allow: Bash(python -m pytest *)",
        "allow: Bash(python scripts/build.py *)",
        "allow: Bash(npx eslint *)",
        "allow: Bash(git status)",
        "allow: {effect: code, confined: true, command: 'make *'}",
        "allow: WebFetch(domain:*.example.com)",
        "allow: WebFetch(domain:docs.python.org)",
        "allow: Read(~/Documents/**)",
        "allow: Edit(//tmp/x/**)",
        "deny: Read(**/.env)",
        "ask: Edit(./package.json)",
        "deny: Bash(rm *)",
        "deny: mcp__github__delete_*",
    ],
)  # fmt: skip
def test_an_ordinary_rule_is_not_spoken_of(rule: str) -> None:
    assert found(bound(f"rules: [{{{rule}}}]")) == []


@pytest.mark.parametrize(
    ("rule", "witness"),
    [
        ("Bash(python *)", "Bash(python -c 'import os')"),
        ("Bash(python3:*)", "Bash(python3 -c 'import os')"),
        ("Bash(/usr/bin/python3 *)", "Bash(python3 -c 'import os')"),
        ("Bash(python -c *)", "Bash(python -c id)"),
        ("Bash(python -m *)", "Bash(python -m id)"),
        ("Bash(python*)", ""),
        ("Bash(bash *)", "Bash(bash -c id)"),
        ("Bash(sh -c *)", "Bash(sh -c id)"),
        ("Bash(node *)", "Bash(node -e 'process.exit()')"),
        ("Bash(npx *)", "Bash(npx some-package)"),
        ("Bash(npm exec *)", "Bash(npm exec some-package)"),
        ("Bash(uv run *)", "Bash(uv run x.py)"),
        ("Bash(ssh *)", "Bash(ssh example.com 'rm -rf x')"),
        ("Bash(env *)", "Bash(env sh -c id)"),
        ("Bash(xargs *)", "Bash(xargs sh -c id)"),
        ("Bash(find *)", "Bash(find . -delete)"),
        ("Bash(docker run *)", "Bash(docker run -v /:/x image)"),
        ("Bash(git *)", "Bash(git -c core.pager=x log)"),
        ("{exec: [python]}", "Bash(python -c 'import os')"),
        ("{exec: [[npm], [exec]]}", "Bash(npm exec some-package)"),
        ("{effect: code, confined: true, command: 'node *'}", "Bash(node -e 'process.exit()')"),
    ],
)  # fmt: skip
def test_an_allow_that_opens_an_interpreter_or_runner_is_shown_by_a_call(rule: str, witness: str) -> None:
    findings = lint([bound(f"rules: [{{allow: {rule}}}]")], TRAITS, home=HOME, now=NOW)
    assert [finding.witness for finding in findings if finding.id.startswith("opens-")] == (
        [witness] if witness else []
    )


@pytest.mark.parametrize("rule", ["Bash", "Bash(*)", "{tool: Bash, mode: default}"])
def test_an_allow_of_a_whole_shell_is_a_warning(rule: str) -> None:
    assert found(bound(f"rules: [{{allow: {rule}}}]")) == [("opens-shell", "warning")]


@pytest.mark.parametrize(
    ("pattern", "wide"),
    [
        ("*", True), ("*.com", True), ("*.co.uk", True), ("*.github.io", True), ("*.amazonaws.com", True),
        ("*example.com", True), ("*.example.com", False), ("example.com", False), ("*.acme.co.uk", False),
        ("api-*.example.com", False), ("*.localhost", False),
    ],
)  # fmt: skip
def test_an_allow_of_hosts_of_others_is_a_warning(pattern: str, wide: bool) -> None:
    expected = [("wide-host", "warning")] if wide else []
    assert found(bound(f"rules: [{{allow: {{effect: connect, host: '{pattern}'}}}}]")) == expected
    if pattern != "*":
        assert found(bound(f"rules: [{{deny: {{effect: connect, host_not: '{pattern}'}}}}]")) == expected
        assert found(bound(f"rules: [{{deny: {{effect: connect, host: '{pattern}'}}}}]")) == []


def test_code_that_is_allowed_where_nothing_confines_it_is_a_warning() -> None:
    text = "rules: [{allow: {effect: code, program: make}}, {allow: {effect: [session, code], mode: default}}]"
    assert found(bound(text)) == [("code-without-confinement", "warning")] * 2
    said = {
        "program: make": "code is allowed also where no sandbox holds it",
        "exec: [make, a]": "code is allowed also where no sandbox holds it",
        "command: 'make *'": "code is allowed also where no sandbox holds it",
        "mode: default": "any code is allowed",
    }
    rules = [bound(f"rules: [{{allow: {{effect: code, {more}}}}}]") for more in said]
    assert [lint([each], TRAITS, home=HOME, now=NOW)[0].message for each in rules] == [*said.values()]


@pytest.mark.parametrize(
    ("layer", "rule", "message"),
    [
        ("user", "deny: Read(/etc/passwd)", "`/etc/passwd` starts at this layer's folder, ~/.config/gateway"),
        ("project", "deny: Read(/etc/passwd)", "`/etc/passwd` starts at the project root: it means `./etc/passwd`"),
        ("project", "deny: Read(/src/x)", ""),
        ("user", "deny: Read(~ssh)", "`~ssh` is a file whose name begins with `~`"),
        ("user", "deny: Read(~)", "`~` is all of HOME, the folder itself included"),
        ("user", "deny: Read($HOME/.ssh)", "`$HOME/.ssh` names a variable, and patterns know none"),
        ("user", r"deny: 'Read(C:\x\y)'", r"`C:\x\y` has backslashes"),
        ("user", "deny: 'Read(C:/x)'", "`C:/x` names a drive"),
        ("user", "deny: Edit(*)", "`*` forbids this for every path of the machine"),
        ("user", "deny: {effect: write, path: '*'}", "`*` forbids this for every path of the machine"),
        ("project", "deny: {effect: write, path: '*'}", ""),
        ("user", "deny: {effect: write, path: ' x'}", "` x` begins or ends with a blank"),
        ("user", "allow: Read(./*)", ""),
    ],
)  # fmt: skip
def test_an_anchor_that_is_not_what_it_looks_like_is_pointed_out(layer: str, rule: str, message: str) -> None:
    messages = [
        f.message
        for f in lint([bound(f"rules: [{{{rule}}}]", layer)], TRAITS, home=HOME, now=NOW)
        if f.id == "surprising-anchor"
    ]
    assert [text[: len(message)] for text in messages] == ([message] if message else [])


@pytest.mark.parametrize(
    "rule", ["deny: Read(../x)", "deny: 'Read(a/[)'", "deny: 'Read(!x)'", "ask: 'Read(a/../../x)'"]
)
def test_a_pattern_that_is_none_is_an_error(rule: str) -> None:
    assert found(bound(f"rules: [{{{rule}}}]")) == [("invalid-pattern", "error")]


def test_a_deny_of_one_tool_alone_is_walked_around_by_others() -> None:
    assert found(bound("deny: [Read, WebFetch]\nask: [Edit]")) == [("walked-around", "warning")] * 3
    assert found(bound("deny: [Bash, 'Read(**)', Agent]")) == [("surprising-anchor", "warning")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("deny: Bash(rm *)", "deny: Bash(rm:*)"),
        ("deny: {effect: [read, write], path: [a, b]}", "deny: {path: [b, a], effect: [write, read]}"),
        ("allow: Read(src/**)", "allow: {effect: [list, read], path: ['./src/**']}"),
    ],
)
def test_a_rule_that_says_the_same_again_is_a_duplicate(first: str, second: str) -> None:
    text = f"rules: [{{{first}}}, {{{second}}}]"
    assert found(bound(text)) == [("duplicate", "warning")]
    once = bound(f"rules: [{{{first}}}]")
    assert found(once, once) == []  # a file that is reached on two ways
    again = [bound(f"rules: [{{{first}}}]", "enterprise"), bound(f"rules: [{{{second}}}]", "user")]
    across = found(*[each.replace(layer_root=ROOT) for each in again])
    assert across in ([("duplicate", "info")], [("implied", "warning")], [])


@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        ("deny: Bash(git *)", "allow: Bash(git push *)"),
        ("deny: {exec: git}", "allow: Bash(git status)"),
        ("deny: {effect: connect}", "allow: WebFetch(domain:example.com)"),
        ("ask: {effect: connect, host: '*.example.com'}", "allow: WebFetch(domain:api.example.com)"),
        ("deny: 'Read(//**)'", "allow: Read(src/**)"),
        ("deny: {tool: 'mcp__*'}", "allow: mcp__github__get_issue"),
        ("deny: 'Read(~/.ssh/**)'", "allow: Read(~/.ssh/config)"),
        ("deny: Bash(rm *)", "ask: Bash(rm -rf *)"),
        ("deny: {path: '**/.env', path_not: 'x/.env'}", "allow: Read(./.env)"),
        ("deny: 'Read(**/*x*)'", "allow: 'Read(src/*yxz*)'"),
        ("deny: 'Read(**/.env*)'", "allow: 'Read(**/.env.*)'"),
        ("deny: Bash(git * origin *)", "allow: Bash(git push origin main)"),
        ("deny: {effect: connect, host: '*.b.example.com'}", "allow: 'WebFetch(domain:api-*.b.example.com)'"),
        ("deny: {effect: connect, host: private}", "allow: 'WebFetch(domain:10.1.2.0/24)'"),
        ("deny: {tool: Agent, depth: {ge: 1}}", "allow: {tool: Agent, depth: {gt: 1, lt: 4}}"),
        ("deny: {tool: Agent, args: {n: {gt: 5}}}", "allow: {tool: Agent, args: {n: 7}}"),
        ("deny: {tool: Agent, args: {x: 'a*'}}", "allow: {tool: Agent, args: {x: ['ab', 'ac']}}"),
        (
            "deny: {tool: Bash, time: {days: [mon, tue]}}",
            "allow: {tool: Bash, time: {days: [mon], from: '09:00', to: '17:00'}}",
        ),
    ],
)
def test_a_rule_under_a_stricter_one_of_any_layer_never_decides(upper: str, lower: str) -> None:
    findings = lint(
        [bound(f"rules: [{{id: up, {upper}}}]", "enterprise"), bound(f"rules: [{{id: low, {lower}}}]")],
        TRAITS,
        home=HOME,
        now=NOW,
    )
    shadowed = [(f.rule, f.severity) for f in findings if f.id == "shadowed"]
    assert shadowed == [("low", "warning")]
    turned = lint(
        [bound(f"rules: [{{id: low, {lower}}}]", "enterprise"), bound(f"rules: [{{id: up, {upper}}}]")],
        TRAITS,
        home=HOME,
        now=NOW,
    )
    assert [f.rule for f in turned if f.id == "shadowed"] == ["low"]


@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        ("deny: Bash(git push *)", "allow: Bash(git *)"),
        ("deny: {effect: connect, host: example.com}", "allow: WebFetch(domain:*.example.com)"),
        ("deny: {effect: write, path: 'src/**'}", "allow: Read(src/**)"),
        ("deny: {exec: git, option: [-f]}", "allow: Bash(git push *)"),
        ("deny: {command: 'git *', mode: plan}", "allow: Bash(git status)"),
        ("deny: {effect: connect}\n  except: [{host: example.com}]", "allow: WebFetch(domain:example.com)"),
        ("deny: Bash(git *)\n  expires: 2030-01-01", "allow: Bash(git status)"),
        ("deny: {path: 'src/*.py'}", "allow: Read(src/**)"),
        ("deny: {path: '**/.env', path_not: './.env'}", "allow: Read(./.env)"),
        ("deny: {path: 'a/**', path_not: 'a/b'}", "allow: Read(a/**)"),
        ("deny: {effect: read, path: 'a/*x*'}", "allow: {effect: read, path: 'a/*y*'}"),
    ],
)
def test_a_rule_that_is_only_partly_under_a_stricter_one_is_not_shadowed(upper: str, lower: str) -> None:
    upper_file = bound(f"rules:\n- {upper}", "enterprise")
    assert [name for name, _ in found(upper_file, bound(f"rules: [{{{lower}}}]")) if name == "shadowed"] == []


def test_a_rule_that_a_wider_one_of_its_lane_implies_adds_nothing() -> None:
    assert found(bound("allow: ['Bash(npm run *)', 'Bash(npm run test)']")) == [("implied", "warning")]
    told = "rules: [{deny: Bash(git *)}, {deny: Bash(git push *), because: history is shared}]"
    assert found(bound(told)) == [("implied", "info")]
    assert found(bound("rules: [{deny: Bash(git *)}, {deny: Bash(git push *), lock: true}]")) == []


def test_a_rule_of_several_alternatives_is_shadowed_only_as_a_whole() -> None:
    upper = bound("rules: [{deny: Bash(rm *)}]", "enterprise")
    assert found(upper, bound("rules: [{allow: [Bash(rm x), Bash(ls x)]}]")) == []
    assert found(upper, bound("rules: [{allow: [Bash(rm x), Bash(rm y)]}]")) == [("shadowed", "warning")]


def test_rules_that_only_observe_shadow_nothing() -> None:
    watching = bound("rules: [{deny: Bash(rm *)}]", "enterprise", level="observe")
    assert found(watching, bound("allow: [Bash(rm x)]")) == []


def test_a_rule_whose_time_is_over_is_named() -> None:
    assert found(
        bound("rules: [{deny: Bash(rm *), expires: 2024-12-31}, {deny: Bash(ls *), expires: 2025-01-01}]")
    ) == [("expired", "warning")]


@pytest.mark.parametrize(
    ("upper", "expected"),
    [
        ("{id: no-push, deny: {effect: push}, delegate: {to: project}}", ""),
        ("{id: no-push, deny: {effect: push}, delegate: {to: local}}", "delegates to the layer local"),
        ("{id: no-push, deny: {effect: push}, delegate: {to: project, until: 2024-12-31}}", "is over since 2024-12-31"),
        ("{id: no-push, deny: {effect: push}}", "delegates nothing"),
        ("{id: no-push, deny: {effect: push}, lock: true}", "delegates nothing"),
        ("{id: another, deny: {effect: push}}", "no rule has this id"),
    ],
)
def test_an_exception_must_name_a_rule_that_lets_it(upper: str, expected: str) -> None:
    files = [
        bound(f"rules: [{upper}]", "enterprise"),
        bound("rules: [{allow: {effect: push, remote: origin}, excepts: no-push}]", "project"),
    ]
    messages = [f.message for f in lint(files, TRAITS, home=HOME, now=NOW) if f.id == "excepts-nothing"]
    assert [expected in message for message in messages] == ([True] if expected else [])


def test_an_id_that_leaves_nothing_out_is_a_warning() -> None:
    preset = bound("rules: [{id: here, deny: Bash(rm *)}]", file="guard.yaml", without=frozenset(("here", "gone")))
    assert found(preset) == [("without-nothing", "warning")]


def test_a_thousand_rules_of_each_kind_are_looked_at_by_index() -> None:
    kinds = "{{deny: Bash(tool{0} run *)}}, {{deny: 'Read(src/{0}/**)'}}, {{ask: {{effect: connect, host: h{0}.test}}}}"
    assert found(bound(f"rules: [{', '.join(kinds.format(number) for number in range(1000))}]")) == []


@pytest.mark.parametrize(
    ("others", "rule", "expected"),
    [
        (
            "{deny: {effect: read, path: 'src/[a-m]*'}}, {deny: {effect: read, path: 'src/[!a-m]*'}}",
            "{allow: {effect: read, path: 'src/?*'}}",
            ["shadowed"],
        ),
        (
            "{deny: {effect: read, path: 'src/[a-m]*'}}, {deny: {effect: read, path: 'src/[!a-n]*'}}",
            "{allow: {effect: read, path: 'src/?*'}}",
            [],
        ),
        (
            "{allow: {effect: read, path: '//a/[a-m]*'}}, {allow: {effect: read, path: '//a/[!a-m]*'}}",
            "{allow: {effect: read, path: '//a/?x'}}",
            ["implied"],
        ),
        (
            "{allow: {effect: connect, host: '10.0.0.0/9'}}, {allow: {effect: connect, host: '10.128.0.0/9'}}",
            "{allow: {effect: connect, host: '10.0.0.0/8', port: 443}}",
            ["implied"],
        ),
        (
            "{deny: {tool: Agent, depth: {lt: 3}}}, {ask: {tool: Agent, depth: {ge: 3}}}",
            "{allow: {tool: Agent, mode: default}}",
            ["shadowed"],
        ),
    ],
)
def test_rules_that_hold_for_all_of_another_one_only_together_are_named_together(
    others: str, rule: str, expected: list[str]
) -> None:
    findings = lint([bound(f"rules: [{others}, {rule[:1]}id: low, {rule[1:]}]")], TRAITS, home=HOME, now=NOW)
    told = [each for each in findings if each.id in ("shadowed", "implied")]
    assert [each.id for each in told] == expected
    assert all(each.rule == "low" and "together" in each.message for each in told)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("deny: {effect: write, path: './src/**'}\n  except: [{path: './docs/**'}]", 1),
        ("deny: {effect: write, path: 'src/**'}\n  except: [{path: 'src/gen/**'}]", 0),
        ("deny: {effect: connect, host: '*.example.com'}\n  except: [{host: example.org}]", 1),
        ("deny: {effect: connect}\n  except: [{effect: read}]", 1),
        ("deny: {tool: Agent, depth: {ge: 2}}\n  except: [{depth: {lt: 2}}]", 1),
        ("deny: Bash(git push -f *)\n  except: [{command: 'git push origin -f'}]", 0),
        ("deny: {exec: vim}\n  except: [{exec: vi}]", 0),
    ],
)
def test_an_exception_that_holds_for_nothing_of_its_rule_is_named(rule: str, expected: int) -> None:
    findings = lint([bound(f"rules:\n- {rule}")], TRAITS, home=HOME, now=NOW)
    assert len([each for each in findings if each.id == "exception-empty"]) == expected


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            "{allow: {effect: write, path: 'x/**', mode: [default, plan]}}",
            "in mode `plan` all that it allows is refused",
        ),
        ("{ask: {effect: push, mode: [default, bypass]}}", "in mode `bypass` its question is answered without asking"),
        ("{ask: {effect: push, mode: [default, bypass]}, lock: true}", ""),
        ("{deny: Bash(a *), id: no}, {deny: {command: 'a b', mode: [auto, plan]}}", ""),
        (
            "{deny: {command: 'a *', mode: plan}, id: no}, {allow: {command: 'a b', mode: [default, plan]}}",
            "in mode `plan` `no` (user, user.yaml:2) decides all of it",
        ),
    ],
)
def test_a_mode_in_which_a_rule_changes_nothing_is_named(rules: str, said: str) -> None:
    findings = lint([bound(f"rules: [{rules}]")], TRAITS, home=HOME, now=NOW)
    messages = [each.message for each in findings if each.id == "mode-unreachable"]
    assert [message[: len(said)] for message in messages] == ([said] if said else [])


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("{allow: {effect: read, path: '~/**'}}", 1),
        ("{allow: {effect: read, path: '//**', path_not: ['**/*.pem', '**/*.key']}}", 1),
        ("{allow: {effect: read, path: '~/**', path_not: '~/**'}}", 0),
        ("{allow: {effect: read, path: '~/work/**'}}", 0),
        ("{allow: {effect: write, path: '~/**'}}", 0),
        ("{allow: {effect: read, path: '~/**'}}, {deny: {effect: read, path: '//**/*[elsy]*'}}", 0),
        ("{allow: {effect: read, path: '~/**'}}, {deny: {effect: read, path: '//**/*.*'}}", 1),
        ("{allow: {effect: read, path: '~/**'}}, {deny: {effect: read, path: ['//**/*.*', '//**/kube*']}}", 0),
    ],
)
def test_an_allow_of_whole_folders_that_lets_secrets_be_read_is_supposed_with_a_call(rules: str, expected: int) -> None:
    findings = lint([bound(f"rules: [{rules}]")], TRAITS, home=HOME, now=NOW)
    told = [each for each in findings if each.id == "reaches-secret"]
    assert [bool(each.witness) for each in told] == [True] * expected


SHOWN = {
    "{effect: push}": Shown("Bash(git push origin topic)"),
    "{effect: push, force: true, remote: up, ref: main}": Shown("Bash(git push -f up main)"),
    "{effect: env, name: A_B}": Shown("Bash(echo $A_B)"),
    "{effect: env, name: A, access: set}": Shown("Bash(export A=x)"),
    "{effect: env, name: 'A.B'}": NONE,
    "{effect: read, path: //srv/x}": Shown("Read(/srv/x)"),
    "{effect: write, path: //srv/x}": Shown("Write(/srv/x)"),
    "{effect: delete, path: '//srv/a b'}": Shown("Bash(rm '/srv/a b')"),
    "{effect: list, path: //srv/x}": Shown("Bash(ls /srv/x)"),
    "{effect: read, path: //srv/x, tool: Bash}": Shown("Bash(cat /srv/x)"),
    "{effect: connect, host: a.org}": Shown("WebFetch(https://a.org/)"),
    "{effect: connect, host: a.org, direction: send, port: 8443}": Shown("Bash(curl -d x https://a.org:8443/)"),
    "{effect: connect, host: '::1', tool: Bash}": Shown("Bash(curl https://[0:0:0:0:0:0:0:1]/)"),
    "{effect: connect, host: a.org, direction: listen}": NONE,
    "Bash(git push *)": Shown("Bash(git push)"),
    "{exec: [git, push], option: -f}": Shown("Bash(git push -f)"),
    "{exec: rm, effect: delete, path: //srv/x}": Shown("Bash(rm /srv/x)"),
    "{tool: Agent, depth: {ge: 2}}": Shown("Agent", (("depth", 2),)),
    "{tool: Agent, mode: plan}": Shown("Agent", (("mode", "plan"),)),
    "{tool: Agent, time: {days: [tue], from: '09:00'}}": Shown("Agent", (("now", 1_736_240_400.0),)),
    "{tool: Agent, args: {a: 1}}": NONE,
    "{effect: code}": NONE,
}


@pytest.mark.parametrize("when", SHOWN)
def test_a_clause_is_shown_by_a_call(when: str) -> None:
    (clause,) = clauses_of([bound(f"rules: [{{deny: {when}}}]")], HOME, [])
    assert witness(clause) == SHOWN[when]
