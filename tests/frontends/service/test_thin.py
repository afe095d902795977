"""What client and service both know: messages, for whom a service is, and the refusal when nothing else works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agents.refusal import refusal
from gateway.core import line
from gateway.core.places import places
from gateway.frontends.service import thin

HOME = {b"HOME": b"/home/dev"}


@given(st.lists(st.binary(max_size=50), max_size=6))
def test_a_message_comes_back_as_it_was(parts: list[bytes]) -> None:
    message = thin.framed(tuple(parts))
    assert (thin.parts_of(message), thin.needed(message)) == (parts, len(message))


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=4), st.data())
def test_what_is_not_whole_is_no_message(parts: list[bytes], data: st.DataObject) -> None:
    message = thin.framed(tuple(parts))
    cut = data.draw(st.integers(0, len(message) - 1))
    assert thin.parts_of(message[:cut]) is None
    assert thin.parts_of(message + b"x") is None


@given(st.binary(max_size=200))
def test_garbage_is_no_message(data: bytes) -> None:
    assert thin.parts_of(data) is None
    assert thin.parts_of(thin.VERSION + data) in (None, [])


@pytest.mark.parametrize(
    ("told", "ends", "heard"),
    [
        ((b"A", b"x"), False, True),
        ((b"A", b"x" * 200_000), False, True),
        (None, True, False),
    ],
    ids=["one that goes on living", "more than a pipe holds", "one that says half and ends"],
)
def test_a_message_is_heard_when_it_is_whole_and_not_when_its_speaker_has_ended(
    told: tuple[bytes, ...] | None, ends: bool, heard: bool
) -> None:
    reading, writing = os.pipe()
    message = thin.framed(told or (b"A", b"x"))
    speaker = threading.Thread(target=os.write, args=(writing, message if told else message[:-1]))
    try:
        speaker.start()
        if ends:
            speaker.join()
            os.close(writing)
        found = thin._message(reading)
        speaker.join()
    finally:
        os.close(reading)
        if not ends:
            os.close(writing)
    assert (found == message, thin.parts_of(found or b"") is not None) == (heard, heard)


@pytest.mark.parametrize(
    "name",
    ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
     "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "OPENCODE_CONFIG_DIR"],
)  # fmt: skip
def test_other_places_are_another_identity(name: str) -> None:
    assert thin.identity({**HOME, name.encode(): b"/elsewhere"}) != thin.identity(HOME)


def test_all_that_places_are_read_from_is_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            asked.add(name)
            return super().get(name, default)

        def __contains__(self, name: object) -> bool:
            asked.add(str(name))
            return super().__contains__(name)

        def __getitem__(self, name: str) -> str:
            asked.add(name)
            return super().__getitem__(name)

    asked: set[str] = set()
    monkeypatch.setattr(os, "environ", Asked(HOME="/home/me"))
    places()
    assert "HOME" in asked
    assert len(asked) > 1
    same = {name for name in asked if thin.identity({**HOME, name.encode(): b"/x"}) == thin.identity(HOME)}
    assert same == set()


@pytest.mark.parametrize("environment", [{}, {b"HOME": b""}, {b"HOME": b"relative"}], ids=["none", "empty", "relative"])
def test_without_a_home_there_is_no_service(environment: dict[bytes, bytes]) -> None:
    assert thin.identity(environment) is None
    assert thin.ask(["hook"], environment, b"", 0.0) == (None, False)


def test_another_user_process_or_code_is_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [thin.identity(HOME)]
    for name, value in (("_HERE", "/other"), ("VERSION", b"gateway-service-2")):
        with monkeypatch.context() as patch:
            patch.setattr(thin, name, value)
            found.append(thin.identity(HOME))
    with monkeypatch.context() as patch:
        patch.setattr(thin.sys, "executable", "/other/python")
        found.append(thin.identity(HOME))
    with monkeypatch.context() as patch:
        patch.setattr(thin.posix, "geteuid", lambda: 12345)
        found.append(thin.identity(HOME))
    with monkeypatch.context() as patch:
        patch.setattr(thin.posix, "readlink", lambda _name: b"mnt:[1]")
        found.append(thin.identity(HOME))
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("", 10.0),
        ("--deadline 3", 3.0),
        ("--deadline=2.5", 2.5),
        ("--deadline nan", 10.0),
        ("--deadline -1", 10.0),
        ("--deadline 0", 10.0),
        ("--deadline 99999", 10.0),
        ("--deadline", 10.0),
        ("--deadline=", 10.0),
        ("--deadline x --deadline 3", 10.0),
    ],
)
def test_the_time_is_what_the_words_leave_and_else_ten_seconds(words: str, seconds: float) -> None:
    assert thin.deadline(["hook", "claude", *words.split()]) == seconds


def test_the_line_of_settings_is_absolute_and_starts_without_anybodys_files() -> None:
    words = line.hook_line("claude", ["--deadline", "3"])
    assert words == [sys.executable, "-I", "-S", line.CLIENT, "hook", "claude", "--deadline", "3"]
    assert [os.path.isabs(words[at]) and os.path.isfile(words[at]) for at in (0, 3)] == [True, True]


def test_the_client_brings_nothing_with_it_while_it_is_warm() -> None:
    program = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]); import thin, _socket;"
        "print(*sorted(set(sys.modules) - before))"
    )
    folder = os.path.dirname(line.CLIENT)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, folder], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["_socket", "thin"]


@pytest.mark.parametrize("broken", ["no thin.py", "a broken thin.py", "no package"])
def test_where_nothing_can_be_loaded_it_refuses_as_every_agent_understands(tmp_path: Path, broken: str) -> None:
    folder = tmp_path / "gateway" / "service"
    folder.mkdir(parents=True)
    (folder / "client.py").write_text(Path(line.CLIENT).read_text("utf-8"), "utf-8")
    if broken == "a broken thin.py":
        (folder / "thin.py").write_text("import nothing\n", "utf-8")
    if broken == "no package":
        (folder / "thin.py").write_text(Path(thin.__file__).read_text("utf-8"), "utf-8")
    python = sys.executable if broken != "no package" else os.path.realpath(sys.executable)
    done = subprocess.run(
        [python, "-I", "-S", folder / "client.py", "hook", "claude"], input=b"{}", capture_output=True, check=False,
        env={"HOME": str(tmp_path)},
    )  # fmt: skip
    told = json.loads(done.stdout)
    reason = told["reason"]
    assert (done.stdout, done.stderr, done.returncode) == refusal(reason)
    assert reason.startswith("gateway refused this call")
