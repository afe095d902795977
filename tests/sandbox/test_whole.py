"""The life of a call in a sandbox that is whole, from waiting to ended, whoever builds it."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from descriptors import open_descriptors

from gateway.model.plan import READ, Mount, SandboxPlan
from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.base import SandboxError
from gateway.sandbox.spawn import tree

from .started import Call, odd_plan, shell

Whole = Spaces | Bubblewrap


@pytest.fixture(scope="module", params=[Spaces, Bubblewrap], ids=["namespaces", "bubblewrap"])
def whole(request: pytest.FixtureRequest) -> Whole:
    backend: Whole = request.param()
    probe = backend.probe()
    if not probe.works:
        pytest.skip(f"{backend.name} does not hold here: {probe.reason}")
    return backend


@pytest.fixture
def plan(tmp_path: Path) -> SandboxPlan:
    return odd_plan(tmp_path)


@pytest.mark.parametrize(
    ("argv", "status", "failure"),
    [
        (shell("exit 7"), 7, ""),
        (shell("exit 1"), 1, ""),
        (shell("kill -TERM $$"), 143, ""),
        (["true"], 0, ""),
        (["no-such-program"], 127, "no-such-program is not found"),
        (["/etc/passwd"], 126, "/etc/passwd cannot be started"),
    ],
    ids=[
        "a number",
        "what bubblewrap itself would say",
        "a signal",
        "success",
        "not found",
        "no program",
    ],
)
def test_the_status_is_the_commands_own(
    whole: Whole, plan: SandboxPlan, argv: list[str], status: int, failure: str
) -> None:
    with Call(whole, plan, argv) as call:
        call.running.release()
        assert (call.running.wait(), call.running.failure) == (status, failure)


def test_the_command_waits_and_then_starts_in_its_folder(whole: Whole, plan: SandboxPlan) -> None:
    with Call(whole, plan, shell("pwd -P > here; echo done")) as call:
        readable, _, _ = select.select([call.read, call.running.exited], [], [], 0)
        assert readable == []
        assert not os.path.exists(f"{plan.cwd}/here")
        call.running.release()
        assert call.line() == b"done\n"
        assert call.running.wait() == 0
    with open(f"{plan.cwd}/here", "rb") as file:
        assert file.read() == os.fsencode(plan.cwd) + b"\n"


@pytest.mark.parametrize("path", ["/bin", "/nowhere:/usr/games:/usr/bin:/bin"], ids=["found at once", "looked for"])
def test_a_signal_reaches_the_command_and_nobody_else(whole: Whole, plan: SandboxPlan, path: str) -> None:
    plan = plan.replace(environment=(("PATH", path),))
    text = "trap 'echo caught; exit 9' USR1; sleep 1000 & echo ready; wait"
    with Call(whole, plan, ["sh", "-c", text]) as call:
        call.running.release()
        assert call.line() == b"ready\n"
        call.running.signal(signal.SIGUSR1)
        assert call.line() == b"caught\n"
        assert call.running.wait() == 9
        call.running.signal(signal.SIGUSR1)


def test_a_program_is_looked_for_as_everywhere(whole: Whole, plan: SandboxPlan) -> None:
    """Without a PATH not in the folder of the call; and a text that does not say what reads it is for the shell."""
    with open(f"{plan.cwd}/ls", "w", encoding="ascii") as file:
        file.write("echo $0 $1; exit 4\n")
    os.chmod(f"{plan.cwd}/ls", 0o755)
    for environment, argv, status, said in (
        ((), ["ls", "/"], 0, b"bin\n"),
        ((("PATH", "/tmp:/bin"),), ["./ls", "x"], 4, b"./ls x\n"),
    ):
        with Call(whole, plan.replace(environment=environment), argv) as call:
            call.running.release()
            assert call.line() == said
            assert call.running.wait() == status


@pytest.mark.parametrize("how", ["kill", "end"])
def test_the_whole_tree_has_ended_when_wait_returns(whole: Whole, plan: SandboxPlan, how: str) -> None:
    end = "" if how == "end" else "; sleep 1000"
    with Call(whole, plan, shell(f"setsid sh -c 'sleep 1000 & echo ready; wait' & read x < fifo; exit 3{end}")) as call:
        os.mkfifo(f"{plan.cwd}/fifo")
        call.running.release()
        assert call.line() == b"ready\n"
        pids = [os.pidfd_open(pid) for pid in tree(call.running.root)[1:]]
        assert len(pids) >= 3
        if how == "kill":
            call.running.kill()
        else:
            with open(f"{plan.cwd}/fifo", "wb") as file:
                file.write(b"\n")
        assert call.running.wait() == (137 if how == "kill" else 3)
        ended, _, _ = select.select(pids, [], [], 0)
        assert ended == pids
        for descriptor in pids:
            os.close(descriptor)


def test_no_descriptor_but_the_kept_ones_comes_in(whole: Whole, plan: SandboxPlan, tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    other = fcntl.fcntl(folder, fcntl.F_DUPFD, 60)
    os.close(folder)
    kept = fcntl.fcntl(other, fcntl.F_DUPFD_CLOEXEC, 40)  # the shell uses some low ones
    text = "for each in /proc/$$/fd/*; do echo ${each##*/}; done; for each in /proc/1/fd/*; do readlink $each; done"
    with Call(whole, plan, shell(text), (kept,)) as call:
        call.running.release()
        call.running.wait()
        said = b"".join(iter(lambda: os.read(call.read, 4096), b"")).split()
    os.close(other)
    os.close(kept)
    numbers = {int(word) for word in said if word.isdigit()}
    assert {number for number in numbers if number <= 2 or number >= 40} == {0, 1, 2, kept}
    assert os.fsencode(tmp_path) not in said
    assert [word for word in said if word.startswith((b"socket", b"anon_inode"))] == []  # of process 1


@pytest.mark.skipif(not os.access(sys.executable, os.X_OK), reason="this user cannot start this Python")
def test_everything_ends_with_the_gateway(whole: Whole, plan: SandboxPlan) -> None:
    """Killed while the command runs, and while it waits: then it never starts."""
    script = (
        "import sys, os; from gateway.model.plan import *; from gateway.model.limits import Limits\n"
        "from gateway.sandbox.backends.{module} import {name}\n"
        "from gateway.sandbox.base import Streams\n"
        "plan = eval(os.fsdecode(sys.stdin.buffer.read()))\n"
        "text = 'echo > started; echo ready; sleep 1000'\n"
        "running = {name}().start(plan, ['/bin/sh', '-c', text], Streams(0, 1, 2))\n"
        "if sys.argv[1] == 'run': running.release()\n"
        "elif hasattr(running, '_built'): running._built.recv(1)\n"
        "os.write(1, f'{{running.pid}} {{running.root}}\\n'.encode())  # at once: the command writes there, too\n"
        "import time; time.sleep(1000)\n"
    )
    name = type(whole).__name__
    script = script.format(module=name.lower(), name=name)
    for what in ("run", "wait"):
        gateway = subprocess.Popen(
            [sys.executable, "-c", script, what], stdin=-1, stdout=-1, cwd=Path(__file__).parents[2]
        )
        assert gateway.stdin is not None
        assert gateway.stdout is not None
        gateway.stdin.write(os.fsencode(repr(plan)))
        gateway.stdin.close()
        said = {gateway.stdout.readline() for _ in range(2 if what == "run" else 1)}
        pids = next(line for line in said if line != b"ready\n").split()
        held = [os.pidfd_open(int(pid)) for pid in pids]
        held += [os.pidfd_open(pid) for pid in tree(int(pids[1]))]
        gateway.kill()
        gateway.wait()
        gateway.stdout.close()
        poll = select.poll()
        left = set(held)
        for descriptor in held:
            poll.register(descriptor, select.POLLIN)
        while left:
            found = poll.poll(20_000)
            assert found, f"{len(left)} processes are left"
            for descriptor, _event in found:
                poll.unregister(descriptor)
                left.discard(descriptor)
                os.close(descriptor)
        assert os.path.exists(f"{plan.cwd}/started") is (what == "run")
        if what == "run":
            os.unlink(f"{plan.cwd}/started")


# The same mode again is a change too: it shows in the time of the last one, and harms nobody.
CHANGES = """
chmod "$(stat -Lc %a "$1")" "$1" && echo changed
touch -c -a -r "$1" "$1" && cat "$1" > /dev/null && echo changed
"""


def test_the_program_of_process_1_is_out_of_reach(whole: Whole, plan: SandboxPlan) -> None:
    """It is a file of the host's that may belong to this user, started where it can be written."""
    with Call(whole, plan, ["/bin/sh", "-c", CHANGES, "sh", "/proc/1/exe"]) as call:
        before = os.stat(f"/proc/{call.running.root}/exe")
        call.running.release()
        assert call.running.wait() != 0
        assert b"changed" not in os.read(call.read, 4096)
    after = os.stat(os.path.realpath(sys.executable) if type(whole) is Spaces else whole.program().path)
    assert (after.st_ino, after.st_ctime_ns) == (before.st_ino, before.st_ctime_ns)


def test_anybody_else_could_change_the_program_of_a_process(tmp_path: Path) -> None:
    program = tmp_path / "sleep"
    shutil.copyfile("/bin/sleep", program)
    program.chmod(0o755)
    before = program.stat().st_ctime_ns
    with subprocess.Popen([program, "1000"]) as process:
        text = ["/bin/sh", "-c", CHANGES, "sh", f"/proc/{process.pid}/exe"]
        assert subprocess.run(text, capture_output=True, check=False).stdout == b"changed\nchanged\n"
        process.kill()
    assert program.stat().st_ctime_ns > before


def exchange_for_link(plan: SandboxPlan, tmp_path: Path) -> SandboxPlan:
    os.rename(f"{plan.cwd}/.git/hooks", f"{plan.cwd}/.git/old")
    os.symlink(tmp_path, f"{plan.cwd}/.git/hooks")
    return plan


def exchange_parent_for_link(plan: SandboxPlan, tmp_path: Path) -> SandboxPlan:
    os.rename(f"{plan.cwd}/.git", tmp_path / "git")
    os.symlink(tmp_path / "git", f"{plan.cwd}/.git")
    return plan


def remove(plan: SandboxPlan, _tmp_path: Path) -> SandboxPlan:
    os.rmdir(f"{plan.cwd}/.git/hooks")
    return plan


def exchange_for_file(plan: SandboxPlan, _tmp_path: Path) -> SandboxPlan:
    os.rmdir(f"{plan.cwd}/.git/hooks")
    with open(f"{plan.cwd}/.git/hooks", "wb"):
        return plan


@pytest.mark.parametrize("change", [exchange_for_link, exchange_parent_for_link, remove, exchange_for_file])
def test_what_changed_since_it_was_planned_is_not_mounted(
    whole: Whole, plan: SandboxPlan, tmp_path: Path, change
) -> None:
    changed = change(plan, tmp_path)
    with pytest.raises(SandboxError, match="planned"):
        Call(whole, changed, ["true"])


def test_a_folder_that_is_not_there_to_start_in_runs_nothing(whole: Whole, plan: SandboxPlan) -> None:
    with Call(whole, plan.replace(cwd="/nowhere"), shell("echo ran")) as call:
        call.running.release()
        assert call.running.wait() == 126
        assert b"ran" not in os.read(call.read, 4096)


def test_nothing_is_left_open(whole: Whole, plan: SandboxPlan) -> None:
    with Call(whole, plan, ["true"]) as call:
        call.running.release()
    before = len(open_descriptors())
    for argv in (["true"], ["no-such-program"]):
        with Call(whole, plan, argv) as call:
            call.running.release()
    with pytest.raises(SandboxError):
        Call(whole, plan.replace(mounts=(*plan.mounts, Mount("/no/such", READ))), ["true"])
    assert len(open_descriptors()) == before


def test_many_threads_start_calls_at_once(whole: Whole, plan: SandboxPlan) -> None:
    found: list[int] = []

    def one(number: int) -> None:
        with Call(whole, plan, shell(f"exit {number}")) as call:
            call.running.release()
            found.append(call.running.wait() - number)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0] * 12


def test_private_folders_and_the_rest_of_the_root_are_not_the_hosts(whole: Whole, plan: SandboxPlan) -> None:
    with Call(
        whole,
        plan,
        shell("ls -A /tmp | wc -l; touch /x /dev/x /proc/x; ls /; stat -c %a /tmp /dev/shm; ls -A /proc/1 | wc -l"),
    ) as call:
        call.running.release()
        call.running.wait()
        said = b"".join(iter(lambda: os.read(call.read, 4096), b"")).split(b"\n")
    assert [line.rpartition(b": ")[2] for line in said if b"touch" in line] == [
        os.strerror(errno.EROFS).encode(),
        os.strerror(errno.EROFS).encode(),
        os.strerror(errno.ENOENT).encode(),
    ]
    assert b"home" not in said
    assert said[-4:] == [b"1777", b"1777", b"0", b""]
