"""Trust belongs to a real path and an exact content, and to a store that nobody else could have written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from warmed import warm

from gateway.config.load import Loaded, Options, load_policy
from gateway.config.trust import TrustStore
from gateway.core.errors import ConfigError
from gateway.core.places import Places
from gateway.judge.policy_tests import check_examples
from gateway.spec.tools import compile_tools
from gateway.tools.registry import Registry

WHEN = "2025-01-01T12:00:00Z"


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(str(tmp_path / "state"))


@pytest.fixture(scope="module")
def registry() -> Registry:
    path = Path(__file__).parents[2] / "tools.yaml"
    return Registry(compile_tools(path.read_bytes(), str(path)))


@pytest.fixture
def here(tmp_path: Path) -> Places:
    for name in ("config", "state", "home/project/.gateway"):
        (tmp_path / name).mkdir(parents=True)
    warm(tmp_path / "cache")
    return Places(*(str(tmp_path / name) for name in ("etc", "config", "state", "cache", "home")))


def test_several_digests_of_one_project_may_be_trusted(store: TrustStore) -> None:
    store.accept("/p", "one", WHEN)
    store.accept("/p", "two", WHEN)
    store.accept("/q", "three", WHEN)
    assert (store.digests("/p"), store.digests("/q"), store.digests("/r")) == ({"one", "two"}, {"three"}, frozenset())
    assert store.projects() == {"/p": {"one": WHEN, "two": WHEN}, "/q": {"three": WHEN}}


def test_revoking_forgets_every_digest_of_the_project(store: TrustStore) -> None:
    store.accept("/p", "one", WHEN)
    assert (store.revoke("/p"), store.revoke("/p"), store.projects()) == (True, False, {})


def test_the_store_is_written_for_its_owner_alone(store: TrustStore) -> None:
    store.accept("/p", "one", WHEN)
    assert (os.stat(store.path).st_mode & 0o777, os.stat(os.path.dirname(store.path)).st_mode & 0o077) == (0o600, 0)


@pytest.mark.parametrize("how", ["group", "others", "folder", "link", "owner"])
def test_a_store_that_somebody_else_could_have_written_grants_nothing(store: TrustStore, how: str) -> None:
    store.accept("/p", "one", WHEN)
    path = Path(store.path)
    if how == "group":
        path.chmod(0o620)
    elif how == "others":
        path.chmod(0o602)
    elif how == "folder":
        path.parent.chmod(0o777)
    elif how == "link":
        path.rename(path.with_name("elsewhere.json"))
        path.symlink_to("elsewhere.json")
    elif os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        pytest.skip("only root can give files away")
    assert store.digests("/p") == frozenset()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"projects": []}', '{"projects": {"/p": "one"}}', '{"projects": {"/p": 7}}']
)
def test_a_store_that_cannot_be_read_is_an_error_with_a_remedy(store: TrustStore, text: str) -> None:
    store.accept("/p", "one", WHEN)
    Path(store.path).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="must be valid JSON") as caught:
        store.digests("/p")
    assert caught.value.problems[0].remedy.startswith("delete it")


def put(places: Places, text: str) -> str:
    root = f"{places.home}/project"
    Path(root, ".gateway/policy.yaml").write_text(f"version: 1\n{text}", encoding="utf-8")
    return root


def load(places: Places, registry: Registry, root: str, **options: object) -> Loaded:
    return load_policy(places, Options(root, root=root).replace(**options), registry, check_examples)


def lanes(loaded: Loaded) -> set[str]:
    """The lanes of the project's own rules."""
    rules = [loaded.policy.rule(number) for number in range(len(loaded.policy.rules))]
    return {rule.lane for rule in rules if rule.source.layer == "project"}


def test_an_accepted_project_allows_until_its_content_changes(here: Places, registry: Registry) -> None:
    root = put(here, "allow: [Bash(ls x)]\ndeny: [Bash(rm x)]")
    first = load(here, registry, root)
    assert (first.project_trusted, lanes(first)) == (False, {"deny"})
    TrustStore(here.state).accept(root, first.project_digest, WHEN)
    assert lanes(load(here, registry, root)) == {"deny", "allow"}
    put(here, "allow: [Bash(ls y)]\ndeny: [Bash(rm x)]")
    assert lanes(load(here, registry, root)) == {"deny"}
    put(here, "allow: [Bash(ls x)]\ndeny: [Bash(rm x)]")
    assert lanes(load(here, registry, root)) == {"deny", "allow"}
    TrustStore(here.state).revoke(root)
    assert lanes(load(here, registry, root)) == {"deny"}


def test_trust_given_for_one_run_is_not_kept(here: Places, registry: Registry) -> None:
    root = put(here, "allow: [Bash(ls x)]")
    digest = load(here, registry, root).project_digest
    assert lanes(load(here, registry, root, trust=(digest,))) == {"allow"}
    assert lanes(load(here, registry, root)) == set()


def test_a_project_that_is_reached_through_a_link_is_the_same_project(
    here: Places, registry: Registry, tmp_path: Path
) -> None:
    root = put(here, "allow: [Bash(ls x)]")
    link = tmp_path / "link"
    link.symlink_to(root)
    TrustStore(here.state).accept(root, load(here, registry, str(link)).project_digest, WHEN)
    assert load(here, registry, str(link)).project_trusted


def test_the_same_content_elsewhere_is_another_project(here: Places, registry: Registry) -> None:
    root = put(here, "allow: [Bash(ls x)]")
    TrustStore(here.state).accept(root, load(here, registry, root).project_digest, WHEN)
    copy = Path(here.home, "copy/.gateway")
    copy.mkdir(parents=True)
    (copy / "policy.yaml").write_bytes(Path(root, ".gateway/policy.yaml").read_bytes())
    assert not load(here, registry, str(copy.parent)).project_trusted


def test_a_file_that_is_extended_is_part_of_what_was_accepted(here: Places, registry: Registry) -> None:
    root = put(here, "extends: [{file: more.yaml}]")
    more = Path(root, ".gateway/more.yaml")
    more.write_text("version: 1\nallow: [Bash(ls x)]\n", encoding="utf-8")
    first = load(here, registry, root)
    TrustStore(here.state).accept(root, first.project_digest, WHEN)
    trusted = load(here, registry, root)
    more.write_text("version: 1\nallow: ['Bash(rm *)']\n", encoding="utf-8")
    changed = load(here, registry, root)
    assert (lanes(trusted), lanes(changed)) == ({"allow"}, set())
    assert len({loaded.policy.revision for loaded in (first, trusted, changed)}) == 3


def test_the_store_is_plain_json_that_people_can_read(store: TrustStore) -> None:
    store.accept("/p", "one", WHEN)
    assert json.loads(Path(store.path).read_text(encoding="utf-8")) == {"version": 1, "projects": {"/p": {"one": WHEN}}}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that belong to root")
@pytest.mark.parametrize(
    ("layer", "text", "expected"),
    [
        ("enterprise", "settings: {trust: [DIGEST]}", {"allow"}),
        ("enterprise", "settings: {trust: ['0123', DIGEST]}", {"allow"}),
        ("enterprise", "settings: {trust: ['0123']}", set()),
        ("enterprise", "extends: [{file: trusted.yaml}]", {"allow"}),
        ("config", "settings: {trust: [DIGEST]}", set()),
        ("project", "settings: {trust: [DIGEST]}", set()),
    ],
)
def test_enterprise_and_no_other_layer_names_projects_that_are_trusted(
    here: Places, registry: Registry, layer: str, text: str, expected: set[str]
) -> None:
    root = put(here, "allow: [Bash(ls x)]")
    digest = load(here, registry, root).project_digest
    folder = Path({"project": f"{root}/.gateway/policy.d"}.get(layer) or getattr(here, layer))
    folder.mkdir(exist_ok=True, parents=True)
    if layer == "enterprise":
        (folder / "trusted.yaml").write_text(f"version: 1\nsettings: {{trust: [{digest}]}}\n", encoding="utf-8")
    (folder / "a.yaml" if layer == "project" else folder / "policy.yaml").write_text(
        f"version: 1\n{text.replace('DIGEST', digest)}\n", encoding="utf-8"
    )
    assert lanes(load(here, registry, root)) == expected


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that belong to root")
def test_trust_that_enterprise_gave_ends_with_the_content(here: Places, registry: Registry) -> None:
    root = put(here, "allow: [Bash(ls x)]")
    enterprise = Path(here.enterprise)
    enterprise.mkdir()
    digest = load(here, registry, root).project_digest
    (enterprise / "policy.yaml").write_text(f"version: 1\nsettings: {{trust: [{digest}]}}\n", encoding="utf-8")
    trusted = lanes(load(here, registry, root))
    put(here, "allow: ['Bash(rm *)']")
    changed = lanes(load(here, registry, root))
    put(here, "allow: [Bash(ls x)]")
    (enterprise / "policy.yaml").write_text("version: 1\n", encoding="utf-8")
    assert (trusted, changed, lanes(load(here, registry, root))) == ({"allow"}, set(), set())
