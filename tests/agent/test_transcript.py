"""What a transcript keeps of a session, whatever ended it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.agent.transcript import NOT_BEGUN, UNKNOWN, VERSION, Past, Transcript, read, told
from gateway.core.errors import ConfigError

START = {"type": "start", "version": VERSION, "session": "s", "model": "m", "cwd": "/w", "mode": "default", "rules": []}


def use(*ids: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": each, "name": "Read", "input": {}} for each in ids]


def say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def ok(use_id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": use_id, "content": [say("fine")]}


def user(*content: Any) -> dict[str, Any]:
    return {"type": "user", "content": list(content)}


def assistant(*content: Any, **usage: int) -> dict[str, Any]:
    return {"type": "assistant", "content": list(content), "stop": "", "usage": usage}


def result(use_id: str) -> dict[str, Any]:
    return {"type": "result", "block": ok(use_id)}


def begun(use_id: str) -> dict[str, Any]:
    return {"type": "begun", "id": use_id}


def written(path: Path, *lines: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(each) + "\n" for each in (START, *lines)))
    return str(path)


def past(*messages: tuple[str, list[Any]], **other: Any) -> Past:
    told_so = [{"role": role, "content": content} for role, content in messages]
    fields = {"unknown": (), "turns": 0, "used": {}, "cwd": "/w", "mode": "default", "rules": (), "why": ""}
    return Past(START, tuple(told_so), **{**fields, **other})


HISTORIES: dict[str, tuple[list[dict[str, Any]], Past]] = {
    "nothing was said": ([], past()),
    "nothing was answered": ([user(say("a"))], past(("user", [say("a")]))),
    "all was said": (
        [user(say("a")), assistant(say("b"), input_tokens=3), {"type": "ended", "why": "done"}],
        past(("user", [say("a")]), ("assistant", [say("b")]), turns=1, used={"input_tokens": 3}, why="done"),
    ),
    "it went on after its end": (
        [user(say("a")), assistant(say("b")), {"type": "ended", "why": "done"}, user(say("c"))],
        past(("user", [say("a")]), ("assistant", [say("b")]), ("user", [say("c")]), turns=1),
    ),
    "a call was answered": (
        [user(say("a")), assistant(*use("1")), begun("1"), result("1")],
        past(("user", [say("a")]), ("assistant", use("1")), ("user", [ok("1")]), turns=1),
    ),
    "results came in another order": (
        [user(say("a")), assistant(*use("1", "2")), begun("1"), begun("2"), result("2"), result("1")],
        past(("user", [say("a")]), ("assistant", use("1", "2")), ("user", [ok("1"), ok("2")]), turns=1),
    ),
    "one call ran and one waited": (
        [user(say("a")), assistant(*use("1", "2", "3")), begun("1"), result("1"), begun("2")],
        past(
            ("user", [say("a")]),
            ("assistant", use("1", "2", "3")),
            ("user", [ok("1"), told("2", UNKNOWN), told("3", NOT_BEGUN)]),
            turns=1,
            unknown=("2",),
        ),
    ),
    "something was said after it was cut off": (
        [user(say("a")), assistant(*use("1")), begun("1"), user(say("go on"))],
        past(
            ("user", [say("a")]),
            ("assistant", use("1")),
            ("user", [told("1", UNKNOWN), say("go on")]),
            turns=1,
            unknown=("1",),
        ),
    ),
    "the session moved": (
        [user(say("a")), {"type": "session", "cwd": "/w/x", "mode": "plan", "rules": ["r"]}],
        past(("user", [say("a")]), cwd="/w/x", mode="plan", rules=("r",)),
    ),
}


@pytest.mark.parametrize(("lines", "expected"), HISTORIES.values(), ids=HISTORIES)
def test_a_session_is_read_back_when(tmp_path: Path, lines: list[dict[str, Any]], expected: Past) -> None:
    assert read(written(tmp_path / "t.jsonl", *lines)) == expected


def test_a_line_that_was_cut_off_counts_as_not_written(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", user(say("a")))
    whole = Path(path).read_bytes()
    line = json.dumps(assistant(say("b"))).encode() + b"\n"
    for length in range(len(line)):
        Path(path).write_bytes(whole + line[:length])
        assert read(path) == past(("user", [say("a")]))
    Path(path).write_bytes(whole + line[:20])
    transcript = Transcript(path)
    transcript.write("user", content=[say("c")])
    transcript.close()
    assert read(path) == past(("user", [say("a"), say("c")]))


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        pytest.param(b"", 0, "does not begin", id="empty"),
        pytest.param(b"{}\n", 1, "no line of a transcript", id="no kind"),
        pytest.param(b'{"type": "user", "content": []}\n', 1, "must be its first line", id="no start"),
        pytest.param(json.dumps(START | {"version": 9}).encode() + b"\n", 1, "version must be 1", id="newer"),
        pytest.param(json.dumps(START).encode() + b"\nnonsense\n", 2, "no line of a transcript", id="nonsense"),
        pytest.param((json.dumps(START).encode() + b"\n") * 2, 2, "must be its first line", id="two starts"),
        pytest.param(b"\xff\xfe\n", 1, "no line of a transcript", id="no text"),
    ],
)
def test_what_is_no_transcript_is_an_error_with_its_place(
    tmp_path: Path, content: bytes, line: int, reason: str
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read(str(path))
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(path), line)
    assert reason in problem.message


def test_a_missing_transcript_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read(str(tmp_path / "none"))


def test_it_belongs_to_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "t.jsonl"
    Transcript(str(path)).close()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path.parent, path)] == [0o700, 0o600]


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine\n")
    (tmp_path / "t.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="cannot be written"):
        Transcript(str(tmp_path / "t.jsonl"))
    assert (tmp_path / "elsewhere").read_text() == "mine\n"


def test_a_session_that_goes_on_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    path = str(tmp_path / "t.jsonl")
    first = Transcript(path)
    with pytest.raises(ConfigError, match="going on in another process"):
        Transcript(path)
    first.close()
    Transcript(path).close()


KILLED = """
import os, sys
from gateway.agent.transcript import Transcript
transcript = Transcript(sys.argv[1])
transcript.write("start", version=1, session="s", model="m", cwd="/w", mode="default", rules=[])
for number in range(10**9):
    transcript.write("user", content=[{"type": "text", "text": f"{number} " + "x" * 5000}])
    if number == 20:
        print("going", flush=True)
"""


def test_a_writer_that_is_killed_leaves_whole_lines(tmp_path: Path) -> None:
    path = str(tmp_path / "t.jsonl")
    with subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    (message,) = read(path).messages
    numbers = [int(each["text"].split()[0]) for each in message["content"]]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 20


def test_a_full_disk_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript(str(tmp_path / "t.jsonl"))
    transcript.write("start", **{name: value for name, value in START.items() if name != "type"})
    true_write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: true_write(file, data[:7]))
    with pytest.raises(OSError, match="could not be written whole"):
        transcript.write("user", content=[])
    monkeypatch.undo()
    transcript.write("user", content=[say("a")])
    assert read(transcript.path).messages == past(("user", [say("a")])).messages
