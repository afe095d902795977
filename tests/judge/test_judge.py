"""One call through all stages: what the engine itself must get right between them."""

from __future__ import annotations

from pathlib import Path

import pytest
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall


@pytest.fixture
def here(tmp_path: Path) -> Places:
    (tmp_path / "home/project/.git").mkdir(parents=True)
    (tmp_path / "home/project/.git/HEAD").write_text("ref: refs/heads/topic\n", encoding="utf-8")
    (tmp_path / "home/project/a").write_text("", encoding="utf-8")
    (tmp_path / "config").mkdir()
    warm(tmp_path / "cache")
    return Places(*(str(tmp_path / name) for name in ("etc", "config", "state", "cache", "home")))


def user(places: Places, text: str) -> None:
    Path(places.config, "policy.yaml").write_text(f"version: 1\n{text}\n", encoding="utf-8")


@pytest.mark.parametrize(("asked", "expected"), [(False, "allow"), (True, "ask")])
def test_a_call_that_asks_to_leave_the_sandbox_has_no_temporary_folders_of_its_own(
    guard, asked: bool, expected: str
) -> None:
    call = RawCall("Bash", {"command": "cat /tmp/x", "dangerously_disable_sandbox": asked})
    assert guard({}).check(call).decision.word == expected


def test_a_call_that_asks_to_leave_the_sandbox_leaves_the_next_one_in_it(guard) -> None:
    gateway = guard({})
    asked = [
        gateway.check(RawCall("Bash", {"command": "cat /tmp/x", "dangerously_disable_sandbox": each}))
        for each in (True, False)
    ]
    assert [verdict.decision.word for verdict in asked] == ["ask", "allow"]


def test_the_branch_is_the_one_at_the_time_of_the_call(here: Places) -> None:
    user(here, "rules: [{id: not-on-main, deny: {branch: main, effect: read}}]")
    gateway = Gateway(Options(f"{here.home}/project"), where=here)
    call = RawCall("Bash", {"command": "cat a"})
    before = gateway.check(call).decision.word
    Path(here.home, "project/.git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert (before, gateway.check(call).decision.word) == ("allow", "deny")


def test_a_project_root_given_through_a_link_is_resolved(here: Places, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(f"{here.home}/project")
    user(here, "deny: ['Read(./a)']")
    gateway = Gateway(Options(str(tmp_path / "link"), root=str(tmp_path / "link")), where=here)
    assert gateway.check(RawCall("Read", {"file_path": "a"})).decision.word == "deny"


def nested(places: Places, outer: str, inner: str) -> tuple[str, str]:
    """A project with another repository in it, each with a policy that sets this mode ("" for no policy)."""
    top = f"{places.home}/project"
    found = (top, f"{top}/vendor/lib")
    for folder, mode in zip(found, (outer, inner), strict=True):
        Path(folder, ".git").mkdir(parents=True, exist_ok=True)
        Path(folder, "src").mkdir()
        if mode:
            Path(folder, ".gateway").mkdir()
            Path(folder, ".gateway/policy.yaml").write_text(f"version: 1\nsettings: {{mode: {mode}}}\n")
    return found


MODES_OF_NESTED = [
    # the outer project's mode, the inner one's, what a write in src of the inner one gets, and one of the outer one
    ("", "", "allow", "allow"),
    ("plan", "", "deny", "deny"),
    ("", "plan", "deny", "allow"),
    ("default", "", "ask", "ask"),
    ("default", "plan", "deny", "ask"),
    ("plan", "default", "deny", "deny"),
    ("dont_ask", "plan", "deny", "deny"),
    ("plan", "dont_ask", "deny", "deny"),
    ("read_only", "plan", "deny", "deny"),
]


@pytest.mark.parametrize("start", ["outer", "inner"])
@pytest.mark.parametrize(("outer", "inner", "in_inner", "in_outer"), MODES_OF_NESTED)
def test_the_strictest_mode_of_all_projects_that_a_call_lies_in_holds(
    here: Places, outer: str, inner: str, in_inner: str, in_outer: str, start: str
) -> None:
    user(here, "settings: {mode: accept_edits}")
    top, below = nested(here, outer, inner)
    gateway = Gateway(Options(top if start == "outer" else below), where=here)
    assert gateway.options.root == (top if start == "outer" else below)

    def write(folder: str) -> str:
        return gateway.check(RawCall("Write", {"file_path": f"{folder}/src/x", "content": ""})).decision.word

    if start == "outer":
        assert (write(below), write(top)) == (in_inner, in_outer)
    else:
        assert write(below) == in_inner


def test_a_mode_that_a_person_asks_for_holds_in_nested_projects_as_in_the_root(here: Places) -> None:
    user(here, "settings: {mode: accept_edits}")
    top, below = nested(here, "plan", "plan")
    call = RawCall("Write", {"file_path": f"{below}/src/x", "content": ""})
    gateways = [Gateway(Options(where, mode=mode), where=here) for where in (top, below) for mode in ("", "default")]
    assert [each.check(call).decision.word for each in gateways] == ["deny", "ask", "deny", "ask"]
