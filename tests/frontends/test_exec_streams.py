"""`gateway exec` and the descriptors of its caller: what they lead to stays his, and is used as without it.

Each line is a shell text in which EXEC stands for the gateway; without it the same text shows what it would do."""

from __future__ import annotations

import os
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import from_bash
import pytest
import starting

from gateway.sandbox.backends.spaces import Spaces

from .test_exec import Place

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = b"one\ntwo\nthree\n"


@pytest.fixture
def here(tmp_path: Path) -> Place:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    made = Place(tmp_path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(SECRET)
    return made


def run(here: Place, text: str, *, guarded: bool) -> tuple[int, bytes, bytes, bytes]:
    """Status and output of a shell text, and what the file outside of the project holds then."""
    outside = here.project.parent / "outside" / "file"
    environment = {**here.environment, "OUT": str(outside)}
    how: dict[str, Any] = {"cwd": here.project, "stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 60}
    if guarded:
        done = from_bash.run(text, here.words("--"), here.project.parent, environment, **how)
    else:
        done = subprocess.run(["bash", "-c", text.replace("EXEC", "")], env=environment, check=False, **how)
    return done.returncode, done.stdout, done.stderr, outside.read_bytes()


HARM: list[tuple[str, str, Callable[[int, bytes, bytes], bool]]] = [
    (
        "what is given to be read is emptied",
        "EXEC python3 -c \"open('/proc/self/fd/0', 'r+').truncate()\" < $OUT",
        lambda _status, _out, file: file == b"",
    ),
    (
        "it is written by another name of the descriptor",
        "EXEC python3 -c \"import os; os.write(os.open('/dev/stdin', os.O_WRONLY), b'x')\" < $OUT",
        lambda _status, _out, file: file.startswith(b"x"),
    ),
    (
        "what is given to add to is read",
        "EXEC timeout 2 python3 -c \"print(open('/proc/self/fd/1').read(), file=open('got', 'w'))\" >> $OUT; cat got",
        lambda _status, out, _file: b"two" in out,
    ),
    (
        "what is given to add to is emptied",
        "EXEC python3 -c \"open('/proc/self/fd/1', 'r+').truncate()\" >> $OUT",
        lambda _status, _out, file: file == b"",
    ),
    (
        "what errors are added to is emptied",
        "EXEC python3 -c \"open('/proc/self/fd/2', 'r+').truncate()\" 2>> $OUT",
        lambda _status, _out, file: file == b"",
    ),
    (
        "what both outputs are added to is emptied",
        "EXEC python3 -c \"open('/proc/self/fd/1', 'r+').truncate()\" >> $OUT 2>&1",
        lambda _status, _out, file: file == b"",
    ),
]


@pytest.mark.parametrize(("text", "harmed"), [each[1:] for each in HARM], ids=[each[0] for each in HARM])
def test_a_file_that_a_caller_opened_is_only_used_as_it_was_opened(
    here: Place, text: str, harmed: Callable[[int, bytes, bytes], bool]
) -> None:
    status, out, _errors, file = run(here, text, guarded=True)
    assert (harmed(status, out, file), file[: len(SECRET)]) == (False, SECRET)
    status, out, _errors, file = run(here, text, guarded=False)
    assert harmed(status, out, file)


USES = [
    ("a file is read", "EXEC cat < $OUT"),
    ("a file is not read", "EXEC true < $OUT"),
    ("a loop reads lines around it", "while read -r line; do EXEC echo got $line; done < $OUT"),
    ("the rest is for who comes next", "{ EXEC dd bs=4 count=1 status=none; cat; } < $OUT"),
    ("who came first has taken his part", "{ read -r line; EXEC cat; } < $OUT"),
    ("output goes to a file", "EXEC echo new > made; cat made"),
    ("output is added to a file", "echo old > made; EXEC echo new >> made; cat made"),
    ("two outputs in one file keep their order", "EXEC sh -c 'echo a; echo b >&2; echo c' > made 2>&1; cat made"),
    ("two outputs in two files", "EXEC sh -c 'echo a; echo b >&2' > made 2> other; cat made other"),
    ("one command after the other writes to one file", "{ EXEC echo a; echo b; EXEC echo c; } > made; cat made"),
    ("a file is overwritten in its middle", "printf 123456 > made; { EXEC printf ab; } 1<> made; cat made"),
    ("a whole device", "EXEC sh -c 'echo x || echo no >&2' > /dev/full"),
    ("a pipe that has ended", "true | EXEC cat"),
    ("a pipe that is read in part", "printf 'a\\nb\\n' | { EXEC head -c 0; cat; }"),
    ("a pipe with a name", "mkfifo made; (echo x > made &); EXEC cat < made"),
    ("megabytes are read", "head -c 3000000 /dev/zero > big; EXEC cat < big | sha256sum"),
    ("megabytes are written", "EXEC head -c 3000000 /dev/zero > big; sha256sum big"),
]  # fmt: skip


@pytest.mark.parametrize("text", [each[1] for each in USES], ids=[each[0] for each in USES])
def test_streams_are_used_as_without_it(here: Place, text: str) -> None:
    clean = here.project / "clean"
    clean.mkdir()
    expected = run(here, f"cd clean; {text}", guarded=False)
    for each in clean.iterdir():
        each.unlink()
    assert run(here, f"cd clean; {text}", guarded=True) == expected


def test_output_to_a_file_is_bounded_like_any_file_that_is_written(here: Place) -> None:
    here.says((here.policies / "user.yaml").read_text().replace("sandbox:", "limits: {file_mb: 1}, sandbox:"))
    status, _out, errors, _file = run(here, "EXEC head -c 50000000 /dev/zero > made; stat -c %s made >&2", guarded=True)
    assert (status, errors.splitlines()[0]) == (0, b"gateway: stopped: its output is larger than a file may be")
    assert errors.endswith(b"1048576\n")
    assert run(here, "EXEC head -c 50000000 /dev/zero | wc -c", guarded=True)[1] == b"50000000\n"


SETS_NO_WAIT = "python3 -c 'import os; [os.set_blocking(n, False) for n in range(3)]'"


@pytest.mark.parametrize("kind", ["pipe", "socket", "terminal"])
def test_what_a_command_sets_of_a_stream_is_not_its_callers(here: Place, kind: str) -> None:
    ours, given = _pair(kind)
    for guarded in (False, True):
        os.set_blocking(given, True)
        words = here.words("-c", SETS_NO_WAIT) if guarded else ["sh", "-c", SETS_NO_WAIT]
        done = starting.run(
            words, cwd=here.project, env=here.environment, stdin=given, capture_output=True, check=False
        )  # fmt: skip
        assert (done.returncode, os.get_blocking(given)) == (0, guarded), done
    os.close(ours)
    os.close(given)


def _pair(kind: str) -> tuple[int, int]:
    if kind == "pipe":
        given, ours = os.pipe()
        return ours, given
    if kind == "terminal":
        return os.openpty()
    one, other = socket.socketpair()
    return one.detach(), other.detach()
