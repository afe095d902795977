"""A call that reaches into another project meets that project's deny and ask rules, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.errors import CallError, ConfigError
from gateway.core.places import Places
from gateway.host.nested_projects import MAX_FOLDERS
from gateway.model.call import RawCall


@pytest.fixture
def here(tmp_path: Path) -> Places:
    for name in ("home/above/root/inner/deep", "home/above/beside", "home/far"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("above/root/inner/deep/f", "above/root/inner/f", "above/root/f", "above/beside/f", "far/f"):
        (tmp_path / "home" / name).write_text("", encoding="utf-8")
    (tmp_path / "home/above/root/link").symlink_to("../../far/f")
    (tmp_path / "home/above/root/inside").symlink_to("inner")
    warm(tmp_path / "cache")
    return Places(*(str(tmp_path / name) for name in ("etc", "config", "state", "cache", "home")))


def policy(places: Places, project: str, text: str) -> None:
    folder = Path(places.home, project, ".gateway")
    folder.mkdir()
    (folder / "policy.yaml").write_text(f"version: 1\n{text}\n", encoding="utf-8")


def opened(places: Places) -> Gateway:
    return Gateway(Options(f"{places.home}/above/root"), where=places)


def decided(gateway: Gateway, command: str, cwd: str = "") -> str:
    context = gateway.context.replace(cwd=cwd) if cwd else None
    return gateway.check(RawCall("Bash", {"command": command}), context).reason.rule.id


RULE = "rules: [{id: theirs, deny: 'Read(**)'}]"


@pytest.mark.parametrize(
    "command",
    [
        "cat inner/f", "cat inner/deep/f", "ls inner", "grep -r x inner", "tar c inner", "rm -rf inner", "cp inner/f .",
        "cat < inner/f", "cd inner && cat f", "cat inside/f", "grep -r x inside", "ls inside", "cat inner/*",
    ],
)  # fmt: skip
def test_a_target_in_a_project_inside_meets_its_rules(here: Places, command: str) -> None:
    policy(here, "above/root/inner", RULE)
    assert decided(opened(here), command) == "theirs"


@pytest.mark.parametrize("command", ["cat f", "ls", "cat ../beside/f", "true"])
def test_a_target_outside_of_it_does_not(here: Places, command: str) -> None:
    policy(here, "above/root/inner", RULE)
    assert decided(opened(here), command) != "theirs"


def test_a_link_into_another_project_meets_its_rules(here: Places) -> None:
    policy(here, "far", RULE)
    assert decided(opened(here), "cat link") == "theirs"


@pytest.mark.parametrize(
    ("command", "cwd", "expected"),
    [
        ("cat f", "", True),
        ("cat ../beside/f", "", True),
        ("cat f", "above/beside", True),
        ("cat ../above/beside/f", "far", True),
        ("cat f", "far", False),
    ],
)
def test_the_rules_of_a_project_above_hold_for_whatever_lies_in_it(
    here: Places, command: str, cwd: str, expected: bool
) -> None:
    policy(here, "above", RULE)
    assert (decided(opened(here), command, cwd and f"{here.home}/{cwd}") == "theirs") is expected


def test_the_working_folder_of_the_session_counts(here: Places) -> None:
    policy(here, "far", "rules: [{id: theirs, deny: 'Bash(npm *)'}]")
    gateway = opened(here)
    assert (decided(gateway, "npm test", f"{here.home}/far"), decided(gateway, "npm test")) == (
        "theirs",
        "build-test-lint",
    )


def test_another_project_loosens_nothing_even_if_it_is_trusted(here: Places) -> None:
    policy(here, "above/root/inner", "allow: ['Bash(python *)']\nsettings: {levels: {execute: allow}, mode: bypass}")
    digest = opened(here).loaded.project_digest
    gateway = Gateway(Options(f"{here.home}/above/root", trust=(digest,)), where=here)
    verdict = gateway.check(RawCall("Bash", {"command": "python inner/f; cat inner/f"}))
    assert (verdict.decision.word, verdict.reason.rule.id) == ("ask", "mode:default")


def test_a_broken_policy_of_another_project_is_an_error_for_calls_that_reach_it(here: Places) -> None:
    policy(here, "above/root/inner", "dney: []")
    gateway = opened(here)
    assert decided(gateway, "cat f") == "mode:default"
    with pytest.raises(ConfigError, match="known keys"):
        decided(gateway, "cat inner/f")


def test_a_call_that_names_files_in_too_many_folders_is_refused(here: Places) -> None:
    command = "cat " + " ".join(f"d{number}/f" for number in range(MAX_FOLDERS + 10))
    with pytest.raises(CallError, match="at most 512 folders"):
        decided(opened(here), command)
