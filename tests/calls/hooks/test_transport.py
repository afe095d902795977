"""A project's hooks: they run as what policy allows unasked, and inside of that alone."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.calls.hooks.transport import _alone
from gateway.calls.output import Output, Text
from gateway.core.errors import ConfigError
from gateway.model.call import RawCall
from gateway.model.limits import Limits
from gateway.model.plan import READ, WRITE, Mount, Network, SandboxPlan
from gateway.model.result import Result
from gateway.policy.confine import BY_PROFILE

CALL = RawCall("Read", {"file_path": "a.txt"})
SEND = {"id": "send", "allow": {"effect": "connect", "host": "hooks.example"}}
CONNECT = {"id": "connect", "allow": {"effect": "connect"}}
FAR = {"id": "far", "allow": {"effect": "read", "path": "//srv/**"}}


class Runner:
    """Runs nothing, and keeps the plans of what it was to run."""

    def __init__(self) -> None:
        self.plans: list[Any] = []

    def run(self, plan: Any, *_any: Any, **_how: Any) -> Result:
        self.plans.append(plan)
        return Result("exited", 0, b"{}")

    def close(self) -> None:
        """Holds nothing."""


@pytest.fixture
def runner(ground) -> Runner:
    ground.stands_for("files.read", lambda _call, _work: Output((Text("read"),)))
    (ground.project / "private").mkdir()
    (ground.project / "private" / "f").write_text("x", encoding="utf-8")
    return Runner()


def trusted(ground: Any, hook: dict[str, Any], rules: list[dict[str, Any]], runner: Any, **settings: Any) -> Any:
    """A gateway that trusts a project with this hook, under these rules of the user."""
    ground.says({"rules": rules, "settings": settings})
    ground.says({"hooks": [{"id": "theirs", "event": "before_call", **hook}]}, layer="project")
    return ground.open(trust=(ground.open().loaded.project_digest,), runner=runner)


def asks(rule: str, tests: Any) -> list[dict[str, Any]]:
    return [{"id": rule, "ask": tests}]


UNASKED = {
    "a host that the mode asks about": (["curl", "https://evil.example/"], [], [CONNECT]),
    "a file that a rule asks about": (["cat", "private/f"], asks("mine", {"path": "private/**"}), []),
    "a program that a rule asks about": (["cat", "private/f"], asks("mine", "Bash(cat *)"), []),
    "unknown code that a rule asks about": (["./look.sh"], asks("mine", "Bash(./look.sh *)"), []),
    "a file far away that the mode asks about": (["cat", "/srv/f"], [], [FAR]),
    "a file that a rule denies": (["cat", "private/f"], [{"id": "mine", "deny": {"path": "private/**"}}], []),
}  # fmt: skip


@pytest.mark.parametrize(("words", "rules", "without"), UNASKED.values(), ids=UNASKED)
@pytest.mark.parametrize("guards", [True, False], ids=["guards", "watches"])
def test_a_projects_program_does_nothing_that_policy_would_ask_about(
    ground, runner: Runner, words: list[str], rules: list[Any], without: list[Any], guards: bool
) -> None:
    hook = {"command": words, "guards": guards}
    done = trusted(ground, hook, rules, runner).call(CALL)
    assert (done.ran, runner.plans) == (not guards, [])
    assert "hook `theirs` may not run" in (done.text if guards else "\n".join(done.reports))
    assert trusted(ground, hook, without, runner).call(CALL).ran
    assert len(runner.plans) == 1


def test_unknown_code_of_a_project_reaches_changes_and_sees_nothing_more_than_any_call(ground, runner: Runner) -> None:
    extra = ground.home / "extra"
    extra.mkdir()
    sandbox = {"network": "open", "read": [f"/{extra}"], "write": [f"/{ground.project}"]}
    hook = {"command": ["./look.sh"]}
    assert trusted(ground, hook, [], runner, sandbox=sandbox).call(CALL).ran
    (plan,) = runner.plans
    assert (plan.network, [each for each in plan.mounts if each.access == WRITE]) == (Network(), [])
    assert str(extra) not in {each.path for each in plan.mounts}
    allowed = [{"id": "theirs", "allow": {"effect": "code"}}]
    assert trusted(ground, hook, allowed, runner, sandbox=sandbox).call(CALL).ran
    profiled = runner.plans[1]
    assert (profiled.network.mode, str(extra) in {each.path for each in profiled.mounts}) == ("open", True)


def test_the_plan_for_unknown_code_loses_whatever_else_was_granted() -> None:
    mounts = (Mount("/a", WRITE), Mount("/b", READ), Mount("/c", READ, True, BY_PROFILE))
    plan = SandboxPlan(mounts, (), (), "/a", (), Network("open"), Limits(), permits=("ptrace",))
    assert _alone(plan) == plan.replace(mounts=(Mount("/a", READ), mounts[1]), network=Network(), permits=())


@pytest.mark.parametrize("mode", ["default", "bypass", "read_only"])
def test_a_projects_address_is_asked_only_where_the_agent_may_send_to(
    ground, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    asked: list[str] = []
    ground.stands_for("files.read", lambda _call, _work: Output((Text("read"),)))

    def request(_method: str, url: str, **_how: Any) -> Any:
        asked.append(url)
        return type("Reply", (), {"status": 204, "elsewhere": "", "cut": False, "body": b""})()

    monkeypatch.setattr("gateway.calls.hooks.transport.request", request)
    hook = {"http": {"url": "https://hooks.example/x"}}
    ground.says({"hooks": [{"id": "theirs", "event": "before_call", **hook}]}, layer="project")
    digest = ground.open().loaded.project_digest
    done = ground.open(trust=(digest,), mode=mode).call(CALL)
    assert (done.ran, asked) == (False, [])
    assert "policy does not allow sending to its address" in done.text
    ground.says({"rules": [SEND]})
    done = ground.open(trust=(digest,), mode=mode).call(CALL)
    may = mode != "read_only"  # which no rule lifts
    assert (done.ran, len(asked)) == (may, int(may))


def test_a_project_does_not_say_which_secrets_a_hook_sends(ground) -> None:
    http = {"url": "https://hooks.example/x", "headers": {"A": "{env:HOOK_TOKEN}"}}
    hooks = [{"id": "theirs", "event": "before_call", "http": http}]
    ground.says({"hooks": hooks}, layer="project")
    digest = ground.open().loaded.project_digest  # nobody trusts it yet: its hooks are not looked at
    with pytest.raises(ConfigError, match="must not say which variables a hook sends"):
        ground.open(trust=(digest,))
    (ground.of_project / "policy.yaml").unlink()
    ground.says({"hooks": hooks})
    assert ground.open().loaded.hooks[0]["layer"] == "user"
