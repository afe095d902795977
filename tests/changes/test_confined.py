"""What confined commands and tools change is saved on the way that calls go; and what policy hides is not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from changes.worlds import tree
from warmed import warm

from gateway.api.changes import Changes
from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall
from gateway.sandbox.backends.spaces import Spaces

if TYPE_CHECKING:
    from pathlib import Path

needs_namespaces = pytest.mark.skipif(not Spaces().probe().works, reason="no namespaces of our own here")
SECRET = "canary-of-a-secret"


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    top = tmp_path / "workspace"
    (top / "src").mkdir(parents=True)
    (top / "src/a").write_text("one\n")
    (top / ".env").write_text(f"KEY={SECRET}\n")
    where = Places(
        str(tmp_path / "etc"), str(tmp_path / "config"), state=str(tmp_path / "state"), cache=warm(tmp_path / "cache"),
        home=str(tmp_path / "home"),
    )  # fmt: skip
    (tmp_path / "home").mkdir()
    return Gateway(Options(cwd=str(top), mode="bypass", binding=True), where=where)


def kept(gateway: Gateway) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(each.of.tool, [(one.what, one.path) for one in each.changes]) for each in Changes(gateway).list()]


@needs_namespaces
def test_a_confined_command_is_listed_and_taken_back(gateway: Gateway, tmp_path: Path) -> None:
    before = tree(tmp_path / "workspace")
    with Executor(gateway) as executor:
        done = executor.run("echo two >> src/a; mkdir new; echo x > new/x; ln src/a new/twin; cat < /dev/null")
    assert (done.result.status, done.result.stderr) == (0, b"")
    assert kept(gateway) == [
        ("Bash", [("new", "new"), ("new", "new/twin"), ("new", "new/x"), ("changed", "src/a")]),
    ]
    assert Changes(gateway).undo(1).stays == {}
    assert tree(tmp_path / "workspace") == before


@needs_namespaces
def test_without_saving_nothing_is_kept(gateway: Gateway) -> None:
    with Executor(gateway, saves_changes=False) as executor:
        assert executor.run("echo two >> src/a").result.status == 0
    assert kept(gateway) == []


@needs_namespaces
def test_what_a_command_leaves_running_is_ended_and_saved(gateway: Gateway, tmp_path: Path) -> None:
    before = tree(tmp_path / "workspace")
    with Executor(gateway) as executor:
        done = executor.run("(while :; do echo more >> src/a; done) & sleep 0.1; exit 3")
    assert done.result.status == 3
    Changes(gateway).undo(1)
    assert tree(tmp_path / "workspace") == before


@needs_namespaces
def test_no_content_of_what_policy_hides_is_kept(gateway: Gateway, tmp_path: Path) -> None:
    with Executor(gateway) as executor:
        executor.run("echo x >> .env; rm -f .env; echo y > src/a")
    if (tmp_path / "workspace/.env").read_text() != f"KEY={SECRET}\n":
        pytest.skip("policy does not hide it in this mode")
    found = []
    for folder, _folders, files in os.walk(tmp_path / "state"):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                found += [name] if SECRET.encode() in file.read() else []
    assert found == []


def test_what_tools_write_by_themselves_is_taken_back(gateway: Gateway, tmp_path: Path) -> None:
    top = tmp_path / "workspace"
    before = tree(top)
    gateway.call(RawCall("Write", {"file_path": str(top / "deep/new.txt"), "content": "x"}))
    session = gateway.calls.session()
    gateway.call(RawCall("Read", {"file_path": str(top / "src/a")}), session=session)
    gateway.call(RawCall("Edit", {"file_path": str(top / "src/a"), "old_string": "one", "new_string": "two"}),
                 session=session)  # fmt: skip
    session.close()
    assert (top / "src/a").read_text() == "two\n"
    assert kept(gateway) == [
        ("Write", [("new", "deep"), ("new", "deep/new.txt")]),
        ("Edit", [("changed", "src/a")]),
    ]
    for number in (2, 1):
        assert Changes(gateway).undo(number).stays == {}
    assert tree(top) == before
    gateway.close()
