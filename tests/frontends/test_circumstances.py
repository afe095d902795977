"""`gateway` in odd places: homes, folders, streams, locales and files that nobody planned for. Whatever is wrong is one
clear error with its exit status, and never an allow by accident."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
import starting
from fuzzing import THOROUGH
from patience import patience
from warmed import warm

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = "Read(src/main.py)"
MANY = 6 if THOROUGH else 3


def in_shell(arguments: dict[str, Any], script: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Runs what `arguments` says from a shell script, as `"$@"`."""
    arguments["args"] = ["sh", "-c", script, "sh", *arguments["args"]]
    return subprocess.run(**arguments, **{"stdin": subprocess.DEVNULL, **more}, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    "env",
    [
        {"HOME": "/nonexistent/home", "XDG_CACHE_HOME": None},
        {"HOME": "/etc/passwd", "XDG_CACHE_HOME": None},
        {"HOME": "/", "XDG_CACHE_HOME": "/proc/nothing"},
        {"HOME": os.fsdecode(b"/nonexistent/\xff\n"), "XDG_CACHE_HOME": None},
        {"XDG_CACHE_HOME": "/etc/passwd"},
        {"XDG_CACHE_HOME": "/dev/full"},
        {"XDG_CACHE_HOME": "relative", "XDG_CONFIG_HOME": "relative", "XDG_STATE_HOME": "relative"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "-5"},
    ],
    ids=repr,
)
def test_where_nothing_can_be_kept_or_shown_the_answer_is_the_same(gateway, env: dict[str, str | None]) -> None:
    done = gateway("check", ALLOWED, **env)
    assert (done.returncode, done.stdout.split(b":")[0], done.stderr) == (0, b"ALLOW", b"")


@pytest.mark.parametrize(
    "words",
    [["check", ALLOWED], ["policy", "show"], ["new", "rule", "x"], ["doctor"], ["init"], ["audit", "tail"], ["why"]],
    ids=" ".join,
)
def test_a_home_that_is_no_absolute_path_is_nobodys(gateway, tmp_path: Path, words: list[str]) -> None:
    said = "gateway: HOME must be set to an absolute path\n  help: run with HOME=/your/home\n"
    for home in ("relative", ""):
        done = gateway(*words, cwd=tmp_path, HOME=home)
        assert (done.returncode, done.stdout, done.stderr.decode(), os.listdir(tmp_path)) == (2, b"", said, [])


def test_the_version_is_told_without_a_home(gateway) -> None:
    assert gateway("--version", HOME="relative").returncode == 0


def test_a_home_that_is_not_there_is_not_made(gateway, tmp_path: Path) -> None:
    done = gateway("check", ALLOWED, HOME=str(tmp_path / "home"), XDG_CACHE_HOME=None)
    assert (done.returncode, os.listdir(tmp_path)) == (0, [])


def test_a_full_disk_costs_only_time(command, tmp_path: Path) -> None:
    done = in_shell(command("check", ALLOWED, XDG_CACHE_HOME=str(tmp_path)), 'ulimit -f 0; "$@" | cat')
    kept = [name for name in os.listdir(tmp_path / "gateway") if name.endswith(".json")]
    assert (done.stdout.split(b":")[0], done.stderr, kept) == (b"ALLOW", b"", [])


def test_many_at_once_fill_an_empty_cache_and_say_the_same(gateway, tmp_path: Path) -> None:
    if not THOROUGH:  # nine tenths of what is compiled are the descriptions of programs
        warm(tmp_path / "gateway")
        for path in (tmp_path / "gateway").iterdir():
            if not path.name.startswith(("commands-", "seal")):
                path.unlink()

    def check(_: int) -> tuple[Any, ...]:
        done = gateway("check", "--json", "Bash(git push -f | tee x)", XDG_CACHE_HOME=str(tmp_path))
        answer = json.loads(done.stdout)
        return done.returncode, done.stderr, answer["decision"], answer["rule"]["id"]

    with ThreadPoolExecutor(MANY) as pool:
        found = set(pool.map(check, range(MANY)))
    assert (len(found), {name.partition("-")[0] for name in os.listdir(tmp_path / "gateway")}) == (
        1,
        {"commands", "foreign", "packed", "policy", "seal"},
    )


def test_a_relative_folder_is_nowhere_when_the_current_one_is_gone(command, tmp_path: Path) -> None:
    script = f'mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && exec "$@"'
    relative = in_shell(command("check", "--cwd", "src", ALLOWED), script)
    absolute = in_shell(command("check", "--cwd", "/", ALLOWED), script)
    assert (relative.returncode, b"--cwd must be a folder that exists" in relative.stderr) == (2, True)
    assert absolute.returncode == 3


def test_names_that_no_line_and_no_text_can_hold_are_folders_like_any(in_process, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"odd \xff\n\x1b[2K name")
    (odd / ".git").mkdir(parents=True)
    (odd / "a b").write_text("", encoding="utf-8")
    (odd / ".gateway").mkdir()
    (odd / ".gateway" / "policy.yaml").write_text("version: 1\nask: [Read(c)]\n", encoding="utf-8")
    done = [
        in_process("check", "Bash(cat 'a b')", cwd=odd),
        in_process("check", "--json", "Read(c)", cwd=odd),
        in_process("check", "--json", "--cwd", str(odd), "Read(a b)"),
        in_process("policy", "show", cwd=odd),
    ]
    assert [(each.returncode, each.stderr, b"\x1b" in each.stdout) for each in done] == [
        (status, b"", False) for status in (0, 3, 0, 0)
    ]


NOTHING, FULL = starting.CLOSED, "/dev/full"
STREAMS: list[tuple[list[str], dict[str, Any], int]] = [
    (["check", ALLOWED], {"stdin": NOTHING}, 0),
    (["check", "--tool", "Bash", "--input", "-"], {"stdin": NOTHING}, 2),
    (["check", "--batch", "-"], {"stdin": NOTHING}, 2),
    (["check", "Bsh(x)"], {"stderr": NOTHING}, 2),
    (["check", "Bsh(x)"], {"stderr": FULL}, 2),
    (["check", "--json", "Bsh(x)"], {"stdout": FULL}, 1),
    (["check", ALLOWED], {"stdin": NOTHING, "stdout": NOTHING, "stderr": NOTHING}, 1),
    (["policy", "show"], {"stdout": NOTHING}, 1),
    (["explain", "ls"], {"stdout": NOTHING}, 1),
    (["mcp", "serve"], {"stdin": NOTHING}, 2),
    (["mcp", "serve"], {"stdout": NOTHING}, 2),
    (["--version"], {"stdout": NOTHING}, 1),
    (["--version"], {"stdout": FULL}, 1),
    ([], {"stdout": FULL}, 1),
    (["--help"], {"stdout": FULL}, 1),
    (["check", "--help"], {"stdout": NOTHING}, 1),
    (["policy", "test", "-h"], {"stdout": FULL}, 1),
]


@pytest.mark.parametrize(("words", "streams", "status"), STREAMS, ids=lambda each: str(each) or "nothing")
def test_closed_and_full_streams_are_told_by_the_status(
    command, words: list[str], streams: dict[str, Any], status: int
) -> None:
    with open(FULL, "wb") as full:
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        given |= {name: full if each == FULL else each for name, each in streams.items()}
        done = starting.run(**command(*words), **given, timeout=patience(60))
    said = (done.stderr or b"").decode()
    assert (done.returncode, [word for word in ("Traceback", "internal", "ignored") if word in said]) == (status, [])


@pytest.mark.parametrize("words", [["check", ALLOWED], ["--help"], ["policy", "schema"]], ids=" ".join)
def test_a_reader_that_left_is_no_error_worth_words(command, words: list[str]) -> None:
    arguments = command(*words)
    with starting.Popen(**arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(30)) == (b"", 141)


def test_help_that_is_an_options_value_does_not_hide_the_verdict(gateway, tmp_path: Path) -> None:
    (tmp_path / "-h").mkdir()
    done = gateway("check", "Bash(rm -rf /)", "--cwd", "-h", cwd=tmp_path)
    assert (done.returncode, done.stdout.split(b" ")[0]) == (4, b"DENY")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([b"check", b"--tool", b"Ba\xff", b"--input", b"{}"], b"tool must be a known name"),
        ([b"check", b"--tool", b"Bash", b"--input", b'{"command":"\xff"}'], b"must be valid Unicode"),
        ([b"check", b"--cwd", b"/\xff", b"Read(x)"], b"--cwd must be a folder"),
        ([b"check", b"--policies", b"/\xff", b"Read(x)"], b"--policies must be a folder"),
        ([b"check", b"--mode", b"\xff", b"Read(x)"], b"mode must be one of"),
        ([b"check", b"--\xff", b"Read(x)"], b"no such option"),
        ([b"\xff"], b"no such command"),
    ],
    ids=repr,
)
def test_arguments_that_are_no_utf8_are_refused(in_process, words: list[bytes], said: bytes) -> None:
    done = in_process(*words)
    assert (done.returncode, done.stdout, said in done.stderr, b"\xff" in done.stderr) == (2, b"", True, False)


BROKEN: list[tuple[str, bytes, str]] = [
    ("empty", b"", "policy must be a mapping"),
    ("binary", bytes(range(256)) * 99, "must be UTF-8"),
    ("latin-1", b"version: 1\n# gr\xfc\xdfe\n", "must be UTF-8"),
    ("utf-16", "version: 1\n".encode("utf-16"), "must be UTF-8"),
    ("nul", b"version: 1\n\0", "must not contain control"),
    ("version", b"version: 2\n", "`version` must be 1"),
    ("two documents", b"version: 1\n---\nversion: 1\n", "must hold one document"),
    ("unknown key", b"version: 1\ndney: []\n", "did you mean `deny`"),
    ("unknown tool", b"version: 1\ndeny: [Bsah(x)]\n", "did you mean `Bash`"),
    ("unknown preset", b"version: 1\nextends: [dayly]\n", "`dayly` is no preset"),
    ("no such file", b"version: 1\nextends: [{file: x.yaml}]\n", "cannot be read"),
    ("python tag", b"version: 1\ndeny: !!python/object/apply:os.system [id]\n", "tags must not be used"),
    ("own alias", b"version: 1\ndeny: &a [*a]\n", "anchors must not be used"),
    (
        "a million aliases",
        b"version: 1\nx0: &x0 [x]\n"
        + b"".join(b"x%d: &x%d [%s]\n" % (n, n, b", ".join([b"*x%d" % (n - 1)] * 10)) for n in range(1, 8))
        + b"deny: *x7\n",
        "anchors must not be used",
    ),
    ("deep lists", b"version: 1\ndeny: " + b"[" * 100_000, "nesting must be at most"),
    ("deep mappings", b"version: 1\ndeny: " + b"{a: " * 100_000, "nesting must be at most"),
    ("too large", b"version: 1\n#" + b"x" * 9_000_000, "must have at most"),
    (
        "slow expression",
        b"version: 1\nrules: [{id: x, deny: {args: {command: {regex: '(a+)+$'}}}}]\n",
        "`regex` must be",
    ),
]


@pytest.mark.parametrize(("content", "said"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_policy_that_is_none_refuses_with_its_place(in_process, tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "user.yaml").write_bytes(content)
    done = in_process("check", "--policies", str(tmp_path), ALLOWED)
    error = done.stderr.decode()
    assert (done.returncode, done.stdout, said in error, ".yaml" in error) == (2, b"", True, True)
    assert len(error) < 20_000


def lay(folder: Path, what: str) -> None:
    path = folder / "user.yaml"
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "nothing":
        return
    else:
        path.symlink_to({"dangling": "nowhere", "loop": "user.yaml", "device": "/dev/zero"}[what])


@pytest.mark.parametrize("what", ["fifo", "folder", "dangling", "loop", "device", "nothing"])
def test_what_is_no_policy_file_refuses_at_once(in_process, tmp_path: Path, what: str) -> None:
    lay(tmp_path, what)
    done = in_process("check", "--json", "--policies", str(tmp_path), ALLOWED)
    assert (done.returncode, json.loads(done.stdout)["decision"], done.stderr) == (2, "deny", b"")


@pytest.mark.parametrize("words", [["policy", "show"], ["policy", "test"], ["policy", "lint"], ["explain", "ls"]])
def test_other_commands_say_of_a_broken_policy_what_check_says(in_process, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "user.yaml").write_text("version: 1\ndney: []\n", encoding="utf-8")
    done = in_process(*words, "--policies", str(tmp_path))
    assert (done.returncode, f"{tmp_path}/user.yaml:2:1: policy must have known keys only".encode() in done.stderr) == (
        2,
        True,
    )


NESTED = {
    "substitutions": "$(" * 10_000 + "ls" + ")" * 10_000,
    "quoted substitutions": 'echo "$(' * 2_000 + "ls" + ')"' * 2_000,
    "conditions": "if ls; then " * 10_000 + "ls" + "; fi" * 10_000,
    "an open list": "(" * 10_000,
    "a long here-document": "cat <<E\n" + "x\n" * 400_000 + "E\nrm -rf ~",
}


@pytest.mark.parametrize("command_text", NESTED.values(), ids=NESTED)
def test_what_is_nested_or_long_beyond_reason_is_never_allowed(in_process, command_text: str) -> None:
    call = json.dumps({"command": command_text}).encode()
    done = in_process("check", "--json", "--tool", "Bash", "--input", "-", input=call)
    assert (done.returncode in (3, 4), done.stderr) == (True, b"")


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="needs an ordinary user")
@pytest.mark.parametrize("what", ["layer", "layer folder", "current folder"])
def test_what_an_ordinary_user_may_not_read_refuses(command, tmp_path: Path, what: str) -> None:
    project, config = tmp_path / "project", tmp_path / "config"
    project.mkdir()
    (config / "gateway").mkdir(parents=True)
    policy = config / "gateway" / "policy.yaml"
    policy.write_text("version: 1\n", encoding="utf-8")
    locked = {"layer": policy, "layer folder": policy.parent, "current folder": project}[what]
    arguments = command("check", ALLOWED, cwd=project, HOME=str(tmp_path), XDG_CONFIG_HOME=str(config))
    arguments["env"]["PYTHONDONTWRITEBYTECODE"] = "1"
    if os.geteuid() == 0:
        # Root without its privileges over files: the modes hold for it as for anyone.
        arguments["args"][:0] = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    try:
        done = in_shell(arguments, f'chmod 0 {locked} && exec "$@"')
    finally:
        locked.chmod(0o700)
    assert (done.returncode, done.stdout, b"Permission denied" in done.stderr) == (2, b"", True)
