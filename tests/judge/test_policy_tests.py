"""Examples of rules and tables of tests: what counts as hit, what fails, and what was never exercised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from warmed import warm

from gateway.config.layers import PolicyFile
from gateway.config.load import Options, load_policy
from gateway.core.errors import ConfigError
from gateway.core.places import Places
from gateway.host.frozen import EXAMPLE, world
from gateway.judge.policy_tables import Report, run_tests
from gateway.judge.policy_tests import Trials, as_call, check_examples, read_layers, stack_for
from gateway.model.decision import MODES
from gateway.policy.compile import compile_policy
from gateway.policy.table import TEXT, Policy
from gateway.spec.tools import compile_tools
from gateway.tools.registry import Registry

PRESETS = (
    "builtin", "guard", "shows", "daily", "ci", "enterprise", "python", "node", "systems", "remote-reading",
    "project.example",
)  # fmt: skip
SHIPPED = Path(__file__).parents[2] / "policies"


@pytest.fixture(scope="module")
def registry() -> Registry:
    path = Path(__file__).parents[2] / "tools.yaml"
    return Registry(compile_tools(path.read_bytes(), str(path)))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Places:
    base = tmp_path_factory.mktemp("places")
    for name in ("config", "home/project"):
        (base / name).mkdir(parents=True)
    warm(base / "cache")
    return Places(*(str(base / name) for name in ("etc", "config", "state", "cache", "home")))


@pytest.fixture
def run(tmp_path: Path, registry: Registry, here: Places) -> Any:
    def run(text: str, name: str = "user.yaml", beside: str = "") -> Report:
        path = tmp_path / name
        path.write_text("version: 1\n" + text, encoding="utf-8")
        if beside:
            path.with_suffix(".tests.yaml").write_text("version: 1\n" + beside, encoding="utf-8")
        root = f"{here.home}/project"
        return run_tests(stack_for([str(path)], root), [str(path)], registry, here, root)

    return run


def problems(report: Report) -> list[str]:
    return [case.problem for case in report.cases]


@pytest.mark.parametrize(
    ("rule", "hit", "missed"),
    [
        ("deny: Bash(rm *)",
         ["rm x", "cd a && rm -rf b", "sudo rm x", "/bin/rm x", "echo $(rm x)", "Bash(rm x)"],
         ["ls rm"]),
        ("allow: Bash(npm run *)", ["npm run x", "npm run x && ls"], ["npm install", "xargs npm run x"]),
        ("deny: 'Read(**/.env*)'", ["cat .env", "Read(.env)", "Read(sub/.env.local)", "cp .env x"],
         ["cat env", "Read(x)"]),
        ("deny: 'Read(~/.ssh/**)'", ["cat ~/.ssh/id_rsa", "Read(~/.ssh/id_rsa)", "cat $HOME/.ssh/x"], ["ls ~"]),
        ("allow: 'Read(docs/**)'", ["cat docs/a.md", "Read(docs/a.md)"], ["cat README.md", "touch docs/a.md"]),
        ("ask: {effect: connect, host: '*.example.com'}",
         ["curl https://a.example.com/", "WebFetch(https://a.example.com/x)"],
         ["curl https://example.org/"]),
        ("deny: {effect: push, force: true}",
         ["git push -f origin main", "git push origin +main"], ["git push origin main"]),
        ("deny: mcp__github__delete_*", ["mcp__github__delete_repo", 'mcp__github__delete_repo({"a": 1})'],
         ["mcp__github__get_repo"]),
        ("deny: {effect: write, path: ./x, mode: plan}", ["touch x"], ["touch y"]),
        ("deny: {effect: code, confined: false}", ["make"], ["ls"]),
        ("deny: {effect: write, agent: Explore, depth: {ge: 1}}", ["touch x"], ["ls"]),
        ("deny: {command: 'git commit *', branch: main}", ["git commit -m x"], ["git status"]),
        ("deny: {command: 'git commit *', branch: topic}", [], ["git commit -m x"]),
        ("deny: {effect: write}\n  except: [{path: x}, {mode: plan}]", ["touch y"], ["touch x"]),
        ("deny: Bash(rm *)\n  expires: 2020-01-01", ["rm x"], []),
        ("require: {confined: true}\n  for: {effect: code}", ["make"], ["ls"]),
        ("require: {network: 'off'}\n  for: {exec: curl}", ["curl https://example.com/"], ["ls"]),
    ],
)  # fmt: skip
def test_an_example_says_what_its_rule_alone_speaks_of(run: Any, rule: str, hit: list[str], missed: list[str]) -> None:
    def listed(name: str, calls: list[str]) -> str:
        return f"\n  {name}: {calls!r}".replace("\\'", "''") if calls else ""

    report = run(f"rules:\n- {rule}{listed('matches', hit)}{listed('not_matches', missed)}")
    assert problems(report) == [""] * (len(hit) + len(missed))
    turned = run(f"rules:\n- {rule}{listed('matches', missed)}{listed('not_matches', hit)}")
    assert all(problems(turned))


def test_a_failing_example_is_told_with_its_rule_and_place(run: Any) -> None:
    report = run("rules:\n- id: mine\n  deny: Bash(rm *)\n  matches: [ls, 'Bash(rm x)']\n  not_matches: [rm y]")
    assert [(case.kind, case.line, case.rule, case.call) for case in report.failures] == [
        ("matches", 3, "mine", "ls"),
        ("not_matches", 3, "mine", "rm y"),
    ]
    assert problems(report) == [
        "example in `matches` must be matched by rule `mine` (got `ls`)",
        "",
        "example in `not_matches` must not be matched by rule `mine` (got `rm y`)",
    ]


def test_an_example_that_is_no_call_is_a_failure_and_no_miss(run: Any) -> None:
    report = run("rules: [{deny: Bash(rm *), not_matches: ['WebFetch(::::)']}]")
    assert [problem.startswith("example of rule `deny-") for problem in problems(report)] == [True]


TABLE = """
rules:
- {id: no-rm, deny: Bash(rm *)}
- {id: docs, allow: "Edit(docs/**)"}
tests:
- {call: rm x, expect: deny, rule: no-rm}
- {call: Edit(docs/a.md), expect: allow, rule: docs}
- {tool: Write, input: {file_path: docs/a.md, content: ""}, expect: allow}
- {call: touch a.md, expect: ask}
- {call: touch a.md, mode: accept_edits, expect: allow}
- {call: touch a.md, cwd: docs, expect: allow, rule: docs}
- {call: make, unconfined: true, mode: plan, expect: deny}
- {call: cat .env, expect: deny, rule: secret-files}
"""


def test_a_table_is_judged_with_all_layers_in_the_named_circumstances(run: Any) -> None:
    report = run(TABLE)
    assert (problems(report), report.coverage) == ([""] * 8, 100.0)


def test_a_row_that_comes_out_otherwise_names_both(run: Any) -> None:
    report = run("deny: [Bash(rm *)]\ntests: [{call: ls, expect: deny, rule: x}, {call: ls, expect: allow, rule: x}]")
    assert problems(report) == [
        "`ls` must get deny by `x` (got allow by `mode:default`)",
        "`ls` must get allow by `x` (got allow by `mode:default`)",
    ]


def test_a_table_may_stand_beside_its_policy(run: Any) -> None:
    report = run("deny: [Bash(rm *)]", beside="tests: [{call: rm x, expect: deny}, {call: rm x, expect: ask}]")
    assert [bool(problem) for problem in problems(report)] == [False, True]
    assert {Path(case.file).name for case in report.cases} == {"user.tests.yaml"}


def test_a_table_beside_a_policy_holds_nothing_else(run: Any) -> None:
    with pytest.raises(ConfigError, match="must hold nothing but `tests`"):
        run("deny: [Bash(rm *)]", beside="deny: [Bash(ls *)]")


def test_rules_that_nothing_exercised_are_told(run: Any) -> None:
    text = """
rules:
- {id: a, deny: Bash(rm *), matches: [rm x]}
- {id: b, ask: Bash(mv *)}
- {id: c, ask: Bash(cp *), not_matches: [ls]}
- {id: d, deny: Bash(ln *)}
"""
    report = run(text + "\ntests: [{call: mv a b && ls, expect: ask}]")
    assert ([each.rule for each in report.unexercised], report.rules, report.coverage) == (["c", "d"], 4, 50.0)


def test_a_file_stands_for_the_layer_it_is_named_after(tmp_path: Path) -> None:
    for name in ("enterprise.yaml", "project.example.yaml", "local.yaml", "team.yaml"):
        (tmp_path / name).write_text("version: 1\n", encoding="utf-8")
    stack = stack_for([str(path) for path in sorted(tmp_path.iterdir())], "/p")
    assert [(file.layer, Path(file.path).name) for file in stack] == [
        ("builtin", "builtin.yaml"), ("enterprise", "enterprise.yaml"), ("user", "team.yaml"),
        ("project", "project.example.yaml"), ("local", "local.yaml"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("git status", "Bash(git status)"),
        ("Read(x)", "Read(x)"),
        ("MultiEdit(x)", "MultiEdit(x)"),
        ("mcp__a__b", "mcp__a__b"),
        ("f(x)", "Bash(f(x))"),
        ("Read(x) && y", "Bash(Read(x) && y)"),
        ("(cd x; ls)", "Bash((cd x; ls))"),
        ("echo Read(x)", "Bash(echo Read(x))"),
    ],
)
def test_a_text_without_a_tool_is_one_for_the_shell(registry: Registry, text: str, call: str) -> None:
    assert as_call(text, registry) == call


def test_examples_of_a_real_home_are_judged_as_if_it_were_that_of_the_world(registry: Registry, here: Places) -> None:
    config = Path(here.config)
    text = (
        "rules: [{deny: 'Read(~/secret/**)', matches: [cat ~/secret/x]}, {deny: 'Read(./in/**)', matches: [cat in/x]}]"
    )
    (config / "policy.yaml").write_text(f"version: 1\n{text}\n", encoding="utf-8")
    loaded = load_policy(here, Options(f"{here.home}/project", root=f"{here.home}/project"), registry, check_examples)
    assert any(row[TEXT].startswith("deny Read(~/secret") for row in loaded.policy.rules)
    (config / "policy.yaml").unlink()


def test_a_failing_example_is_a_load_error_with_its_place(registry: Registry, here: Places) -> None:
    policy = Path(here.config) / "policy.yaml"
    policy.write_text("version: 1\nrules:\n- {id: mine, deny: Bash(rm *), matches: [ls]}\n", encoding="utf-8")
    options = Options(f"{here.home}/project", root=f"{here.home}/project")
    for _again in range(2):
        with pytest.raises(ConfigError) as caught:
            load_policy(here, options, registry, check_examples)
        problem = caught.value.problems[0]
        assert (problem.file, problem.line) == (str(policy), 3)
        assert problem.message == "example in `matches` must be matched by rule `mine` (got `ls`)"
    policy.unlink()


def test_rules_without_examples_cost_no_trial(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, here: Places
) -> None:
    monkeypatch.setattr("gateway.judge.policy_tests.Trials", None)
    files = stack_for([], f"{here.home}/project")
    assert check_examples(read_layers(files, registry, "/p").bound, registry, here) == []


@pytest.mark.parametrize("name", PRESETS)
def test_the_shipped_policies_hold_what_their_examples_and_tables_say(
    name: str, registry: Registry, here: Places
) -> None:
    path = str(SHIPPED / f"{name}.yaml")
    report = run_tests(stack_for([path], "/home/dev/project"), [path], registry, here, "/home/dev/project")
    assert [case.problem for case in report.failures] == []
    assert report.cases != ()


@pytest.mark.parametrize("users", ["", "version: 1\n", "version: 1\nallow: [Bash(npm test)]\n"])
def test_the_table_of_an_upper_layer_holds_whatever_the_layers_below_say(
    registry: Registry, here: Places, tmp_path: Path, users: str
) -> None:
    """As installed: the shipped file as the organisation's, and the preset `daily` where the user has no file."""
    content = Path(SHIPPED, "enterprise.yaml").read_bytes()
    organisations = PolicyFile("enterprise", str(tmp_path / "policy.yaml"), content, "/p", "/etc/gateway")
    daily = Path(SHIPPED, "daily.yaml").read_bytes()
    below = PolicyFile("user", str(tmp_path / "user/policy.yaml"), users.encode() or daily, "/p", "/p")
    files = [*stack_for([], "/p"), organisations, below]
    report = run_tests(files, [organisations.path], registry, here, "/p")
    assert (report.failures, report.coverage) == ((), 100.0)


def test_what_a_call_does_is_read_once_and_said_by_each_mode_and_circumstance_for_itself(
    registry: Registry, here: Places
) -> None:
    known = Trials(registry, here)
    policy = Policy(**compile_policy((), home=known.world.home), levels={})
    for confined in (True, False):
        for mode in MODES:
            for call in ("Edit(src/a.py)", "Bash(cat a > b; curl https://example.org)", "Bash(. venv/bin/activate)"):
                fresh = Trials(registry, here)
                alone = fresh.verdict(call, policy, fresh.context(mode=mode, confined=confined))
                assert known.verdict(call, policy, known.context(mode=mode, confined=confined)) == alone
    assert len(known._seen) == 6


def test_the_world_of_examples_is_a_project_on_main_without_links() -> None:
    found = world(EXAMPLE)
    assert (found.home, found.root) == ("/home/dev", "/home/dev/project")
    assert found.host.read("/home/dev/project/.git/HEAD") == "ref: refs/heads/main\n"
    assert found.host.glob("/home/dev/project/src/*") == ("/home/dev/project/src/main.py",)


def test_a_frozen_host_answers_like_a_machine() -> None:
    found = world(
        {
            "home": "/h", "root": "/h/p", "branch": "", "files": ["a/b.txt", ".hidden", "a/.c", "/etc/x"],
            "links": {"out": "/etc", "loop": "loop", "rel": "a/b.txt", "up": ".."}, "untrusted_programs": ["ls"],
            "contents": {"note": "text"}, "folders": ["empty"],
        }
    ).host  # fmt: skip

    def told(path: str) -> tuple[str, str] | None:
        fact = found.path(path)
        return None if fact is None else (fact.real, fact.kind)

    asked = ("/h/p/out/x", "/h/p/rel", "/h/p/up/p/a", "/h/p/loop", "/h/p/none/x", "a", "/h/p/empty")
    assert [told(path) for path in asked] == [
        ("/etc/x", "file"), ("/h/p/a/b.txt", "file"), ("/h/p/a", "dir"), None, ("/h/p/none/x", "missing"), None,
        ("/h/p/empty", "dir"),
    ]  # fmt: skip
    assert found.glob("/h/p/*") == ("/h/p/a", "/h/p/empty", "/h/p/loop", "/h/p/note", "/h/p/out", "/h/p/rel", "/h/p/up")
    assert (found.glob("/h/p/.h*"), found.glob("/h/p/*/*.txt")) == (("/h/p/.hidden",), ("/h/p/a/b.txt",))
    assert (found.glob("/h/p/out/*"), found.glob("/none/*")) == (("/h/p/out/x",), ())
    assert (found.program("ls", ""), found.program("cat", "")) == ("/h/p/bin/ls", "/usr/bin/cat")
    assert (found.read("/h/p/note"), found.read("/h/p/a/b.txt"), found.read("/h/p/none")) == ("text", "", "")
    assert sorted(found.below("/h/p/a")) == ["/h/p/a/.c", "/h/p/a/b.txt"]
