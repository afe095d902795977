"""`gateway audit`: what people and programs are shown of the record."""

from __future__ import annotations

import json
import os
import select
import subprocess
from typing import TYPE_CHECKING

import pytest
import starting

from gateway.audit.index import Found
from gateway.audit.store import Store
from gateway.frontends.audit_text import call_text, record_line
from gateway.render.style import Style
from gateway.sandbox.backends.spaces import Spaces

if TYPE_CHECKING:
    from pathlib import Path

DECISION = {
    "n": 41, "prev": "", "kind": "decision", "id": "5f3a9c1e07b2-1", "at": "2026-01-31T10:00:00.123456Z",
    "front": "exec", "tool": "Bash", "decision": "ask", "reason": "mode",
    "rule": ["no-push", "user", "/home/dev/.config/gateway/policy.yaml", 7], "call": "0" * 32,
    "cwd": "/home/dev/project", "mode": "default", "policy": "1" * 48,
    "input": {"command": "git push \x1b[31m origin", "timeout": 120000, "content": {"bytes": 9, "digest": "abc"}},
    "effects": [["use", "Bash"], ["exec", "git push origin"], ["push", "origin main"]], "more": 3,
    "session": "s1", "agent": "Explore", "depth": 1, "plan": "2" * 32, "network": "listed",
    "grant": {"allow": True, "scope": "once", "by": "somebody"}, "redacted": 2,
}  # fmt: skip
OUTCOME = {
    "n": 42, "prev": "", "kind": "outcome", "id": "5f3a9c1e07b2-1", "at": "2026-01-31T10:00:02.000000Z",
    "ended": "exited", "status": 1, "seconds": 1.234567, "output": [1200, 34], "reason": "it said so",
    "violations": [["net", "evil.example.org:443", "", "proxy", 3]], "backend": "landlock", "degraded": ["this"],
}  # fmt: skip


def test_everything_of_a_call_is_shown(golden) -> None:
    golden("audit-show.txt", call_text(Found(DECISION, OUTCOME), Style(80)))


def test_a_call_that_runs_on_says_that_it_has_no_end_yet() -> None:
    started = {**OUTCOME, "ended": "started", "status": 0, "seconds": 0.0, "violations": []}
    lines = [" ".join(line.split()) for line in call_text(Found(DECISION, started), Style(80)).splitlines()]
    assert "outcome started, to run on" in lines
    assert "end none: it runs, or whoever ran it was killed" in lines
    assert not any(line.startswith("ended ") for line in lines)
    over = call_text(Found(DECISION, OUTCOME), Style(80))
    assert ("to run on" in over, "none: it runs" in over) == (False, False)


def test_lists_have_a_line_for_each_record(golden) -> None:
    denied = {**DECISION, "n": 43, "decision": "deny", "input": {"file_path": "/home/dev/" + "x" * 90}, "tool": "Read"}
    torn = {"n": 1044, "kind": "mark", "at": "2026-01-31T10:00:03.000000Z", "mark": "torn", "bytes": 5}
    odd = {"n": 1045, "kind": "other\x1b", "at": 5}
    lines = [record_line(each, Style(90, colour)) for colour in (False, True) for each in (DECISION, OUTCOME, denied)]
    golden("audit-list.txt", "\n".join([*lines, *(record_line(each, Style(90)) for each in (torn, odd))]) + "\n")


@pytest.mark.parametrize("value", [[None], 5, None, "x", {"a": 1}, {"bytes": "x", "digest": 1}], ids=repr)
def test_a_line_that_holds_anything_at_all_can_be_shown(value: object) -> None:
    record = dict.fromkeys((*DECISION, *OUTCOME, "hooks", "original"), value) | {"kind": "decision"}
    assert record_line(record, Style())
    for given in (value, {"a": value}):
        assert call_text(Found({**record, "input": given}, {**record, "kind": "outcome"}), Style())


def test_a_call_whose_own_input_looks_like_what_the_record_leaves_out_is_shown_as_it_was() -> None:
    own = {**DECISION, "input": {"about": {"bytes": "many", "digest": "of a meal"}}}
    assert 'about       {"bytes": "many", "digest": "of a meal"}\n' in call_text(Found(own, None), Style(80))


def test_the_lines_of_a_reason_stand_below_each_other() -> None:
    text = call_text(Found({**DECISION, "because": "it is wrong\n  help: write\x1b it"}, None), Style(80))
    assert "  because     it is wrong\n              help: write\\x1b it\n" in text


@pytest.mark.parametrize("words", [("audit", "tail"), ("audit", "verify"), ("audit", "stats"), ("why",)], ids=" ".join)
@pytest.mark.parametrize("name", ["seal", "key", "000001.jsonl", "index.sqlite"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(
    in_process, tmp_path: Path, words: tuple[str, ...], name: str
) -> None:
    store = Store(str(tmp_path / "record"))
    store.append('{"kind":"outcome","id":"x"}')
    store.close()
    (tmp_path / "record" / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "record" / name)
    done = in_process(*words, "--folder", str(tmp_path / "record"), HOME=str(tmp_path))
    assert b"internal error" not in done.stderr


def test_the_name_of_a_folder_plays_no_tricks_on_the_terminal(in_process, tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m").mkdir()
    done = in_process("audit", "tail", "--folder", str(tmp_path / "a\x1b[31m"), HOME=str(tmp_path))
    assert (done.returncode, b"\x1b" in done.stdout, b"a\\x1b[31m" in done.stdout) == (0, False, True)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A home with a record of two calls, of which the second has no outcome."""
    store = Store(str(tmp_path / ".local" / "state" / "gateway" / "audit"))
    for each in (DECISION, OUTCOME, {**DECISION, "id": "other-1", "decision": "allow", "tool": "Read"}):
        store.append(json.dumps({name: value for name, value in each.items() if name not in ("n", "prev")}))
    store.close()
    return tmp_path


@pytest.fixture
def audit(in_process, filled: Path):
    def run(*words: str) -> subprocess.CompletedProcess[bytes]:
        return in_process("audit", *words, HOME=str(filled))

    return run


def test_the_last_records_are_shown_in_order(audit) -> None:
    done = audit("tail", "-n", "2", "--json")
    assert [json.loads(line)["n"] for line in done.stdout.splitlines()] == [2, 3]
    assert (done.returncode, len(audit("tail").stdout.splitlines())) == (0, 3)


def test_following_shows_what_comes(command, filled: Path) -> None:
    arguments = command("audit", "tail", "-f", "-n", "0", "--json", HOME=str(filled))
    process = starting.Popen(**arguments, stdout=subprocess.PIPE)
    assert process.stdout is not None
    store = Store(str(filled / ".local" / "state" / "gateway" / "audit"), most_bytes=1)
    try:
        for _ in range(600):  # until it follows: what was there before is not shown
            store.append('{"kind":"outcome","id":"x"}')
            if select.select([process.stdout], [], [], 0.1)[0]:
                break
        line = process.stdout.readline()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        store.close()
    assert json.loads(line)["kind"] in ("outcome", "mark")


def test_a_call_is_shown_by_number_id_or_start_of_it(audit) -> None:
    wanted = audit("show", "1", "--json").stdout
    assert json.loads(wanted)["outcome"]["ended"] == "exited"
    assert {audit("show", name, "--json").stdout for name in ("2", "#1", "5f3a9c1e07b2-1", "5f3")} == {wanted}
    done = audit("show", "9")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gateway: id must be that of one call (got `9`)")


def test_numbers_are_shown(audit) -> None:
    found = json.loads(audit("stats", "--json").stdout)
    assert (found["decisions"], found["outcomes"]) == ({"allow": 1, "ask": 1}, {"exited": 1})
    assert b"1  ask" in audit("stats").stdout


def test_a_whole_record_verifies_and_a_changed_one_names_the_place(audit, filled: Path) -> None:
    done = audit("verify")
    head = done.stdout.split()[done.stdout.split().index(b"head") + 1].decode()
    assert (done.returncode, audit("verify", "--holds", head).returncode) == (0, 0)
    assert audit("verify", "--holds", "3:" + "0" * 64).returncode == 1
    assert audit("verify", "--holds", "x").returncode == 2
    lines = filled / ".local" / "state" / "gateway" / "audit" / "000001.jsonl"
    lines.write_bytes(lines.read_bytes().replace(b'"status": 1', b'"status": 0'))
    done = audit("verify")
    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == [
        b"broken  record 2: this record was changed: record 3 was written behind another one",
        f"  {lines}:2".encode(),
    ]
    found = json.loads(audit("verify", "--json").stdout)
    assert (found["broken"]["number"], found["broken"]["line"], found["records"]) == (2, 2, 2)


@pytest.mark.parametrize(
    ("words", "status", "numbers"),
    [
        (["push"], 0, [1, 3]),
        (["--tool", "Read"], 0, [3]),
        (["--decision", "ask"], 0, [1]),
        (["--host", "evil.example.org"], 0, [1]),
        (["--rule", "no-*", "-n", "1"], 0, [3]),
        (["--since", "2026-01-31", "--until", "2026-01-31T10:01+00:00"], 0, [1, 3]),
        (["--since", "1h"], 1, []),
        (["nothing like it"], 1, []),
    ],
)
def test_calls_are_found(audit, words: list[str], status: int, numbers: list[int]) -> None:
    done = audit("grep", "--json", *words)
    assert [json.loads(line)["decision"]["n"] for line in done.stdout.splitlines()] == numbers
    assert done.returncode == status


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["grep", "--since", "soon"], b"--since must be a moment"),
        (["grep", "--decision", "no"], b"--decision must be allow, ask or deny"),
        (["tail", "--folder", "/nonexistent"], b"--folder must be a folder that exists"),
    ],
)
def test_wrong_usage_says_so(audit, words: list[str], said: bytes) -> None:
    done = audit(*words)
    assert (done.returncode, done.stderr.startswith(b"gateway: " + said)) == (2, True)


def test_where_nothing_is_recorded_that_is_said_and_nothing_made(in_process, tmp_path: Path) -> None:
    for words in (["tail"], ["stats"], ["verify"]):
        done = in_process("audit", *words, HOME=str(tmp_path))
        assert (done.returncode, done.stdout.startswith(b"nothing is recorded in ")) == (0, True)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def execute(gateway, tmp_path: Path):
    """Runs `gateway exec` in a project where everything is allowed."""
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    policy = 'version: 1\nsettings: {sandbox: {write: ["./**"]}}\nallow: ["Bash(*)"]\n'
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "user.yaml").write_text(policy, encoding="utf-8")
    (tmp_path / "project").mkdir()

    def run(state: Path, text: str) -> subprocess.CompletedProcess[bytes]:
        words = ("exec", "--policies", str(tmp_path / "policies"), "-c", text)
        return gateway(*words, HOME=str(tmp_path), XDG_STATE_HOME=str(state), cwd=tmp_path / "project")

    return run


def test_what_was_executed_stands_in_the_record(execute, gateway, tmp_path: Path) -> None:
    assert execute(tmp_path / "state", "touch made; echo --token hunter2; exit 4").returncode == 4
    place = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    call = json.loads(gateway("audit", "show", "1", "--json", **place).stdout)
    assert (call["decision"]["front"], call["decision"]["redacted"]) == ("exec", 1)
    assert (call["outcome"]["ended"], call["outcome"]["status"]) == ("exited", 4)
    assert gateway("audit", "verify", **place).returncode == 0


def test_without_a_place_for_the_record_only_what_has_no_effect_runs(execute, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = execute(tmp_path / "file", "touch made")
    assert (done.returncode, (tmp_path / "project" / "made").exists()) == (126, False)
    assert done.stderr.startswith(b"gateway: refused: It is refused, because it would not be recorded: the record in ")
    done = execute(tmp_path / "file", "echo x")
    assert (done.returncode, done.stdout) == (0, b"x\n")
    assert done.stderr.startswith(b"gateway: This call is not recorded: the record in ")
    assert execute(tmp_path / "state", "touch made").returncode == 0
    assert (tmp_path / "project" / "made").exists()
