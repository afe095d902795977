"""Which files make the policy, who may have written them, and what each layer may say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from warmed import warm

from gateway.config.binding import Layered, bind
from gateway.config.layers import PolicyFile, find_files, local_folder
from gateway.core.errors import ConfigError
from gateway.core.places import Places
from gateway.spec.policy import parse_policy
from gateway.spec.short import ToolName

TOOLS = {
    "Agent": ToolName("Agent", "name", "subagent_type"),
    "Bash": ToolName("Bash", "shell", "command", ("command",)),
    "Read": ToolName("Read", "path", "file_path"),
    **{name: ToolName(name, "path", "file_path") for name in ("Write", "Edit", "NotebookEdit")},
}
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that belong to root")


@pytest.fixture
def here(tmp_path: Path) -> Places:
    for name in ("etc", "config", "state", "cache", "home/project/.gateway"):
        (tmp_path / name).mkdir(parents=True)
    warm(tmp_path / "cache")
    return Places(*(str(tmp_path / name) for name in ("etc/gateway", "config", "state", "cache", "home")))


def put(folder: str, name: str, text: str = "") -> Path:
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("version: 1\n" + text, encoding="utf-8")
    return path


def root_of(places: Places) -> str:
    return f"{places.home}/project"


def names(files: list[PolicyFile]) -> list[tuple[str, str]]:
    return [(file.layer, Path(file.path).name) for file in files]


def bound(files: list[PolicyFile], places: Places, trusted: Any = lambda _digest: False, **more: Any) -> Layered:
    return bind(
        files, lambda text, path: parse_policy(text, path, TOOLS), root=root_of(places), trusted=trusted, **more
    )


def layered(places: Places, trusted: Any = lambda _digest: False) -> Layered:
    return bound(find_files(places, root_of(places)), places, trusted)


def test_without_a_user_file_the_preset_daily_is_the_user_layer(here: Places) -> None:
    assert names(find_files(here, root_of(here))) == [("builtin", "builtin.yaml"), ("user", "daily.yaml")]
    put(here.config, "policy.yaml")
    assert names(find_files(here, root_of(here))) == [("builtin", "builtin.yaml"), ("user", "policy.yaml")]


def test_each_layer_is_its_policy_and_its_drop_ins_in_order_of_their_names(here: Places) -> None:
    put(here.config, "policy.d/b.yaml")
    put(here.config, "policy.d/a.yaml")
    put(here.config, "policy.d/a.tests.yaml", "tests: []")
    put(here.config, "policy.d/note.txt")
    put(f"{root_of(here)}/.gateway", "policy.yaml")
    put(local_folder(here, root_of(here)), "policy.yaml")
    assert names(find_files(here, root_of(here)))[1:] == [
        ("user", "a.yaml"), ("user", "b.yaml"), ("project", "policy.yaml"), ("local", "policy.yaml"),
    ]  # fmt: skip


def test_a_folder_of_policies_stands_for_all_layers_but_builtin(here: Places, tmp_path: Path) -> None:
    put(here.config, "policy.yaml")
    put(str(tmp_path / "given"), "project.yaml")
    put(str(tmp_path / "given"), "enterprise.yaml")
    found = find_files(here, root_of(here), policies=str(tmp_path / "given"))
    assert names(found) == [("builtin", "builtin.yaml"), ("enterprise", "enterprise.yaml"), ("project", "project.yaml")]


def test_a_folder_without_policies_is_an_error(here: Places, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    with pytest.raises(ConfigError, match="no policy file in the folder"):
        find_files(here, root_of(here), policies=str(tmp_path / "given"))
    with pytest.raises(ConfigError, match="--policies must be a folder"):
        find_files(here, root_of(here), policies=str(tmp_path / "missing"))


def test_other_projects_bring_their_deny_and_ask_rules_only(here: Places) -> None:
    text = "allow: [Bash(ls x)]\ndeny: [Bash(rm *)]\nsettings: {mode: plan, levels: {write: allow}}"
    put(f"{here.home}/other/.gateway", "policy.yaml", text)
    files = find_files(here, root_of(here), others=[f"{here.home}/other"])
    found = bound(files, here, lambda _digest: True)
    assert [rule["lane"] for each in found.bound if each.layer == "project" for rule in each.rules] == ["deny"]
    assert "levels" not in found.settings
    assert found.project_digest == ""


@pytest.mark.parametrize("name", ["policy.yaml", "policy.d"])
def test_what_should_be_a_file_and_is_none_is_an_error(here: Places, name: str) -> None:
    Path(here.config, name).mkdir()
    if name == "policy.d":
        os.mkfifo(Path(here.config, name, "x.yaml"))
    with pytest.raises(ConfigError, match=r"must be a regular file|Is a directory"):
        find_files(here, root_of(here))


def test_a_link_that_leads_nowhere_is_an_error_and_no_absence(here: Places) -> None:
    Path(here.config, "policy.yaml").symlink_to("nowhere")
    with pytest.raises(ConfigError, match=r"policy\.yaml: cannot be read"):
        find_files(here, root_of(here))


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_folder_that_cannot_be_looked_into_is_an_error_and_no_absence(here: Places) -> None:
    folder = Path(f"{root_of(here)}/.gateway")
    folder.chmod(0)
    with pytest.raises(ConfigError, match="cannot be"):
        find_files(here, root_of(here))
    folder.chmod(0o700)


@only_root
def test_an_enterprise_folder_of_root_is_the_uppermost_layer(here: Places) -> None:
    put(here.enterprise, "policy.yaml")
    put(here.enterprise, "policy.d/a.yaml")
    assert names(find_files(here, root_of(here)))[1:3] == [("enterprise", "policy.yaml"), ("enterprise", "a.yaml")]


@only_root
@pytest.mark.parametrize("what", ["", "policy.yaml", "policy.d", "policy.d/a.yaml", "..", "../outside.yaml"])
@pytest.mark.parametrize("how", ["owner", "group", "others"])
def test_an_enterprise_policy_that_others_than_root_can_change_is_refused(here: Places, what: str, how: str) -> None:
    put(here.enterprise, "policy.yaml")
    put(here.enterprise, "policy.d/a.yaml")
    outside = put(str(Path(here.enterprise).parent), "outside.yaml")
    Path(here.enterprise, "policy.d/linked.yaml").symlink_to(outside)
    path = Path(os.path.normpath(Path(here.enterprise, what)))
    if how == "owner":
        os.chown(path, 12345, 12345)
    else:
        path.chmod(path.stat().st_mode | (0o020 if how == "group" else 0o002))
    with pytest.raises(ConfigError, match="must belong to root and be writable by nobody else"):
        find_files(here, root_of(here))


@only_root
def test_a_sticky_folder_above_the_enterprise_policy_is_fine_and_in_it_is_not(here: Places) -> None:
    put(here.enterprise, "policy.d/a.yaml")
    Path(here.enterprise).parent.chmod(0o1777)
    assert names(find_files(here, root_of(here)))[1] == ("enterprise", "a.yaml")
    Path(here.enterprise, "policy.d").chmod(0o1777)
    with pytest.raises(ConfigError, match=r"policy\.d: the enterprise policy must belong to root"):
        find_files(here, root_of(here))


@only_root
def test_a_file_that_an_enterprise_policy_extends_must_be_as_safe(here: Places) -> None:
    team = put(here.home, "team.yaml", "deny: [Bash(rm *)]")
    put(here.enterprise, "policy.yaml", f"extends: [{{file: {team}}}]")
    assert len(layered(here).included) >= 1
    os.chown(team, 12345, 12345)
    with pytest.raises(ConfigError, match=r"team\.yaml: the enterprise policy must belong to root"):
        layered(here)


def test_an_enterprise_place_that_is_no_folder_is_an_error(here: Places) -> None:
    Path(here.enterprise).write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="the enterprise policy must be a folder"):
        find_files(here, root_of(here))


def file(layer: str, places: Places, text: str, name: str = "") -> PolicyFile:
    content = ("version: 1\n" + text).encode()
    return PolicyFile(layer, name or f"/{layer}.yaml", content, root_of(places), root_of(places))


def test_until_it_is_trusted_a_project_only_forbids(here: Places) -> None:
    text = "allow: [Bash(ls x)]\ndeny: [Bash(rm *)]\nask: [Bash(mv *)]\nsettings: {levels: {write: allow}, mode: plan}"
    files = [file("project", here, text)]
    waiting = bound(files, here)
    assert [rule["lane"] for rule in waiting.bound[0].rules] == ["ask", "deny"] or [
        rule["lane"] for rule in waiting.bound[0].rules
    ] == ["deny", "ask"]
    assert (set(waiting.settings), waiting.project_trusted) == ({"mode"}, False)
    assert waiting.skipped == (
        "/project.yaml: 1 allow rules wait until the project is trusted",
        "/project.yaml: setting `levels` is not used: it waits until the project is trusted",
    )
    accepted = bound(files, here, lambda digest: digest == waiting.project_digest)
    assert {rule["lane"] for rule in accepted.bound[0].rules} == {"allow", "ask", "deny"}
    assert (set(accepted.settings), accepted.project_trusted, accepted.skipped) == ({"mode", "levels"}, True, ())


def test_what_is_trusted_is_the_content_of_every_file_that_belongs_to_it(here: Places) -> None:
    folder = f"{root_of(here)}/.gateway"
    put(folder, "policy.yaml", "extends: [{file: more.txt}]")
    put(folder, "more.txt", "allow: [Bash(ls x)]")
    first = layered(here).project_digest
    put(folder, "more.txt", "allow: [Bash(rm x)]")
    second = layered(here).project_digest
    put(folder, "policy.d/a.yaml")
    third = layered(here).project_digest
    os.rename(f"{folder}/policy.d/a.yaml", f"{folder}/policy.d/b.yaml")
    assert len({first, second, third, layered(here).project_digest}) == 4


def test_the_lowest_layer_sets_a_value_unless_an_upper_one_locked_or_bounded_it(here: Places) -> None:
    files = [
        file("enterprise", here, "settings: {pause: false, lock: [pause], bounds: {mode: [default, plan]}}"),
        file("user", here, "settings: {pause: true, mode: bypass, approvers: [console]}"),
        file("local", here, "settings: {mode: plan, approvers: [refuse]}"),
    ]
    found = bound(files, here)
    values = {name: (setting.value, setting.layer) for name, setting in found.settings.items()}
    assert values == {
        "pause": (False, "enterprise"),
        "mode": ("plan", "local"),
        "approvers": (["refuse"], "local"),
    }
    assert found.skipped == (
        "/user.yaml: setting `pause` is not used: layer enterprise locked it",
        "/user.yaml: setting `mode` is not used: /enterprise.yaml bounds it to default, plan",
    )
    assert found.modes == ("default", "plan")


@pytest.mark.parametrize(
    ("enterprises", "users", "expected"),
    [
        ("mode: plan, lock: [mode]", "mode: bypass", ("plan",)),
        ("lock: [mode]", "mode: bypass", ("default",)),
        ("lock: [mode]", "lock: [mode], mode: bypass", ("default",)),
        ("mode: plan, lock: [mode]", "bounds: {mode: [bypass]}", ("plan",)),
        ("mode: plan, lock: [mode], bounds: {mode: [plan, default]}", "bounds: {mode: [default]}", ("plan",)),
        ("bounds: {mode: [plan, default]}", "bounds: {mode: [default, bypass]}", ("default",)),
        ("bounds: {mode: [plan, default]}", "mode: default", ("plan", "default")),
        ("mode: plan", "lock: [mode]", ("plan",)),
        ("mode: plan", "mode: default, lock: [mode]", ("default",)),
        ("mode: plan", "mode: default", ()),
    ],
)
def test_a_session_may_choose_only_what_locks_and_bounds_leave_open(
    here: Places, enterprises: str, users: str, expected: tuple[str, ...]
) -> None:
    files = [
        file("enterprise", here, f"settings: {{{enterprises}}}"),
        file("user", here, f"settings: {{{users}}}"),
    ]
    assert bound(files, here).modes == expected


@pytest.mark.parametrize(
    ("users", "projects", "expected"),
    [
        ("changes", "asks", "changes"),
        ("changes", "all", "all"),
        ("changes", "changes", "changes"),
        ("mode", "asks", "asks"),
        ("", "mode", "mode"),
        ("", "all", "all"),
    ],
)
def test_a_project_may_only_have_more_reviewed(here: Places, users: str, projects: str, expected: str) -> None:
    files = [
        file("user", here, f"settings: {{review: {users}}}" if users else ""),
        file("project", here, f"settings: {{review: {projects}}}"),
    ]
    found = bound(files, here, lambda _digest: True)
    assert found.settings["review"].value == expected
    refused = ("/project.yaml: setting `review` is not used: a project may only have more reviewed",)
    assert found.skipped == (refused if expected == users != projects else ())


def test_no_lower_layer_moves_a_locked_mode_by_its_bounds(here: Places) -> None:
    files = [
        file("enterprise", here, "settings: {mode: plan, lock: [mode]}"),
        file("user", here, "settings: {bounds: {mode: [bypass]}}"),
    ]
    found = bound(files, here)
    assert (found.settings["mode"].value, found.skipped) == (
        "plan",
        ("/user.yaml: bounds of `mode` are not used: layer enterprise locked it",),
    )


def test_a_policy_file_of_any_size_is_read_only_up_to_the_bound(here: Places) -> None:
    path = put(here.config, "policy.yaml")
    with path.open("r+b") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(ConfigError, match="a policy file must have at most 8,000,000 bytes"):
        find_files(here, root_of(here))


def test_bounds_that_leave_the_usual_mode_out_choose_their_first(here: Places) -> None:
    found = bound([file("enterprise", here, "settings: {bounds: {mode: [plan, read_only]}}")], here)
    assert (found.settings["mode"].value, found.settings["mode"].layer) == ("plan", "enterprise")


def test_bounds_that_leave_no_mode_are_an_error(here: Places) -> None:
    files = [
        file("enterprise", here, "settings: {bounds: {mode: [plan]}}"),
        file("user", here, "settings: {bounds: {mode: [default]}}"),
    ]
    with pytest.raises(ConfigError, match="no mode lies within the bounds of all layers"):
        bound(files, here)


@pytest.mark.parametrize(
    ("users", "projects", "expected"),
    [
        ("default", "plan", "plan"),
        ("default", "bypass", "default"),
        ("bypass", "default", "default"),
        ("plan", "dont_ask", "plan"),
        ("dont_ask", "read_only", "dont_ask"),
        ("auto", "accept_edits", "auto"),
        ("accept_edits", "accept_edits", "accept_edits"),
    ],
)
def test_a_project_may_choose_only_stricter_modes(here: Places, users: str, projects: str, expected: str) -> None:
    files = [
        file("user", here, f"settings: {{mode: {users}}}"),
        file("project", here, f"settings: {{mode: {projects}}}"),
    ]
    assert bound(files, here, lambda _digest: True).settings["mode"].value == expected


def test_levels_on_the_way_to_a_file_only_weaken_and_ids_are_left_out(here: Places) -> None:
    put(here.config, "a.yaml", "extends: [{file: b.yaml, level: enforce, without: [second]}]\ndeny: [Bash(a)]")
    put(here.config, "b.yaml", "rules: [{id: first, deny: Bash(b)}, {id: second, deny: Bash(c)}]")
    put(here.config, "policy.yaml", "extends: [{file: a.yaml, level: observe}]\ndeny: [Bash(d)]")
    found = [(Path(each.file).name, each.level, sorted(each.without)) for each in layered(here).bound[1:]]
    assert found == [("b.yaml", "observe", ["second"]), ("a.yaml", "observe", []), ("policy.yaml", "enforce", [])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends: [nonesuch]", "`nonesuch` is no preset"),
        ("extends: [{file: nowhere.yaml}]", r"nowhere\.yaml: cannot be read"),
        ("extends: [{file: policy.yaml}]", "extends itself through"),
        ("extends: [{file: a.yaml}]", "extends itself through"),
        ("extends: [{file: broken.yaml}]", r"broken\.yaml:2"),
    ],
)
def test_what_cannot_be_extended_is_an_error(here: Places, text: str, message: str) -> None:
    put(here.config, "a.yaml", "extends: [{file: policy.yaml}]")
    put(here.config, "broken.yaml", "dney: []")
    put(here.config, "policy.yaml", text)
    with pytest.raises(ConfigError, match=message):
        layered(here)


def test_files_that_extend_each_other_again_and_again_are_bounded(here: Places) -> None:
    for number in range(12):
        again = f"{{file: f{number + 1}.yaml}}"
        put(here.config, f"f{number}.yaml", f"extends: [{again}, {again}, {again}]")
    put(here.config, "f12.yaml")
    put(here.config, "policy.yaml", "extends: [{file: f0.yaml}]")
    with pytest.raises(ConfigError, match="must extend at most 256 others"):
        layered(here)


def test_all_problems_of_all_files_are_told_at_once(here: Places) -> None:
    files = [file("user", here, "dney: []"), file("project", here, "deny: [Bsah(x)]")]
    with pytest.raises(ConfigError) as caught:
        bound(files, here)
    assert [problem.file for problem in caught.value.problems] == ["/user.yaml", "/project.yaml"]


def test_a_section_is_set_key_by_key_and_a_lock_holds_for_its_key_alone(here: Places) -> None:
    files = [
        file("enterprise", here, "settings: {limits: {memory_mb: 512, seconds: 60}, lock: [limits.memory_mb]}"),
        file("user", here, "settings: {limits: {memory_mb: 4096, seconds: 600, files: 64}}"),
    ]
    found = bound(files, here)
    limits = found.settings["limits"]
    assert limits.value == {"memory_mb": 512, "seconds": 600, "files": 64}
    assert {key: layer for key, (_file, layer) in limits.origins.items()} == {
        "memory_mb": "enterprise",
        "seconds": "user",
        "files": "user",
    }
    assert found.skipped == ("/user.yaml: setting `limits.memory_mb` is not used: layer enterprise locked it",)


@only_root
def test_a_folder_of_policies_sheds_the_enterprise_layer_only_in_a_dry_run(here: Places, tmp_path: Path) -> None:
    put(here.enterprise, "policy.yaml", "deny: [Bash(rm *)]")
    os.chmod(here.enterprise, 0o755)
    put(here.config, "policy.yaml")
    put(str(tmp_path / "other"), "user.yaml")
    folder, root = str(tmp_path / "other"), root_of(here)
    shed = find_files(here, root, policies=folder)
    kept = find_files(here, root, policies=folder, binding=True)
    assert names(shed) == [("builtin", "builtin.yaml"), ("user", "user.yaml")]
    assert names(kept) == [("builtin", "builtin.yaml"), ("enterprise", "policy.yaml"), ("user", "user.yaml")]


@pytest.mark.parametrize(
    ("layer", "text", "message"),
    [
        ("project", "weaker: [none]", "`weaker` must not hold `none` in this layer"),
        ("local", "weaker: [landlock, none]", "`weaker` must not hold `none` in this layer"),
        (
            "project",
            "inject: [{host: a.org, header: X, source: 'env:A'}]",
            "a project must not say where secrets are sent",
        ),
        (
            "project",
            "hosts: [a.org, {host: b.org, access: read, also: kubernetes}]",
            "a project must not say which clusters are read with your login",
        ),
    ],
)
def test_what_is_too_much_for_a_layer_is_an_error_in_it(here: Places, layer: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        bound([file(layer, here, f"settings: {{sandbox: {{{text}}}}}")], here)


@pytest.mark.parametrize(
    ("layer", "text", "message"),
    [
        ("project", "keep: 1", "a project must not say how the record is kept"),
        ("project", "required: all", "a project must not say how the record is kept"),
        ("local", "required: nothing", "`required` must not be `nothing` in this layer"),
    ],
)
def test_only_some_layers_say_how_the_record_is_kept(here: Places, layer: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        bound([file(layer, here, f"settings: {{audit: {{{text}}}}}")], here)


def test_who_answers_from_elsewhere_is_not_a_projects_to_say_and_may_be_locked(here: Places) -> None:
    with pytest.raises(ConfigError, match="a project must not set `remote`"):
        bound([file("project", here, "settings: {remote: {people: 1}}")], here)
    for page in (60, 0):
        with pytest.raises(ConfigError, match=r"a project must not set `agents\.page`"):
            bound([file("project", here, f"settings: {{agents: {{page: {page}, modes: ignore}}}}")], here)
    files = [
        file("enterprise", here, "settings: {remote: {people: 2}, lock: [remote.people]}"),
        file("user", here, "settings: {remote: {people: 1, seconds: 60}}"),
    ]
    assert bound(files, here).settings["remote"].value == {"people": 2, "seconds": 60}


def test_the_record_is_set_key_by_key_and_may_be_locked(here: Places) -> None:
    files = [
        file("enterprise", here, "settings: {audit: {required: all, keep: 0}, lock: [audit.required]}"),
        file("user", here, "settings: {audit: {required: nothing, sync: true}}"),
        file("local", here, "settings: {audit: {keep: 3}}"),
    ]
    found = bound(files, here)
    assert found.settings["audit"].value == {"required": "all", "keep": 3, "sync": True}
    assert found.skipped == ("/user.yaml: setting `audit.required` is not used: layer enterprise locked it",)


@pytest.mark.parametrize("layer", ["enterprise", "user"])
def test_enterprise_and_user_may_do_without_a_sandbox(here: Places, layer: str) -> None:
    found = bound([file(layer, here, "settings: {sandbox: {weaker: [none]}}")], here)
    assert found.settings["sandbox"].value == {"weaker": ["none"]}


def test_the_preset_permits_the_fallback_where_namespaces_are_refused(here: Places) -> None:
    assert layered(here).settings["sandbox"].value["weaker"] == ["landlock"]
