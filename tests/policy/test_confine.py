"""What would hold a call, as far as it can be told before."""

from __future__ import annotations

import pytest
import yaml

from gateway.model.call import RawCall
from gateway.policy.confine import Reach, confinement, enforced_by, grants_of


@pytest.mark.parametrize(("mode", "writes"), [("default", ("./**",)), ("plan", ()), ("read_only", ())])
def test_no_profile_lets_a_call_write_in_a_mode_that_writes_nothing(guard, mode: str, writes: tuple[str, ...]) -> None:
    user = {"rules": [{"allow": "Bash(npm test)"}], "settings": {"sandbox": {"write": ["./**"]}}}
    opened = guard({"user": user}, mode=mode)
    verdict = opened.check(RawCall("Bash", {"command": "npm test"}))
    held = confinement(verdict, enforced_by(opened.loaded.policy, opened.loaded.settings["sandbox"].value))
    assert (verdict.decision.word, held.kind, held.writes) == ("allow", "rule", writes)


SPEAKS: dict[str, tuple[bool, bool]] = {  # of paths, of hosts
    "{effect: write}": (True, False),
    "{effect: [connect, push]}": (False, True),
    "{effect: [connect, read]}": (True, True),
    "{path: a}": (True, False),
    "{path: a, command: 'rm *'}": (True, False),
    "{path: a, host: a.org}": (True, True),
    "{path_not: [a]}": (True, False),
    "{host: a.org}": (False, True),
    "{host: '*'}": (False, True),
    "{host: a.org, command: 'rm *'}": (False, True),
    "{effect: connect, host: '*.a.org'}": (False, True),
    "{host_not: [a.org]}": (False, True),
    "{effect: connect, port: 22}": (False, True),
    "{effect: code}": (False, False),
    "Bash(rm *)": (False, False),
}


@pytest.mark.parametrize("rule", SPEAKS)
def test_the_denies_that_a_sandbox_holds_are_those_on_paths_and_on_hosts(guard, rule: str) -> None:
    held = enforced_by(guard({"user": [{"id": "no", "deny": yaml.safe_load(rule)}]}).loaded.policy, {"b": 1, "a": 2})
    assert ("no" in held.paths, "no" in held.hosts, held.profile) == (*SPEAKS[rule], (("a", 2), ("b", 1)))
    asks = enforced_by(guard({"user": [{"id": "no", "ask": yaml.safe_load(rule)}]}).loaded.policy, {})
    assert "no" not in (*asks.paths, *asks.hosts)


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("find build -name '*.o' | xargs rm -f", ("/home/dev/project/build",)),
        ("find build -name '*.o' | xargs rm -rf", ("/home/dev/project",)),
    ],
    ids=["files of some names in a folder", "a folder as a whole, too"],
)
def test_what_is_deleted_opens_the_folder_that_it_lies_in(guard, text: str, writes: tuple[str, ...]) -> None:
    verdict = guard({}).check(RawCall("Bash", {"command": text}))
    assert (verdict.decision.word, confinement(verdict).writes) == ("ask", writes)


ROOT = "/home/dev/project"
WRITES = {
    "echo x > README.md": [(f"{ROOT}/README.md", True, False)],
    "echo x > new": [(ROOT, False, False)],
    "sed -i s/a/b/ README.md": [(ROOT, False, False)],
    "touch to-src/a.py": [(f"{ROOT}/src", False, False), (f"{ROOT}/to-src", False, False)],
    "cp -r src new": [(f"{ROOT}/new", False, True)],
}


@pytest.mark.parametrize("text", WRITES)
def test_a_redirect_opens_the_file_that_is_there_and_all_else_its_folder(guard, text: str) -> None:
    verdict = guard({}).check(RawCall("Bash", {"command": text}))
    assert [(each.path, each.alone, each.tree) for each in grants_of(verdict, {}).writes] == WRITES[text]


def test_files_of_some_names_are_deleted_wherever_below_they_lie(guard) -> None:
    verdict = guard({}).check(RawCall("Bash", {"command": "find build -name '*.o' | xargs rm -f"}))
    build = "/home/dev/project/build"
    assert grants_of(verdict, {}).writes == (Reach(build, build, tree=True, kind="delete"),)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("git commit -m x", True),
        ("git stash", True),
        ("git status", False),
        ("git fetch", False),
        ("git pull", False),
        ("touch x", False),
    ],
)
def test_git_that_changes_a_repository_by_itself_is_shown_the_persons_settings(guard, text: str, shown: bool) -> None:
    """Those that the profile names, and not what lies beside them."""
    user = {"settings": {"sandbox": {"read": ["~/.gitconfig", "~/.config/git/**", "~/.nvm/**"]}}}
    opened = guard({"user": user}, mode="accept_edits")
    verdict = opened.check(RawCall("Bash", {"command": text}))
    reads = confinement(verdict, enforced_by(opened.loaded.policy, opened.loaded.settings["sandbox"].value)).reads
    files = [each for each in reads if "/.gitconfig" in each or "/.config/git" in each]
    home = verdict.context.home
    named = [
        f"{home}/{each}" for each in (".gitconfig", *(f".config/git/{n}" for n in ("config", "ignore", "attributes")))
    ]
    assert files == (named if shown else [])
