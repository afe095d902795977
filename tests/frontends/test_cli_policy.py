"""`gateway policy` and `gateway tools` as people run them."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from warmed import warm

from gateway.frontends.main import run
from gateway.frontends.policy_reports import as_github
from gateway.frontends.sarif import Result
from gateway.spec.schema import policy_schema

SHIPPED = Path(__file__).parents[2] / "policies"


class Place:
    """A HOME with a project, and the command line run in it."""

    def __init__(self, base: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.home = base / "home"
        self.project = self.home / "project"
        self.capture = capture
        self.project.mkdir(parents=True)
        (self.project / ".git").mkdir()

    def put(self, name: str, text: str) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("version: 1\n" + text, encoding="utf-8")
        return path

    def run(self, *words: str) -> tuple[int, str, str]:
        self.capture.readouterr()
        status = run(list(words))
        out, err = self.capture.readouterr()
        return status, out, err

    def data(self, *words: str) -> tuple[int, Any]:
        status, out, _err = self.run(*words, "--json")
        return status, json.loads(out)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Place:
    found = Place(tmp_path, capsys)
    for name in os.environ:
        if name.startswith(("XDG_", "GATEWAY_")) or name.endswith("_PROJECT_DIR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(found.home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    warm(tmp_path / "cache" / "gateway")
    monkeypatch.chdir(found.project)
    return found


USER = ".config/gateway/policy.yaml"
PROJECT = "project/.gateway/policy.yaml"


def test_show_names_the_origin_of_every_source_rule_and_setting(place: Place) -> None:
    user = place.put(
        USER,
        "extends: [{preset: guard, level: warn, without: [power]}]\nsettings: {mode: plan}\n"
        "rules: [{id: mine, deny: Bash(rm *), lock: true}, {id: old, ask: Bash(x), expires: 2020-01-01}]",
    )
    project = place.put(PROJECT, "allow: [Bash(ls x)]\nsettings: {levels: {write: allow}}")
    status, found = place.data("policy", "show")
    assert status == 0
    sources = [(each["layer"], Path(each["path"]).name, each["state"], each["level"]) for each in found["sources"]]
    assert sources == [
        ("builtin", "builtin.yaml", "loaded", "enforce"),
        ("enterprise", "policy.yaml", "absent", "enforce"),
        ("user", "policy.yaml", "loaded", "enforce"),
        ("user", "guard.yaml", "loaded", "warn"),
        ("project", "policy.yaml", "loaded", "enforce"),
        ("local", "policy.yaml", "absent", "enforce"),
    ]
    rules = {
        each["id"]: (each["layer"], each["file"], each["line"], each["level"], each["state"]) for each in found["rules"]
    }
    assert rules["mine"] == ("user", str(user), 4, "enforce", "active")
    assert rules["old"][-1] == "expired"
    assert (rules["power"][-2:], rules["force-push"][-2:]) == (("warn", "left out"), ("warn", "active"))
    assert [each["state"] for each in found["rules"] if each["layer"] == "project"] == ["waits for trust"]
    assert found["settings"]["mode"] == {"value": "plan", "file": str(user), "layer": "user", "origins": {}}
    assert found["mode"] == "plan"
    assert found["not_used"] == [
        f"{project}: 1 allow rules wait until the project is trusted",
        f"{project}: setting `levels` is not used: it waits until the project is trusted",
    ]
    assert (found["project"]["trusted"], len(found["project"]["digest"]), found["problems"]) == (False, 48, [])


def test_a_project_file_that_no_name_is_read_for_is_told_wherever_policy_is_shown(place: Place) -> None:
    wrong = place.put("project/.gateway/policy.yml", "deny: [Bash(ls)]")
    said = f"{wrong}: is not read: its name must be `policy.yaml`"
    assert place.data("policy", "show")[1]["not_used"] == [said]
    assert "not used\n  .gateway/policy.yml: is not read" in place.run("policy", "show")[1]
    status, found = place.data("policy", "lint")
    assert (status, [(each["id"], each["severity"], each["file"]) for each in found["findings"]]) == (
        1, [("misnamed", "warning", str(wrong))],
    )  # fmt: skip
    assert f"{wrong}: warning[misnamed]: is not read" in place.run("policy", "lint")[1]
    assert place.data("check", "Bash(ls)")[1]["not_read"] == [said]
    assert place.run("check", "Bash(ls)")[1].endswith(f"note: {said}\n")
    assert "policy.yml:isnotread" in "".join(place.run("doctor")[1].split())  # lines are broken at any width


def test_a_users_file_that_no_name_is_read_for_ends_every_decision(place: Place) -> None:
    place.put(".config/gateway/policy.yml", "deny: [Bash(ls)]")
    status, _out, err = place.run("check", "Bash(ls)")
    assert (status, "policy.yml: is not read: its name must be `policy.yaml`" in err) == (2, True)


def test_show_as_text_has_a_line_for_each_rule_with_its_line_in_the_file(place: Place) -> None:
    place.put(USER, "rules: [{id: mine, deny: Bash(rm *), lock: true}]")
    status, out, _err = place.run("policy", "show", "--layer", "user")
    assert status == 0
    assert out.splitlines() == [
        "sources",
        "  user       ~/.config/gateway/policy.yaml  1 rule",
        "",
        "settings",
        "  mode = default  (nobody sets it)",
        "",
        "rules  user  ~/.config/gateway/policy.yaml",
        "    2  deny    mine  Bash(rm *) lock true [locked]",
    ]


def test_show_works_while_a_file_is_broken_and_says_what_is_wrong(place: Place) -> None:
    place.put(USER, "dney: []")
    place.put(PROJECT, "deny: [Bash(rm *)]")
    status, out, err = place.run("policy", "show")
    assert status == 2
    assert "broken, 1 problem" in out
    assert "Bash(rm *)" in out
    assert "critical-root" in out
    assert f"{place.home}/{USER}:2:1: " in err
    status, found = place.data("policy", "show", "--sources")
    assert (status, [each["line"] for each in found["problems"]]) == (2, [2])
    assert "rules" not in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("deny: [Read(../x)]", "must not leave the folder"),
        ("extends: [nonesuch]", "is no preset"),
        ("rules: [{deny: Bash(rm *), matches: [ls]}]", "must be matched by rule"),
        ("deny: [Bsah(x)]", "must be a known one"),
    ],
)
def test_show_tells_whatever_keeps_a_policy_from_loading(place: Place, text: str, message: str) -> None:
    place.put(USER, text)
    status, found = place.data("policy", "show")
    assert (status, [message in each["message"] for each in found["problems"]]) == (2, [True])
    assert any(each["layer"] == "builtin" for each in found["rules"])


def test_show_of_a_folder_of_policies(place: Place) -> None:
    place.put("given/project.yaml", "allow: [Bash(ls x)]")
    status, found = place.data("policy", "show", "--policies", str(place.home / "given"), "--sources")
    assert (status, [(each["layer"], each["state"]) for each in found["sources"]]) == (
        0,
        [
            ("builtin", "loaded"),
            ("enterprise", "absent"),
            ("user", "absent"),
            ("project", "loaded"),
            ("local", "absent"),
        ],
    )


def test_show_of_a_layer_that_is_none_is_wrong_usage(place: Place) -> None:
    status, _out, err = place.run("policy", "show", "--layer", "nobody")
    assert (status, "--layer must be one of builtin" in err) == (2, True)


GOOD = "rules: [{id: mine, deny: Bash(rm *), matches: [rm x], not_matches: [ls]}]\ntests: [{call: rm x, expect: deny}]"
BAD = "rules: [{id: mine, deny: Bash(rm *), matches: [ls & x]}, {id: idle, deny: Bash(mv *)}]"


def test_test_runs_the_layers_that_hold_here(place: Place) -> None:
    place.put(USER, GOOD)
    assert place.run("policy", "test") == (0, "3 passed, 0 failed; 1 rule, 100 % exercised\n", "")


def test_where_nobody_has_said_anything_there_is_nothing_to_test(place: Place) -> None:
    said = "nothing to test: no rules and no tests of your own; `gateway new rule ID` begins with one\n"
    assert place.run("policy", "test") == (0, said, "")


def test_a_file_that_is_not_there_is_told_as_that_and_not_as_a_broken_layer(place: Place) -> None:
    path = place.project / "nowhere.yaml"
    said = f"gateway: {path}: cannot be read: No such file or directory\n  help: name a file that is there\n"
    assert place.run("policy", "test", "nowhere.yaml") == (2, "", said)
    path.symlink_to("nowhere-either")
    assert "while it cannot be read, every call is refused" in place.run("policy", "test", "nowhere.yaml")[2]


def test_a_preset_that_is_named_as_a_file_is_told_how_presets_are_named(place: Place) -> None:
    place.put(USER, "extends: [{file: guard, without: [ask-send]}]\n")
    said = "name a file that is there: what ships of that name is meant by `preset: guard`"
    assert said in place.run("policy", "lint")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "help: begin one with `gateway new rule ID --layer project`"),
        (("nowhere",), "gateway: DIR must be a folder that exists (got `nowhere`)"),
        (("--revoke",), "help: see `gateway policy trust --list`"),
    ],
    ids=["nothing to trust", "no folder", "not trusted"],
)
def test_what_cannot_be_trusted_is_told_with_what_to_do(place: Place, words: tuple[str, ...], said: str) -> None:
    status, out, err = place.run("policy", "trust", *words)
    assert (status, out, said in err) == (2, "", True)


@pytest.mark.parametrize("words", [("tools", "list"), ("pause",), ("pause", "--end"), ("policy", "show")], ids=" ".join)
def test_a_current_folder_that_is_gone_is_told_as_that(
    place: Place, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    gone = place.home / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    status, out, err = place.run(*words)
    assert (status, out) == (2, "")
    assert err.startswith("gateway: the current folder cannot be used: ")
    assert "help: change to a folder that exists" in err
    assert ("--cwd" in err) == (words == ("policy", "show"))


@pytest.mark.parametrize(
    ("policy", "said"), [(None, "has no policy"), ("rulez: []", "its policy is broken")], ids=["none", "a broken one"]
)
def test_show_says_whether_a_project_has_a_policy(place: Place, policy: str | None, said: str) -> None:
    if policy is not None:
        place.put("project/.gateway/policy.yaml", policy)
    assert f"project  {place.project}: {said}\n" in place.run("policy", "show", "--sources")[1]


def test_show_lists_hooks_and_the_files_that_bring_tools(place: Place) -> None:
    place.put(USER, "hooks: [{id: look, event: before_call, tools: [Read], command: [./look.sh]}]")
    place.run("new", "tool", "Count")
    text = place.run("policy", "show", "--layer", "user")[1]
    assert text.splitlines()[-6:] == [
        "hooks",
        "  look: before_call of Read, may refuse and change calls  (user, ~/.config/gateway/policy.yaml:2)",
        "    runs ./look.sh",
        "",
        "tools",
        "  user       ~/.config/gateway/tools.yaml",
    ]
    _status, data = place.data("policy", "show")
    assert data["hooks"] == [
        {
            "id": "look", "layer": "user", "file": str(place.home / USER), "line": 2, "event": ["before_call"],
            "tools": ["Read"], "guards": True, "seconds": 5, "does": "runs ./look.sh",
        }
    ]  # fmt: skip
    assert data["tools"] == [{"layer": "user", "file": str(place.home / ".config/gateway/tools.yaml")}]
    assert place.data("policy", "show", "--layer", "builtin")[1]["hooks"] == []


def test_long_lists_are_folded_and_whole_in_full(place: Place) -> None:
    folders = [f"./folder-{number:02}/**" for number in range(40)]
    place.put(USER, f"settings: {{sandbox: {{write: {json.dumps(folders)}}}}}")
    short, full = place.run("policy", "show")[1], place.run("policy", "show", "--full")[1]
    assert (json.dumps(folders) in full, "more]" in full, "`--full` shows all" in full) == (True, False, False)
    [line] = [line for line in short.split("\n") if "sandbox.write" in line]
    assert line == (
        '  sandbox.write = ["./folder-00/**", "./folder-01/**", "./folder-02/**", "./folder-03/**", … 36 more]'
        "  (user, ~/.config/gateway/policy.yaml)"
    )
    assert short.endswith("\n\n… stands for what is left out: `--full` shows all\n")
    assert max(map(len, short.split("\n"))) < 1_000


def test_test_tells_what_failed_and_what_nothing_exercised(place: Place) -> None:
    path = place.put("team.yaml", BAD)
    status, out, _err = place.run("policy", "test", str(path))
    assert status == 1
    assert out.splitlines() == [
        f"FAIL {path}:2: example in `matches` must be matched by rule `mine` (got `ls & x`)",
        "never exercised by an example or test:",
        f"  {path}:2: mine",
        f"  {path}:2: idle",
        "0 passed, 1 failed; 2 rules, 0 % exercised",
    ]


@pytest.mark.parametrize(("least", "status"), [("0", 0), ("100", 0), ("50", 0)])
def test_enough_coverage_is_no_failure(place: Place, least: str, status: int) -> None:
    path = place.put("team.yaml", GOOD)
    assert place.run("policy", "test", str(path), "--min-coverage", least)[0] == status


def test_too_little_coverage_is_a_failure(place: Place) -> None:
    path = place.put("team.yaml", GOOD + "\ndeny: [Bash(mv *)]")
    status, _out, err = place.run("policy", "test", str(path), "--min-coverage", "75")
    assert (status, err) == (1, "gateway: coverage must be at least 75 % (got 50.0 %)\n")


def test_test_writes_junit_that_a_pipeline_can_read(place: Place) -> None:
    path = place.put("team.yaml", BAD)
    target = place.home / "report.xml"
    status, _out, _err = place.run("policy", "test", str(path), "--junit", str(target), "--min-coverage", "50")
    suites = ElementTree.parse(target).getroot()
    told = [(case.get("name"), len(case)) for case in suites.iter("testcase")]
    assert (status, suites.get("tests"), suites.get("failures")) == (1, "2", "2")
    assert told == [("mine matches ls & x", 1), ("rules exercised", 1)]


def test_test_as_json_lists_every_case(place: Place) -> None:
    path = place.put("team.yaml", GOOD)
    status, found = place.data("policy", "test", str(path))
    assert (status, found["passed"], found["failed"], found["coverage"], found["unexercised"]) == (0, 3, 0, 100.0, [])
    assert [(case["kind"], case["rule"], case["call"], case["problem"]) for case in found["cases"]] == [
        ("matches", "mine", "rm x", ""),
        ("not_matches", "mine", "ls", ""),
        ("test", "", "rm x", ""),
    ]


@pytest.mark.parametrize(
    "words",
    [("test", "missing.yaml"), ("lint", "missing.yaml"), ("test", "--min-coverage", "101"),
     ("test", "--cwd", "/missing"), ("test", "x.yaml", "--policies", "."), ("schema", "nonsense"),
     ("lint", "--policies", "/missing"), ("nonsense",)],
)  # fmt: skip
def test_wrong_usage_is_status_two_and_one_clear_error(place: Place, words: tuple[str, ...]) -> None:
    status, out, err = place.run("policy", *words)
    assert (status, out, err.startswith("gateway: "), "Traceback" in err) == (2, "", True, False)


@pytest.mark.parametrize("command", ["test", "lint"])
def test_a_broken_file_is_status_two(place: Place, command: str) -> None:
    path = place.put("team.yaml", "dney: []")
    status, _out, err = place.run("policy", command, str(path))
    assert (status, f"{path}:2:1" in err) == (2, True)


def test_lint_finds_and_shows_by_a_call_that_the_engine_confirms(place: Place) -> None:
    path = place.put("team.yaml", "allow: ['Bash(python3 *)']\ndeny: [Read, 'Bash(rm *)', 'Bash(rm -rf *)']")
    status, found = place.data("policy", "lint", str(path))
    told = [(each["id"], each["severity"], each["line"], each["witness"]) for each in found["findings"]]
    assert (status, told) == (
        1,
        [
            ("opens-interpreter", "warning", 2, "Bash(python3 -c 'import os')"),
            ("implied", "warning", 3, "Bash(rm -rf)"),
            ("walked-around", "warning", 3, "Bash(cat src/main.py)"),
        ],
    )


def test_lint_says_that_an_example_fails(place: Place) -> None:
    text = "rules:\n  - {id: a, deny: Bash(rm *), matches: [mv x], not_matches: [mv y]}\n"
    path = place.put("team.yaml", text)
    said = "rule `a`: example in `matches` must be matched by rule `a` (got `mv x`)"
    status, out, _err = place.run("policy", "lint", str(path))
    assert (status, out.split("\n")) == (
        2,
        [
            f"{path}:3: error[failing-example]: {said}",
            "  help: correct the rule or the example: `gateway policy test` runs them one by one",
            "1 error",
            "",
        ],
    )


def test_lint_says_which_rows_of_tables_fail_beside_a_file_too(place: Place) -> None:
    path = place.put("team.yaml", "allow: ['Bash(true)']\ntests:\n  - {call: Bash(true), expect: deny}\n")
    beside = place.put(
        "team.tests.yaml", "tests:\n  - {call: Bash(true), expect: allow}\n  - {call: Bash(rm x), expect: deny}\n"
    )
    status, found = place.data("policy", "lint", str(path))
    assert (status, [(each["id"], each["severity"], each["file"], each["line"]) for each in found["findings"]]) == (
        1,
        [("failing-test", "warning", str(path), 4), ("failing-test", "warning", str(beside), 4)],
    )


def test_lint_makes_little_of_a_door_that_another_rule_holds(place: Place) -> None:
    text = "allow: ['Bash(python3 *)']\ndeny: ['Bash(python3 -c *)']"
    status, found = place.data("policy", "lint", str(place.put("team.yaml", text)))
    assert (status, [(each["id"], each["severity"], each["witness"]) for each in found["findings"]]) == (
        0,
        [("opens-interpreter", "info", "")],
    )


def test_lint_says_of_wrappers_that_what_they_start_needs_its_own_rule(place: Place) -> None:
    path = place.put("team.yaml", "allow: ['Bash(env *)', 'Bash(xargs *)']")
    status, found = place.data("policy", "lint", str(path))
    assert (status, [each["severity"] for each in found["findings"]]) == (0, ["info", "info"])


def test_lint_shows_a_rule_that_an_upper_layer_shadows(place: Place) -> None:
    place.put("given/enterprise.yaml", "rules: [{id: no-git, deny: Bash(git *)}]")
    place.put("given/user.yaml", "rules: [{id: status, allow: Bash(git status)}]")
    status, out, _err = place.run("policy", "lint", "--policies", str(place.home / "given"))
    user, enterprise = (place.home / "given" / f"{name}.yaml" for name in ("user", "enterprise"))
    shadow = f"deny rule `no-git` (enterprise, {enterprise}:2)"
    assert status == 1
    assert out.splitlines() == [
        f"{user}:2: warning[shadowed]: rule `status`: never decides: {shadow} holds for all of it",
        "  shown by: Bash(git status)",
        "  help: remove it, or narrow `no-git`",
        "1 warning",
    ]


@pytest.mark.parametrize("name", ["builtin", "guard", "daily", "ci", "enterprise", "project.example"])
def test_the_shipped_policies_lint_clean(place: Place, name: str) -> None:
    assert place.run("policy", "lint", str(SHIPPED / f"{name}.yaml")) == (0, "nothing to say\n", "")


def test_what_holds_on_a_fresh_machine_lints_clean(place: Place) -> None:
    assert place.run("policy", "lint") == (0, "nothing to say\n", "")


def test_the_schema_of_policies_and_of_tools_can_be_had(place: Place) -> None:
    assert json.loads(place.run("policy", "schema")[1]) == json.loads(json.dumps(policy_schema()))
    status, out, _err = place.run("policy", "schema", "tools")
    assert (status, json.loads(out)["title"]) == (0, "tools.yaml")


def digest_of(place: Place) -> str:
    return str(place.data("policy", "show", "--sources")[1]["project"]["digest"])


def test_trust_needs_a_person_at_a_terminal_and_shows_what_it_would_accept(place: Place) -> None:
    place.put(PROJECT, "allow: [Bash(ls x)]\ndeny: [Bash(rm *)]\nsettings: {levels: {write: allow}}")
    status, out, err = place.run("policy", "trust")
    assert (status, "trust must be given by a person at a terminal" in err) == (2, True)
    assert out.splitlines() == [
        f"project  {place.project}",
        "  .gateway/policy.yaml  2 rules",
        "",
        "rules that would allow",
        "  allow Bash(ls x)  (.gateway/policy.yaml:2)",
        "",
        "settings",
        "  levels.write = allow",
        "",
        f"digest {digest_of(place)}",
    ]
    assert place.run("policy", "trust", "--list")[1] == "no project is trusted\n"


def test_trust_of_exactly_this_content_holds_until_it_changes(place: Place) -> None:
    place.put(PROJECT, "allow: [Bash(ls x)]")
    digest = digest_of(place)
    assert place.run("policy", "trust", "--yes", digest)[:2] == (0, f"trusted {place.project}\n  digest {digest}\n")
    assert place.data("policy", "show")[1]["project"]["trusted"] is True
    assert list(json.loads(place.run("policy", "trust", "--list", "--json")[1])[str(place.project)]) == [digest]
    place.put(PROJECT, "allow: ['Bash(rm *)']")
    assert place.data("policy", "show")[1]["project"]["trusted"] is False
    status, _out, err = place.run("policy", "trust", "--yes", digest)
    assert (status, "--yes must be the digest of the policy" in err) == (2, True)


def test_trust_can_be_taken_back(place: Place) -> None:
    place.put(PROJECT, "allow: [Bash(ls x)]")
    place.run("policy", "trust", "--yes", digest_of(place))
    assert place.run("policy", "trust", "--revoke")[:2] == (0, f"{place.project} is trusted no longer\n")
    assert place.data("policy", "show")[1]["project"]["trusted"] is False
    assert place.run("policy", "trust", "--revoke")[0] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dney: []", "a broken policy must not be trusted"),
        ("rules: [{deny: Bash(rm *), matches: [ls]}]", "a broken policy"),
    ],
)
def test_a_broken_policy_is_not_trusted(place: Place, text: str, message: str) -> None:
    place.put(PROJECT, text)
    status, _out, err = place.run("policy", "trust", "--yes", "x" * 48)
    assert (status, message in err) == (2, True)


def test_a_project_without_a_policy_is_not_trusted(place: Place) -> None:
    status, _out, err = place.run("policy", "trust")
    assert (status, "project must have a policy to be trusted" in err) == (2, True)


@pytest.mark.parametrize(
    ("answer", "status", "trusted"), [("y", 0, True), ("yes", 0, True), ("", 1, False), ("n", 1, False)]
)
def test_a_persons_answer_at_a_terminal_decides(
    place: Place, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, trusted: bool
) -> None:
    place.put(PROJECT, "allow: [Bash(ls x)]")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin.readline", lambda: answer + "\n", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert place.run("policy", "trust")[0] == status
    assert place.data("policy", "show", "--sources")[1]["project"]["trusted"] is trusted


def test_tools_are_listed_with_the_rules_that_speak_of_them(place: Place) -> None:
    status, found = place.data("tools", "list")
    tools = {each["name"]: each for each in found}
    assert (status, tools["Bash"]["match"]["kind"], tools["Edit"]["aliases"]) == (0, "shell", ["MultiEdit"])
    _status, out, _err = place.run("tools", "list")
    assert [line.split()[2] for line in out.splitlines() if line.split()[0] in ("Bash", "Grep", "Write")] == [
        "Edit(path)", "Read(path)", "Bash(command)",
    ]  # fmt: skip


def test_a_tool_is_shown_by_name_or_alias(place: Place) -> None:
    status, found = place.data("tools", "show", "MultiEdit")
    assert (status, found["name"], found["effects"]) == (0, "Edit", ["read file_path", "write file_path"])
    status, out, _err = place.run("tools", "show", "Read")
    assert (status, out.splitlines()[0]) == (0, "Read  Read a file.")


def test_an_unknown_tool_is_an_error_with_a_suggestion(place: Place) -> None:
    status, _out, err = place.run("tools", "show", "Rea")
    assert (status, "did you mean `Read`?" in err) == (2, True)


WITHOUT_EFFECT = """\
extends: [daily]
rules:
  - id: look-things-up
    allow: "Bash(curl -s http://10.1.2.3/*)"
    matches: ["curl -s http://10.1.2.3/pods"]
  - id: searches
    allow: WebSearch
    matches: ["WebSearch(how to test)"]
  - id: fetches
    allow: WebFetch(domain:docs.python.org)
    matches: ["WebFetch(https://docs.python.org/3/)"]
"""


def test_lint_proves_of_each_example_of_an_allow_rule_that_it_is_allowed_or_names_what_stands_above(
    place: Place,
) -> None:
    status, found = place.data("policy", "lint", str(place.put("policy.yaml", WITHOUT_EFFECT)))
    said = {each["rule"]: (each["message"], each["remedy"]) for each in found["findings"] if each["id"] == "no-effect"}

    assert status == 1
    assert sorted(said) == ["look-things-up", "searches"]
    message, remedy = said["look-things-up"]
    assert "`private-addresses`" in message
    assert "guard.yaml" in message
    assert "`extends: [{preset: daily, without: [private-addresses]}]`" in remedy


@pytest.mark.parametrize("call", ["Bash(curl -s http://10.1.2.3/pods)", "WebFetch(https://10.1.2.3/)"])
def test_the_change_that_leaves_a_preset_s_rule_out_is_one_that_works(place: Place, call: str) -> None:
    place.put(USER, "extends: [daily]\n")
    said = place.data("check", call)[1]["change"]
    (line,) = re.findall(r"`(extends: .+?)`", said)
    rules = re.findall(r"`allow: (.+?)`(?:,| and| in)", said)
    place.put(USER, f"{line}\nrules: {json.dumps([{'allow': rule} for rule in rules])}\n")

    assert place.data("check", call)[1]["decision"] == "allow", said


PROJECT = "project/.gateway/policy.yaml"
TWICE = "rules:\n- {id: one, deny: 'Bash(rm *)'}\n- {id: two, deny: 'Bash(rm *)'}\n"


def results(place: Place, *words: str) -> list[dict[str, Any]]:
    _status, out, _err = place.run("policy", *words, "--format", "sarif")
    (found,) = json.loads(out)["runs"]
    known = [each["id"] for each in found["tool"]["driver"]["rules"]]
    assert [known[each["ruleIndex"]] for each in found["results"]] == [each["ruleId"] for each in found["results"]]
    return list(found["results"])


def test_findings_are_told_to_reviews_with_a_fingerprint_that_survives_moved_lines(place: Place) -> None:
    place.put(PROJECT, TWICE)
    (before,) = results(place, "lint")
    place.put(PROJECT, f"\n# moved\n\n{TWICE}")
    (after,) = results(place, "lint")
    where = before["locations"][0]["physicalLocation"]
    assert (before["ruleId"], before["level"], where["artifactLocation"]["uri"]) == (
        "duplicate", "warning", ".gateway/policy.yaml"
    )  # fmt: skip
    assert where["region"]["startLine"] + 3 == after["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert before["partialFingerprints"] == after["partialFingerprints"]


def test_a_failing_example_is_told_to_reviews(place: Place) -> None:
    table = place.put("project/.gateway/policy.tests.yaml", "tests:\n- {call: 'Bash(ls)', expect: deny}\n")
    place.put(PROJECT, TWICE)
    (found,) = results(place, "test", str(table))
    assert (found["ruleId"], found["level"], "Bash(ls)" in found["message"]["text"]) == ("failing-test", "error", True)


def test_github_is_told_in_lines_that_no_text_can_end(place: Place) -> None:
    place.put(PROJECT, TWICE)
    _status, out, _err = place.run("policy", "lint", "--format", "github")
    (line,) = out.splitlines()
    assert line.startswith("::warning file=.gateway/policy.yaml,line=")
    odd = Result("a,b:c", "note", "50%\n::error::x", "f,1:2.yaml", 3, "")
    assert as_github([odd]) == "::notice file=f%2C1%3A2.yaml,line=3,title=a%2Cb%3Ac::50%25%0A::error::x\n"


def test_a_commit_waits_for_tests_and_lint(place: Place) -> None:
    place.put(PROJECT, "rules: [{id: one, deny: 'Bash(rm *)', matches: rm x}]\n")
    first = place.run("policy", "precommit")[0]
    place.put(PROJECT, TWICE)
    second = place.run("policy", "precommit")[0]
    place.put(PROJECT, "rules: nothing\n")
    assert (first, second, place.run("policy", "precommit")[0]) == (0, 1, 2)


@pytest.mark.parametrize("words", [("--format", "xml"), ("--format", "sarif", "--json")])
def test_a_form_that_is_none_is_refused(place: Place, words: tuple[str, ...]) -> None:
    assert [place.run("policy", command, *words)[0] for command in ("lint", "test")] == [2, 2]


IDLE = (
    "rules:\n- {id: busy, deny: 'Read(//srv/**)'}\n- {id: idle, allow: 'Read(//opt/x/**)'}\n"
    "- {id: guard, deny: 'Bash(frobnicate *)'}\n- {id: over, deny: 'Bash(y *)', expires: 2020-01-01}\n"
)


@pytest.fixture
def recorded(place: Place) -> Place:
    """With a record of one decision, which begins in 2020, by policy that was written before that."""
    os.utime(place.put(USER, IDLE), (0, 0))
    assert [place.run("run", "Read(/srv/x)")[0] for _once in range(2)] == [126, 126]
    (segment,) = (place.home / ".local/state/gateway/audit").glob("*.jsonl")
    first, *others = segment.read_bytes().splitlines(keepends=True)
    assert others
    segment.write_bytes(re.sub(rb'"at":"[0-9]+', b'"at":"2020', first) + b"".join(others))
    return place


def idle(place: Place, *words: str) -> list[tuple[str, str]]:
    """Rules that are said to be unused, with what is recorded."""
    status, out, err = place.run("policy", "lint", *words)
    assert (status, err) == (1, "")  # `over` is a warning
    lines = re.findall(
        r"info\[unused\]: rule `(\w+)`: took part in no decision (?:for|since) \S+\n  help: .*\((.*)\)", out
    )
    assert len(lines) == out.count("[unused]")
    return lines


def test_rules_that_decided_nothing_are_named_where_the_record_reaches_back_so_far(recorded: Place) -> None:
    since = (datetime.now(UTC) - timedelta(days=30)).strftime("%Y-%m-%d")
    said = f"decisions recorded since {since}: 1"
    assert idle(recorded, "--unused", "30d") == [("idle", said), ("guard", said)]
    assert idle(recorded) == []
    _status, found = recorded.data("policy", "lint", "--unused", since)
    assert [
        (each["rule"], each["severity"], each["message"]) for each in found["findings"] if each["id"] == "unused"
    ] == [(name, "info", f"took part in no decision since {since}") for name in ("idle", "guard")]
    github = recorded.run("policy", "lint", "--unused", "30d", "--format", "github")[1]
    assert github.count("title=unused::") == 2
    before = results(recorded, "lint", "--unused", "30d")
    recorded.run("run", "Read(/srv/y)")
    os.utime(recorded.home / USER)
    assert [each["partialFingerprints"] for each in results(recorded, "lint", "--unused", "30d")] == [
        each["partialFingerprints"] for each in before
    ]
    changed = f"decisions recorded since {since}: 2; its file has changed since then, so it may be younger"
    assert idle(recorded, "--unused", "30d") == [("idle", changed), ("guard", changed)]


def test_a_record_that_says_too_little_makes_no_rule_unused(recorded: Place) -> None:
    told = [recorded.run("policy", "lint", "--unused", moment)[1:] for moment in ("2019-01-01", "2999-01-01")]
    assert ["[unused]" in out for out, _err in told] == [False, False]
    assert [err.partition(",")[0].partition("-")[0] for _out, err in told] == [
        "note: the record begins on 2020", "note: no decision is recorded since 2999",
    ]  # fmt: skip


def test_where_nothing_is_recorded_no_rule_is_unused_and_nothing_fails(place: Place) -> None:
    place.put(USER, "deny: [Bash(frobnicate x)]")
    assert place.run("policy", "lint", "--unused", "30d") == (
        0, "nothing to say\n", "note: nothing is recorded yet, so no rule can be called unused\n",
    )  # fmt: skip
    assert not (place.home / ".local/state/gateway/audit").exists()


@pytest.mark.parametrize("moment", ["", "often", "999999999w", "-3d"])
def test_a_time_that_is_none_is_refused(place: Place, moment: str) -> None:
    status, _out, err = place.run("policy", "lint", f"--unused={moment}")
    assert (status, "--unused must be a time" in err) == (2, True)
