"""Changes to caches, kept apart for each project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox import layers
from gateway.sandbox.layers import Layers, clean
from gateway.sandbox.persistent_folders import layer_of

ROOT = "/home/dev/project"


def plan_of(cache: Path, state: Path, *more: Mount) -> SandboxPlan:
    layer = layer_of(str(state), ROOT, str(cache))
    mounts = tuple(sorted((Mount(str(cache), WRITE, True, "sandbox"), *more), key=lambda mount: mount.path))
    return SandboxPlan(
        mounts, (), (), "/", (("HOME", "/home/dev"),), Network(), Limits(), layers=((str(cache), layer),)
    )


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".npm"
    folder.mkdir(parents=True)
    return folder


def test_each_project_has_its_own() -> None:
    places = {layer_of("/l", root, path) for root in ("/a", "/b") for path in ("/h/.npm", "/h/.cache")}
    assert len(places) == 4
    assert {os.path.dirname(each) for each in places} == {
        os.path.dirname(layer_of("/l", root, "/h/.npm")) for root in ("/a", "/b")
    }


def test_two_calls_at_once_never_share_one(cache: Path, tmp_path: Path) -> None:
    plan = plan_of(cache, tmp_path / "layers")
    first, second = Layers(plan, overlays=True), Layers(plan, overlays=True)
    (one,), (other,) = first.plan.layers, second.plan.layers
    assert one != other
    assert [sorted(os.listdir(folder)) for _path, folder in (one, other)] == [["upper", "work"]] * 2
    first.close()
    third = Layers(plan, overlays=True)
    assert third.plan.layers == (one,)
    second.close()
    third.close()


def test_where_there_are_too_many_calls_the_rest_writes_no_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "_SLOTS", 1)
    plan = plan_of(cache, tmp_path / "layers")
    first, second = Layers(plan, overlays=True), Layers(plan, overlays=True)
    assert second.plan.layers == ()
    assert second.plan.mounts[0] == Mount(str(cache), READ, True, "sandbox")
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        (".npm", {"npm_config_cache": ""}),
        (".cargo/registry", {}),
        (".gradle/caches", {"GRADLE_USER_HOME": "", "GRADLE_RO_DEP_CACHE": "{cache}"}),
        (
            "go/pkg",
            {"GOMODCACHE": "/mod", "GOPROXY": "file://{cache}/mod/cache/download,https://proxy.golang.org,direct"},
        ),
    ],
)
def test_without_layers_tools_are_told_of_a_cache_of_the_projects_own(
    tmp_path: Path, name: str, variables: dict[str, str]
) -> None:
    cache = tmp_path / "home" / name
    cache.mkdir(parents=True)
    kept = Layers(plan_of(cache, tmp_path / "layers"), overlays=False)
    layer = layer_of(str(tmp_path / "layers"), ROOT, str(cache))
    own = f"{os.path.dirname(layer)}/own/{os.path.basename(layer)}"
    told = {key: text.format(cache=cache) if "{" in text else f"{own}{text}" for key, text in variables.items()}
    mine = [Mount(own, WRITE, True, "sandbox")] if variables else []
    assert dict(kept.plan.environment) == {"HOME": "/home/dev", **told}
    assert kept.plan.mounts == tuple(
        sorted([Mount(str(cache), READ, True, "sandbox"), *mine], key=lambda mount: mount.path)
    )
    assert all(os.path.isdir(path) for path in told.values() if path.startswith(own))


def test_what_a_variable_of_the_person_says_stays(cache: Path, tmp_path: Path) -> None:
    plan = plan_of(cache, tmp_path / "layers").replace(environment=(("npm_config_cache", "/mine"),))
    assert Layers(plan, overlays=False).plan.environment == (("npm_config_cache", "/mine"),)


CHANGES = {
    "a file of the cache": lambda cache: (cache / "modules.lock").write_text("new"),
    "a new folder in it": lambda cache: (cache / "journal").mkdir(),
    "a file further down": lambda cache: (cache / "a" / "b" / "journal.bin").write_text("longer than before"),
}


@pytest.mark.parametrize("name", [".gradle/caches", ".cargo/registry"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changes_over_a_journal_are_dropped_once_the_journal_itself_has_changed(
    tmp_path: Path, name: str, change
) -> None:
    cache = tmp_path / name
    (cache / "a" / "b").mkdir(parents=True)
    (cache / "a" / "b" / "journal.bin").write_text("before")
    plan = plan_of(cache, tmp_path / "layers")

    def kept() -> list[str]:
        made = Layers(plan, overlays=True)
        upper = Path(made.plan.layers[0][1]) / "upper"
        found = sorted(os.listdir(upper))
        (upper / "changed").write_text("by a call")
        made.close()
        return found

    assert (kept(), kept()) == ([], ["changed"])
    change(cache)
    assert (kept(), kept()) == ([], ["changed"])


def test_in_a_cache_of_several_tools_only_the_journals_changes_are_dropped(tmp_path: Path) -> None:
    cache = tmp_path / ".cache"
    (cache / "pre-commit").mkdir(parents=True)
    plan = plan_of(cache, tmp_path / "layers")
    first = Layers(plan, overlays=True)
    upper = Path(first.plan.layers[0][1]) / "upper"
    for name in ("pre-commit", "pip"):
        (upper / name).mkdir()
    first.close()
    (cache / "pre-commit" / "db.db").write_text("the person's")
    Layers(plan, overlays=True).close()
    assert os.listdir(upper) == ["pip"]


def test_more_than_may_be_kept_is_begun_anew(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(cache, tmp_path / "layers")
    first = Layers(plan, overlays=True)
    (Path(first.plan.layers[0][1]) / "upper" / "large").write_bytes(bytes(100_000))
    first.close()
    monkeypatch.setattr(layers, "_measured", set())
    monkeypatch.setattr(layers, "MOST", 50_000)
    second = Layers(plan, overlays=True)
    assert os.listdir(Path(second.plan.layers[0][1]) / "upper") == []
    second.close()


def test_cleaning_leaves_what_a_call_uses(cache: Path, tmp_path: Path) -> None:
    plan = plan_of(cache, tmp_path / "layers")
    first, second = Layers(plan, overlays=True), Layers(plan, overlays=True)
    uppers = [Path(each.plan.layers[0][1]) / "upper" for each in (first, second)]
    for upper in uppers:
        (upper / "x").write_bytes(bytes(8192))
    second.close()
    assert clean(str(tmp_path / "layers")) >= 8192
    assert [upper.exists() for upper in uppers] == [True, False]
    first.close()
    assert clean(str(tmp_path / "nowhere")) == 0
