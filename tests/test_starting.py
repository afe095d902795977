"""A forked `gateway` is what a started one is, for whatever stands in its place."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import starter
import starting
from patience import patience

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Stands in the place of the package: tells what it finds, and ends as its first word says.
PROBE = r"""
import atexit, fcntl, gc, json, locale, os, posix, resource, signal, stat, sys, threading, time
from pathlib import Path

def stream(one):
    if one is None:
        return None
    names = ("name", "mode", "encoding", "errors", "line_buffering", "write_through", "newlines")
    inner = one.buffer
    return [getattr(one, name) for name in names] + [one.isatty(), inner.raw.name, inner.raw.mode, inner.raw.closefd]

def number(signals):
    return {int(each): str(signal.getsignal(each)).partition(" at ")[0] for each in signals}

def descriptors():
    found = {}
    for each in map(int, os.listdir("/proc/self/fd")):
        try:
            if os.get_inheritable(each):
                where = os.fstat(each)
                file = where.st_ino if stat.S_ISREG(where.st_mode) else 0
                found[each] = [where.st_dev, file, fcntl.fcntl(each, fcntl.F_GETFL)]
        except OSError:
            pass
    return sorted(found.items())

mask = os.umask(0)
os.umask(mask)
told = {
    "argv": [os.fsencode(each).hex() for each in sys.argv], "orig": [os.fsencode(each).hex() for each in sys.orig_argv],
    "path": sys.path, "cwd": os.getcwd(), "umask": mask, "executable": sys.executable, "flags": list(sys.flags),
    "warnings": [sys.warnoptions, repr(__import__("warnings").filters)], "locale": locale.getlocale(),
    "environ": [[os.fsencode(a).hex(), os.fsencode(b).hex()] for a, b in os.environ.items()],
    "posix": [[a.hex(), b.hex()] for a, b in posix.environ.items()],
    "libc": os.popen("exec env -0 2>&1").read().split("\0") if "env" in sys.argv else [],
    "session": [os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid(), os.getsid(os.getppid()) == os.getsid(0)],
    "terminal": Path("/proc/self/stat").read_text().rpartition(")")[2].split()[4:6] != ["0", "-1"],
    "parent": os.getppid(), "streams": [stream(sys.stdin), stream(sys.stdout), stream(sys.stderr)],
    "same": [sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__],
    "descriptors": descriptors(), "signals": number(signal.valid_signals()),
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), "pending": sorted(signal.sigpending()),
    "main": [__name__, __file__, __spec__.name, sys.modules["__main__"].__dict__ is globals(), __package__],
    "threads": [threading.current_thread().name, threading.active_count(), threading.get_native_id() == os.getpid()],
    "gc": [gc.isenabled(), gc.get_threshold()], "limits": [resource.getrlimit(each) for each in range(16)],
    "id": [os.getuid(), os.getgid(), os.getgroups()], "nice": os.nice(0), "spent": time.process_time() < 5,
}
def last():
    sys.stdout.write("last\n")
    sys.stdout.flush()

how = sys.argv[1] if len(sys.argv) > 1 else ""
if how == "read":
    told["read"] = sys.stdin.read()
if "json" not in os.environ.get("SAYS", "json"):
    told = {}
if sys.stdout:
    print(json.dumps(told))
if how == "descriptor":
    os.write(int(sys.argv[2]), b"through it")
elif how == "tells":
    closed = [one is None for one in (sys.stdin, sys.stdout, sys.stderr)]
    os.write(int(sys.argv[2]), json.dumps(closed).encode())
elif how == "exit":
    sys.exit(eval(sys.argv[2]))
elif how == "raise":
    raise eval(sys.argv[2])
elif how == "_exit":
    sys.stdout.flush()
    os._exit(7)
elif how == "killed":
    sys.stdout.flush()
    os.kill(os.getpid(), int(sys.argv[2]))
elif how == "raised":
    sys.stdout.flush()
    signal.raise_signal(int(sys.argv[2]))
elif how == "abort":
    sys.stdout.flush()
    os.abort()
elif how == "unflushed":
    sys.stdout.write("no end of a line")
    sys.stderr.write("nor here")
elif how == "atexit":
    atexit.register(last)
    threading.Thread(target=lambda: (time.sleep(0.01), print("a thread"))).start()
elif how == "forks":
    if os.fork() == 0:
        print("the child's")
        os._exit(0)
    os.wait()
    threading.Thread(target=print, args=("a thread",)).start()
elif how == "waits":
    sys.stdout.flush()
    while True:
        signal.pause()
elif how == "closes":
    sys.stdout.close()
elif how == "loads":
    import sqlite3
"""


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the probe in the place of the package."""
    top = tmp_path_factory.mktemp("stand-in").resolve()
    (top / "gateway" / "core").mkdir(parents=True)
    (top / "gateway" / "__init__.py").touch()
    (top / "gateway" / "__main__.py").write_text(PROBE)
    (top / "gateway" / "core" / "__init__.py").touch()
    (top / "gateway" / "core" / "module_finder.py").write_text("def install(): ...\n")
    (top / "in").mkdir()
    (top / "link").symlink_to("in")
    (top / "given").write_text("a line\nno end")
    yield top
    for key in [key for key in starting._starters if str(top) in str(key)]:
        starting._starters.pop(key).end()


class Ways:
    """Runs the same as a forked process and as a started one."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.top = top
        self.forked = 0
        fork = starting._Starter.fork

        def counted(*given: Any) -> int:
            self.forked += 1
            return fork(*given)

        monkeypatch.setattr(starting._Starter, "fork", counted)
        monkeypatch.setattr(starting, "_is_first", lambda *_: False)
        monkeypatch.setattr(starting, "places", {*starting.places, os.fsencode(top)})

    def arguments(self, *words: str | bytes, **how: Any) -> dict[str, Any]:
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.top), "PYTHONWARNINGS": "error"}
        return {
            "args": [sys.executable, "-m", "gateway", *words], "cwd": self.top,
            "env": environment | how.pop("more", {}),
            **({"stdin": subprocess.DEVNULL} if "input" not in how else {}), **how,
        }  # fmt: skip

    def both(self, *words: str | bytes, start: Any = None, **how: Any) -> list[Any]:
        """What each has told, said and ended with: of the forked one, and of the started one."""
        if start is None:
            given = self.arguments(*words, **how)
            given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": patience(30), **given}
            done = [run(**given) for run in (starting.run, subprocess.run)]
            found = [[each.returncode, each.stdout, each.stderr] for each in done]
        else:
            found = [start(popen, self.arguments(*words, **how)) for popen in (starting.Popen, subprocess.Popen)]
        for each in found:
            each[1] = _of_itself(each[1])
            each[2] = each[2] and each[2][each[2].rfind(b"Traceback") :].splitlines()[-1:]
        return found


def _of_itself(said: Any) -> Any:
    """With what it told, whole."""
    first, _, rest = (said or "").partition("\n") if not isinstance(said, bytes) else said.partition(b"\n")
    try:
        return [*sorted(json.loads(first).items()), rest]
    except ValueError:
        return said


@pytest.fixture
def ways(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> Ways:
    if not starting.can_fork_a_sibling():
        pytest.skip("this system cannot fork a sibling")
    return Ways(stand_in, monkeypatch)


FOUND: dict[str, dict[str, Any]] = {
    "nothing else": {},
    "words of any bytes": {"words": ["", "-c", "--", "a\nb", "é", b"\xff\xfe", "*", "x" * 9000]},
    "variables of any bytes": {"words": ["env"], "more": {"A": "é\n", b"\xff": b"\xfe=", "Z": "", "B": "2"}},
    "what is read": {"words": ["read"], "input": "é\nx\r\ny".encode()},
    "a file that is read": {"words": ["read"], "stdin": "given"},
    "one stream for both": {"stderr": subprocess.STDOUT},
    "nothing that is read or shown": {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL},
    "as text": {"text": True, "encoding": "utf-8"},
    "a session of its own": {"start_new_session": True},
    "a group of its own": {"process_group": 0},
    "other rights of new files": {"umask": 0o027},
    "through a link": {"cwd": "link"},
    "another language": {"more": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}},
    "another encoding": {"more": {"PYTHONIOENCODING": "latin-1:replace"}},
    "the language of the system": {"more": {"LC_ALL": "C.UTF-8"}},
}  # fmt: skip


@pytest.mark.parametrize("row", FOUND)
def test_it_finds_what_a_started_one_finds(ways: Ways, row: str):
    how = dict(FOUND[row])
    if "cwd" in how:
        how["cwd"] = ways.top / how["cwd"]
    words = how.pop("words", [])
    if isinstance(how.get("stdin"), str):
        with open(ways.top / how["stdin"], "rb") as file:
            found = []
            for run in (starting.run, subprocess.run):
                file.seek(0)
                done = run(
                    **ways.arguments(*words, **{**how, "stdin": file}), capture_output=True, timeout=patience(30)
                )
                found.append([done.returncode, _of_itself(done.stdout), done.stderr])
    else:
        found = ways.both(*words, **how)
    forked, started = found
    assert forked == started
    assert ways.forked == 1
    assert forked[0] == 0, forked


ENDS = {
    "a status": ["exit", "3"],
    "the status 0": ["exit", "0"],
    "a status beyond a byte": ["exit", "-257"],
    "no status": ["exit", "None"],
    "a text": ["exit", "'what is said'"],
    "an exception": ["raise", "ValueError('x')"],
    "an interruption": ["raise", "KeyboardInterrupt()"],
    "at once": ["_exit"],
    "SIGKILL": ["killed", "9"],
    "SIGTERM by itself": ["raised", "15"],
    "SIGINT by itself": ["raised", "2"],
    "SIGPIPE, which Python ignores": ["raised", "13"],
    "an abort": ["abort"],
    "what nobody has flushed": ["unflushed"],
    "what is done at the end": ["atexit"],
    "processes of its own": ["forks"],
    "a stream closed": ["closes"],
    "what the starter has not loaded": ["loads"],
}


@pytest.mark.parametrize("row", ENDS)
def test_it_ends_as_a_started_one_ends(ways: Ways, row: str):
    forked, started = ways.both(*ENDS[row])
    assert (forked, ways.forked) == (started, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_does_to_it_what_it_does_to_a_started_one(ways: Ways, number: int):
    def start(popen: Any, given: dict[str, Any]) -> list[Any]:
        with popen(**given, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            first = process.stdout.readline()
            assert process.poll() is None
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0)
            process.send_signal(number)
            out, err = process.communicate(timeout=patience(30))
            return [process.returncode, first + out, err]

    forked, started = ways.both("waits", start=start)
    assert (forked, ways.forked) == (started, 1)


def test_a_reader_that_left_is_told_by_the_status(ways: Ways):
    def start(popen: Any, given: dict[str, Any]) -> list[Any]:
        reader, writer = os.pipe()
        os.close(reader)
        with popen(**given, stdout=writer, stderr=subprocess.PIPE) as process:
            os.close(writer)
            return [process.wait(patience(30)), b"", process.stderr.read()]

    for words in (["exit", "3"], ["unflushed"], []):
        forked, started = ways.both(*words, start=start)
        assert forked == started
    assert ways.forked == 3


def test_descriptors_are_handed_on_under_their_numbers(ways: Ways):
    def start(popen: Any, given: dict[str, Any]) -> list[Any]:
        reader, writer = os.pipe()
        high = fcntl.fcntl(writer, fcntl.F_DUPFD_CLOEXEC, 77)
        others = [os.dup(reader) for _ in range(3)]
        given["args"] += ["descriptor", str(high)]
        with popen(**given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[high, *others[:2]]) as process:
            for each in (writer, high, *others):
                os.close(each)
            out, err = process.communicate(timeout=patience(30))
        with os.fdopen(reader, "rb") as file:
            assert file.read() == b"through it"  # and nobody else holds the other end
        return [process.returncode, out, err]

    forked, started = ways.both(start=start)
    assert (forked, ways.forked) == (started, 1)


@contextmanager
def _closed(*numbers: int) -> Iterator[None]:
    kept = {number: os.dup(number) for number in numbers}
    try:
        for number in numbers:
            os.close(number)
        yield
    finally:
        for number, each in kept.items():
            os.dup2(each, number)
            os.close(each)


@pytest.mark.parametrize("numbers", [(0,), (1,), (2,), (0, 1, 2)])
def test_what_is_closed_here_is_closed_there(ways: Ways, numbers: tuple[int, ...]):
    def start(popen: Any, given: dict[str, Any]) -> list[Any]:
        reader, writer = os.pipe()
        given["args"] += ["descriptor", str(writer)]
        streams = {name: None if at in numbers else subprocess.DEVNULL for at, name in enumerate(NAMES)}
        with _closed(*numbers):
            process = popen(**{**given, **streams}, pass_fds=[writer])
        os.close(writer)
        with os.fdopen(reader, "rb") as file:
            return [process.wait(patience(30)), file.read(), b""]

    forked, started = ways.both(start=start)
    assert (forked, ways.forked) == (started, 1)


NAMES = ("stdin", "stdout", "stderr")


@pytest.mark.parametrize("names", [("stdin",), ("stdout",), ("stdin", "stdout", "stderr")])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_stream_may_be_closed(ways: Ways, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], is_first: bool):
    monkeypatch.setattr(starting, "_is_first", lambda *_: is_first)
    told, writer = os.pipe()
    given = {**dict.fromkeys(NAMES, subprocess.DEVNULL), **dict.fromkeys(names, starting.CLOSED)}
    done = starting.run(**{**ways.arguments("tells", str(writer)), **given}, pass_fds=[writer], timeout=patience(30))
    os.close(writer)
    with os.fdopen(told) as file:
        assert (done.returncode, json.load(file), ways.forked) == (0, [name in names for name in NAMES], not is_first)


@pytest.mark.parametrize("takes", [True, False])
def test_a_terminal_is_one(ways: Ways, takes: bool):
    def start(popen: Any, given: dict[str, Any]) -> list[Any]:
        screen, terminal = pty.openpty()
        how = {"start_new_session": True, "preexec_fn": starting.take_terminal} if takes else {}
        with popen(**{**given, **dict.fromkeys(NAMES, terminal)}, **how) as process:
            os.close(terminal)
            said = b""
            while True:
                try:
                    said += os.read(screen, 65536)
                except OSError:
                    break
        os.close(screen)
        return [process.returncode, said, b""]

    forked, started = ways.both(start=start)
    assert (forked, ways.forked) == (started, 1)


def _too_few(_top: Path) -> Callable[[], None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0 if soft else 1, hard)) if hard else None
    return lambda: resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def _deaf(_top: Path) -> Callable[[], None]:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    return lambda: signal.signal(signal.SIGUSR1, before) and None


def _blocking(_top: Path) -> Callable[[], None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    return lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before) and None


@pytest.mark.parametrize("change", [_deaf, _blocking, _too_few])
def test_what_a_process_would_get_of_us_and_the_starter_has_not_is_started(ways: Ways, change: Any):
    ways.both()
    undo = change(ways.top)
    try:
        forked, started = ways.both()
    finally:
        undo()
    assert (forked, ways.forked) == (started, 1)
    ways.both()
    assert ways.forked == 2


NOT_FORKED: dict[str, dict[str, Any]] = {
    "something is done before": {"preexec_fn": lambda: os.umask(0o77) and None},
    "descriptors are inherited": {"close_fds": False},
    "signals stay ignored": {"restore_signals": False},
    "another program": {"args": [sys.executable, "-c", "print('x')"]},
    "options of Python": {"args": [sys.executable, "-I", "-m", "gateway"]},
    "another Python": {"args": ["/usr/bin/env", "python3", "-m", "gateway"]},
    "a text": {"args": f"exec {sys.executable} -m gateway", "shell": True, "more": {"SAYS": "nothing"}},
    "without buffers": {"words": ["_exit"], "more": {"PYTHONUNBUFFERED": "1", "SAYS": "nothing"}},
    "a variable of Python's": {"more": {"PYTHONSAFEPATH": "1"}},
    "modules elsewhere": {"more": {"PYTHONPATH": f"{Path(__file__).parents[1]}:/nonexistent"}, "words": ["hook"]},
    "a folder that is read": {"stdin": "."},
    "another name": {"executable": sys.executable},
    "more than a system hands on": {"args": [sys.executable, "-m", "gateway", "x" * 110_000]},
}


@pytest.mark.parametrize("row", NOT_FORKED)
def test_what_could_make_a_difference_is_started(ways: Ways, row: str):
    how = dict(NOT_FORKED[row])
    folder = os.open(ways.top, os.O_RDONLY)
    if how.get("stdin") == ".":
        how["stdin"] = folder
    forked, started = ways.both(*how.pop("words", []), **how)
    os.close(folder)
    assert (forked, ways.forked) == (started, 0)


@pytest.mark.parametrize(
    "how",
    [
        {"cwd": "/nonexistent"},
        {"cwd": "/etc/passwd"},
        {"args": [sys.executable, "-m", "gateway", "a\0b"]},
        {"env": {"a=b": "c"}},
    ],
)
def test_what_cannot_start_is_told_in_the_same_way(ways: Ways, how: dict[str, Any]):
    said = []
    for run in (starting.run, subprocess.run):
        with pytest.raises((OSError, ValueError)) as raised:
            run(**ways.arguments(**how))
        said.append((raised.type, str(raised.value)))
    assert said[0] == said[1]


def test_modules_that_one_has_loaded_are_loaded_for_the_next(ways: Ways):
    (ways.top / "told.py").write_text("import os\nprint(os.getpid())\n")
    (ways.top / "gateway" / "late.py").write_text("import told\n")
    own = ways.arguments("learn")
    (ways.top / "gateway" / "__main__.py").write_text("import os\nimport gateway.late\nprint(os.getpid())\n")
    try:
        first, second = (starting.run(**own, capture_output=True, text=True).stdout.split() for _ in range(2))
    finally:
        (ways.top / "gateway" / "__main__.py").write_text(PROBE)
    assert (first[0] == first[1], len(second), ways.forked) == (True, 1, 2), (first, second)


def test_the_first_of_each_command_and_of_each_file_is_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(starting, "_started", set())
    of = [("check", "a.py"), ("check", "a.py"), ("exec", "a.py"), ("exec", "a.py"), ("check", "b.py"), ("exec", "b.py")]
    assert [starting._is_first(*each) for each in of] == [True, False, True, False, True, False]


def test_modules_are_loaded_ahead_in_the_order_in_which_a_child_loaded_them(monkeypatch: pytest.MonkeyPatch):
    """`_asyncio` before `asyncio`, and tasks are of two kinds that do not know each other."""
    loaded: list[str] = []
    monkeypatch.setattr(starter.importlib, "import_module", loaded.append)
    names = [f"module{number * 7 % 50}" for number in range(50)]
    monkeypatch.setattr(sys, "meta_path", [learning := starter._Learning(""), *sys.meta_path])
    for name in [*names, *names]:
        learning.find_spec(name)
    monkeypatch.setattr(starter.gc, "freeze", lambda: None)  # this process goes on
    learning.load()
    assert loaded == names


def test_a_starter_that_is_gone_is_made_anew(ways: Ways):
    ways.both()
    (found,) = [each for key, each in starting._starters.items() if str(ways.top) in str(key)][-1:]
    found._process.kill()
    found._process.wait()
    forked, started = ways.both()
    assert (forked, ways.forked) == (started, 2)


def test_a_forked_process_asks_no_starter_of_its_parent(ways: Ways):
    ways.both()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        starting.run(**ways.arguments(), stdout=writer)
        os._exit(ways.forked)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        told = _of_itself(file.read())
    assert (dict(told[:-1])["parent"], os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])) == (child, 2)
