"""Names beside those that are read: told, and never passed over in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config.layers import find_files, layer_folders, local_folder, passed_over
from gateway.core.errors import ConfigError
from gateway.core.places import Places
from gateway.model.call import RawCall

FILES = (
    "policy.yml", "policy.YAML", "Policy.yaml", "POLICY.YML", "policies.yaml", "polices.yaml", "policy.json",
    "policy.toml", "policy", "policy.yaml.txt", "polciy.yaml", "plicy.yaml", ".policy.yaml", "tools.yml", "tool.yaml",
    "Tools.yaml", "tools.json", "policies.d/a.yaml", "policy.D/a.yaml", "Policy.d/a.yaml", "policy-d/a.yaml",
    "policyd/a.yaml", "policies/a.yaml", "policy.d/a.yml", "policy.d/a.YAML", "policy.d/a.Yml", "policy.d/sub/a.yaml",
    "policy.d/a.tests.yml", "policy.d/a.yaml.txt", "command/a.yaml", "Commands/a.yaml", "commands/a.yml",
    "commands/sub/a.yaml", "policy.yaml ", " policy.yaml", "policy.yaml\n", "policy.d/a.yaml ",
)  # fmt: skip
# What people put aside, write down, or have for other ends.
OTHERS = (
    "policy.yaml.bak", "policy.yaml~", ".policy.yaml.swp", "policy.yaml.dpkg-old", "policy.yaml.example", "README.md",
    "team.yaml", "pool.yaml", "policy.d/README", "policy.d/a.yaml.bak", "policy.d/a.yaml~", "policy.d/.git/config.yml",
    "policy.d/notes.txt", "policy.d/old/a.yaml.gz", "commands/review.md", "commands/more/review.md",
    "skills/x/SKILL.md", "agents/x.yaml",
)  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> Places:
    (tmp_path / "home/project/.git").mkdir(parents=True)
    return Places(*(str(tmp_path / name) for name in ("etc/gateway", "config", "state", "cache", "home")))


def root(places: Places) -> str:
    return f"{places.home}/project"


def put(folder: str, name: str, text: str = "version: 1\n") -> Path:
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FILES)
def test_what_looks_like_policy_and_is_not_read_ends_loading(here: Places, name: str) -> None:
    put(here.config, name)
    with pytest.raises(ConfigError, match="is not read"):
        find_files(here, root(here))


@pytest.mark.parametrize("name", FILES)
def test_in_a_project_it_is_told(here: Places, name: str) -> None:
    put(f"{root(here)}/.gateway", name)
    find_files(here, root(here))
    assert len(passed_over(layer_folders(here, root(here)))) == 1


@pytest.mark.parametrize("name", OTHERS)
def test_what_people_put_aside_is_no_error_and_no_finding(here: Places, name: str) -> None:
    put(here.config, name)
    put(f"{root(here)}/.gateway", name)
    find_files(here, root(here))
    assert passed_over(layer_folders(here, root(here))) == []


def test_the_local_layer_is_as_strict_as_the_users(here: Places) -> None:
    put(local_folder(here, root(here)), "policy.yml")
    with pytest.raises(ConfigError, match=r"policy\.yml: is not read: its name must be `policy\.yaml`"):
        find_files(here, root(here))


@pytest.mark.parametrize("layer", ["config", "enterprise"])
@pytest.mark.parametrize("what", ["file", "dangling"])
def test_a_layer_that_is_no_folder_ends_loading(here: Places, layer: str, what: str) -> None:
    path = Path(getattr(here, layer))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("version: 1\n", encoding="utf-8") if what == "file" else path.symlink_to("nowhere")
    with pytest.raises(ConfigError, match="must be a folder"):
        find_files(here, root(here))


@pytest.mark.parametrize("what", ["file", "dangling"])
@pytest.mark.parametrize("name", ["policy.d", "commands"])
def test_neither_is_a_folder_of_files_that_is_none(here: Places, name: str, what: str) -> None:
    Path(here.config).mkdir()
    path = Path(here.config, name)
    path.write_text("", encoding="utf-8") if what == "file" else path.symlink_to("nowhere")
    with pytest.raises(ConfigError, match="must be a folder"):
        find_files(here, root(here))


@pytest.mark.parametrize(
    ("name", "kind"),
    [(".gateway", "file"), (".gateway", "dangling"), (".gateway.yaml", "file"), (".gateway.yml", "file"),
     (".Gateway/policy.yaml", "file"), (".gateways/policy.yaml", "file"), (".gateway.d/a.yaml", "file")],
)  # fmt: skip
def test_a_projects_folder_that_is_none_is_told(here: Places, name: str, kind: str) -> None:
    path = Path(root(here), name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("version: 1\n", encoding="utf-8") if kind == "file" else path.symlink_to("missing")
    found = passed_over(layer_folders(here, root(here)))
    assert [each.file for each in found] == [str(Path(root(here), name.partition("/")[0]))]


@pytest.mark.parametrize(
    "name",
    ["config.yaml", "config.yml", "Config/policy.yaml", "CONFIG/policy.yaml", "configs/policy.yaml", "config.d/a.yaml",
     "home/.gateway/policy.yaml", "home/.gateway/policy.yml", "home/.gateway/policy.d/a.yaml", "etc/gateway.yaml"],
)  # fmt: skip
def test_what_lies_beside_a_layers_folder_is_told(here: Places, tmp_path: Path, name: str) -> None:
    put(str(tmp_path), name)
    found = passed_over(layer_folders(here, root(here)))
    parts = name.split("/")
    wanted = tmp_path.joinpath(*parts[: 2 if parts[0] in ("home", "etc") else 1])
    assert [each.file for each in found] == [str(wanted)]
    assert find_files(here, root(here))


def test_a_home_that_is_the_project_has_its_policy_where_it_is_read(here: Places) -> None:
    put(f"{here.home}/.gateway", "policy.yaml")
    assert passed_over(layer_folders(here, here.home)) == []
    assert passed_over(layer_folders(here, root(here))) != []


@pytest.mark.parametrize("name", ["enterprise.yml", "User.yaml", "users.yaml", "project.json", "locals.yaml"])
def test_a_folder_that_stands_for_all_layers_is_held_to_the_same(here: Places, tmp_path: Path, name: str) -> None:
    put(str(tmp_path / "given"), "user.yaml" if name != "User.yaml" else "local.yaml")
    put(str(tmp_path / "given"), name)
    with pytest.raises(ConfigError, match="is not read: its name must be"):
        find_files(here, root(here), policies=str(tmp_path / "given"))


def test_under_the_right_name_the_same_file_decides(ground) -> None:
    rule = {"deny": ["Bash(ls x)"]}
    wrong = ground.says(rule, layer="project", name="policy.yml")
    call = RawCall("Bash", {"command": "ls x"})
    before = ground.open()
    assert (before.check(call).decision.word, before.loaded.misnamed) == (
        "allow", (f"{wrong}: is not read: its name must be `policy.yaml`",),
    )  # fmt: skip
    wrong.rename(wrong.with_suffix(".yaml"))
    after = ground.open()
    assert (after.check(call).decision.word, after.loaded.misnamed) == ("deny", ())


def test_it_is_told_at_once_also_where_the_rest_comes_from_the_cache(ground) -> None:
    assert ground.open().loaded.misnamed == ()
    ground.says({}, layer="project", name="Policy.yaml")
    assert len(ground.open().loaded.misnamed) == 1
