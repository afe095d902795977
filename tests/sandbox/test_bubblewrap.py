"""Bubblewrap: its arguments whole, and the life of a call from waiting to ended."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Limits, Mount, Network, SandboxPlan
from gateway.sandbox import attempts, bubblewrap_probe
from gateway.sandbox.base import SandboxError, Streams
from gateway.sandbox.bubblewrap import Bubblewrap
from gateway.sandbox.bubblewrap_arguments import Given, arguments
from gateway.sandbox.bubblewrap_program import Program, find, refusal
from gateway.sandbox.spawn import tree

TOPS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
LINKS = tuple((f"/{name}", os.readlink(f"/{name}")) for name in TOPS if os.path.islink(f"/{name}"))
SYSTEM = tuple(
    Mount(f"/{name}", READ)
    for name in ("etc", "usr", *TOPS)
    if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}")
)
PLAIN = SandboxPlan((), (), (), "/", (), Network(), Limits())


def test_the_arguments_of_a_plan_are_these() -> None:
    plan = SandboxPlan(
        (
            Mount("/usr", READ, rule="r"),
            Mount("/w \udcff\n", WRITE),
            Mount("/w \udcff\n/.env", HIDDEN, False),
            Mount("/w \udcff\n/a/.git/hooks", FIXED),
            Mount("/h/.ssh", HIDDEN),
            Mount("/h/.ssh/known_hosts", READ, False),
        ),
        (("/bin", "usr/bin"),),
        ("/h", "/tmp"),
        "/w \udcff\n",
        (("A", "x\udcfe"), ("PATH", "/usr/bin")),
        Network(),
        Limits(memory=1 << 20),
    )
    given = Given(gate=3, status=4, built=5, sources=(10, 11, 12, 13, 14, 15, 16, 17))
    assert b"\n--".join(arguments(plan, given)).replace(b"\n----", b"\n--") == (
        b"--unshare-user\n--unshare-pid\n--unshare-net\n--unshare-ipc\n--unshare-uts\n--unshare-cgroup-try"
        b"\n--cap-drop\n--ALL\n--die-with-parent\n--hostname\n--sandbox\n--disable-userns\n--new-session"
        b"\n--setenv\n--A\n--x\xfe\n--setenv\n--PATH\n--/usr/bin\n--symlink\n--usr/bin\n--/bin\n--proc\n--/proc\n--remount-ro\n--/proc"
        b"\n--dev\n--/dev\n--remount-ro\n--/dev"
        b"\n--perms\n--0700\n--size\n--1048576\n--tmpfs\n--/h"
        b"\n--perms\n--0111\n--size\n--1048576\n--tmpfs\n--/h/.ssh"
        b"\n--ro-bind-fd\n--10\n--/h/.ssh/known_hosts"
        b"\n--ro-bind-fd\n--11\n--/usr"
        b"\n--bind-fd\n--12\n--/w \xff\n\n--bind-fd\n--13\n--/w \xff\n/a\n--bind-fd\n--14\n--/w \xff\n/a/.git"
        b"\n--bind-fd\n--15\n--/w \xff\n"
        b"\n--ro-bind-fd\n--16\n--/w \xff\n/.env\n--ro-bind-fd\n--17\n--/w \xff\n/a/.git/hooks"
        b"\n--perms\n--1777\n--size\n--1048576\n--tmpfs\n--/dev/shm\n--perms\n--1777\n--size\n--1048576\n--tmpfs\n--/tmp"
        b"\n--file\n--5\n--/.gateway\n--remount-ro\n--/h/.ssh\n--remount-ro\n--/"
        b"\n--chdir\n--/w \xff\n\n--seccomp\n--3\n--json-status-fd\n--4"
    )


@pytest.mark.parametrize(
    ("plan", "given", "there", "absent"),
    [
        pytest.param(PLAIN, {"terminal": True}, [], [b"--new-session"], id="a terminal is shared"),
        pytest.param(PLAIN, {"nested": False}, [], [b"--disable-userns"], id="an old bubblewrap"),
        pytest.param(PLAIN.replace(permits=("perf",)), {}, [b"--disable-userns", b"/proc"], [], id="perf"),
        pytest.param(
            PLAIN.replace(permits=("namespaces",)), {"machine": ("/proc/sys",)}, [b"/proc/sys"], [b"--disable-userns"],
            id="with namespaces /proc stays writable but for the machine's own",
        ),
        pytest.param(
            PLAIN.replace(mounts=(Mount("/dev/kvm", READ, False),)), {"sources": ("/dev/kvm",)}, [b"--dev-bind"], [],
            id="a device is granted as one",
        ),
        pytest.param(
            PLAIN.replace(mounts=(Mount("/usr", READ),)), {"sources": ("/usr",)}, [b"--ro-bind"], [b"--ro-bind-fd"],
            id="a bubblewrap that takes no descriptors",
        ),
    ],
)  # fmt: skip
def test_circumstances_change_the_arguments(
    plan: SandboxPlan, given: dict, there: list[bytes], absent: list[bytes]
) -> None:
    words = arguments(plan, Given(**{"gate": 3, "status": 4, "built": 5, "sources": (), **given}))
    assert [word in words for word in there] == [True] * len(there)
    assert [word in words for word in absent] == [False] * len(absent)


def test_the_devices_are_shut_once_everything_in_them_is_mounted() -> None:
    plan = PLAIN.replace(mounts=(Mount("/dev/kvm", READ, False), Mount("/usr", READ)))
    words = arguments(plan, Given(3, 4, 5, ("/dev/kvm", "/usr")))
    shut = [at for at, word in enumerate(words) if (word, *words[at + 1 : at + 2]) == (b"--remount-ro", b"/dev")]
    assert len(shut) == 1
    assert shut[0] > words.index(b"/dev/kvm")


def test_what_it_cannot_express_is_named() -> None:
    plan = PLAIN.replace(mounts=(Mount("/proc/sys", WRITE),), environment=(("a=b", "c"), ("d", "e\0--bind")))
    assert Bubblewrap().missing(plan) == (
        "/proc/sys: the sandbox has a /proc of its own",
        "an environment variable cannot be named 'a=b'",
        "the environment variable d holds a zero byte",
    )
    with pytest.raises(SandboxError, match="cannot keep this plan"):
        Bubblewrap().start(plan, ["true"], Streams(0, 1, 2))


class TestWhichProgram:
    def test_a_set_uid_one_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "bwrap"
        path.write_bytes(b"#!/bin/sh\n")
        path.chmod(0o4755)
        assert "set-uid" in refusal(str(path), ours=True)
        path.chmod(0o755)
        assert "set-uid" not in refusal(str(path), ours=True)

    @pytest.mark.parametrize("loose", ["file", "folder"])
    def test_one_that_others_may_write_is_refused(self, tmp_path: Path, loose: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        path = folder / "bwrap"
        path.write_bytes(b"#!/bin/sh\n")
        path.chmod(0o755)
        (path if loose == "file" else folder).chmod(0o777)
        assert "could have been changed" in refusal(str(path), ours=True)

    def test_without_one_the_error_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("gateway.sandbox.bubblewrap_program._bundled", lambda: "")
        with pytest.raises(SandboxError, match="not installed") as caught:
            find(("/no/such/bwrap",))
        assert "apt-get install bubblewrap" in caught.value.remedy

    def test_one_in_the_workspace_is_refused(self) -> None:
        backend = Bubblewrap(Program("/usr/bin/bwrap", True, True, ""))
        with pytest.raises(SandboxError, match="which the command may write"):
            backend.start(PLAIN.replace(mounts=(Mount("/usr", WRITE),)), ["true"], Streams(0, 1, 2))


@pytest.fixture(scope="module")
def backend() -> Bubblewrap:
    backend = Bubblewrap()
    probe = backend.probe()
    if not probe.works:
        pytest.skip(f"bubblewrap does not hold here: {probe.reason}")
    return backend


@pytest.fixture
def plan(tmp_path: Path) -> SandboxPlan:
    """One with a workspace whose path has everything that paths may have."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/w \n\\040#\xff")
    os.makedirs(f"{folder}/.git/hooks")
    mounts = (*SYSTEM, Mount(folder, WRITE), Mount(f"{folder}/.git/hooks", FIXED))
    environment = (("HOME", "/tmp"), ("PATH", "/usr/bin:/bin"))
    return SandboxPlan(tuple(sorted(mounts)), LINKS, ("/tmp",), folder, environment, Network(), Limits())


class Call:
    """A started call, its output, and what is to be closed afterwards."""

    def __init__(self, backend: Bubblewrap, plan: SandboxPlan, argv: list[str], keep: tuple[int, ...] = ()) -> None:
        self.nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.read, write = os.pipe()
        try:
            self.running = backend.start(plan, argv, Streams(self.nowhere, write, write), keep)
        except BaseException:
            os.close(self.read)
            os.close(self.nowhere)
            raise
        finally:
            os.close(write)

    def line(self) -> bytes:
        found = b""
        while not found.endswith(b"\n") and (more := os.read(self.read, 1)):
            found += more
        return found

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *_what: object) -> None:
        self.running.kill()
        self.running.wait()
        self.running.close()
        os.close(self.read)
        os.close(self.nowhere)


def shell(text: str) -> list[str]:
    return ["/bin/sh", "-c", text]


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
    ids=["a number", "what bubblewrap itself would say", "a signal", "success", "not found", "no program"],
)
def test_the_status_is_the_commands_own(
    backend: Bubblewrap, plan: SandboxPlan, argv: list[str], status: int, failure: str
) -> None:
    with Call(backend, plan, argv) as call:
        call.running.release()
        assert (call.running.wait(), call.running.failure) == (status, failure)


def test_the_command_waits_and_then_starts_in_its_folder(backend: Bubblewrap, plan: SandboxPlan) -> None:
    with Call(backend, plan, shell("pwd -P > here; echo done")) as call:
        readable, _, _ = select.select([call.read, call.running.exited], [], [], 0)
        assert readable == []
        assert not os.path.exists(f"{plan.cwd}/here")
        call.running.release()
        assert call.line() == b"done\n"
        assert call.running.wait() == 0
    with open(f"{plan.cwd}/here", "rb") as file:
        assert file.read() == os.fsencode(plan.cwd) + b"\n"


def test_a_signal_reaches_the_command_and_nobody_else(backend: Bubblewrap, plan: SandboxPlan) -> None:
    with Call(backend, plan, shell("trap 'echo caught; exit 9' USR1; sleep 1000 & echo ready; wait")) as call:
        call.running.release()
        assert call.line() == b"ready\n"
        call.running.signal(signal.SIGUSR1)
        assert call.line() == b"caught\n"
        assert call.running.wait() == 9
        call.running.signal(signal.SIGUSR1)


@pytest.mark.parametrize("how", ["kill", "end"])
def test_the_whole_tree_has_ended_when_wait_returns(backend: Bubblewrap, plan: SandboxPlan, how: str) -> None:
    end = "" if how == "end" else "; sleep 1000"
    with Call(
        backend, plan, shell(f"setsid sh -c 'sleep 1000 & echo ready; wait' & read x < fifo; exit 3{end}")
    ) as call:
        os.mkfifo(f"{plan.cwd}/fifo")
        call.running.release()
        assert call.line() == b"ready\n"
        pids = [os.pidfd_open(pid) for pid in tree(call.running.root)]
        assert len(pids) >= 4
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


def test_no_descriptor_but_the_kept_ones_comes_in(backend: Bubblewrap, plan: SandboxPlan, tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    other = fcntl.fcntl(folder, fcntl.F_DUPFD, 60)
    os.close(folder)
    kept = fcntl.fcntl(other, fcntl.F_DUPFD_CLOEXEC, 40)  # the shell uses some low ones
    text = "for each in /proc/$$/fd/*; do echo ${each##*/}; done; for each in /proc/1/fd/*; do readlink $each; done"
    with Call(backend, plan, shell(text), (kept,)) as call:
        call.running.release()
        call.running.wait()
        said = b"".join(iter(lambda: os.read(call.read, 4096), b"")).split()
    os.close(other)
    os.close(kept)
    numbers = {int(word) for word in said if word.isdigit()}
    assert {number for number in numbers if number <= 2 or number >= 40} == {0, 1, 2, kept}
    assert os.fsencode(tmp_path) not in said
    assert [word for word in said if word.startswith(b"socket")] == []


@pytest.mark.skipif(not os.access(sys.executable, os.X_OK), reason="this user cannot start this Python")
@pytest.mark.usefixtures("backend")
def test_everything_ends_with_the_gateway(plan: SandboxPlan) -> None:
    """Killed while the command runs, and while it waits: then it never starts."""
    script = (
        "import sys, os; from gateway.model.plan import *; from gateway.sandbox.bubblewrap import Bubblewrap\n"
        "from gateway.sandbox.base import Streams\n"
        "plan = eval(os.fsdecode(sys.stdin.buffer.read()))\n"
        "text = 'echo > started; echo ready; sleep 1000'\n"
        "running = Bubblewrap().start(plan, ['/bin/sh', '-c', text], Streams(0, 1, 2))\n"
        "if sys.argv[1] == 'run': running.release()\n"
        "else: running._built.recv(1)\n"
        "print(running.pid, running.root, flush=True)\n"
        "import time; time.sleep(1000)\n"
    )
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
    backend: Bubblewrap, plan: SandboxPlan, tmp_path: Path, change
) -> None:
    changed = change(plan, tmp_path)
    with pytest.raises(SandboxError, match="planned"):
        Call(backend, changed, ["true"])


def test_an_error_of_bubblewrap_is_told_from_one_of_the_command(backend: Bubblewrap, plan: SandboxPlan) -> None:
    broken = plan.replace(links=(*LINKS, ("/usr", "nowhere")))
    expected = pytest.raises(SandboxError, match=r"could not be built: Can't bind mount")
    with expected, Call(backend, broken, ["true"]) as call:
        call.running.release()


def test_a_folder_that_is_not_there_to_start_in_runs_nothing(backend: Bubblewrap, plan: SandboxPlan) -> None:
    with Call(backend, plan.replace(cwd="/nowhere"), shell("echo ran")) as call:
        call.running.release()
        assert call.running.wait() == 126
        assert b"ran" not in os.read(call.read, 4096)


def test_nothing_is_left_open(backend: Bubblewrap, plan: SandboxPlan) -> None:
    with Call(backend, plan, ["true"]) as call:
        call.running.release()
    before = len(os.listdir("/proc/self/fd"))
    for argv in (["true"], ["no-such-program"]):
        with Call(backend, plan, argv) as call:
            call.running.release()
    with pytest.raises(SandboxError):
        Call(backend, plan.replace(mounts=(*plan.mounts, Mount("/no/such", READ))), ["true"])
    assert len(os.listdir("/proc/self/fd")) == before


def test_many_threads_start_calls_at_once(backend: Bubblewrap, plan: SandboxPlan) -> None:
    found: list[int] = []

    def one(number: int) -> None:
        with Call(backend, plan, shell(f"exit {number}")) as call:
            call.running.release()
            found.append(call.running.wait() - number)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0] * 12


def test_private_folders_and_the_rest_of_the_root_are_not_the_hosts(backend: Bubblewrap, plan: SandboxPlan) -> None:
    with Call(
        backend,
        plan,
        shell(
            "ls -A /tmp | wc -l; touch /x /dev/x /proc/x; ls /; stat -c %a /tmp /dev/shm; cat /proc/1/environ | wc -c"
        ),
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


class TestProbe:
    def test_the_answer_is_kept_for_this_program_only(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        found = [bubblewrap_probe.known("a")]
        bubblewrap_probe.remember("a")
        found += [bubblewrap_probe.known("a"), bubblewrap_probe.known("b")]
        bubblewrap_probe.forget()
        found.append(bubblewrap_probe.known("a"))
        assert found == [False, True, False, False]

    def test_a_changed_form_of_the_arguments_is_tried_anew(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        bubblewrap_probe.remember("a")
        monkeypatch.setattr(bubblewrap_probe, "SCRIPT", "exit 0")
        assert not bubblewrap_probe.known("a")

    def test_a_record_never_gives_a_weaker_form(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: Bubblewrap
    ) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        path = backend.program().path
        state = os.stat(path)
        bubblewrap_probe.remember(f"{path} {state.st_dev} {state.st_ino} {state.st_mtime_ns} {state.st_size}")
        program = Bubblewrap().program()
        assert (program.by_descriptor, program.nested) == (True, True)

    def test_the_script_sees_what_gets_out(self, tmp_path: Path) -> None:
        """Without a sandbox every attempt but that on the machine itself works."""
        inside, outside = tmp_path / "inside", tmp_path / "outside"
        for folder in (inside / "fixed", outside):
            folder.mkdir(parents=True)
        for file in (inside / "hidden", inside / "fixed" / "file", outside / "secret"):
            file.write_text("x\n")
        done = subprocess.run(
            shell(bubblewrap_probe.SCRIPT),
            cwd=inside,
            env={"OUTSIDE": str(outside)},
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout.splitlines()
        assert said[:4] == [
            "write a file outside",
            "read a file outside",
            "read a hidden file",
            "write a protected file",
        ]
        assert "see processes outside" in said
        assert said[-1] == attempts.WORKS

    def test_what_holds_is_found_to_hold(self, backend: Bubblewrap) -> None:
        assert attempts.attempt(backend, bubblewrap_probe.SCRIPT, bubblewrap_probe.world) == ""

    def test_what_does_not_hold_is_found_not_to(self, backend: Bubblewrap) -> None:
        def leaky(top: str) -> SandboxPlan:
            plan = bubblewrap_probe.world(top)
            return plan.replace(mounts=tuple(sorted((*plan.mounts, Mount(f"{top}/outside", WRITE)))))

        found = attempts.attempt(backend, bubblewrap_probe.SCRIPT, leaky)
        assert found == "inside one can write a file outside, read a file outside"


def test_masks_are_made_again_when_somebody_changed_them(backend: Bubblewrap, plan: SandboxPlan) -> None:
    with open(f"{plan.cwd}/secret", "wb") as file:
        file.write(b"secret")
    hiding = plan.replace(mounts=tuple(sorted((*plan.mounts, Mount(f"{plan.cwd}/secret", HIDDEN, False)))))
    for _ in range(2):
        with Call(backend, hiding, shell("cat secret")) as call:
            call.running.release()
            assert call.running.wait() == 1
            assert os.strerror(errno.EACCES).encode() in os.read(call.read, 4096)
        assert backend._masks is not None
        os.chmod(backend._masks.file, stat.S_IRUSR)
