"""`gateway doctor`: what it makes of probes, and what it finds on a machine."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from gateway.core import programs
from gateway.core.places import Places
from gateway.frontends.cli.doctor import BETTER, BROKEN, OK, Finding, as_json, as_text, judged, setup_findings, status
from gateway.render.style import Style
from gateway.sandbox.base import Probe
from gateway.sandbox.diagnosis import DOCKER, FORBIDDEN, KUBERNETES, OTHERWISE, UBUNTU, Surroundings, remedy

if TYPE_CHECKING:
    from pathlib import Path

HOLDS = Probe(True, "/usr/bin/bwrap")
WEAK = Probe(True, "Landlock version 7", degraded=("other processes can be seen",))
REFUSED = Probe(False, "/usr/bin/bwrap: user namespaces are refused", "permit them")
ABSENT = Probe(False, "bubblewrap is not installed", "install bubblewrap (`apt-get install bubblewrap`)")
OLD = Probe(False, "this kernel has no Landlock, or it is switched off", "run a newer kernel")


def test_the_best_that_works_holds_and_the_others_would() -> None:
    assert judged([("bubblewrap", HOLDS), ("landlock", WEAK)], Surroundings(), True) == (
        Finding("bubblewrap", OK, "holds calls here, on /usr/bin/bwrap"),
        Finding("landlock", OK, "would hold, on Landlock version 7"),
    )


def test_a_weaker_one_that_holds_needs_leave_and_says_what_it_does_not_hold() -> None:
    findings = judged([("bubblewrap", REFUSED), ("landlock", WEAK)], Surroundings("docker"), True)
    assert findings == (
        Finding("bubblewrap", BETTER, REFUSED.reason, DOCKER),
        Finding(
            "landlock",
            BETTER,
            "holds calls here, on Landlock version 7, where the policy permits this weaker form",
            "permit it by `settings: {sandbox: {weaker: [landlock]}}`, or see above",
            ("not held by itself: other processes can be seen",),
        ),
    )
    assert status(findings) == 0


def test_what_the_policy_permits_already_is_not_advised() -> None:
    findings = judged([("namespaces", REFUSED), ("landlock", WEAK)], Surroundings(most=0), False, ("landlock",))
    assert [(each.name, each.text, each.remedy) for each in findings] == [
        ("namespaces", REFUSED.reason, FORBIDDEN),
        (
            "landlock",
            "holds calls here, on Landlock version 7: a weaker form, which the policy permits",
            "see above for a better one",
        ),
    ]


def test_namespaces_need_no_bubblewrap() -> None:
    namespaces, bubblewrap = judged([("namespaces", REFUSED), ("bubblewrap", ABSENT)], Surroundings("docker"), False)
    assert (namespaces.remedy, bubblewrap.remedy) == (DOCKER, ABSENT.remedy)


def test_a_setting_that_an_upper_layer_locks_waits_for_no_trust(machine, tmp_path: Path) -> None:
    (tmp_path / ".config" / "gateway").mkdir(parents=True)
    (tmp_path / ".config" / "gateway" / "policy.yaml").write_text(
        "version: 1\nsettings: {mode: plan, lock: [mode]}\n", encoding="utf-8"
    )
    (tmp_path / "project" / ".gateway").mkdir()
    (tmp_path / "project" / ".gateway" / "policy.yaml").write_text(
        "version: 1\nsettings: {mode: default}\n", encoding="utf-8"
    )
    (tmp_path / "project" / ".git").mkdir()
    found = machine()["policies"]
    assert (found.state, "trust" in found.text, "not all that was read counts" in found.text) == (BETTER, False, True)


def test_a_better_one_that_holds_leaves_nothing_to_mend_below_it() -> None:
    findings = judged([("bubblewrap", HOLDS), ("landlock", OLD)], Surroundings(), True)
    assert [each.state for each in findings] == [OK, OK]


def test_where_nothing_holds_it_is_broken() -> None:
    findings = judged([("bubblewrap", ABSENT), ("landlock", OLD)], Surroundings(), False)
    assert [(each.state, each.remedy) for each in findings] == [(BROKEN, ABSENT.remedy), (BROKEN, OLD.remedy)]
    assert status(findings) == 2


@pytest.mark.parametrize(
    ("found", "installed", "expected"),
    [
        (Surroundings(), False, ABSENT.remedy),
        (Surroundings("docker"), True, DOCKER),
        (Surroundings("kubernetes"), True, KUBERNETES),
        (Surroundings(apparmor=True), True, UBUNTU),
        (Surroundings(most=0), True, FORBIDDEN),
        (Surroundings("docker", most=0), True, FORBIDDEN),
        (Surroundings(most=1000), True, OTHERWISE),
    ],
    ids=["not-installed", "docker", "kubernetes", "ubuntu", "forbidden", "forbidden-in-docker", "unknown"],
)
def test_there_is_one_remedy_for_each_machine(found: Surroundings, installed: bool, expected: str) -> None:
    assert remedy(found, ABSENT, installed) == expected


def test_no_remedy_switches_a_protection_off_for_everybody() -> None:
    for text in (DOCKER, KUBERNETES, UBUNTU, FORBIDDEN, OTHERWISE):
        assert "sysctl" not in text
        assert "restrict_unprivileged_userns=0" not in text
        assert "--privileged" not in text


FINDINGS = (
    Finding("bubblewrap", BETTER, "user namespaces are refused", UBUNTU),
    Finding("landlock", OK, "would hold", "", ("not held by itself: other processes can be seen",)),
    Finding("git", BROKEN, "is not installed: branches and remotes are not known", "install git"),
)


def test_the_text(golden) -> None:
    golden("doctor.txt", as_text(FINDINGS, Style(72)))


def test_a_problem_and_its_remedy_take_a_line_each() -> None:
    found = Finding("policies", BROKEN, "every call is denied", "", ("a.yaml:1:1: no\n  help: mend it",))
    assert as_text((found,), Style()).splitlines()[1:3] == [
        "              - a.yaml:1:1: no",
        "                help: mend it",
    ]


def test_what_could_be_better_is_not_called_fine() -> None:
    found = Finding("codex", BETTER, "nobody can tell", "look at it")
    assert as_text((found,), Style()).splitlines()[-1] == "nothing is broken; could be better: codex"


def test_the_text_when_all_is_fine(golden) -> None:
    golden("doctor-fine.txt", as_text((Finding("bubblewrap", OK, "holds calls here"),), Style()))


def test_the_json() -> None:
    assert json.loads(as_json(FINDINGS[1:])) == {
        "works": False,
        "findings": [
            {
                "name": "landlock",
                "state": "ok",
                "text": "would hold",
                "remedy": "",
                "details": ["not held by itself: other processes can be seen"],
            },
            {
                "name": "git",
                "state": "broken",
                "text": "is not installed: branches and remotes are not known",
                "remedy": "install git",
                "details": [],
            },
        ],
    }


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A home and a project on a search path that the test fills; gives the findings by name."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def look(**said: str) -> dict[str, Finding]:
        for name, text in said.items():
            (programs / name).write_text(f"#!/bin/sh\necho '{text}'\n")
            (programs / name).chmod(0o755)
        where = Places(*(str(tmp_path / each) for each in ("etc", "config", "state", "cache")), str(tmp_path))
        return {each.name: each for each in setup_findings(where, str(tmp_path / "project"))}

    return look


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Programs as the system has them, that say what the test wants."""

    def install(**said: str) -> None:
        for name in ("bash", "git"):
            path = tmp_path / "system" / name
            path.parent.mkdir(exist_ok=True)
            if name in said:
                path.write_text(f"#!/bin/sh\necho '{said[name]}'\n")
                path.chmod(0o755)
            monkeypatch.setitem(programs.PROGRAMS, name, programs.PROGRAMS[name].replace(places=(str(path),)))
        monkeypatch.setattr(programs, "refusal", lambda _path, *, ours=False: "could be anybody's" if ours else "")

    return install


def test_programs_are_told_with_their_versions(machine, installed, tmp_path: Path) -> None:
    installed(bash="GNU bash, version 5.2.15(1)-release", git="git version 2.39.5")
    found = machine()
    assert found["bash"] == Finding("bash", OK, f"{tmp_path}/system/bash, version 5.2.15(1)-release")
    assert found["git"] == Finding("git", OK, f"{tmp_path}/system/git, version 2.39.5")


def test_an_old_bash_and_no_git_are_told(machine, installed) -> None:
    installed(bash="GNU bash, version 3.2.57(1)-release")
    found = machine()
    assert (found["bash"].state, found["bash"].remedy) == (BROKEN, "install bash 4.0 or later")
    assert found["git"] == Finding(
        "git",
        BETTER,
        "git is not installed where systems keep it: branches and remotes are not known",
        "install git with the system's packages",
    )


def test_programs_that_calls_can_put_on_the_path_are_not_started(machine, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    found = machine(bash=f"'; touch {mark}; echo '", git=f"'; touch {mark}; echo '")
    assert not mark.exists()
    assert str(tmp_path) not in found["bash"].text + found["git"].text


def test_an_enterprise_folder_that_others_may_write_is_broken(machine, tmp_path: Path) -> None:
    assert machine()["enterprise"].state == OK
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc").chmod(0o777)
    assert machine()["enterprise"].state == BROKEN


def test_a_broken_policy_is_told_with_its_place(machine, tmp_path: Path) -> None:
    assert machine()["policies"].state == OK
    folder = tmp_path / ".config" / "gateway"
    folder.mkdir(parents=True)
    (folder / "policy.yaml").write_text("version: 1\nalow: []\n")
    found = machine()["policies"]
    assert (found.state, found.text) == (BROKEN, "every call is denied")
    assert "policy.yaml:2" in found.details[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_cannot_be_written_is_told(machine, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o500)
    assert machine()["cache"].state == BETTER


def test_the_command_answers(gateway) -> None:
    done = gateway("doctor", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["works"] else 2)
    assert {"policies", "enterprise", "cache", "state", "bash", "git"} <= {each["name"] for each in found["findings"]}
