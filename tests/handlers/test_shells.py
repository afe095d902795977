"""Commands in the background: looking at them, watching them, ending them; and that nothing of them is left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import pytest
from patience import patience
from warmed import warm

from gateway.audit.index import Index
from gateway.audit.log import FOLDER
from gateway.audit.reading import Moment
from gateway.audit.verify import verify
from gateway.core.cancel import Cancel
from gateway.handlers import shells
from gateway.sandbox.backends.spaces import Spaces

from .whole import Whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.calls.output import Done


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home, made = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    made.mkdir()
    monkeypatch.setenv("HOME", str(home))
    warm(home / ".cache" / "gateway")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return made


@pytest.fixture
def whole(project: Path) -> Iterator[Whole]:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    made = Whole(project)
    yield made
    made.close()


def started(whole: Whole, command: str) -> str:
    done = whole("Bash", command=command, run_in_background=True)
    assert not done.output.is_error, done.text
    return str(done.output.data["bash_id"])


def look(whole: Whole, name: str, **fields: object) -> Done:
    return whole("BashOutput", bash_id=name, **fields)


def until(whole: Whole, name: str, text: str) -> str:
    """Everything that was printed, once this was among it."""
    found = ""
    while text not in found:
        done = look(whole, name, block=True)
        found += done.text
        assert done.output.data["status"] == "running" or text in found, found
    return found


def processes(mark: str) -> list[int]:
    """Descriptors of the processes with this word among their arguments."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if mark.encode() in Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0"):
                found.append(os.pidfd_open(int(name)))
        except OSError:
            continue
    return found


def tree_of(mark: str, size: int) -> list[int]:
    """Descriptors of so many processes: a shell may say that it is ready before what it started goes by its name."""
    deadline = monotonic() + patience(30)
    while len(found := processes(mark)) != size:
        assert have_ended(found, 0) or monotonic() < deadline
    return found


def have_ended(descriptors: list[int], seconds: float = 30) -> bool:
    """Whether they all end in time."""
    try:
        return all(select.select([each], [], [], patience(seconds))[0] for each in descriptors)
    finally:
        for each in descriptors:
            os.close(each)


def mark() -> str:
    """How long no other sleep on this machine lasts: tests of several processes run at once."""
    return f"{1000 + os.getpid()}.25"


def lasting() -> str:
    return f"setsid sleep {mark()} & sleep {mark()} & echo ready; sleep {mark()}"


def test_a_background_command_goes_on_and_what_is_new_is_told_once(whole: Whole, project: Path) -> None:
    os.mkfifo(project / "fifo")
    name = started(whole, "echo one; cat < fifo; echo three; exit 5")
    assert name == "bash_1"
    assert "one\n" in until(whole, name, "one")
    assert look(whole, name).text == "[Command bash_1: it runs]"
    (project / "fifo").write_text("two\n")
    until(whole, name, "three")
    end = look(whole, name, block=True)
    assert (end.text, end.output.data["status"]) == (
        "[Command bash_1: it has ended with exit status 5]",
        "completed",
    )
    assert end.output.data["exit_code"] == 5
    assert Path(end.output.data["output_file"]).read_text() == "one\ntwo\nthree\n"


def test_a_filter_keeps_whole_lines_and_the_others_are_gone(whole: Whole, project: Path) -> None:
    os.mkfifo(project / "fifo")
    name = started(whole, "echo no; echo yes 1; printf 'yes '; cat < fifo; printf 'yes 3'")
    assert look(whole, name, block=True, filter="^yes").text.splitlines()[0] == "yes 1"
    assert look(whole, name, filter="^yes").text == "[Command bash_1: it runs]"
    (project / "fifo").write_text("2\nno\n")
    found = ""
    while "yes 3" not in found:
        found += look(whole, name, block=True, filter="^yes").text + "\n"
    assert [line for line in found.splitlines() if line.startswith("yes")] == ["yes 2", "yes 3"]


def test_a_look_with_a_filter_waits_for_a_line_that_matches(whole: Whole, project: Path) -> None:
    os.mkfifo(project / "fifo")
    name = started(whole, "echo no; cat < fifo; sleep 1000")
    writer = threading.Timer(0.2, lambda: (project / "fifo").write_text("no\nyes\n"))
    writer.start()
    assert look(whole, name, block=True, filter="yes").text.splitlines()[0] == "yes"
    writer.join()


def test_a_look_waits_no_longer_than_it_is_told(whole: Whole) -> None:
    name = started(whole, "sleep 1000")
    assert look(whole, name, block=True, wait_up_to=10).text == "[Command bash_1: it runs]"


@pytest.mark.parametrize("tool", ["BashOutput", "Monitor"])
def test_a_bad_expression_is_a_clear_error_and_loses_nothing(whole: Whole, tool: str) -> None:
    name = started(whole, "echo one")
    until(whole, name, "one")
    other = started(whole, "echo two; sleep 1000")
    field = {"filter": "("} if tool == "BashOutput" else {"pattern": "("}
    done = whole(tool, bash_id=other, **field)
    assert (done.output.is_error, "unclosed group" in done.text) == (True, True)
    assert "two" in until(whole, other, "two")


@pytest.mark.parametrize(
    ("tool", "field"), [("BashOutput", "bash_id"), ("KillShell", "shell_id"), ("Monitor", "bash_id")]
)
def test_a_command_that_is_not_known_is_a_clear_error(whole: Whole, tool: str, field: str) -> None:
    done = whole(tool, **{field: "bash_7"})
    assert (done.output.is_error, done.text) == (
        True,
        "There is no background command `bash_7`. There is: none.",
    )


def test_killing_ends_the_whole_tree(whole: Whole) -> None:
    name = started(whole, lasting())
    until(whole, name, "ready")
    tree = tree_of(mark(), 3)
    done = whole("KillShell", shell_id=name)
    assert have_ended(tree, 0)
    assert done.output.data["status"] == "killed"
    assert (
        whole("KillShell", shell_id=name).text == "Command bash_1 had ended already (it was ended: it was cancelled)."
    )


def test_everything_ends_with_the_session(whole: Whole, project: Path) -> None:
    del whole
    session = Whole(project)
    for _ in range(2):
        until(session, started(session, lasting()), "ready")
    tree = tree_of(mark(), 6)
    scratch = session.session.scratch()
    session.close()
    assert have_ended(tree, 0)
    assert not os.path.exists(scratch)


# Every process of it holds the FIFO open: it hangs up with the last of them.
HOLDING = "exec 9> alive; setsid sleep 1000 & a=$!; sleep 1000 & echo $$ $a $! >&9; sleep 1000"
PROGRAM = """
import subprocess, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from whole import Whole
if sys.argv[2] == "confined":
    done = Whole(Path(sys.argv[1]))("Bash", command={command!r}, run_in_background=True)
    print(done.text, file=sys.stderr)
else:
    subprocess.Popen(["bash", "-c", {command!r}], cwd=sys.argv[1])
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["confined", "unconfined"])
def test_nothing_survives_a_gateway_that_is_killed(whole: Whole, project: Path, how: str) -> None:
    del whole
    os.mkfifo(project / "alive")
    held = os.open(project / "alive", os.O_RDONLY | os.O_NONBLOCK)
    program = PROGRAM.format(tests=str(Path(__file__).parent), command=HOLDING)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(project), how],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    ) as gateway:  # fmt: skip
        try:
            assert gateway.stderr is not None
            if not hears(held, select.POLLIN, 120):
                gateway.kill()
                pytest.fail(f"the command did not start: {gateway.stderr.read().decode()}")
            numbers = os.read(held, 100).split()
            assert len(numbers) == 3
            gateway.kill()
            gateway.wait()
            if how == "confined":
                assert hears(held, select.POLLHUP, 120)
            else:
                assert not hears(held, select.POLLHUP, 0)
                for number in numbers:
                    os.kill(int(number), signal.SIGKILL)
                assert hears(held, select.POLLHUP, 120)
        finally:
            gateway.kill()
            os.close(held)


def hears(descriptor: int, event: int, seconds: float) -> bool:
    """Whether something comes of a descriptor in time: data (POLLIN), or its end (POLLHUP)."""
    poll = select.poll()
    poll.register(descriptor, event if event == select.POLLIN else 0)
    return any(seen & event for _descriptor, seen in poll.poll(seconds * 1000))


# ------------------------------------------------------------------------------------------------------- the record


def outcomes(whole: Whole, name: str) -> list[tuple[str, int]]:
    """How a call ended, as every outcome of it in the record says."""
    folder = os.path.join(whole.gateway.places.state, FOLDER)
    assert verify(folder).broken is None
    with Moment(folder) as moment:
        records = moment.last(1000)
    return [(each["ended"], each["status"]) for each in records if each["kind"] == "outcome" and each["id"] == name]


@pytest.mark.parametrize(
    ("command", "end"),
    [("exit 7", ("exited", 7)), ("true", ("exited", 0)), ("kill -9 $$", ("signalled", 137))],
    ids=["a status", "well", "a signal"],
)
def test_the_end_of_a_background_command_is_recorded_behind_its_start(
    whole: Whole, command: str, end: tuple[str, int]
) -> None:
    done = whole("Bash", command=command, run_in_background=True)
    assert (done.result.ended, done.result.status) == ("started", 0)
    look(whole, "bash_1", block=True)
    assert outcomes(whole, done.record) == [("started", 0), end]
    foreground = whole("Bash", command=command)
    assert outcomes(whole, foreground.record) == [end]


def test_what_ends_a_background_command_is_recorded_with_it(whole: Whole) -> None:
    killed, left = (whole("Bash", command="sleep 1000", run_in_background=True) for _ in range(2))
    whole("KillShell", shell_id="bash_1")
    assert [each[0] for each in outcomes(whole, killed.record)] == ["started", "cancelled"]
    assert [each[0] for each in outcomes(whole, left.record)] == ["started"]
    whole.close()
    assert [each[0] for each in outcomes(whole, left.record)] == ["started", "cancelled"]


def test_what_was_refused_to_a_background_command_is_recorded(whole: Whole, project: Path) -> None:
    (project / "hidden").write_text("secret\n")
    (project / "other.sh").write_text("cat ./hid*[a-z]\n")
    done = whole("Bash", command="bash ./other.sh", run_in_background=True)
    whole.session.shells.get("bash_1").join(60)
    with Index(os.path.join(whole.gateway.places.state, FOLDER)) as index:
        (found,) = index.show(done.record)
        numbers = index.stats()
    assert found.outcome is not None
    assert [row[:3] for row in found.outcome["violations"]] == [["read", f"{project}/hidden", "hidden"]]
    assert (numbers["violations"], numbers["without_outcome"]) == (1, 0)


def test_an_end_that_cannot_be_recorded_is_told_to_who_looks(whole: Whole, project: Path) -> None:
    os.mkfifo(project / "fifo")
    started(whole, "cat < fifo")
    seal = Path(whole.gateway.places.state, FOLDER, "seal")
    whole.calls.services.log.close()
    seal.rename(seal.with_name("elsewhere"))
    seal.mkdir()
    (project / "fifo").write_text("x\n")
    whole.session.shells.get("bash_1").join(60)
    shown = _shown_without_record(whole)
    assert "[What became of this call is not recorded: " in shown


def _shown_without_record(whole: Whole) -> str:
    shell = whole.session.shells.get("bash_1")
    return "\n".join(block.text for block in shells._told(shell, b"", 0).blocks)  # type: ignore[union-attr]


def test_nothing_runs_on_where_the_session_ends_with_the_call(whole: Whole) -> None:
    whole.session = whole.calls.session(single=True)
    done = whole("Bash", command="true", run_in_background=True)
    assert (done.output.is_error, done.text) == (
        True,
        "Nothing can run in the background here. Leave out `run_in_background`.",
    )
    assert whole("Bash", command="true").text == "(no output)"


def test_looks_at_once_share_what_is_new_and_none_waits_for_another(whole: Whole, project: Path) -> None:
    os.mkfifo(project / "fifo")
    name = started(whole, "cat < fifo; sleep 1000")
    found: list[str] = []
    waiting = threading.Thread(target=lambda: found.append(look(whole, name, block=True).text))
    waiting.start()
    while not whole.session.shells.get(name).transcript._bells:
        os.sched_yield()
    assert look(whole, name).text == "[Command bash_1: it runs]"  # returns while the other one waits
    (project / "fifo").write_text("one\n")
    waiting.join()
    assert found == ["one\n[Command bash_1: it runs]"]


# ---------------------------------------------------------------------------------------------------------- Monitor


def events(whole: Whole) -> list[str]:
    return [each.text for each in whole.seen if each.kind == "event"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [({}, ["one", "two", "three"]), ({"pattern": "^t"}, ["two", "three"]), ({"pattern": "x"}, [])],
    ids=["all lines", "those that match", "none"],
)
def test_the_lines_of_a_command_are_events(whole: Whole, pattern: dict[str, str], expected: list[str]) -> None:
    done = whole("Monitor", command="echo one; echo two; printf three", **pattern)
    assert events(whole) == expected
    end = f"[{len(expected)} lines. Command bash_1: it has ended with exit status 0]"
    assert done.text.splitlines() == [*expected, end]


def test_a_watch_ends_with_its_time_and_so_does_the_command_that_it_started(whole: Whole) -> None:
    done = whole("Monitor", command=f"echo one; sleep {mark()}", timeout=int(patience(0.5) * 1000))
    assert (events(whole), processes(mark())) == (["one"], [])
    assert done.text.splitlines()[-1] == "[1 lines. Command bash_1: the watch is over]"


def test_a_command_that_ran_before_the_watch_goes_on_after_it(whole: Whole, project: Path) -> None:
    os.mkfifo(project / "fifo")
    name = started(whole, "echo before; cat < fifo; sleep 1000")
    until(whole, name, "before")
    writer = threading.Timer(0.2, lambda: (project / "fifo").write_text("during\n"))
    writer.start()
    done = whole("Monitor", bash_id=name, timeout=1_000)
    writer.join()
    assert events(whole) == ["during"]
    assert done.output.data["status"] == "running"
    assert "during" in look(whole, name).text


def test_a_cancelled_watch_ends_what_it_started(whole: Whole) -> None:
    cancel = Cancel()
    whole.watching = cancel.set
    done = whole("Monitor", cancel, command=f"echo one; sleep {mark()}")
    assert processes(mark()) == []
    assert done.output.data["events"] == 1
    cancel.close()


@pytest.mark.parametrize(
    ("command", "end", "changed"),
    [
        ("echo one; exit 9", ("exited", 9), []),
        ("echo one; echo two > new", ("exited", 0), ["new"]),
        ("kill -9 $$", ("signalled", 137), []),
    ],
    ids=["a status", "a file", "a signal"],
)
def test_a_watch_has_the_result_of_what_it_started(
    whole: Whole, project: Path, command: str, end: tuple[str, int], changed: list[str]
) -> None:
    done = whole("Monitor", command=command)
    assert outcomes(whole, done.record) == [end]
    assert (done.result.ended, done.result.status) == end
    assert done.output.changed == tuple(f"{project}/{each}" for each in changed)


def test_a_watch_that_is_over_before_its_command_is_recorded_as_such(whole: Whole) -> None:
    done = whole("Monitor", command="echo one; sleep 1000", timeout=int(patience(0.5) * 1000))
    assert (done.result.ended, done.result.reason) == ("timeout", "the watch was over")
    assert [each[0] for each in outcomes(whole, done.record)] == ["timeout"]


def test_a_session_for_one_call_gets_every_line(whole: Whole) -> None:
    whole.session = whole.calls.session(single=True)
    done = whole("Monitor", command="seq 1000")
    assert done.text.splitlines()[:-1] == [str(number) for number in range(1, 1001)]


def test_a_command_of_a_watch_is_judged_like_any_other(whole: Whole, project: Path) -> None:
    (project / "hidden").write_text("secret\n")
    (project / "plain").write_text("secret\n")
    assert whole("Monitor", command="cat hidden").result.ended == "refused"
    whole("Monitor", command="cat plain")
    assert events(whole) == ["secret"]
