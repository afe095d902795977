"""`gateway check --batch`: a verdict for every line, in order, whatever the lines hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import starting

from gateway.frontends import batch

if TYPE_CHECKING:
    from pathlib import Path


def answers(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def ids(done: subprocess.CompletedProcess[bytes]) -> list[tuple[Any, str]]:
    return [(answer["id"], answer["decision"]) for answer in answers(done)]


def lines(*given: Any) -> bytes:
    return b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in given)


READ = {"id": 1, "tool": "Read", "input": {"file_path": "src/main.py"}}
ASKED = {"id": "two", "call": "Write(src/new.py)"}
DENIED = {"id": [3], "call": "Read(/etc/shadow)"}


def test_every_line_is_answered_with_its_id_in_order(gateway) -> None:
    done = gateway("check", "--batch", "-", input=lines(READ, b"", ASKED, b"  ", DENIED))
    assert (ids(done), done.returncode, done.stderr) == ([(1, "allow"), ("two", "ask"), ([3], "deny")], 4, b"")


def test_an_answer_is_that_of_the_single_call(in_process) -> None:
    many = answers(in_process("check", "--batch", "-", input=lines(READ, DENIED)))
    alone = [
        json.loads(in_process("check", "--json", "Read(src/main.py)").stdout),
        json.loads(in_process("check", "--json", "Read(/etc/shadow)").stdout),
    ]
    for each in (*many, *alone):
        del each["elapsed_us"]
        each.pop("id", None)
        each.pop("change", None)  # worked out for one call, not for thousands
    assert many == alone


def test_in_full_an_answer_is_that_of_the_single_call_in_full(in_process, tmp_path: Path) -> None:
    (tmp_path / "calls").write_bytes(lines(READ))
    [short] = answers(in_process("check", "--batch", str(tmp_path / "calls")))
    [full] = answers(in_process("check", "--batch", str(tmp_path / "calls"), "--full"))
    alone = json.loads(in_process("check", "--json", "--full", "Read(src/main.py)").stdout)
    for each in (full, alone):
        del each["elapsed_us"]
        each.pop("id", None)
        each.pop("change", None)
    assert (full, "reads" in full["confinement"], "reads" in short["confinement"]) == (alone, True, False)


def test_a_file_is_read_like_a_stream(in_process, tmp_path: Path) -> None:
    text = lines(READ, ASKED, DENIED)
    (tmp_path / "calls").write_bytes(text)
    from_file, from_stream = (
        in_process("check", "--batch", str(tmp_path / "calls")),
        in_process("check", "--batch", "-", input=text),
    )
    assert (ids(from_file), from_file.returncode) == (ids(from_stream), from_stream.returncode)


@pytest.mark.parametrize(
    ("given", "status"),
    [((), 0), ((READ,), 0), ((READ, ASKED), 3), ((DENIED, ASKED, READ), 4), ((DENIED, b"x", READ), 2)],
)
def test_the_exit_status_is_that_of_the_strictest_answer(in_process, given: tuple[Any, ...], status: int) -> None:
    assert in_process("check", "--batch", "-", input=lines(*given)).returncode == status


BAD: list[tuple[Any, Any, str]] = [
    (b"nonsense", None, "line must be JSON"),
    (b"[1]", None, "line must be a JSON object"),
    (b'"x"', None, "line must be a JSON object"),
    (b"null", None, "line must be a JSON object"),
    (b"\xff\xfe", None, "line must be UTF-8 (got byte 0xff at 0)"),
    (b"[" * 200_000, None, "line must be nested less deep"),
    (b'{"id": 1, "id": 2}', None, "a key is given twice"),
    ({"id": 7}, 7, "line must have a text as `tool`"),
    ({"id": 7, "tool": "Read"}, 7, "line must have a text as `tool`"),
    ({"id": 7, "tool": "Read", "input": [1]}, 7, "an object as `input`"),
    ({"id": 7, "call": "Read(x)", "tool": "Read"}, 7, "but not both"),
    ({"id": 7, "call": 5}, 7, "line must have a text as `call`"),
    ({"id": 7, "call": "Read(x)", "cdw": "/"}, 7, "line must have no key but"),
    ({"id": 7, "call": "Read(x)", "mode": "nonsense"}, 7, "mode must be one of"),
    ({"id": 7, "call": "Read(x)", "mode": None}, 7, "`mode` must be a text"),
    ({"id": 7, "call": "Read(x)", "cwd": "/nonexistent"}, 7, "`cwd` must be a folder that exists"),
    ({"id": 7, "call": "Read(x)", "cwd": "a\0b"}, 7, "`cwd` must be a folder that exists"),
    ({"id": 7, "call": "Read(x)", "cwd": 1}, 7, "`cwd` must be a text"),
    ({"id": {"a": [1]}, "call": "Reed(x)"}, {"a": [1]}, "did you mean `Read`?"),
    ({"id": 7, "tool": "Bash", "input": {"command": ["ls"]}}, 7, "$.command: must be a string"),
    ({"id": 7, "tool": "Bash", "input": {"command": "a\0b"}}, 7, "must not contain NUL"),
]


def test_a_bad_line_is_refused_and_the_next_one_judged(in_process) -> None:
    done = in_process("check", "--batch", "-", input=lines(*(part for bad, _, _ in BAD for part in (bad, READ))))
    found = answers(done)
    assert (len(found), done.returncode, done.stderr) == (2 * len(BAD), 2, b"")
    for (_, name, said), refused, judged in zip(BAD, found[::2], found[1::2], strict=True):
        assert (refused["id"], refused["decision"], said in refused["error"], judged["decision"]) == (
            name,
            "deny",
            True,
            "allow",
        ), refused


def test_a_line_may_name_its_folder_and_mode(in_process, home: Path) -> None:
    done = in_process(
        "check",
        "--batch",
        "-",
        input=lines(
            {"id": 1, "call": "Read(main.py)", "cwd": "src"},
            {"id": 2, "call": "Read(main.py)", "cwd": str(home / "project" / "src")},
            {"id": 3, "call": "Write(x)", "mode": "plan"},
            {"id": 4, "call": "Write(x)", "mode": "accept_edits"},
            {"id": 5, "call": "Write(x)"},
        ),
    )
    found = [(answer["decision"], answer["cwd"], answer["mode"]) for answer in answers(done)]
    project = str(home / "project")
    assert found == [
        ("allow", f"{project}/src", "default"),
        ("allow", f"{project}/src", "default"),
        ("deny", project, "plan"),
        ("allow", project, "accept_edits"),
        ("ask", project, "default"),
    ]


def test_a_line_in_another_project_is_judged_as_if_started_there(in_process, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    answer = answers(in_process("check", "--batch", "-", input=lines({"call": "Read(x)", "cwd": str(tmp_path)})))[0]
    alone = json.loads(in_process("check", "--json", "--cwd", str(tmp_path), "Read(x)").stdout)
    assert (answer["decision"], answer["cwd"], answer["confinement"]) == (
        alone["decision"],
        alone["cwd"],
        alone["confinement"],
    )


def test_a_line_beyond_the_bound_is_refused_and_the_rest_judged(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(batch, "MAX_BYTES", 100)
    (tmp_path / "calls").write_bytes(b"x" * 1000 + b"\n" + lines(READ) + b"y" * 100 + b"\n" + b"z" * 100)
    with (tmp_path / "calls").open("rb") as file:
        found = list(batch.lines_of(file))
    assert found == [None, lines(READ), None, None]


def test_a_stream_is_answered_line_by_line(command) -> None:
    arguments = command("check", "--batch", "-")
    with starting.Popen(
        **arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen = []
        for call in (READ, ASKED):
            process.stdin.write(lines(call))
            seen.append(json.loads(process.stdout.readline())["id"])
        process.stdin.close()
        assert (seen, process.wait(30)) == ([1, "two"], 3)


def test_nobody_reading_is_quiet(command, tmp_path: Path) -> None:
    (tmp_path / "calls").write_bytes(lines(*[READ] * 2000))
    arguments = command("check", "--batch", str(tmp_path / "calls"))
    with starting.Popen(**arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(30)) == (b"", 141)


def test_ctrl_c_is_quiet_after_what_was_answered(command) -> None:
    arguments = command("check", "--batch", "-")
    with starting.Popen(
        **arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(lines(READ))
        first = json.loads(process.stdout.readline())
        os.kill(process.pid, signal.SIGINT)
        assert (first["id"], process.wait(30), process.stderr.read()) == (1, 130, b"")


def test_a_fault_of_ours_refuses_one_line(monkeypatch, capsys, tmp_path: Path) -> None:
    from gateway.frontends.main import run
    from gateway.judge.judge import Judge

    judge = Judge.check

    def stumble(self: Judge, raw: Any, context: Any = None) -> Any:
        if raw.tool == "Write":
            raise LookupError("lost")
        return judge(self, raw, context)

    monkeypatch.setattr(Judge, "check", stumble)
    (tmp_path / "calls").write_bytes(lines(ASKED, {**READ, "id": 2}))
    status = run(["check", "--batch", str(tmp_path / "calls")])
    refused, judged = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (status, refused, judged["id"]) == (
        1,
        {"id": "two", "error": "internal error (LookupError); this is treated as deny", "decision": "deny"},
        2,
    )


def test_a_broken_policy_refuses_the_whole_batch(in_process, tmp_path: Path) -> None:
    (tmp_path / "user.yaml").write_text("version: 1\nruls: []\n", encoding="utf-8")
    done = in_process("check", "--batch", "-", "--policies", str(tmp_path), input=lines(READ))
    assert (done.returncode, done.stdout, b"user.yaml:2" in done.stderr) == (2, b"", True)


def test_progress_is_shown_only_to_who_waits(monkeypatch, capsys) -> None:
    clock = iter([0.0, 1.0, 2.5, 3.0, 3.2])
    monkeypatch.setattr(batch, "monotonic", lambda: next(clock))
    progress = batch.Progress(True)
    progress.show(10)
    progress.show(2000)
    progress.show(3000)
    progress.clear()
    assert capsys.readouterr().err == "\r2,000 calls judged\r\x1b[K"


def test_progress_is_silent_where_nobody_looks(capsys) -> None:
    progress = batch.Progress(False)
    progress.show(10)
    progress.clear()
    assert capsys.readouterr().err == ""
