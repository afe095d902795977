"""What outlives a call: the folder and mode of a session, its scratch folder, and what ends with it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading

import pytest

from gateway.calls.session import Session
from gateway.core.errors import GatewayError
from gateway.model.context import Context

HERE = Context("/", "/", "/root")


def test_sessions_have_names_of_their_own_unless_they_are_given_one() -> None:
    assert Session(HERE).name != Session(HERE).name
    assert [Session(HERE, name=name).name for name in ("", "mine")] == ["", "mine"]


def test_a_session_moves_only_to_a_folder_that_is_really_there(tmp_path) -> None:
    session = Session(HERE)
    real = os.path.realpath(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    for folder in (f"{real}/no-such", f"{real}/link", f"{real}/file", f"{real}/../x", "", "relative"):
        assert not session.follow(folder)
    assert session.cwd == "/"
    assert session.follow(real)
    assert session.cwd == real


def test_the_scratch_folder_is_ones_own_and_goes_with_the_session() -> None:
    with Session(HERE) as session:
        folder = session.scratch()
        assert (session.scratch(), session.context.scratch) == (folder, folder)
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        with open(os.path.join(folder, "x"), "w", encoding="utf-8") as file:
            file.write("x")
    assert not os.path.exists(folder)
    with pytest.raises(GatewayError, match="the session has ended"):
        session.scratch()


def test_no_call_sees_the_circumstances_change_when_the_folder_is_made() -> None:
    with Session(HERE) as session:
        before = session.context
        assert not os.path.exists(before.scratch)
        made: list[str] = []
        work = [threading.Thread(target=lambda: made.append(session.scratch())) for _ in range(20)]
        for each in work:
            each.start()
        session.enter("plan")
        for each in work:
            each.join()
        assert set(made) == {before.scratch}
        assert session.context == before.replace(mode="plan")


def test_the_folder_lies_in_no_workspace_that_commands_may_write(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    real = os.path.realpath(tmp_path)
    for workspace, is_there in (((real,), False), ((f"{real}/below",), True)):
        with Session(HERE.replace(workspace=workspace)) as session:
            assert (os.path.dirname(session.scratch()) == real) == is_there


def test_what_is_made_on_demand_is_made_once() -> None:
    session = Session(HERE)
    found: list[int] = []
    work = [threading.Thread(target=lambda: found.append(id(session.reads) ^ id(session.shells))) for _ in range(20)]
    for each in work:
        each.start()
    for each in work:
        each.join()
    session.close()
    assert len(set(found)) == 1


def test_closing_ends_the_background_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(HERE)
    closed: list[bool] = []
    monkeypatch.setattr(session.shells, "close", lambda: closed.append(True))
    session.close()
    session.close()
    assert closed == [True]


def test_the_scratch_folder_goes_with_a_process_that_closed_nothing_and_not_with_a_fork_of_it() -> None:
    program = """
import os, sys
from gateway.model.context import Context
from gateway.calls.session import Session
session = Session(Context("/", "/", "/root"))
folder = session.scratch()
if os.fork() == 0:
    sys.exit()
os.wait()
print(folder, os.path.isdir(folder))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    folder, was_there = done.stdout.split()
    assert (was_there, os.path.exists(folder)) == ("True", False)
