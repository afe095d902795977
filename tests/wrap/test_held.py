"""The shell around an agent's hook: whatever becomes of the process in it, the agent does not let the call run.

The line is the one that `gateway init` writes. Each failure has a twin: the same process without the shell, which lets
the call run in at least one agent.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fuzzing import THOROUGH, share
from hooking import World, before, lets_run, reason_in
from patience import patience
from shebang import first_lines

from gateway.agents import AGENTS, dialect_of
from gateway.install.canary import BEFORE
from gateway.install.hook_lines import held, hook_lines, is_held, is_of_here, unheld

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
# opencode's plugin takes nothing but a clear yes: no shell stands around its line.
HELD = tuple(agent for agent in AGENTS if agent != "opencode")


def some(failure: str) -> list[str]:
    """The agents around whose hooks a failure happens: all in a thorough run, else one or two, others for another."""
    return share(HELD, 3, failure)


Answer = tuple[bytes, bytes, int]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """One in which `touch made` runs and `rm -rf /` does not."""
    return World(tmp_path_factory.mktemp("world"), "rules:\n  - allow: Bash(touch made)\n")


def said(world: World, agent: str, command: str = "touch made") -> bytes:
    return json.dumps(before(agent, str(world.project), given={"command": command})).encode()


def answered(world: World, line: list[str], given: bytes, **how: object) -> Answer:
    done = subprocess.run(
        line, input=given, capture_output=True, cwd=world.project, env=world.environment(), timeout=patience(60),
        check=False, **how,
    )  # type: ignore[call-overload]  # fmt: skip
    return done.stdout, done.stderr, done.returncode


def line_of(agent: str) -> list[str]:
    return list(hook_lines(agent)("" if agent == "opencode" else BEFORE[agent]))


def started(agent: str, program: str) -> tuple[list[str], list[str]]:
    """The line with another interpreter, and the same without its shell."""
    _python, *words = unheld(line_of(agent))
    return held(agent, BEFORE[agent], [program, *words]), [program, *words]


def patient(agent: str) -> list[str]:
    """The line where a machine that does much else has as much longer to answer."""
    words = [*unheld(line_of(agent)), "--deadline", f"{patience(10):.0f}"]
    return held(agent, BEFORE[agent], words) if agent in HELD else words


@pytest.mark.parametrize("agent", AGENTS)
def test_the_line_lets_an_allowed_call_run_and_no_other(world: World, agent: str) -> None:
    found = [answered(world, patient(agent), said(world, agent, each)) for each in ("touch made", "rm -rf /")]
    assert [lets_run(agent, *each) for each in found] == [True, False]
    assert "critical-root" in reason_in(*found[1][:2])


@pytest.mark.parametrize("command", ["touch made", "rm -rf /", "curl https://example.com/"])
@pytest.mark.parametrize("agent", HELD)
def test_the_shell_hands_on_exactly_what_the_hook_says(world: World, agent: str, command: str) -> None:
    bare = [word for word in unheld(patient(agent)) if word != "--in-shell"]
    given = said(world, agent, command)
    assert answered(world, patient(agent), given) == answered(world, bare, given)


def test_a_long_command_comes_back_whole(world: World) -> None:
    """Both ways: a million characters, and every kind of them."""
    text = "touch made # " + "".join(map(chr, (*range(32, 127), 0xE9, 0x20AC, 0x1F600))) * 8_000
    program = world.folder / "echoes"
    program.write_text("#!/bin/sh\ncat\nexit 80\n")
    program.chmod(0o755)
    given = json.dumps({"command": text}).encode() + b"\n"
    assert answered(world, held("claude", "PreToolUse", [str(program)]), given) == (given, b"", 0)


# What stands where the interpreter should: a text that is run, or what is done to the file. `allows` is what the agent
# takes for an allow, half or whole.
PROGRAMS: dict[str, str] = {
    "it ends at once, well": "exit 0",
    "it ends with status 1": "exit 1",
    "it ends with status 2 and no reason": "exit 2",
    "it ends with status 126": "exit 126",
    "it ends with status 255": "exit 255",
    "it says allow and ends well": "cat allows; exit 0",
    "it says allow and fails": "cat allows; exit 1",
    "it says half an answer and is killed": "head -c 9 allows; kill -KILL $$",
    "it says all of its answer and is killed": "cat allows; kill -KILL $$",
    "it says something else": "echo hello; exit 0",
    "it says an empty object": "echo '{}'; exit 0",
    "it is killed after its child has written": "(cat allows); kill -KILL $$",
    **{
        f"it is ended by SIG{name}": f"kill -{name} $$"
        for name in ("KILL", "TERM", "INT", "HUP", "QUIT", "SEGV", "ABRT", "BUS", "ILL", "USR1", "PIPE", "XCPU", "SYS")
    },
}  # fmt: skip
ALLOWS = {
    "claude": '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}',
    "codex": "",
    "gemini": '{"decision": "allow"}',
    "copilot": '{"permissionDecision": "allow"}',
    "cursor": '{"permission": "allow"}',
}


@pytest.mark.parametrize("failure", PROGRAMS)
def test_a_process_that_does_not_answer_is_a_refusal(world: World, tmp_path: Path, failure: str) -> None:
    program = tmp_path / "python3"
    # A shell that was started with signals ignored cannot take them back, so what ends is a Python. (`signal` and
    # `subprocess` would take longer than all the rest.)
    program.write_text(
        f"{first_lines('-IS')}import _signal, os\n"
        "for each in _signal.valid_signals() - {_signal.SIGKILL, _signal.SIGSTOP}:\n"
        "    _signal.signal(each, _signal.SIG_DFL)\n"
        f"os.chdir({str(tmp_path)!r})\n"
        f"child = os.posix_spawn('/bin/sh', ['/bin/sh', '-c', {PROGRAMS[failure]!r}], os.environ)\n"
        "status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
        "if status < 0:\n    _signal.raise_signal(-status)\nos._exit(status)\n"
    )
    program.chmod(0o755)

    def answer_to(agent: str, *, shell: bool) -> Answer:
        (tmp_path / "allows").write_text(ALLOWS[agent])
        line, without = started(agent, str(program))
        return answered(world, line if shell else without, said(world, agent))

    for agent in some(failure):
        answer = answer_to(agent, shell=True)
        assert not lets_run(agent, *answer), (agent, answer)
        assert "gateway refused this call" in reason_in(*answer[:2])
        assert not answer[0].startswith(b"{" * 2)
    happens = any(lets_run(agent, *answer_to(agent, shell=False)) for agent in HELD)
    assert happens, "without the shell nothing happens either, so that this proves nothing"


FILES: dict[str, Callable[[Path], object]] = {
    "is missing": lambda _path: None,
    "is not executable": lambda path: (path.write_text("#!/bin/sh\nexit 0\n"), path.chmod(0o644)),
    "is a folder": lambda path: path.mkdir(),
    "is empty": lambda path: (path.touch(), path.chmod(0o755)),
    "is no program": lambda path: (path.write_bytes(b"\x7fELF" + bytes(200)), path.chmod(0o755)),
    "has no interpreter": lambda path: (path.write_text("#!/nonexistent/python\n"), path.chmod(0o755)),
    "is a link to itself": lambda path: path.symlink_to(path),
    "leads to another program": lambda path: path.symlink_to("/bin/true"),
    "is the beginning of one": lambda path: (
        path.write_bytes(Path(os.path.realpath(sys.executable)).read_bytes()[:9000]), path.chmod(0o755)),
}  # fmt: skip


@pytest.mark.parametrize("failure", FILES)
@pytest.mark.parametrize("agent", HELD)
def test_an_interpreter_that_cannot_be_started_is_a_refusal(
    world: World, tmp_path: Path, agent: str, failure: str
) -> None:
    FILES[failure](tmp_path / "python3")
    line, _without = started(agent, str(tmp_path / "python3"))
    answer = answered(world, line, said(world, agent))
    assert not lets_run(agent, *answer), answer
    assert "gateway refused this call" in reason_in(*answer[:2])


SIZES = [0, 1, 100, 1_000, -1]
PLACES = ["client.py", "thin.py", "wire.py"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", SIZES)
def test_a_client_that_is_there_in_part_is_a_refusal(world: World, tmp_path: Path, place: str, size: int) -> None:
    """As an upgrade that is under way, or a disk that is full, leaves it."""
    folder = tmp_path / "gateway" / "frontends" / "service"
    folder.mkdir(parents=True)
    for each in PLACES:
        shutil.copy(ROOT / "gateway" / "frontends" / "service" / each, folder)
    whole = (folder / place).read_bytes()
    (folder / place).write_bytes(whole[:size] if size >= 0 else whole[:-40])
    for agent in some(f"{place} {size}"):
        python, *words = unheld(line_of(agent))
        words = [str(folder / "client.py") if each.endswith("/client.py") else each for each in words]
        answer = answered(world, held(agent, BEFORE[agent], [python, *words]), said(world, agent))
        assert not lets_run(agent, *answer), (agent, answer)


def child_of(process: subprocess.Popen[bytes]) -> int:
    """The process in the shell, once there is one."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("this system does not tell the children of a process")
    while not (found := children.read_text().split()):
        assert process.poll() is None
        time.sleep(0.001)
    return int(found[0])


def caught(pid: int, number: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return bool(int(next(each for each in lines if each.startswith("SigCgt:")).split()[1], 16) >> (number - 1) & 1)


MOMENTS = ("as it starts", "when it waits for the event", "when it has the event")


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGSEGV", "SIGABRT", "SIGALRM", "SIGPIPE"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_to_the_hook_lets_nothing_run(world: World, name: str, moment: str) -> None:
    number = getattr(signal, name)
    for agent in some(name + moment):
        process = world.start(line_of(agent))
        assert process.stdin is not None
        child = child_of(process)
        while moment != MOMENTS[0] and not caught(child, signal.SIGXCPU):
            time.sleep(0.001)
        if moment == MOMENTS[2]:
            process.stdin.write(said(world, agent, "rm -rf /"))
            process.stdin.flush()
        with contextlib.suppress(ProcessLookupError):  # it has answered already
            os.kill(child, number)
        out, err = process.communicate(b"" if moment == MOMENTS[2] else said(world, agent, "rm -rf /"), patience(60))
        assert not lets_run(agent, out, err, process.returncode), (agent, out, err)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGSEGV", "SIGUSR1", "SIGPROF", "SIGSYS"])
@pytest.mark.parametrize("whom", ["the shell", "all of them"])
def test_a_signal_to_the_shell_changes_no_answer_to_an_allow(world: World, name: str, whom: str) -> None:
    for agent in some(name + whom):
        process = world.start(line_of(agent))
        child_of(process)
        (os.kill if whom == "the shell" else os.killpg)(process.pid, getattr(signal, name))
        out, err = process.communicate(said(world, agent, "rm -rf /"), patience(60))
        assert process.returncode >= 0
        assert not lets_run(agent, out, err, process.returncode), (agent, out, err)


LIMITS = {
    "no process": "ulimit -p 1 2>/dev/null || ulimit -u 1",
    "no memory": "ulimit -v 20000",
    "no file": "ulimit -n 5",
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("agent", HELD)
def test_a_limit_of_the_system_is_a_refusal(world: World, agent: str, limit: str) -> None:
    line = ["/bin/sh", "-c", f'{LIMITS[limit]}; exec "$@"', "sh", *line_of(agent)]
    if limit == "no process":
        if os.geteuid() == 0:
            pytest.skip("processes of root are not counted")
        if answered(world, ["/bin/sh", "-c", f"{LIMITS[limit]}; /bin/true; echo lives"], b"")[0]:
            pytest.skip("this system starts more processes than it is told to")
    answer = answered(world, line, said(world, agent, "rm -rf /"))
    assert not lets_run(agent, *answer), answer


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("agent", HELD)
def test_a_user_who_can_start_no_process_more_is_refused(agent: str, shell: str) -> None:
    """As after a call that has filled the table of processes. Bash tries for 15 seconds, and ends."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None or shutil.which(shell) is None:
        pytest.skip("this is tried by root as another user, where it can become one")
    if shell == "bash" and (agent != HELD[0] or not THOROUGH):
        pytest.skip("bash takes 15 seconds, so one of them is tried in long runs")
    start = ["/bin/sh"] if shell == "sh" else [str(shutil.which("bash")), "--posix"]
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "prlimit", "--nproc=1"]
    done = subprocess.run(
        [*user, *start, *held(agent, BEFORE[agent], ["/bin/true"])[1:]], input=b"", capture_output=True, cwd="/",
        timeout=patience(60), check=False,
    )  # fmt: skip
    wanted = dialect_of(agent).refuse(BEFORE[agent], "")  # type: ignore[union-attr]
    assert (done.returncode, b"its hook did not run to its end" in done.stderr) == (wanted.status, True), done
    assert not lets_run(agent, done.stdout, done.stderr, done.returncode)
    assert b"its hook did not run to its end" in done.stdout


# What a shell takes from the variables that it is started with.
SHELLS = {
    "sh -e": {"SHELLOPTS": "errexit"},
    "sh -eux": {"SHELLOPTS": "errexit:nounset:xtrace:pipefail:verbose:noglob"},
    "traces on standard output": {"SHELLOPTS": "xtrace", "BASH_XTRACEFD": "1"},
    "start files": {"BASH_ENV": "/bin/false", "ENV": "/bin/false"},
    "posix": {"POSIXLY_CORRECT": "1", "BASH_COMPAT": "3.1"},
}


@pytest.mark.parametrize(("variables", "agent"), [(each, agent) for each in SHELLS for agent in some(each)])
def test_options_that_variables_give_to_the_shell_change_no_answer(
    world: World, tmp_path: Path, agent: str, variables: str
) -> None:
    """Where `/bin/sh` is bash, as on many systems, here under that name."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("this system has no bash")
    (tmp_path / "sh").symlink_to(bash)
    environment = world.environment(**SHELLS[variables])
    found = []
    for command in ("touch made", "rm -rf /"):
        done = subprocess.run(
            [str(tmp_path / "sh"), *line_of(agent)[1:]], input=said(world, agent, command), capture_output=True,
            cwd=world.project, env=environment, timeout=patience(60), check=False,
        )  # fmt: skip
        found.append((done.stdout, done.stderr, done.returncode))
    assert [lets_run(agent, *each) for each in found] == [True, False], found
    ended = subprocess.run(
        [str(tmp_path / "sh"), *held(agent, BEFORE[agent], ["/bin/false"])[1:]], input=b"", capture_output=True,
        cwd=world.project, env=environment, timeout=patience(60), check=False,
    )  # fmt: skip
    assert not lets_run(agent, ended.stdout, ended.stderr, ended.returncode), ended


OUTPUTS = {"closed": ">&-", "full": ">/dev/full"}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("agent", HELD)
def test_an_answer_that_cannot_be_handed_on_is_a_refusal(world: World, agent: str, output: str) -> None:
    """To Codex an allow is silence, which a broken output cannot change: there it is a refusal that must hold."""
    if "full" in output and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    line = ["/bin/sh", "-c", f'exec "$@" {OUTPUTS[output]}', "sh", *line_of(agent)]
    answer = answered(world, line, said(world, agent, "rm -rf /" if agent == "codex" else "touch made"))
    assert not lets_run(agent, *answer), answer


def test_many_at_once_of_which_some_are_killed(world: World) -> None:
    """Twenty, every other one killed as it decides: those that live answer as ever."""
    agents = (HELD * 4)[:20]
    found = [(agent, world.start(line_of(agent))) for agent in agents]
    for number, (_agent, process) in enumerate(found):
        if number % 2:
            os.kill(child_of(process), signal.SIGKILL)
    ran = []
    for agent, process in found:
        out, err = process.communicate(said(world, agent, "rm -rf /"), patience(60))
        ran.append(lets_run(agent, out, err, process.returncode))
    assert not any(ran)


EVENTS = [(agent, event, kind) for agent in HELD for event, kind in dialect_of(agent).EVENTS.items()]  # type: ignore[union-attr]


@pytest.mark.parametrize(("agent", "event", "kind"), EVENTS, ids=[f"{agent}-{event}" for agent, event, _ in EVENTS])
def test_each_event_is_refused_in_its_own_form(world: World, agent: str, event: str, kind: str) -> None:
    dialect = dialect_of(agent)
    assert dialect is not None
    out, err, status = answered(world, held(agent, event, ["/bin/true"]), b"")
    why = "gateway refused this call: its hook did not run to its end, or could not be started."
    wanted = dialect.refuse(event, f"{why} `gateway doctor` looks for the reason.")
    assert (out, status) == (wanted.stdout, wanted.status)
    assert why.encode() in err
    assert (kind == "after") is (not out and status == 0)


def test_only_the_shell_of_this_release_counts_as_one_that_holds() -> None:
    line = line_of("claude")
    changed = [*line[:2], line[2].replace("exit $end", "exit 0"), *line[3:]]
    weak = [word for word in unheld(line) if word != "--in-shell"]
    assert [is_held("claude", "PreToolUse", each) for each in (line, changed, weak, line[:-1])] == [
        True, False, False, False,
    ]  # fmt: skip
    assert not is_held("claude", "PostToolUse", line)
    assert [is_of_here("claude", "PreToolUse", each) for each in (line, changed, weak)] == [True, False, True]
