"""`gateway check` as a process: answers, exit status, and one clear error for whatever is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import starting
from patience import patience

import gateway as package

ROOT = str(Path(package.__file__).parents[1])  # not on the path by itself where the checkout is installed
NEVER = {
    "typing", "dataclasses", "logging", "subprocess", "pathlib", "inspect", "tempfile", "datetime", "unicodedata",
    "typer", "rich", "yaml", "jsonschema", "pathspec", "anthropic", "importlib.metadata", "traceback",
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "status", "decision"),
    [
        ("Read(src/main.py)", 0, "allow"),
        ("Bash(cat src/main.py | wc -l)", 0, "allow"),
        ("Write(src/new.py)", 3, "ask"),
        ("Read(/etc/shadow)", 4, "deny"),
        ("Bash(cat ~/.ssh/id_rsa)", 4, "deny"),
    ],
)
def test_the_exit_status_is_the_decision(gateway, call: str, status: int, decision: str) -> None:
    done = gateway("check", "--json", call)
    assert (done.returncode, json.loads(done.stdout)["decision"], done.stderr) == (status, decision, b"")


def test_a_call_is_the_same_as_text_and_as_input(in_process) -> None:
    as_text = json.loads(in_process("check", "--json", "Read(src/main.py)").stdout)
    as_input = json.loads(
        in_process("check", "--json", "--tool", "Read", "--input", '{"file_path":"src/main.py"}').stdout
    )
    as_stream = json.loads(
        in_process("check", "--json", "--tool", "Read", "--input", "-", input=b'{"file_path":"src/main.py"}').stdout
    )
    for each in (as_text, as_input, as_stream):
        del each["elapsed_us"]
    assert as_text == as_input == as_stream


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "--short", "Bash(rm x)"), b"ASK: "),
        (("check", "--short", "Read(/etc/shadow)"), b"DENY by rule `secret-files`"),
        (("explain", "--short", "cat /etc/shadow"), b"DENY by rule `secret-files`"),
    ],
    ids=["asked", "denied", "explained"],
)
def test_the_short_form_is_three_lines_at_most(in_process, words: tuple[str, ...], said: bytes) -> None:
    done = in_process(*words)
    assert (done.stdout.startswith(said), 1 <= done.stdout.count(b"\n") <= 3, done.stderr) == (True, True, b"")


@pytest.mark.parametrize(
    "words",
    [("check", "--short", other, "Bash(ls)") for other in ("--json", "--full", "--plan")]
    + [("check", "--short", "--batch", "-"), ("explain", "--short", "--json", "ls")],
    ids=" ".join,
)
def test_what_cannot_be_short_is_wrong_usage(in_process, words: tuple[str, ...]) -> None:
    done = in_process(*words)
    assert (done.returncode, b"--short must be given without" in done.stdout + done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("call", "readings"),
    [
        ("WebFetch(http://example.com/x)", ["`http://example.com/x` is asked over https"]),
        ("WebFetch(HTTP://example.com/x)", ["`HTTP://example.com/x` is asked over https"]),
        ("WebFetch(https://example.com/x)", []),
        ("WebFetch(example.com)", []),
    ],
)
def test_an_address_that_is_asked_over_https_is_said_to_be(in_process, call: str, readings: list[str]) -> None:
    assert json.loads(in_process("check", "--json", call).stdout)["normalised"] == readings
    [many] = in_process("check", "--batch", "-", input=json.dumps({"call": call}).encode()).stdout.splitlines()
    assert json.loads(many)["normalised"] == readings
    assert all(each in in_process("check", call).stdout.decode() for each in readings)


@pytest.mark.parametrize("text", ["rm -rf x", "echo $(date)"])
def test_a_bare_shell_command_is_told_how_it_is_a_call(in_process, text: str) -> None:
    done = in_process("check", text)
    assert (done.returncode, f"`Bash({text})`" in done.stderr.decode()) == (2, True)


def test_a_trained_and_an_untrained_front_say_the_same(gateway) -> None:
    """What typer reads (`-h` style spellings aside) is answered like what is read by hand."""
    fast = gateway("check", "--mode", "plan", "Write(x)")
    slow = gateway("check", "Write(x)", "--mode", "default", "--mode=plan", "--")
    assert (fast.stdout, fast.returncode) == (slow.stdout, slow.returncode)


@pytest.mark.parametrize("call", ["Bash(git status | head -3)", "Read(src/main.py)", "Bash(npm test)", "Write(x)"])
def test_the_fast_path_imports_nothing_slow(in_process, command, call: str) -> None:
    in_process("check", call)  # warms the cache
    arguments = command()
    program = (
        "import sys\n"
        "from gateway.frontends.main import run\n"
        f"run({['check', call]!r})\n"
        f"run({['check', call, '--json']!r})\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    search = f"import sys; sys.path[:0] = {[ROOT, *sys.path]!r}\n"
    arguments["args"] = [sys.executable, "-I", "-S", "-c", search + program]
    done = subprocess.run(**arguments, capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stderr.split("\n"))
    assert ("gateway.judge.judge" in loaded, sorted(loaded & NEVER)) == (True, [])


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_the_sandbox_is_not_even_imported_unless_a_plan_is_asked_for(command, form: list[str]) -> None:
    arguments = command()
    program = (
        f"import sys; sys.path[:0] = {[ROOT, *sys.path]!r}\n"
        "from gateway.frontends.main import run\n"
        "for extra in ([], ['--plan']):\n"
        f"    run({['check', 'Bash(ls)', *form]!r} + extra)\n"
        "    print(any(name.startswith('gateway.sandbox') for name in sys.modules), file=sys.stderr)\n"
    )
    arguments["args"] = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(**arguments, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "False\nTrue\n"


def test_the_plan_stands_under_the_confinement_when_it_is_asked_for(in_process) -> None:
    secret = {"MY_TOKEN": "verysecret"}
    plain = json.loads(in_process("check", "--json", "Bash(ls)", **secret).stdout)
    done = in_process("check", "--json", "--plan", "Bash(ls)", **secret)
    whole = json.loads(done.stdout)
    plan = whole["confinement"].pop("plan")
    assert "plan" not in plain["confinement"]
    assert whole["confinement"] == plain["confinement"]
    assert b"verysecret" not in done.stdout
    assert plan["network"] == {"mode": "off", "allow": [], "deny": [], "inject": []}
    assert [each for each in plan["mounts"] if each["access"] == "write"] == []
    assert b"\nplan\n" in in_process("check", "--plan", "Bash(ls)").stdout
    explained = json.loads(in_process("explain", "--json", "ls", **secret).stdout)["plan"]
    assert explained == plan


@pytest.mark.parametrize("words", [("Bash(cat .env)",), ("--unconfined", "Bash(ls)")], ids=["denied", "unconfined"])
def test_what_does_not_run_confined_has_no_plan(in_process, words: tuple[str, ...]) -> None:
    done = in_process("check", "--json", "--plan", *words)
    assert json.loads(done.stdout)["confinement"]["plan"] is None
    assert b"\nplan\n" not in in_process("check", "--plan", *words).stdout


USAGE = [
    (["--batch", "-", "--plan"], "--plan must be given for a single call"),
    ([], "a call must be given"),
    (["Bash(ls)", "--tool", "Bash", "--input", "{}"], "a call must be given in one way only"),
    (["Bash(ls)", "--batch", "-"], "a call must be given in one way only"),
    (["--tool", "Bash"], "--tool and --input must be given together"),
    (["Bash(ls)", "--input", "{}"], "--tool and --input must be given together"),
    (["Bash(ls)", "Bash(ls)"], "Bash(ls)"),
    (["Bash(ls)", "--nonsense"], "--nonsense"),
    (["Bash(ls)", "--mode"], "--mode"),
    (["Bash(ls)", "--mode", "nonsense"], "mode must be one of default"),
    (["Bash(ls)", "--cwd", "/nonexistent"], "--cwd must be a folder that exists (got `/nonexistent`)"),
    (["Bash(ls)", "--policies", "/nonexistent"], "--policies must be a folder that exists (got `/nonexistent`)"),
    (["Bash(ls"], "call must end in `)`"),
    ([""], "call must be `Tool(…)`"),
    (["Bsh(ls)"], "did you mean `Bash`?"),
    (["--tool", "Bash", "--input", "{"], "--input must be JSON"),
    (["--tool", "Bash", "--input", "[]"], "--input must be a JSON object"),
    (["--tool", "Bash", "--input", '{"command":"ls","command":"rm x"}'], "a key is given twice"),
    (["--tool", "Bash", "--input", '{"command": NaN}'], "is no JSON number"),
    (["--tool", "Bash", "--input", '{"command": 1e999}'], "a number is too large"),
    (["--tool", "Bash", "--input", "[" * 100_000], "--input must be nested less deep"),
    (["--tool", "Bash", "--input", '{"command": ["ls"]}'], "$.command: must be a string"),
    (["--tool", "Bash", "--input", '{"command": "ls", "cmd": "x", "timeout": "soon"}'], "$.cmd"),
    (["--batch", "/nonexistent"], "--batch must be a file that can be read"),
]


@pytest.mark.parametrize(("words", "said"), USAGE, ids=[" ".join(words)[:40] or "nothing" for words, _ in USAGE])
def test_what_cannot_be_judged_is_one_clear_error(in_process, words: list[str], said: str) -> None:
    done = in_process("check", *words)
    error = done.stderr.decode()
    assert (done.returncode, done.stdout, said in error, "Traceback" in error) == (2, b"", True, False)


@pytest.mark.parametrize(("words", "said"), USAGE, ids=[" ".join(words)[:40] or "nothing" for words, _ in USAGE])
def test_the_same_error_as_json_is_a_refusal(in_process, words: list[str], said: str) -> None:
    done = in_process("check", "--json", *words)
    answer = json.loads(done.stdout)
    text = json.dumps(answer, ensure_ascii=False)
    assert (done.returncode, answer["decision"], said in text, done.stderr) == (2, "deny", True, b"")


@pytest.mark.parametrize(
    "input_",
    [b'{"command":"echo \xff"}', b'{"command":"ls\\u0000x"}', b'{"command":"ls \\ud800"}', b"\x00", b"", b"\xff\xfe{"],
)
def test_bytes_that_no_text_can_hold_are_refused(in_process, input_: bytes) -> None:
    done = in_process("check", "--json", "--tool", "Bash", "--input", "-", input=input_)
    assert (done.returncode, json.loads(done.stdout)["decision"]) == (2, "deny")


def test_an_argument_that_is_no_utf8_is_refused(gateway) -> None:
    done = gateway("check", b"Bash(cat a\xff\xfeb)")
    assert (done.returncode, done.stdout, b"must be valid Unicode" in done.stderr) == (2, b"", True)


def test_a_megabyte_is_judged_and_never_allowed(in_process) -> None:
    call = json.dumps({"command": "echo " + "x " * 500_000}).encode()
    done = in_process("check", "--tool", "Bash", "--input", "-", input=call)
    assert (done.returncode in (3, 4), len(done.stdout) < 10_000, done.stderr) == (True, True, b"")


def test_ten_thousand_parentheses_are_judged_and_never_allowed(in_process) -> None:
    call = json.dumps({"command": "(" * 10_000 + "ls" + ")" * 10_000}).encode()
    done = in_process("check", "--json", "--tool", "Bash", "--input", "-", input=call)
    assert (done.returncode in (3, 4), done.stderr) == (True, b"")


def test_a_call_cannot_play_tricks_on_the_terminal(gateway) -> None:
    done = gateway("check", "Bash(echo \u202e\x1b[2K\u200b\r harmless)")
    raw = [character for character in done.stdout.decode() if not (character.isprintable() or character == "\n")]
    assert (raw, "\\u202e\\x1b[2K\\u200b\\r" in done.stdout.decode()) == ([], True)


def test_output_is_ascii_safe_where_the_locale_is(gateway) -> None:
    done = gateway("check", "Bash(echo grüße 日本)", PYTHONIOENCODING="ascii")
    assert (done.returncode, b"gr\\xfc\\xdfe \\u65e5\\u672c" in done.stdout, done.stderr) == (0, True, b"")


def test_without_a_home_the_password_file_tells_it(gateway) -> None:
    done = gateway("check", "Read(src/main.py)", HOME=None)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_home_that_is_no_path_is_refused(in_process) -> None:
    done = in_process("check", "Read(src/main.py)", HOME="nowhere")
    assert (done.returncode, done.stdout, b"HOME must be" in done.stderr) == (2, b"", True)


def test_a_home_that_cannot_be_written_costs_only_time(gateway) -> None:
    done = gateway("check", "Read(src/main.py)", HOME="/proc", XDG_CACHE_HOME="/proc/nothing")
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_folder_that_is_gone_is_said_to_be(command, tmp_path: Path) -> None:
    arguments = command("check", "Read(x)")
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    arguments["args"] = ["sh", "-c", script, "sh", str(tmp_path / "gone"), *arguments["args"]]
    (tmp_path / "gone").mkdir()
    done = subprocess.run(**arguments, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, b"current folder cannot be used" in done.stderr) == (2, b"", True)


def test_a_broken_policy_refuses_every_call(in_process, tmp_path: Path) -> None:
    (tmp_path / "user.yaml").write_text("version: 1\nrules:\n  - deny: [Bash(x)\n", encoding="utf-8")
    done = in_process("check", "--json", "--policies", str(tmp_path), "Read(src/main.py)")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["decision"], answer["problems"][0]["file"]) == (
        2,
        "deny",
        str(tmp_path / "user.yaml"),
    )


def test_a_policy_that_cannot_be_read_refuses_every_call(gateway, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "user.yaml")
    done = gateway("check", "--policies", str(tmp_path), "Read(src/main.py)")
    assert (done.returncode, b"must be a regular file" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("is_full", "said"),
    [
        (False, b"gateway: the answer cannot be written: standard output is closed\n"),
        (True, b"gateway: the answer cannot be written: [Errno 28] No space left on device\n"),
    ],
)
def test_an_answer_that_cannot_be_written_is_no_permission(command, is_full: bool, said: bytes) -> None:
    with open("/dev/full", "wb") as full:
        streams = {"stdout": full if is_full else starting.CLOSED, "stderr": subprocess.PIPE}
        done = starting.run(**command("check", "Read(src/main.py)"), **streams, timeout=patience(60))
    assert (done.returncode, done.stderr) == (1, said)


def test_a_fault_of_ours_is_one_line_and_a_refusal(monkeypatch, capsys) -> None:
    from gateway.frontends.main import run
    from gateway.judge.judge import Judge

    def fail(*_: object) -> None:
        raise LookupError("lost\nits way")

    monkeypatch.setattr(Judge, "check", fail)
    monkeypatch.delenv("GATEWAY_DEBUG", raising=False)
    as_text = (run(["check", "Read(x)"]), *capsys.readouterr())
    as_json = (run(["check", "--json", "Read(x)"]), *capsys.readouterr())
    said = "internal error (LookupError); this is treated as deny"
    assert (as_text, as_json) == (
        (1, "", f"gateway: {said}\n  help: GATEWAY_DEBUG=1 shows where\n"),
        (1, json.dumps({"error": said, "decision": "deny"}, separators=(",", ":")) + "\n", ""),
    )


def test_a_person_who_debugs_sees_where(monkeypatch, capsys) -> None:
    from gateway.frontends.main import run
    from gateway.judge.judge import Judge

    monkeypatch.setattr(Judge, "check", lambda *_: 1 / 0)
    monkeypatch.setenv("GATEWAY_DEBUG", "1")
    assert (run(["check", "Read(x)"]), "Traceback" in capsys.readouterr().err) == (1, True)


def test_ctrl_c_is_quiet(monkeypatch, capsys) -> None:
    from gateway.frontends.main import run
    from gateway.judge.judge import Judge

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Judge, "check", interrupt)
    assert (run(["check", "Read(x)"]), capsys.readouterr()) == (130, ("", ""))


def test_the_whole_command_line_has_help_and_a_version(gateway, in_process) -> None:
    bare, asked, version = gateway(), in_process("--help"), gateway("--version")
    assert (bare.returncode, asked.returncode, bare.stdout == asked.stdout) == (2, 0, True)
    assert (version.returncode, version.stdout.startswith(b"gateway ")) == (0, True)
