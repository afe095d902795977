"""The client of the warm service: what it hears, how long it waits, and the refusal when nothing else works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gateway.agents.refusal import refusal
from gateway.core import command_lines
from gateway.frontends.service import thin, wire

HOME = {b"HOME": b"/home/dev"}


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
    message = wire.framed(told or (b"A", b"x"))
    speaker = threading.Thread(target=os.write, args=(writing, message if told else message[:-1]))
    try:
        speaker.start()
        if ends:
            speaker.join()
            os.close(writing)
        found = wire.message(reading)[0]
        speaker.join()
    finally:
        os.close(reading)
        if not ends:
            os.close(writing)
    assert (found == message, wire.parts_of(found or b"") is not None) == (heard, heard)


def test_what_comes_behind_a_message_is_the_next_one() -> None:
    reading, writing = os.pipe()
    first, second = wire.framed((b"P",)), wire.framed((b"A", b"x"))
    os.write(writing, first + second[:5])
    found, rest = wire.message(reading)
    os.write(writing, second[5:])
    os.close(writing)
    assert (found, wire.message(reading, rest)) == (first, (second, b""))
    os.close(reading)


@pytest.mark.parametrize("environment", [{}, {b"HOME": b""}, {b"HOME": b"relative"}], ids=["none", "empty", "relative"])
def test_without_a_home_there_is_no_service(environment: dict[bytes, bytes]) -> None:
    assert wire.identity(environment) is None
    assert thin.ask(["hook"], environment, b"", 0.0) == (None, False)


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
    assert thin.seconds(["hook", "claude", *words.split()], "--deadline", thin.DEADLINE) == seconds


def test_the_line_of_settings_is_absolute_and_starts_without_anybodys_files() -> None:
    words = command_lines.hook_line("claude", ["--deadline", "3"])
    assert words == [sys.executable, "-I", "-S", command_lines.CLIENT, "hook", "claude", "--deadline", "3"]
    assert [os.path.isabs(words[at]) and os.path.isfile(words[at]) for at in (0, 3)] == [True, True]


def test_the_client_brings_nothing_with_it_while_it_is_warm() -> None:
    program = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]); import thin, _socket;"
        "print(*sorted(set(sys.modules) - before))"
    )
    folder = os.path.dirname(command_lines.CLIENT)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, folder], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["_socket", "thin", "wire"]


@pytest.mark.parametrize("broken", ["no thin.py", "a broken thin.py", "no wire.py", "no package"])
def test_where_nothing_can_be_loaded_it_refuses_as_every_agent_understands(tmp_path: Path, broken: str) -> None:
    folder = tmp_path / "gateway" / "service"
    folder.mkdir(parents=True)
    (folder / "client.py").write_text(Path(command_lines.CLIENT).read_text("utf-8"), "utf-8")
    if broken == "a broken thin.py":
        (folder / "thin.py").write_text("import nothing\n", "utf-8")
    if broken in ("no wire.py", "no package"):
        (folder / "thin.py").write_text(Path(thin.__file__).read_text("utf-8"), "utf-8")
    if broken == "no package":
        (folder / "wire.py").write_text(Path(wire.__file__).read_text("utf-8"), "utf-8")
    python = sys.executable if broken != "no package" else os.path.realpath(sys.executable)
    done = subprocess.run(
        [python, "-I", "-S", folder / "client.py", "hook", "claude"], input=b"{}", capture_output=True, check=False,
        env={"HOME": str(tmp_path)},
    )  # fmt: skip
    told = json.loads(done.stdout)
    reason = told["reason"]
    assert (done.stdout, done.stderr, done.returncode) == refusal(reason)
    assert reason.startswith("gateway refused this call")
