"""Asking to run without the sandbox: who may let a call do so, and that what is said of it is what happens."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.approval.callback import Callback
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMED = "rules: [{id: out, allow: {effect: system, action: leave-sandbox}}, {id: rest, allow: Bash}]"
SPELLINGS = ("dangerously_disable_sandbox", "dangerouslyDisableSandbox")


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Gateway]:
    for name in ("workspace/.gateway", "home", "config"):
        (tmp_path / name).mkdir(parents=True)

    def open_(mode: str = "default", approver: object = (), **layers: str) -> Gateway:
        places = {"user": "config/policy.yaml", "enterprise": "etc/policy.yaml"}
        for layer, text in layers.items():
            (tmp_path / places[layer]).parent.mkdir(exist_ok=True)
            (tmp_path / places[layer]).write_text(f"version: 1\n{text}\n")
        where = Places(
            str(tmp_path / "etc"), str(tmp_path / "config"), state=str(tmp_path / "state"),
            cache=warm(tmp_path / "cache"), home=str(tmp_path / "home"),
        )  # fmt: skip
        options = Options(str(tmp_path / "workspace"), mode=mode, root=str(tmp_path / "workspace"), binding=True)
        return Gateway(options, where=where, approver=approver)  # type: ignore[arg-type]

    return open_


def both(gateway: Gateway, spelling: str, command: str = "cat /proc/self/uid_map; ls /") -> tuple[str, str, str]:
    """What a dry run says, what the real thing says, and what came of that."""
    raw = RawCall("Bash", {"command": command, spelling: True})
    with gateway:
        done = gateway.call(raw)
        return gateway.check(raw).decision.word, done.verdict.decision.word, done.result.ended


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("default", "ask"), ("accept_edits", "ask"), ("bypass", "ask"), ("plan", "deny"), ("read_only", "deny"),
        ("dont_ask", "deny"), ("auto", "deny"),
    ],
)  # fmt: skip
def test_no_mode_by_itself_lets_a_call_leave(opened, mode: str, said: str, spelling: str) -> None:
    rules = "rules: [{id: all, allow: Bash}, {id: system, allow: {effect: system}}]"
    assert both(opened(mode, user=rules), spelling) == (said, said, "refused")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_rule_of_the_user_that_names_it_does(opened, spelling: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    command = f"echo x > {outside} && readlink /proc/self/ns/user"
    assert both(opened(user=NAMED.replace("allow: Bash", "allow: [Bash, 'Edit(//**)']")), spelling, command) == (
        "allow", "allow", "exited",
    )  # fmt: skip
    assert outside.read_text() == "x\n"


def test_what_runs_so_has_the_machines_own_namespaces_home_and_folders(opened, tmp_path: Path) -> None:
    with opened(user=NAMED) as gateway:
        raw = RawCall("Bash", {"command": "readlink /proc/self/ns/user; echo $HOME", SPELLINGS[0]: True})
        done = gateway.call(raw)
    text = "".join(getattr(each, "text", "") for each in done.output.blocks)
    assert text.splitlines() == [os.readlink("/proc/self/ns/user"), str(tmp_path / "home")]
    assert (done.plan.free, done.result.backend) == (True, "none")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that belong to root")
def test_the_organisation_bounds_it(opened) -> None:
    denied = "rules: [{id: stay, deny: {effect: system, action: leave-sandbox}}]"
    assert both(opened(user=NAMED, enterprise=denied), SPELLINGS[1]) == ("deny", "deny", "refused")
    required = "rules: [{id: stay, require: {confined: true}}]"
    assert both(opened(user=NAMED, enterprise=required), SPELLINGS[1]) == ("deny", "deny", "refused")


def test_a_person_may_let_one_call_leave(opened) -> None:
    asked: list[str] = []

    def answer(question: object) -> bool:
        asked.append(str(question))
        return True

    rules = "rules: [{id: rest, allow: Bash}]"
    assert both(opened(approver=Callback(answer), user=rules), SPELLINGS[1]) == ("ask", "ask", "exited")
    assert len(asked) == 1
